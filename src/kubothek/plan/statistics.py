"""Which row groups or files can be left out, as their statistics prove.

Parquet keeps the smallest and the largest value of each column of a row group, and how many nulls it has. They are
taken as bounds only: writers may shorten long texts, and leave NaN out of them, so that a floating-point column may
always hold NaN besides. Anything missing is unknown, and unknown never drops anything. All row groups are decided at
once, with arrays of one entry per row group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import Condition, IsIn, IsNull, Leaf
from kubothek.plan.match import as_type
from kubothek.plan.possible import Mask, Possible, as_mask, possible


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of one column, one entry per row group or file.

    Parameters
    ----------
    min, max
        Bounds of the values that are neither null nor NaN, in the type they are stored in; null where unknown.
    nulls
        Number of nulls (int64), null where unknown.
    rows
        Number of rows (int64), null where unknown.
    """

    min: pa.Array
    max: pa.Array
    nulls: pa.Array
    rows: pa.Array


def keep_by_statistics(condition: Condition, statistics: Mapping[str, ColumnStatistics], n: int) -> Mask:
    """Return for each of ``n`` row groups or files whether it may hold a matching row.

    Parameters
    ----------
    condition
        A bound condition.
    statistics
        Statistics by column; a column that is missing is unknown.
    n
        Number of row groups or files.

    Examples
    --------
    >>> from kubothek.model.condition import Comparison
    >>> none = pa.array([0, 0])
    >>> temperature = ColumnStatistics(min=pa.array([-9, 2]), max=pa.array([1, 7]), nulls=none, rows=pa.array([5, 5]))
    >>> keep_by_statistics(Comparison("TEMP", "<", pa.scalar(0)), {"TEMP": temperature}, 2).tolist()
    [True, False]
    """

    def leaf(leaf: Leaf) -> Possible:
        known = statistics.get(leaf.column)
        return Possible.unknown(n) if known is None else _leaf(leaf, known)

    return possible(condition, n, leaf).can_match


def _leaf(leaf: Leaf, known: ColumnStatistics) -> Possible:
    nulls_possible = _true_or_unknown(pc.greater(known.nulls, 0))
    values_possible = _true_or_unknown(pc.less(known.nulls, known.rows))
    if isinstance(leaf, IsNull):
        return Possible(nulls_possible, values_possible)
    if isinstance(leaf, IsIn):
        if not len(leaf.values):
            return Possible.exact(np.zeros(len(known.rows), dtype=np.bool_))
        values: pa.Array = leaf.values
    else:
        values = pa.array([leaf.value], leaf.value.type)
    floating = pa.types.is_floating(values.type)
    if floating and pc.any(pc.is_nan(values)).as_py():
        return Possible(np.ones(len(known.rows), dtype=np.bool_), values_possible)
    low, high = _bounds(known, values.type)
    some, all_ = _compare("in" if isinstance(leaf, IsIn) else leaf.op, values, low, high)
    fails = nulls_possible | ~all_ if not floating else np.ones(len(known.rows), dtype=np.bool_)
    return Possible(some & values_possible, fails)


def _bounds(known: ColumnStatistics, wanted: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Return the bounds as the literal's type; null where unknown, contradictory or NaN."""
    try:
        low, high = (_readable(bound, wanted) for bound in (known.min, known.max))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(known.rows), wanted), pa.nulls(len(known.rows), wanted)
    # Old writers ordered unsigned integers as signed ones: then the largest is smaller than the smallest.
    wrong = pc.fill_null(pc.greater(low, high), False)
    return pc.if_else(wrong, pa.scalar(None, wanted), low), pc.if_else(wrong, pa.scalar(None, wanted), high)


def _readable(bound: pa.Array, wanted: pa.DataType) -> pa.Array:
    bound = as_type(bound.dictionary_decode() if pa.types.is_dictionary(bound.type) else bound, wanted)
    if not pa.types.is_floating(wanted):
        return bound
    # Adding zero turns -0.0 into the equal 0.0, which is ranked equal to it.
    return pc.add(pc.if_else(pc.is_nan(bound), pa.scalar(None, wanted), bound), pa.scalar(0.0, wanted))


def _compare(op: str, values: pa.Array, low: pa.Array, high: pa.Array) -> tuple[Mask, Mask]:
    """Return whether some, and whether every value between the bounds compares like this."""
    if op in ("==", "in"):
        return _in_bounds(values, low, high)
    value = values[0]
    match op:
        case "<":
            return _true_or_unknown(pc.less(low, value)), _true(pc.less(high, value))
        case "<=":
            return _true_or_unknown(pc.less_equal(low, value)), _true(pc.less_equal(high, value))
        case ">":
            return _true_or_unknown(pc.greater(high, value)), _true(pc.greater(low, value))
        case _:
            return _true_or_unknown(pc.greater_equal(high, value)), _true(pc.greater_equal(low, value))


def _in_bounds(values: pa.Array, low: pa.Array, high: pa.Array) -> tuple[Mask, Mask]:
    """Return whether one of the values lies between the bounds, and whether the bounds leave only one of them.

    Values and bounds are replaced by their common ranks, so that one binary search serves every type.
    """
    n = len(low)
    everything = pa.concat_arrays([values, low, high])
    ranks = pc.rank(everything, tiebreaker="dense").to_numpy().astype(np.int64)
    wanted = np.unique(ranks[: len(values)])
    low_known, high_known = _valid(low), _valid(high)
    lower = np.where(low_known, ranks[len(values) : len(values) + n], 0)
    upper = np.where(high_known, ranks[len(values) + n :], len(everything) + 1)
    inside = np.searchsorted(wanted, upper, side="right") > np.searchsorted(wanted, lower, side="left")
    return inside, inside & low_known & high_known & (lower == upper)


def _valid(array: pa.Array) -> Mask:
    return as_mask(array.is_valid())


def _true(mask: Any) -> Mask:
    return as_mask(pc.fill_null(mask, False))


def _true_or_unknown(mask: Any) -> Mask:
    return as_mask(pc.fill_null(mask, True))
