"""Which row of the other table belongs to each row: joins on key columns alone, answered in row numbers.

A join goes in three steps. Key columns of both sides become one integer per row
(:mod:`kubothek.engine.key_codes`); codes of the right side become a table from code to row number, or a sorted array
where the codes are sparse; each code of the left side is looked up. Payload columns take no part: they are taken by row
number, which keeps every Arrow type as it is and costs a fraction of a hash join on whole rows::

    left codes    right codes          rows
    0  (x=0)      0  (row 0)           0
    1  (x=1)      2  (row 1)    ->    -1     no partner
    2  (x=2)                           1

Tables whose keys are the same, as those of datasets that come from one source are, are numbered and looked up once for
all of them; where they are the keys of the seed, there is nothing to look up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.engine.key_codes import key_codes, stable_order
from kubothek.engine.pooled import pooled
from kubothek.model.read_plan import JoinStep

_DENSE_ROWS = 4
"""A lookup table may have this many entries per row before sorted search takes over."""

_FEW = 4
"""Where the right side has this many times fewer rows, they are searched in the left side instead."""


def join_rows(
    steps: Sequence[JoinStep], order: tuple[str, ...], tables: Mapping[int, pa.Table]
) -> dict[int, np.ndarray | None]:
    """Return for each table which of its rows make the result, -1 for none; ``None`` stands for all as they are.

    Parameters
    ----------
    steps
        How tables are joined to table 0, the seed: inner joins first.
    order
        Columns of the seed by which the result is sorted; the last row of each combination makes it.
    tables
        By the number of their input.
    """
    inputs: dict[tuple[str, ...], list[int]] = {order: []}
    for step in steps:
        inputs.setdefault(step.on, []).append(step.input)
    twins: dict[int, int] = {}
    codes: dict[tuple[str, ...], dict[int, np.ndarray]] = {}
    sizes: dict[tuple[str, ...], int] = {}
    for on, numbers in inputs.items():
        keys = {number: [tables[number].column(name) for name in on] for number in (0, *numbers)}
        twins.update(_twins(keys))
        distinct = [number for number in keys if twins[number] == number]
        found, sizes[on] = key_codes([keys[number] for number in distinct])
        codes[on] = dict(zip(distinct, found, strict=True))
    rows = {0: last_of_each(codes[order][0], sizes[order])}
    for step in steps:
        twin = twins[step.input]
        if twin in rows and (twin or {*step.on} == {*order}):
            rows[step.input] = rows[twin]
            continue
        left = codes[step.on][0] if rows[0] is None else codes[step.on][0][rows[0]]
        rows[step.input] = match = match_codes(left, codes[step.on][twin], sizes[step.on])
        if step.how == "inner" and match is not None and (match < 0).any():
            kept = np.flatnonzero(match >= 0)
            rows = {number: kept if chosen is None else chosen[kept] for number, chosen in rows.items()}
    return rows


def _twins(keys: Mapping[int, Sequence[pa.ChunkedArray]]) -> dict[int, int]:
    """Return for each table the first one that has the same keys in the same order, often itself."""
    distinct: list[int] = []
    twins = {}
    for number, columns in keys.items():
        twins[number] = next((first for first in distinct if _same(keys[first], columns)), number)
        if twins[number] == number:
            distinct.append(number)
    return twins


def _same(left: Sequence[pa.ChunkedArray], right: Sequence[pa.ChunkedArray]) -> bool:
    return all(one.equals(other) for one, other in zip(left, right, strict=True))


def last_of_each(codes: np.ndarray, size: int) -> np.ndarray | None:
    """Return the number of the last row of each code, in the order of codes; ``None`` if that is every row as it is."""
    if len(codes) < 2 or bool((codes[1:] > codes[:-1]).all()):
        return None
    order = stable_order(codes, size)
    ordered = codes[order]
    last: np.ndarray = order[np.append(ordered[1:] != ordered[:-1], True)]
    return last


def match_codes(left: np.ndarray, right: np.ndarray, size: int) -> np.ndarray | None:
    """Return for each left row the number of the last right row of the same code, or -1 without one.

    ``None`` stands for the identity: row ``i`` belongs to row ``i``.
    """
    if len(left) == len(right) and np.array_equal(left, right) and bool((right[1:] > right[:-1]).all()):
        return None
    if len(right) == 0:
        return np.full(len(left), -1, np.int64)
    if size <= _DENSE_ROWS * (len(left) + len(right)) + 1024:
        table = pooled(size)
        table.fill(-1)
        table[right] = np.arange(len(right))
        # All codes lie in the table; to be told so spares NumPy a copy of what it finds.
        return np.take(table, left, out=pooled(len(left)), mode="clip")
    if len(right) < len(left) // _FEW and bool((left[1:] > left[:-1]).all()):
        places = np.minimum(np.searchsorted(left, right), len(left) - 1)
        hits = np.flatnonzero(left[places] == right)
        found: np.ndarray = np.full(len(left), -1, np.int64)
        found[places[hits]] = hits
        return found
    order = None if bool((right[1:] >= right[:-1]).all()) else stable_order(right, size)
    ordered = right if order is None else right[order]
    last = np.searchsorted(ordered, left, side="right") - 1
    hit = (last >= 0) & (ordered[last] == left)
    return np.where(hit, last if order is None else order[last], -1)


def take(table: pa.Table, rows: np.ndarray | None) -> pa.Table:
    """Take rows by number; -1 gives nulls, ``None`` the table itself."""
    if rows is None:
        return table
    present = pc.greater_equal(pa.array(rows), 0)
    if pc.all(present).as_py():
        return table.take(pa.array(rows))
    if not table.num_rows:
        return table.take(pa.nulls(len(rows), pa.int64()))
    # Arrow takes by numbers without nulls several times as fast; what it took for a missing row is blotted out.
    some = pa.array(np.maximum(rows, 0))
    gaps = _blotted(pa.chunked_array([some]), present)
    columns = [
        _blotted(column.take(some), present) if pa.types.is_primitive(column.type) else column.take(gaps)
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _blotted(column: pa.ChunkedArray, present: pa.BooleanArray) -> pa.Array | pa.ChunkedArray:
    """Put nulls where nothing is present.

    A column without nulls gets the bits of ``present`` for its own, and none of its values is copied.
    """
    if column.null_count or column.num_chunks != 1 or column.chunk(0).offset:
        return pc.if_else(present, column, pa.scalar(None, column.type))
    bits, values = present.buffers()[1], column.chunk(0).buffers()[1]
    return pa.Array.from_buffers(column.type, len(column), [bits, values])


def sort_rows(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Sort rows by columns, keeping the order of rows that tie."""
    return take(rows, sorted_order(rows, columns))


def sorted_order(rows: pa.Table, columns: Sequence[str]) -> np.ndarray | None:
    """Return the numbers of the rows as sorted by columns, those that tie in their order; ``None`` if they are."""
    if not columns or rows.num_rows < 2:
        return None
    (codes,), size = key_codes([[rows.column(name) for name in columns]])
    return None if bool((codes[1:] >= codes[:-1]).all()) else stable_order(codes, size)
