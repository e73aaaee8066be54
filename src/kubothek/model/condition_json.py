"""Conditions as JSON values and back, for headers, command lines and processes that share no Python.

==================================  ==============================================================
condition                           JSON
==================================  ==============================================================
``x == 1`` (also != < <= > >=)      ``{"column": "x", "op": "==", "value": 1}``
``x in (1, null)``                  ``{"column": "x", "op": "in", "values": [1, null]}``
``x is null``                       ``{"column": "x", "op": "is null"}``
``a & b``, ``a | b``, ``~a``        ``{"and": [a, b]}``, ``{"or": [a, b]}``, ``{"not": a}``
everything, nothing                 ``{"and": []}``, ``{"or": []}``
==================================  ==============================================================

Null, booleans, texts, integers and finite floats are themselves. Other values are objects of one entry that names
the type: ``{"date": "2020-01-31"}``, ``{"timestamp": "2020-01-31T12:00:00"}``, ``{"time": "12:00:00"}``,
``{"decimal": "1.10"}``, ``{"bytes": "<base64>"}``, ``{"float": "nan"}``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, get_args

from kubothek.errors import InvalidInputError
from kubothek.model.condition import And, Comparison, Condition, IsIn, IsNull, Not, Operator, Or
from kubothek.model.literal import python_value, whole_microseconds

_READERS: dict[str, Callable[[str], Any]] = {
    "date": date.fromisoformat,
    "timestamp": lambda text: datetime.fromisoformat(whole_microseconds(text)),
    "time": lambda text: time.fromisoformat(whole_microseconds(text)),
    "decimal": Decimal,
    "float": float,
    "bytes": lambda text: base64.b64decode(text, validate=True),
}


def condition_to_json(condition: Condition) -> Any:
    """Return a condition as a JSON value, to keep it or to send it to a process that shares no Python.

    Parameters
    ----------
    condition
        Any condition.

    Returns
    -------
    Any
        Dicts, lists and scalars, as :func:`json.dumps` takes them. Functions with ``where=`` take it as well.

    Raises
    ------
    InvalidInputError
        If a literal is of a kind that no column can hold.

    Examples
    --------
    >>> from datetime import date
    >>> from kubothek import C, condition_to_json
    >>> condition_to_json(C("DAY") >= date(2020, 1, 31))
    {'column': 'DAY', 'op': '>=', 'value': {'date': '2020-01-31'}}
    """
    match condition:
        case And(parts):
            return {"and": [condition_to_json(part) for part in parts]}
        case Or(parts):
            return {"or": [condition_to_json(part) for part in parts]}
        case Not(part):
            return {"not": condition_to_json(part)}
        case IsNull(column):
            return {"column": column, "op": "is null"}
        case IsIn(column, values):
            return {"column": column, "op": "in", "values": [_value_to_json(value) for value in values]}
        case Comparison(column, op, value):
            return {"column": column, "op": op, "value": _value_to_json(value)}
    raise InvalidInputError(f"{condition!r} is not a condition.")


def condition_from_json(value: Any) -> Condition:
    """Return the condition that :func:`condition_to_json` gave as ``value``.

    Parameters
    ----------
    value
        What :func:`json.loads` makes of the text.

    Returns
    -------
    Condition
        Equal to the one that was written.

    Raises
    ------
    InvalidInputError
        If ``value`` has not that form.

    Examples
    --------
    >>> from kubothek import condition_from_json
    >>> print(condition_from_json({"not": {"column": "TEMP", "op": "in", "values": [1, None]}}))
    ~(TEMP in (1, null))
    """
    match value:
        case {"and": [*parts], **others} if not others:
            return And(tuple(condition_from_json(part) for part in parts))
        case {"or": [*parts], **others} if not others:
            return Or(tuple(condition_from_json(part) for part in parts))
        case {"not": part, **others} if not others:
            return Not(condition_from_json(part))
        case {"column": str(column), "op": "is null", **others} if not others:
            return IsNull(column)
        case {"column": str(column), "op": "in", "values": [*values], **others} if not others:
            return IsIn(column, tuple(_value_from_json(one) for one in values))
        case {"column": str(column), "op": op, "value": one, **others} if not others and op in get_args(Operator):
            return Comparison(column, op, _value_from_json(one))
    raise InvalidInputError(
        f"This JSON is no condition: {value!r}. A condition is an object of 'column', 'op' and 'value', or of one of "
        "'and', 'or' and 'not'."
    )


def _value_to_json(value: Any) -> Any:
    match python_value(value):
        case None | bool() | str() | int() as plain:
            return plain
        case float(number):
            return number if math.isfinite(number) else {"float": repr(number)}
        case bytes(data):
            return {"bytes": base64.b64encode(data).decode()}
        case Decimal() as number:
            return {"decimal": str(number)}
        case datetime() as moment:
            return {"timestamp": moment.isoformat()}
        case date() as day:
            return {"date": day.isoformat()}
        case time() as clock:
            return {"time": clock.isoformat()}
        case other:
            raise InvalidInputError(f"A value of type {type(other).__name__} has no JSON form: {other!r}.")


def _value_from_json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    match value:
        case {**entries} if len(entries) == 1:
            ((kind, text),) = entries.items()
            if kind in _READERS and isinstance(text, str):
                try:
                    return _READERS[kind](text)
                except (ValueError, InvalidOperation) as error:
                    raise InvalidInputError(f"{text!r} is no valid {kind} in a condition: {error}") from error
    raise InvalidInputError(
        f"This JSON is no value of a condition: {value!r}. Besides plain values there are objects of one entry "
        f"{', '.join(_READERS)} with a text."
    )
