"""Fit a condition to the columns it will be evaluated on.

Binding turns every literal into an Arrow scalar of its column's normalised type, so that whatever evaluates the
condition later (an index, statistics, rows) compares like with like and gives the same answer. What cannot be fitted
without loss is refused here, all problems at once, rather than silently matching nothing. Null and NaN get their own
form on the way, so that later steps need no special cases::

    x == null         x is null                   x in (1, null)    (x in (1)) | (x is null)
    x != null         ~(x is null)                x in (1, nan)     (x in (1)) | (x == nan)

``x == nan`` matches NaN and null; in a column that holds no floats it is ``x is null``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types

from kubothek.errors import InvalidInputError, PredicateTypeError, UnknownColumnError
from kubothek.model.condition import And, Comparison, Condition, IsIn, IsNull, Leaf, Not, Or, all_of, any_of
from kubothek.model.literal import literal_text, python_value
from kubothek.model.names import column_text, name_hint
from kubothek.model.schema import normalise_type
from kubothek.plan.convert import UnfitError, convert

_NATURAL = {pa.int64(): int, pa.string(): str}


def bind(condition: Condition, schema: pa.Schema, *, subject: str) -> Condition:
    """Return the condition with literals of the columns' types.

    Afterwards a leaf is ``IsNull``, a ``Comparison`` with an Arrow scalar that is not null (a NaN only with ``==`` and
    ``!=``), or an ``IsIn`` with an Arrow array without null and NaN. Binding a bound condition changes nothing.

    Parameters
    ----------
    condition
        Any condition.
    schema
        The columns it may name, with their types.
    subject
        What the columns belong to, for messages: ``"dataset 'flights'"``.

    Raises
    ------
    UnknownColumnError
        If a column does not exist; ``columns`` has all that are at fault, ``problems`` what is wrong with them.
    PredicateTypeError
        If a column's type cannot hold a literal without loss. With problems of both kinds, the first one decides.

    Examples
    --------
    >>> schema = pa.schema({"TEMP": pa.float64()})
    >>> bind(Comparison("TEMP", "<", 0), schema, subject="dataset 'weather'")
    Comparison(column='TEMP', op='<', value=<pyarrow.DoubleScalar: 0.0>)
    """
    problems: list[InvalidInputError] = []
    bound = _bind(condition, schema, problems)
    if problems:
        messages = tuple(dict.fromkeys(problem.message for problem in problems))
        raise type(problems[0])(
            f"The condition does not fit {subject}: " + "; ".join(messages) + ".",
            columns=tuple(dict.fromkeys(problem.column for problem in problems)),
            problems=messages,
            subject=subject,
        )
    return bound


def _bind(condition: Condition, schema: pa.Schema, problems: list[InvalidInputError]) -> Condition:
    match condition:
        case And(parts):
            return all_of(_bind(part, schema, problems) for part in parts)
        case Or(parts):
            return any_of(_bind(part, schema, problems) for part in parts)
        case Not(part):
            return Not(_bind(part, schema, problems))
        case Comparison() | IsIn() | IsNull():
            try:
                return _bind_leaf(condition, schema)
            except InvalidInputError as problem:
                problems.append(problem)
                return condition
    raise TypeError(f"{condition!r} is not a condition")


def _bind_leaf(leaf: Leaf, schema: pa.Schema) -> Condition:
    places = schema.get_all_field_indices(leaf.column)
    if not places:
        raise _unknown(leaf.column, schema.names)
    wanted = normalise_type(schema.field(places[0]).type)
    match leaf:
        case IsNull():
            return leaf
        case IsIn(column, values):
            return _bind_list(column, values, wanted)
        case Comparison(column, op, value):
            value = python_value(value)
            missing = value is None or _is_nan(value)
            if missing and op not in ("==", "!="):
                raise _misfit(column, wanted, [value], "null and NaN have no order")
            if isinstance(value, pa.Scalar) and value.type == wanted:  # a day that Python has no value for
                return Comparison(column, op, value)
            if not missing:
                return Comparison(column, op, _to_array(column, [value], wanted)[0])
            if types.is_floating(wanted) and value is not None:
                return Comparison(column, op, pa.scalar(math.nan, wanted))
            return IsNull(column) if op == "==" else Not(IsNull(column))


def _bind_list(column: str, values: Sequence[Any], wanted: pa.DataType) -> Condition:
    if wanted in _NATURAL and set(map(type, values)) == {_NATURAL[wanted]}:
        try:  # a long list of keys, all at once
            return IsIn(column, pa.array(values, wanted))
        except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
            pass  # one at a time, which tells the values that do not fit
    plain = [python_value(value) for value in values]
    present = [value for value in plain if value is not None and not _is_nan(value)]
    parts: list[Condition] = []
    if present or not plain:
        parts.append(IsIn(column, _to_array(column, present, wanted)))
    if any(_is_nan(value) for value in plain) and types.is_floating(wanted):
        parts.append(Comparison(column, "==", pa.scalar(math.nan, wanted)))
    elif len(present) < len(plain):
        parts.append(IsNull(column))
    return any_of(parts)


def _to_array(column: str, values: Sequence[Any], wanted: pa.DataType) -> pa.Array:
    if types.is_null(wanted):
        return _natural(column, values)
    converted: list[Any] = []
    unfit: list[Any] = []
    reasons: list[str] = []
    for value in values:
        try:
            converted.append(convert(value, wanted))
        except UnfitError as error:
            unfit.append(value)
            reasons.append(str(error))
    if unfit:
        raise _misfit(column, wanted, unfit, ", ".join(filter(None, dict.fromkeys(reasons))))
    return pa.array(converted, _wide_enough(wanted, converted))


def _wide_enough(wanted: pa.DataType, values: Sequence[Any]) -> pa.DataType:
    """Return a decimal type with digits for all values: ``x < 10000`` is a fair question about decimal(6, 2)."""
    if not types.is_decimal(wanted):
        return wanted
    digits = max((value.adjusted() + 1 + wanted.scale for value in values if value), default=0)
    if digits <= wanted.precision:
        return wanted
    return pa.decimal128(digits, wanted.scale) if digits <= 38 else pa.decimal256(digits, wanted.scale)


def _natural(column: str, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise _misfit(column, pa.null(), values, "values of one list must be of one type") from error


def _is_nan(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or (isinstance(value, Decimal) and value.is_nan())


def _unknown(column: str, names: Sequence[str]) -> InvalidInputError:
    return UnknownColumnError(f"there is no column {column_text(column)} ({name_hint(column, names)})", column=column)


def _misfit(column: str, wanted: pa.DataType, values: Sequence[Any], reason: str) -> InvalidInputError:
    shown = ", ".join(f"{literal_text(value)} ({type(value).__name__})" for value in values[:3])
    more = f" and {len(values) - 3} more values" if len(values) > 3 else ""
    return PredicateTypeError(
        f"column {column_text(column)} of type {wanted} cannot be compared with {shown}{more}"
        + (f": {reason}" if reason else ""),
        column=column,
    )
