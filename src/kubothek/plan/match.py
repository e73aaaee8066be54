"""Which rows match a bound condition.

The answer is a plain mask without nulls, computed with Arrow's kernels: each leaf is one kernel call on one column,
and the masks are combined. A column may be stored in another type than its schema says (narrower numbers, dictionary,
``large_string``, a finer time unit): it is compared as the value that the schema of record gives it, and of a
dictionary only the distinct values are compared.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import And, Comparison, Condition, IsIn, IsNull, Leaf, Not, Or

_KERNELS = {"==": pc.equal, "!=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


def match_rows(condition: Condition, table: pa.Table | pa.RecordBatch) -> pa.BooleanArray:
    """Return which rows match, as an array without nulls that ``table.filter`` takes.

    Parameters
    ----------
    condition
        A bound condition (``kubothek.plan.bind``) over columns that the table has.
    table
        The rows; more columns do no harm.

    Examples
    --------
    >>> table = pa.table({"TEMP": [-1, 3, None]})
    >>> match_rows(Comparison("TEMP", "<", pa.scalar(0)), table).to_pylist()
    [True, False, False]
    """
    match condition:
        case And(parts) | Or(parts):
            kernel = pc.and_ if isinstance(condition, And) else pc.or_
            start = _constant(isinstance(condition, And), table.num_rows) if not parts else match_rows(parts[0], table)
            return reduce(kernel, (match_rows(part, table) for part in parts[1:]), start)
        case Not(part):
            return pc.invert(match_rows(part, table))
        case Comparison() | IsIn() | IsNull():
            return match_column(condition, table.column(condition.column))
    raise TypeError(f"{condition!r} is not a condition")


def match_column(leaf: Leaf, column: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
    """Return which values of one column match a bound leaf, as an array without nulls."""
    if not pa.types.is_dictionary(column.type):
        mask = _match_values(leaf, column)
        return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
    if isinstance(column, pa.ChunkedArray):
        masks = [match_column(leaf, chunk) for chunk in column.chunks]
        return pa.concat_arrays(masks) if masks else _constant(False, 0)
    return match_column(leaf, column.dictionary).take(column.indices).fill_null(_matches_null(leaf))


def _matches_null(leaf: Leaf) -> bool:
    return isinstance(leaf, IsNull) or (isinstance(leaf, Comparison) and (leaf.op == "!=") != is_nan(leaf.value))


def _match_values(leaf: Leaf, column: pa.Array | pa.ChunkedArray) -> pa.BooleanArray | pa.ChunkedArray:
    if isinstance(leaf, IsNull):
        return column.is_null()
    if isinstance(leaf, IsIn):
        values: pa.Array = leaf.values
        if not len(values):
            return _constant(False, len(column))
        return pc.is_in(as_type(column, values.type), value_set=_with_both_zeros(values))
    column = as_type(column, leaf.value.type)
    if is_nan(leaf.value):
        mask = column.is_null(nan_is_null=True)
    else:
        mask = _KERNELS[leaf.op](column, leaf.value).fill_null(False)
    return pc.invert(mask) if leaf.op == "!=" else mask


def as_type(column: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return stored values as the type of record; nanoseconds are cut off, before 1970 too, as when it is read."""
    if column.type == wanted:
        return column
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(wanted, safe=getattr(column.type, "unit", None) != "ns")


def _with_both_zeros(values: pa.Array) -> pa.Array:
    """Return the values with -0.0 and 0.0 where one of them occurs: they are equal, but hash differently."""
    if not pa.types.is_floating(values.type) or not pc.any(pc.equal(values, 0)).as_py():
        return values
    return pa.concat_arrays([values, pa.array([0.0, -0.0], values.type)])


def is_nan(value: pa.Scalar) -> bool:
    """Tell whether a bound literal, which is not null, is NaN."""
    return bool(pa.types.is_floating(value.type) and value.as_py() != value.as_py())


def _constant(value: bool, length: int) -> pa.BooleanArray:
    return pa.array(np.full(length, value))
