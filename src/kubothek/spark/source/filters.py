"""What the filters of Spark SQL mean as conditions of ours, so that they choose files and rows before Spark sees them.

Spark asks whether a filter is *true*; false and unknown are the same to it. A condition of ours is two-valued, so each
filter becomes the condition of the rows for which it is true, or of more rows: Spark applies all filters again, and a
condition may therefore be too wide, but never too narrow::

    filter                  condition
    x = 1, x <=> 1          x == 1
    NOT x = 1               x != 1 & ~(x is null)         unknown for null, where our != holds
    NOT x <=> 1             x != 1
    x IN (1, null)          x in (1)
    NOT x IN (1, null)      false                         unknown or false for all
    d > 1.5                 (d > 1.5 | d == nan) & ...    NaN is greater than all, and equal to itself
    s LIKE 'ab%'            s >= "ab" & s < "ac"
    s LIKE '%ab'            ~(s is null)

A literal has the type of its column already, which Spark cast it to. Nothing is made of filters on parts of structs, of
those on texts that stand for times, and of decimals so long that they have been rounded on their way here.

In a cube a condition on a column asks for cells that its dataset has, but for Spark the column of a cell without
partner is null like any other. So of columns that come by a join only those filters count that no null passes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource as sql

from kubothek.errors import InvalidInputError
from kubothek.model.condition import NOTHING, Comparison, Condition, IsIn, IsNull, Not, Operator, all_of
from kubothek.model.schema import normalise_type
from kubothek.plan.bind import bind
from kubothek.plan.match import match_rows

_OPERATORS: dict[type[sql.Filter], Operator] = {
    sql.EqualTo: "==",
    sql.EqualNullSafe: "==",
    sql.GreaterThan: ">",
    sql.GreaterThanOrEqual: ">=",
    sql.LessThan: "<",
    sql.LessThanOrEqual: "<=",
}
_OPPOSITE: dict[Operator, Operator] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_UNORDERED = (sql.EqualTo, sql.EqualNullSafe, sql.In)
_TEXTS = (sql.StringStartsWith, sql.StringEndsWith, sql.StringContains)
_REJECTING: tuple[type[sql.Filter], ...] = (*_OPERATORS, sql.In, *_TEXTS)
"""Filters that are unknown for null, and so are their negations; the null-safe one is false for it."""
_ROUNDED = 28
"""Digits to which Spark rounds the decimals among the literals."""
_LAST = chr(sys.maxunicode)
_AFTER_SURROGATES = "\ue000"


def as_condition(pushed: sql.Filter, record: pa.Schema, joined: Collection[str] = ()) -> Condition | None:
    """Return a bound condition that holds wherever a filter is true, ``None`` where nothing can be said.

    Parameters
    ----------
    pushed
        A filter as Spark pushes it.
    record
        Columns with their types of record.
    joined
        Those that are null where a cell has no partner in their dataset.

    Examples
    --------
    >>> record = pa.schema({"x": pa.int64()})
    >>> print(as_condition(sql.Not(sql.EqualTo(("x",), 1)), record))
    (x != 1) & (~(x is null))
    """
    child, negated = _unwrapped(pushed)
    path: tuple[str, ...] = getattr(child, "attribute", ())
    if len(path) != 1 or path[0] not in record.names:
        return None
    kind = normalise_type(record.field(path[0]).type)
    found = _translate(child, negated, path[0], kind)
    if found is None:
        return None
    try:
        bound = bind(found, pa.schema([(path[0], kind)]), subject="the filters of Spark")
    except InvalidInputError:  # a literal that the column cannot hold, such as a negative one where there are none
        return None
    return None if path[0] in joined and _lets_null_pass(bound, path[0], kind) else bound


def _unwrapped(pushed: sql.Filter) -> tuple[sql.Filter, bool]:
    """Return what a filter negates, and whether it does; ``NOT NOT a`` is true where ``a`` is."""
    negated = False
    while isinstance(pushed, sql.Not):
        pushed, negated = pushed.child, not negated
    return pushed, negated


def _translate(child: sql.Filter, negated: bool, column: str, kind: pa.DataType) -> Condition | None:
    absent, present = IsNull(column), Not(IsNull(column))
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return None
    match child:
        case sql.IsNull() | sql.IsNotNull():
            return present if isinstance(child, sql.IsNull) == negated else absent
        case sql.EqualNullSafe(_, None):
            return present if negated else absent
        case sql.EqualNullSafe() if negated:
            return _other_or_null(column, child.value) if _is_comparable(child, kind) else None
    if not isinstance(child, _REJECTING):
        return None
    if not _is_comparable(child, kind):
        return present
    value: Any = getattr(child, "value", None)
    if isinstance(child, sql.In):
        return _not_in(column, value) if negated else _in(column, value)
    if isinstance(child, sql.StringStartsWith) and not negated:
        return _starts_with(column, value)
    op = _OPERATORS.get(type(child))
    if op is None or value is None:
        return present
    op = _OPPOSITE[op] if negated else op
    return _compare_floats(column, op, value) if pa.types.is_floating(kind) else _compare(column, op, value)


def _is_comparable(child: Any, kind: pa.DataType) -> bool:
    """Tell whether Spark compares the values as we do, and the literals came as they were written."""
    if pa.types.is_time(kind) or (pa.types.is_boolean(kind) and not isinstance(child, _UNORDERED)):
        return False
    values = child.value if isinstance(child, sql.In) else (child.value,)
    return not any(isinstance(one, Decimal) and len(one.as_tuple().digits) >= _ROUNDED for one in values)


def _compare(column: str, op: Operator, value: Any) -> Condition:
    plain = Comparison(column, op, value)
    return all_of([plain, Not(IsNull(column))]) if op == "!=" else plain


def _compare_floats(column: str, op: Operator, value: float) -> Condition:
    """Compare as Spark does, by which NaN is greater than all other values and equal to itself."""
    present, nan = Not(IsNull(column)), Comparison(column, "==", math.nan)
    if math.isnan(value):
        with_nan: dict[Operator, Condition] = {
            "==": nan & present,
            ">=": nan & present,
            "!=": Not(nan) & present,
            "<": Not(nan) & present,
            "<=": present,
            ">": NOTHING,
        }
        return with_nan[op]
    plain = _compare(column, op, value)
    return all_of([plain | nan, present]) if op in (">", ">=") else plain


def _other_or_null(column: str, value: Any) -> Condition:
    """Ask for other values and for null, which our ``!=`` does by itself, but not where the value is NaN."""
    return Comparison(column, "!=", value) | IsNull(column) if value != value else Comparison(column, "!=", value)


def _in(column: str, values: Collection[Any]) -> Condition:
    found = tuple(value for value in values if value is not None)
    if any(value != value for value in found):  # where our list finds null beside NaN
        return all_of([IsIn(column, found), Not(IsNull(column))])
    return IsIn(column, found)


def _not_in(column: str, values: Collection[Any]) -> Condition:
    """Exclude the values, but no zero of a float: in long lists Spark tells -0.0 from 0.0."""
    if any(value is None for value in values):
        return NOTHING
    told = tuple(value for value in values if not (isinstance(value, float) and value == 0))
    return all_of([Not(IsIn(column, told)), Not(IsNull(column))])


def _starts_with(column: str, start: str) -> Condition:
    """Bound texts by their beginning: in the order of code points, which is that of their bytes."""
    head = start.rstrip(_LAST)
    parts: list[Condition] = [Comparison(column, ">=", start)]
    if head:
        after = chr(ord(head[-1]) + 1)
        after = _AFTER_SURROGATES if "\ud800" <= after < _AFTER_SURROGATES else after
        parts.append(Comparison(column, "<", head[:-1] + after))
    return all_of(parts)


def _lets_null_pass(condition: Condition, column: str, kind: pa.DataType) -> bool:
    return bool(match_rows(condition, pa.table({column: pa.nulls(1, kind)}))[0].as_py())
