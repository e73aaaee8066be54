"""Turn a literal into a value of a column's type, if nothing is lost by it.

Lossless means that the value still says what was written: ``1`` for a float column, ``1.0`` for an integer column, a
date for a timestamp column (its midnight), an ISO text for dates and times. Truth values are no numbers, texts are no
bytes, and times with and without a zone do not mix, because any choice between them would be a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
from pyarrow import types

from kubothek.model.literal import literal_text, whole_microseconds

_SEVERAL = (list, tuple, set, frozenset)
_DECIMAL_DIGITS = 76  # of the widest decimal that Arrow has


class UnfitError(Exception):
    """The type cannot hold the value; the message says why, or is empty where that is plain."""


def convert(value: Any, wanted: pa.DataType) -> Any:
    """Return ``value``, neither null nor NaN, as the plain Python value that ``wanted`` holds.

    Raises
    ------
    UnfitError
        If ``wanted`` cannot hold it without loss.

    Examples
    --------
    >>> convert(3.0, pa.int64()), convert("2020-01-31", pa.date32())
    (3, datetime.date(2020, 1, 31))
    """
    for belongs, to_type in _CONVERTERS:
        if belongs(wanted):
            try:
                converted = to_type(value, wanted)
            except OverflowError:
                raise UnfitError("it is too large") from None
            if converted is None:
                raise UnfitError("isin, or in, asks for one of several" if isinstance(value, _SEVERAL) else "")
            return converted
    raise UnfitError("such a column can only be tested for null")


def _to_bool(value: Any, _: pa.DataType) -> Any:
    return value if isinstance(value, bool) else None


def _to_int(value: Any, wanted: pa.DataType) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    bits = wanted.bit_width
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if types.is_signed_integer(wanted) else (0, 2**bits - 1)
    if not low <= value <= high:
        raise UnfitError(f"it is not between {low} and {high}")
    if value != int(value):
        raise UnfitError("it is no whole number; compare with the next one")
    return int(value)


def _to_float(value: Any, _: pa.DataType) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    number = float(value)
    written = number if isinstance(value, int) else Decimal(repr(number))
    if not isinstance(value, float) and written != value:
        raise UnfitError(f"the nearest float is {number!r}")
    return number


def _to_decimal(value: Any, wanted: pa.DataType) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or number.adjusted() + 1 + wanted.scale > _DECIMAL_DIGITS:
        raise UnfitError("it is too large")
    with localcontext(prec=_DECIMAL_DIGITS):
        scaled = number.quantize(Decimal(1).scaleb(-wanted.scale))
        if scaled != number:
            raise UnfitError(f"it has more than {wanted.scale} digits after the point")
    return scaled


def _to_text(value: Any, _: pa.DataType) -> Any:
    if isinstance(value, bytes):
        raise UnfitError("bytes are no text; decode them")
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnfitError("it is no valid Unicode text") from None
    return value


def _to_bytes(value: Any, _: pa.DataType) -> Any:
    if isinstance(value, str):
        raise UnfitError('a text is no bytes; encode it, or write b"..."')
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else None


def _to_date(value: Any, wanted: pa.DataType) -> Any:
    if isinstance(value, str):
        return _to_date(_parsed(datetime.fromisoformat, value, "date"), wanted)
    if isinstance(value, datetime):
        if value.tzinfo is not None or value.time() != time() or getattr(value, "nanosecond", None):
            raise UnfitError("it is no whole day; compare with a date")
        return value.date()
    return value if isinstance(value, date) else None


def _to_timestamp(value: Any, wanted: pa.DataType) -> Any:
    if isinstance(value, str):
        return _to_timestamp(_parsed(datetime.fromisoformat, value, "time"), wanted)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        return None
    if getattr(value, "nanosecond", 0):
        raise UnfitError("times are kept in microseconds, and it has nanoseconds")
    if wanted.tz is not None and value.tzinfo is None:
        raise UnfitError("the column holds moments in UTC; give a zone, as in 2020-01-31T12:00:00+00:00")
    if wanted.tz is None and value.tzinfo is not None:
        raise UnfitError("the column holds times without a zone; leave the zone out")
    return value if wanted.tz is None else value.astimezone(UTC)


def _to_time(value: Any, wanted: pa.DataType) -> Any:
    if isinstance(value, str):
        return _to_time(_parsed(time.fromisoformat, value, "time of day"), wanted)
    if isinstance(value, time) and value.tzinfo is not None:
        raise UnfitError("the column holds times without a zone; leave the zone out")
    return value if isinstance(value, time) else None


def _parsed(parse: Callable[[str], Any], text: str, what: str) -> Any:
    try:
        whole_microseconds(text)
    except ValueError as error:
        raise UnfitError(str(error)) from None
    try:
        return parse(text)
    except ValueError:
        raise UnfitError(f"{literal_text(text)} is no {what} in ISO form") from None


_CONVERTERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], Any]], ...] = (
    (types.is_boolean, _to_bool),
    (types.is_integer, _to_int),
    (types.is_floating, _to_float),
    (types.is_decimal, _to_decimal),
    (types.is_string, _to_text),
    (types.is_binary, _to_bytes),
    (types.is_date, _to_date),
    (types.is_timestamp, _to_timestamp),
    (types.is_time, _to_time),
)
