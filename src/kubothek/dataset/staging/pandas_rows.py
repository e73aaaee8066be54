"""How a pandas DataFrame becomes an Arrow table without any value turning into another one.

Arrow infers the type of a column of Python objects from what it meets first, and lets some others pass as that type:
a moment becomes its day, a text bytes, a time with a zone one without. So the types of such values are looked at here,
inside lists and dictionaries too, and columns that mix what does not go together are refused. All columns that cannot
be stored are named at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any

import pyarrow as pa
from pyarrow import types

from kubothek.errors import SchemaError

_FAILURES = (TypeError, ValueError, OverflowError, pa.ArrowNotImplementedError)


def table_from_pandas(frame: Any, subject: str) -> pa.Table:
    """Return the columns of a pandas DataFrame as an Arrow table; its index is dropped.

    Parameters
    ----------
    frame
        A DataFrame whose column names are distinct texts.
    subject
        What it is for, for messages.

    Raises
    ------
    SchemaError
        Columns hold values that do not have one type; ``columns`` names them.

    Examples
    --------
    >>> import pandas as pd
    >>> table_from_pandas(pd.DataFrame({"TEMP": pd.array([1, None], dtype="Int64")}), "dataset 'weather'")["TEMP"].type
    DataType(int64)
    """
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except _FAILURES as error:
        raise _unfit(dict(_failures(frame)) or {str(name): str(error) for name in frame.columns}, subject) from error
    mixed = {
        field.name: what
        for field in table.schema
        if frame[field.name].dtype == object and (what := _mixture(frame[field.name].array, field.type))
    }
    if mixed:
        raise _unfit(mixed, subject)
    return table


def _failures(frame: Any) -> Iterator[tuple[str, str]]:
    """Convert the columns one by one, to tell which of them fail."""
    for name in frame.columns:
        try:
            pa.Table.from_pandas(frame[[name]], preserve_index=False)
        except _FAILURES as error:
            if any(isinstance(value, Decimal) and value.is_infinite() for value in frame[name].array):
                yield name, "holds an infinite Decimal; decimals are finite"
            else:
                yield name, str(error.args[0]) if isinstance(error, pa.ArrowException) and error.args else str(error)


def _unfit(problems: dict[str, str], subject: str) -> SchemaError:
    return SchemaError(
        f"The data for {subject} has values that do not fit one type:\n"
        + "\n".join(f"- {name!r}: {problem}" for name, problem in problems.items()),
        columns=tuple(problems),
    )


def _mixture(values: Iterable[Any], t: pa.DataType) -> str | None:
    """Say what a column of objects mixes that Arrow took for one type, ``None`` if nothing."""
    if types.is_list(t):
        return _mixture(list(chain.from_iterable(value for value in values if _is_some(value))), t.value_type)
    if types.is_struct(t):
        rows = [value for value in values if isinstance(value, dict)]
        return next((what for f in t if (what := _mixture([row.get(f.name) for row in rows], f.type))), None)
    values = list(values)
    found = set(map(type, values))
    if types.is_binary(t) and _among(found, str):
        return "holds both texts and bytes; encode or decode them"
    if types.is_string(t) and _among(found, bytes):
        return "holds both texts and bytes; encode or decode them"
    if types.is_date(t) and _among(found, datetime):
        return "holds both days and moments; make them one or the other"
    if types.is_timestamp(t) and _among(found, datetime):
        aware = {value.tzinfo is not None for value in values if isinstance(value, datetime) and value == value}
        return "holds times with and without a zone; give all of them a zone, or none" if len(aware) > 1 else None
    if types.is_time(t) and any(isinstance(value, time) and value.tzinfo is not None for value in values):
        return "holds times of day with a zone, which would be lost; convert them to one zone and leave it out"
    return None


def _among(found: Iterable[type], wanted: type) -> bool:
    """Whether one of these types is the wanted one; pandas' marks of missing values are of no type."""
    return any(issubclass(one, wanted) and one.__name__ != "NaTType" for one in found)


def _is_some(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))
