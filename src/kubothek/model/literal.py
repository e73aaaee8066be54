r"""How the values of conditions are written as text, and what a value is in plain Python.

The text forms are those that ``kubothek.model.condition_text`` reads back::

    null  true  false  12  -1.5  1e-10  nan  inf  "text \n \" \u00fc"  b"\x00ab"
    2020-01-31  2020-01-31T12:00:00.5+01:00  12:30:00  decimal"1.10"
"""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

_FINER = re.compile(r"[.,]\d{6}\d*[1-9]")


def python_value(value: Any) -> Any:
    """Return an Arrow, NumPy or pandas scalar as the plain Python value it stands for, anything else as it is.

    ``NaT`` and ``NA`` become ``None``. What plain Python cannot express stays as it is: times with nanoseconds, days
    before the year 1 or after 9999, and spans of time, which NumPy would give as plain numbers.

    Examples
    --------
    >>> python_value(np.datetime64("2020-01-31")), python_value(np.int8(3))
    (datetime.date(2020, 1, 31), 3)
    """
    if isinstance(value, pa.Scalar):
        try:
            return value.as_py()
        except (ValueError, OverflowError):
            return value
    if isinstance(value, np.datetime64):
        return _moment(value)
    if isinstance(value, np.timedelta64):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if type(value).__module__.partition(".")[0] == "pandas":
        if type(value).__name__ in ("NaTType", "NAType"):
            return None
        if isinstance(value, datetime) and not getattr(value, "nanosecond", 0):
            return value.to_pydatetime()  # type: ignore[attr-defined]  # a pandas Timestamp
    return value


def _moment(value: np.datetime64) -> Any:
    if np.isnat(value):
        return None
    unit = "D" if np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D") else "us"
    coarse = value.astype(f"datetime64[{unit}]")
    moment = coarse.item()
    return moment if coarse == value and isinstance(moment, date) else value


def whole_microseconds(text: str) -> str:
    """Return an ISO text of a time as it is; Python would silently cut off what is finer than a microsecond.

    Raises
    ------
    ValueError
        The time has a fraction of a microsecond.

    Examples
    --------
    >>> whole_microseconds("12:00:00.250000000")
    '12:00:00.250000000'
    """
    if _FINER.search(text):
        raise ValueError("times are kept in microseconds, and it is finer")
    return text


def literal_text(value: Any) -> str:
    """Return the text form of a value.

    Examples
    --------
    >>> literal_text("DE"), literal_text(date(2020, 1, 31)), literal_text(Decimal("1.10"))
    ('"DE"', '2020-01-31', 'decimal"1.10"')
    """
    match python_value(value):
        case None:
            return "null"
        case bool(flag):
            return "true" if flag else "false"
        case str(text):
            # Half a surrogate pair cannot be printed; its escape can.
            return json.dumps(text, ensure_ascii=False).encode(errors="backslashreplace").decode()
        case bytes(data):
            return 'b"' + "".join(_byte_text(byte) for byte in data) + '"'
        case float(number) if math.isnan(number):
            return "nan"
        case int() | float() as number:
            return repr(number)
        case Decimal() as number:
            return f'decimal"{number}"'
        case datetime() | date() | time() as moment:
            return moment.isoformat()
        case pa.Scalar() as distant:
            return str(distant.cast(pa.string()))
        case other:
            return repr(other)


def _byte_text(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
