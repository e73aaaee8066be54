"""Which files can be left out before anything of them is read, and which rule said so.

First the *partition* values, which are exact: every row of a file has its file's value. Then what an *index* knows:
the labels under which a value occurs at all, which can prove that a file has no match, and nothing else (nulls are in
no index). A file is dropped only where that is proven, so no rule ever changes an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import And, Comparison, Condition, IsIn, Leaf, Not, Or
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.match import is_nan, match_column
from kubothek.plan.possible import Possible, as_mask, possible

Rule = Literal["partition", "index"]


@dataclass(frozen=True, slots=True)
class PrunedFiles:
    """The files that stay, in their order, and those that each rule dropped."""

    kept: pa.Table
    dropped: Mapping[Rule, pa.Table]


def index_leaves(condition: Condition, index_columns: Collection[str]) -> tuple[Leaf, ...]:
    """Return the parts of a bound condition for which an index may prove that a file has no match.

    These are ``==``, ``in`` and the ordering operators on an indexed column, unless negated: that a value does not
    occur says nothing about the rows that do *not* have it. ``~(x != 1)`` is ``x == 1``.

    Examples
    --------
    >>> condition = Comparison("i1", "==", pa.scalar(1)) & ~Comparison("i1", "==", pa.scalar(2))
    >>> index_leaves(condition, ["i1"])
    (Comparison(column='i1', op='==', value=<pyarrow.Int64Scalar: 1>),)
    """
    return tuple(dict.fromkeys(_provable(condition, index_columns, negated=False)))


def _provable(condition: Condition, columns: Collection[str], *, negated: bool) -> list[Leaf]:
    match condition:
        case And(parts) | Or(parts):
            return [leaf for part in parts for leaf in _provable(part, columns, negated=negated)]
        case Not(part):
            return _provable(part, columns, negated=not negated)
        case Comparison(column, op, value) if column in columns and not is_nan(value):
            if (op == "!=") == negated:
                return [Comparison(column, "==", value) if negated else condition]
        case IsIn(column) if column in columns and not negated:
            return [condition]
    return []


def prune_files(
    files: pa.Table,
    condition: Condition,
    partition_columns: Sequence[str],
    hits: Mapping[Leaf, pa.Array],
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
        For leaves from :func:`index_leaves`: the labels that an index has for values that match the leaf.
    """

    def partition(leaf: Leaf, among: pa.Table) -> Possible:
        if leaf.column not in partition_columns:
            return Possible.unknown(among.num_rows)
        return Possible.exact(as_mask(match_column(leaf, among[PARTITION_PREFIX + leaf.column])))

    def partition_and_index(leaf: Leaf, among: pa.Table) -> Possible:
        if leaf.column in partition_columns or leaf not in hits:
            return partition(leaf, among)
        labels = among["label"]
        found = pc.is_in(labels, value_set=hits[leaf].cast(labels.type))
        return Possible(as_mask(found), np.ones(among.num_rows, dtype=np.bool_))

    kept, by_partition = _split(files, condition, partition)
    kept, by_index = _split(kept, condition, partition_and_index) if hits else (kept, kept.slice(0, 0))
    return PrunedFiles(kept, {"partition": by_partition, "index": by_index})


def _split(
    files: pa.Table, condition: Condition, know: Callable[[Leaf, pa.Table], Possible]
) -> tuple[pa.Table, pa.Table]:
    keep = possible(condition, files.num_rows, lambda leaf: know(leaf, files)).can_match
    if keep.all():
        return files, files.slice(0, 0)
    return files.filter(pa.array(keep)), files.filter(pa.array(~keep))
