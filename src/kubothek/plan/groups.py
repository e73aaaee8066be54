"""Which rows of a scan are one group: a plan with one unit per distinct value of the columns to group by.

Steps: each file is listed once per combination of values that it may hold, its own values of partition columns and
those under which an index lists it; combinations that the condition rules out are left out; the distinct ones, sorted,
are the units, each of which reads its files and keeps the rows with its values. With P a partition column and I an
indexed one::

    files    index of I          units           files of the plan
    P        I  partition        unit  I  P      unit
    0  (a)   1  [a, b]           0     1  0      0     (a)
    1  (b)   2  [b]              1     1  1      1     (b)
                                 2     2  1      2     (b)

A file is read for each of its values. No index lists nulls and NaN, so rows with one are in no unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.errors import UnindexedColumnError
from kubothek.model.condition import Condition, Leaf, all_of, conjuncts
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.plan.index_merge import listed_files
from kubothek.plan.keys import Numbers, first_rows, matching_pairs, row_ids, sorted_distinct
from kubothek.plan.match import match_column
from kubothek.plan.possible import Possible, as_mask, possible
from kubothek.plan.scan import ScanQuestion, ScanSubject, check_names, numbered_files

_FILE = "file"
"""Column of a spread table with the row number of the file; all other columns carry :data:`PARTITION_PREFIX`."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Columns to group by that are known to fit, and for those with an index which of its entries are needed."""

    by: tuple[str, ...]
    needed: Mapping[str, Condition]


def ask_groups(question: ScanQuestion, by: Sequence[str]) -> Grouping:
    """Check by what distinct columns rows are to be grouped.

    Raises
    ------
    UnknownColumnError
        A column does not exist.
    UnindexedColumnError
        A column is neither a partition column nor indexed, so that its values are not known; all are named.
    """
    subject = question.subject
    check_names(subject, by)
    unindexed = [name for name in by if name not in subject.constant and name not in subject.index_columns]
    if unindexed:
        raise UnindexedColumnError(
            f"Rows of {subject} cannot be grouped by {', '.join(map(repr, unindexed))}: groups are made by partition "
            f"columns ({', '.join(subject.partition_keys) or 'none'}) and columns with an index "
            f"({', '.join(subject.index_columns) or 'none'}). build_dataset_indices makes one.",
            columns=tuple(unindexed),
        )
    needed = {name: _restriction(question.condition, name) for name in by if name not in subject.constant}
    return Grouping(tuple(by), needed)


def _restriction(condition: Condition, column: str) -> Condition:
    """Return the parts of a condition that look at this column alone."""
    return all_of(part for part in conjuncts(condition) if part.columns == {column})


def plan_groups(
    question: ScanQuestion, grouping: Grouping, plan: ReadPlan, files: pa.Table, postings: Mapping[str, pa.Table]
) -> ReadPlan:
    """Return the plan that reads the rows of a scan group by group, in order of the values.

    Parameters
    ----------
    question, grouping
        What is scanned, and by what it is grouped.
    plan
        The plan of the scan.
    files
        Its files, with the values of the subject's partition and attached columns.
    postings
        For each of ``grouping.needed`` the entries of the index: the column and ``partition: list<string>``.

    Returns
    -------
    ReadPlan
        Its units carry the values of the columns as ``partition/<name>``; there may be units without rows.
    """
    keys = [PARTITION_PREFIX + name for name in grouping.by]
    spread = _possible(question.condition, grouping.by, _spread(question.subject, grouping, files, postings))
    units, numbers = _numbered(spread, keys)
    pairs = sorted_distinct(numbers * max(files.num_rows, 1) + spread.column(_FILE).to_numpy())
    numbers, rows = np.divmod(pairs, max(files.num_rows, 1))
    [source] = plan.inputs
    read = dict.fromkeys([*source.record.names, *grouping.needed])
    return replace(
        plan,
        inputs=(replace(source, record=question.schema_of(read)),),
        files=(numbered_files(question.subject, files.take(pa.array(rows)), numbers),),
        units=units.add_column(0, "unit", pa.array(np.arange(units.num_rows), pa.int32())),
        group_by=grouping.by,
        pinned=tuple((0, name) for name in grouping.needed),
    )


def _numbered(spread: pa.Table, keys: Sequence[str]) -> tuple[pa.Table, Numbers]:
    """Return the distinct values of these columns, sorted, and for each row the number of its values among them."""
    [ids] = row_ids([spread], keys)
    first = first_rows(ids)
    distinct = spread.select(keys).take(pa.array(first))
    order = pc.sort_indices(distinct, sort_keys=[(key, "ascending") for key in keys]).to_numpy().astype(np.int64)
    places = np.zeros(len(order), np.int64)
    places[ids[first[order]]] = np.arange(len(order))
    return distinct.take(pa.array(order)), places[ids]


def _spread(subject: ScanSubject, grouping: Grouping, files: pa.Table, postings: Mapping[str, pa.Table]) -> pa.Table:
    """Return one row per file and combination of values that it may hold, in the order of files."""
    table = pa.table({_FILE: pa.array(np.arange(files.num_rows), pa.int64())})
    for name in grouping.by:
        if name in subject.constant:
            values = files.column(PARTITION_PREFIX + name).take(table.column(_FILE))
        else:
            holders, rows = listed_files(postings[name], files.column("label"))
            lefts, rights = matching_pairs(table.column(_FILE).to_numpy(), holders)
            table = table.take(pa.array(lefts))
            values = _nan_as_null(postings[name].column(name)).take(pa.array(rows[rights]))
        if pa.types.is_floating(values.type):
            values = pc.add(values, 0.0)  # -0.0 equals 0.0 and is one value with it
        table = table.append_column(PARTITION_PREFIX + name, values)
    return table


def _nan_as_null(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Foreign indices may list NaN, which belongs to no group wherever the index comes from."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def _possible(condition: Condition, by: Sequence[str], spread: pa.Table) -> pa.Table:
    """Leave out combinations without a value somewhere, and those whose values rule out every row."""

    def decide(leaf: Leaf) -> Possible:
        if leaf.column not in by:
            return Possible.unknown(spread.num_rows)
        return Possible.exact(as_mask(match_column(leaf, spread.column(PARTITION_PREFIX + leaf.column))))

    keep = possible(condition, spread.num_rows, decide).can_match
    for name in by:
        keep = keep & as_mask(spread.column(PARTITION_PREFIX + name).is_valid())
    return spread if keep.all() else spread.filter(pa.array(keep))
