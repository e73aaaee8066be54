"""Which row of the other table belongs to each row: joins on key columns alone, answered in row numbers.

A join goes in three steps. Key columns of both sides become one integer per row (*codes*, which keep the order of the
columns); codes of the right side become a table from code to row number, or a sorted array where the codes are
sparse; each code of the left side is looked up. Payload columns take no part: the caller takes them by row number,
which keeps every Arrow type as it is and costs a fraction of a hash join on whole rows::

    left codes    right codes          rows
    0  (x=0)      0  (row 0)           0
    1  (x=1)      2  (row 1)    ->    -1     no partner
    2  (x=2)                           1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LARGEST = 2**62
_DENSE_ROWS = 4
"""A lookup table may have this many entries per row before sorted search takes over."""

_FEW = 4
"""Where the right side has this many times fewer rows, they are searched in the left side instead."""


def key_codes(sides: Sequence[Sequence[pa.ChunkedArray]]) -> tuple[list[np.ndarray], int]:
    """Turn the rows of several tables into integers that are equal and ordered as the rows are.

    Parameters
    ----------
    sides
        Per table its key columns, at least one, in the same order and with the same types. Nulls are equal to each
        other and come last, as do NaNs.

    Returns
    -------
    codes, size
        Per table one ``int64`` per row, in ``range(size)``.
    """
    first, *others = zip(*sides, strict=True)
    codes, size = _column_codes(first)
    for column in others:
        added, count = _column_codes(column)
        if size * count >= _LARGEST:
            codes, size = _densify(codes)
        if size * count >= _LARGEST:
            added, count = _densify(added)
        for code, more in zip(codes, added, strict=True):
            code *= count
            code += more
        size *= count
    return codes, size


def last_of_each(codes: np.ndarray) -> np.ndarray | None:
    """Return the number of the last row of each code, in the order of codes; ``None`` if that is every row as it is."""
    if len(codes) < 2 or bool((codes[1:] > codes[:-1]).all()):
        return None
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    last: np.ndarray = order[np.append(ordered[1:] != ordered[:-1], True)]
    return last


def match_codes(left: np.ndarray, right: np.ndarray, size: int) -> np.ndarray | None:
    """Return for each left row the number of the last right row of the same code, or -1 without one.

    ``None`` stands for the identity: row ``i`` belongs to row ``i``.
    """
    if len(left) == len(right) and np.array_equal(left, right):
        return None
    if len(right) == 0:
        return np.full(len(left), -1, np.int64)
    if size <= _DENSE_ROWS * (len(left) + len(right)) + 1024:
        table = np.full(size, -1, np.int64)
        table[right] = np.arange(len(right))
        found: np.ndarray = table[left]
        return found
    if len(right) < len(left) // _FEW and bool((left[1:] > left[:-1]).all()):
        places = np.minimum(np.searchsorted(left, right), len(left) - 1)
        hits = np.flatnonzero(left[places] == right)
        found = np.full(len(left), -1, np.int64)
        found[places[hits]] = hits
        return found
    order = None if bool((right[1:] >= right[:-1]).all()) else np.argsort(right, kind="stable")
    ordered = right if order is None else right[order]
    last = np.searchsorted(ordered, left, side="right") - 1
    hit = (last >= 0) & (ordered[last] == left)
    return np.where(hit, last if order is None else order[last], -1)


def take(table: pa.Table, rows: np.ndarray | None) -> pa.Table:
    """Take rows by number; -1 gives nulls, ``None`` the table itself."""
    if rows is None:
        return table
    missing = rows < 0
    return table.take(pa.array(rows, mask=missing) if missing.any() else pa.array(rows))


def sort_rows(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Sort rows by columns, keeping the order of rows that tie."""
    if not columns or rows.num_rows < 2:
        return rows
    (codes,), _ = key_codes([[rows.column(name) for name in columns]])
    if bool((codes[1:] >= codes[:-1]).all()):
        return rows
    return take(rows, np.argsort(codes, kind="stable"))


def _column_codes(sides: Sequence[pa.ChunkedArray]) -> tuple[list[np.ndarray], int]:
    """Number the values of one column of all sides; the arrays are new, for the caller to go on with in place."""
    kind = sides[0].type
    if pa.types.is_dictionary(kind) or not _is_integral(kind):
        return _ranked_codes(sides)
    numbers = [_as_numbers(column) for column in sides]
    bounds = [pc.min_max(column).as_py() for column in numbers if len(column) > column.null_count]
    if not bounds:
        return [np.zeros(len(column), np.int64) for column in sides], 1
    low, high = min(b["min"] for b in bounds), max(b["max"] for b in bounds)
    if high - low >= _LARGEST or high == np.iinfo(np.int64).max:
        return _ranked_codes(sides)
    count = high - low + 1
    has_nulls = any(column.null_count for column in numbers)
    codes = []
    for column in numbers:
        values = column.fill_null(high + 1) if column.null_count else column
        codes.append(values.to_numpy() - low)
    return codes, count + has_nulls


def _is_integral(kind: pa.DataType) -> bool:
    return bool(
        (pa.types.is_integer(kind) and kind != pa.uint64())
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_time(kind)
        or pa.types.is_boolean(kind)
    )


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    return column.cast(pa.int64())


def _ranked_codes(sides: Sequence[pa.ChunkedArray]) -> tuple[list[np.ndarray], int]:
    """Number the distinct values of all sides in their order."""
    kind = sides[0].type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    columns = [side.cast(plain) if side.type != plain else side for side in sides]
    if pa.types.is_floating(plain):
        columns = [_one_zero_one_nan(column) for column in columns]
    encoded = pa.chunked_array([c for column in columns for c in column.chunks], plain).combine_chunks()
    encoded = encoded.dictionary_encode()
    count = len(encoded.dictionary)
    rank = np.empty(count + 1, np.int64)
    rank[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(count)
    rank[count] = count
    codes = rank[encoded.indices.fill_null(count).to_numpy(zero_copy_only=False)]
    return np.split(codes, np.cumsum([len(c) for c in columns])[:-1]), count + 1


def _one_zero_one_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give equal bits to values that are equal: -0.0 becomes 0.0, and every NaN the same one."""
    zero, nan = pa.scalar(0.0, column.type), pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _densify(codes: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Renumber codes without gaps, in their order."""
    values, inverse = np.unique(np.concatenate(codes), return_inverse=True)
    return np.split(inverse.astype(np.int64), np.cumsum([len(c) for c in codes])[:-1]), max(len(values), 1)
