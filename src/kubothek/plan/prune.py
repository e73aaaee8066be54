"""Which files can be left out before anything of them is read, and which rule said so.

First the *partition* values, which are exact: every row of a file has its file's value. Then what an *index* knows:
the labels under which a value occurs at all, which can prove that a file has no match, and nothing else (nulls are in
no index). A file is dropped only where that is proven, so no rule ever changes an answer.

Parts of a conjunction over one column are asked of its index together: a file with the values 1 and 9 has some above 3
and some below 7, but none between them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import And, Comparison, Condition, IsIn, Leaf, Not, Or, conjuncts
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.match import is_nan, match_column
from kubothek.plan.possible import Possible, as_mask, possible

Rule = Literal["partition", "index"]

Lookup = Leaf | And
"""What one index is asked: one part of a condition, or several of a conjunction that look at the same column."""


@dataclass(frozen=True, slots=True)
class PrunedFiles:
    """The files that stay, in their order, and those that each rule dropped."""

    kept: pa.Table
    dropped: Mapping[Rule, pa.Table]


def index_lookups(condition: Condition, index_columns: Collection[str]) -> tuple[Lookup, ...]:
    """Return the parts of a bound condition for which an index may prove that a file has no match.

    These are ``==``, ``in`` and the ordering operators on an indexed column, unless negated: that a value does not
    occur says nothing about the rows that do *not* have it. ``~(x != 1)`` is ``x == 1``.

    Examples
    --------
    >>> i1, i2 = (lambda op, n: Comparison("i1", op, pa.scalar(n))), (lambda op, n: Comparison("i2", op, pa.scalar(n)))
    >>> condition = i1(">", 1) & i2("==", 5) & i1("<", 3) & ~i2("==", 6)
    >>> [str(lookup) for lookup in index_lookups(condition, ["i1", "i2"])]
    ['(i1 > 1) & (i1 < 3)', 'i2 == 5']
    """
    return tuple(dict.fromkeys(_provable(_by_column(condition, index_columns), index_columns, negated=False)))


def _by_column(condition: Condition, columns: Collection[str]) -> Condition:
    """Return the same condition, with parts of each conjunction that look at one of these columns as one part."""
    match condition:
        case And():
            together: dict[str, list[Condition]] = {}
            rest: list[Condition] = []
            for part in conjuncts(condition):
                if isinstance(part, Leaf) and _provable(part, columns, negated=False):
                    together.setdefault(part.column, []).append(part)
                else:
                    rest.append(_by_column(part, columns))
            return And((*(same[0] if len(same) == 1 else And(tuple(same)) for same in together.values()), *rest))
        case Or(parts):
            return Or(tuple(_by_column(part, columns) for part in parts))
        case _:
            return condition


def _provable(condition: Condition, columns: Collection[str], *, negated: bool) -> list[Lookup]:
    match condition:
        case And(parts) if not negated and len(parts) > 1 and _is_on_one_index(parts, columns):
            return [condition]
        case And(parts) | Or(parts):
            return [lookup for part in parts for lookup in _provable(part, columns, negated=negated)]
        case Not(part):
            return _provable(part, columns, negated=not negated)
        case Comparison(column, op, value) if column in columns and not is_nan(value):
            if (op == "!=") == negated:
                return [Comparison(column, "==", value) if negated else condition]
        case IsIn(column) if column in columns and not negated:
            return [condition]
    return []


def _is_on_one_index(parts: Sequence[Condition], columns: Collection[str]) -> bool:
    same = len({column for part in parts for column in part.columns}) == 1
    return same and all(isinstance(part, Leaf) and _provable(part, columns, negated=False) for part in parts)


def prune_files(
    files: pa.Table,
    condition: Condition,
    partition_columns: Sequence[str],
    hits: Mapping[Lookup, pa.Array],
) -> PrunedFiles:
    """Return which files may hold a matching row, and which rule dropped the others.

    Parameters
    ----------
    files
        One row per file, with ``label`` and the partition values (``kubothek.model.read_plan.files_schema``).
    condition
        A bound condition; columns that are neither partition columns nor in ``hits`` are taken as unknown.
    partition_columns
        Names of the partition columns.
    hits
        For what :func:`index_lookups` returns: the labels that the index has for values that match.
    """
    kept, by_partition = _split(files, condition, partition_columns, {})
    if not hits:
        return PrunedFiles(kept, {"partition": by_partition, "index": kept.slice(0, 0)})
    columns = {column for lookup in hits for column in lookup.columns}.difference(partition_columns)
    kept, by_index = _split(kept, _by_column(condition, columns), partition_columns, hits)
    return PrunedFiles(kept, {"partition": by_partition, "index": by_index})


def _split(
    files: pa.Table, condition: Condition, partition_columns: Sequence[str], hits: Mapping[Lookup, pa.Array]
) -> tuple[pa.Table, pa.Table]:
    some = np.ones(files.num_rows, dtype=np.bool_)
    labels = files["label"]
    listed: dict[Condition, Possible] = {
        lookup: Possible(as_mask(pc.is_in(labels, value_set=found.cast(labels.type))), some)
        for lookup, found in hits.items()
    }

    def decide(leaf: Leaf) -> Possible:
        if leaf.column in partition_columns:
            return Possible.exact(as_mask(match_column(leaf, files[PARTITION_PREFIX + leaf.column])))
        return listed.get(leaf, Possible(some, some))

    keep = possible(condition, files.num_rows, decide, listed).can_match
    if keep.all():
        return files, files.slice(0, 0)
    return files.filter(pa.array(keep)), files.filter(pa.array(~keep))
