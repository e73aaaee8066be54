"""Rows of several tables as integers that are equal and ordered as the rows are: *codes* of their key columns.

Each column is numbered by itself; the numbers of a row's columns are put together like digits. Integers, days and
instants are numbers already, counted from the smallest in steps that all of them share (whole hours are told in
microseconds); values of other types are ranked. Codes that lie close together can be looked up in a table::

    x      y        x   y    code = 3 x + y
    10     "b"      0   1    1
    30     "a"      2   0    6
    20     null     1   2    5        null comes last
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.engine.pooled import pooled

_LARGEST = 2**62

_SAMPLE = 64
"""Values of a column by which its steps are guessed before all are looked at."""


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


def stable_order(codes: np.ndarray, size: int) -> np.ndarray:
    """Return row numbers in the order of codes below ``size``; rows of one code keep theirs.

    Code and row number are sorted as one integer where both have room in it: NumPy sorts integers with instructions
    for several at a time, but not with a memory of where they were, which takes three to ten times as long.
    """
    bits = len(codes).bit_length()
    if size > _LARGEST >> bits:
        order: np.ndarray = np.argsort(codes, kind="stable")
        return order
    packed = codes << bits
    packed |= np.arange(len(codes))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


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
    if high - low >= _LARGEST:
        return _ranked_codes(sides)
    filled = [(column.fill_null(low) if column.null_count else column).to_numpy() for column in numbers]
    codes = [np.subtract(values, low, out=pooled(len(values))) for values in filled]
    codes, step = _in_steps(codes)
    count = (high - low) // step + 1
    for column, own in zip(numbers, codes, strict=True):
        if column.null_count:
            own[column.is_null().to_numpy()] = count
    return codes, count + any(column.null_count for column in numbers)


def _in_steps(codes: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Divide codes by the largest number that divides all of them, and return it too."""
    step = math.gcd(*(int(np.gcd.reduce(own[:: len(own) // _SAMPLE + 1])) for own in codes if len(own)))
    while step > 1:
        divided = [np.floor_divide(own, step, out=pooled(len(own))) for own in codes]
        products = [np.multiply(part, step, out=pooled(len(part))) for part in divided]
        others = [own[own != product][:_SAMPLE] for own, product in zip(codes, products, strict=True)]
        if not any(map(len, others)):
            return divided, step
        step = math.gcd(step, *(int(np.gcd.reduce(own)) for own in others if len(own)))
    return codes, 1


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
