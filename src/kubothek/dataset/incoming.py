"""What users may hand over as rows, parsed once at the door: a Spark DataFrame, or a sequence of Arrow tables.

Accepted are Spark DataFrames (classic and Connect), everything that exports an Arrow stream (PyArrow, Polars, DuckDB),
pandas DataFrames (their index is dropped), and iterables of the latter two, each element a *frame* of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kubothek.engine.spark import is_spark
from kubothek.engine.writing import BUCKET
from kubothek.errors import InvalidInputError, SchemaError


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows that Spark tasks write."""

    frame: Any


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows that this process writes, frame by frame; the iterator can be consumed once."""

    frames: Iterator[pa.Table]


Rows = SparkRows | ArrowRows


def parse_rows(data: Any, subject: str) -> Rows:
    """Return data in one of the two shapes that can be written.

    Parameters
    ----------
    data
        What the user gave.
    subject
        What it is for, for messages.

    Raises
    ------
    InvalidInputError
        It is none of the accepted kinds.
    SchemaError
        Its column names are not distinct strings.
    """
    if is_spark(data):
        _check_names(data.columns, subject)
        return SparkRows(data)
    if _is_frame(data):
        return ArrowRows(iter([_to_table(data, subject)]))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        return ArrowRows(_tables(data, subject))
    raise InvalidInputError(
        f"The data for {subject} is a {type(data).__module__}.{type(data).__qualname__}. Give a Spark, Arrow, Polars "
        "or pandas DataFrame, anything else that exports an Arrow stream, or an iterable of these."
    )


def _is_frame(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__") or _is_pandas(data)


def _is_pandas(data: Any) -> bool:
    return type(data).__name__ == "DataFrame" and type(data).__module__.startswith("pandas.")


def _tables(data: Iterable[Any], subject: str) -> Iterator[pa.Table]:
    for number, frame in enumerate(data):
        if not _is_frame(frame):
            raise InvalidInputError(
                f"Element {number} of the data for {subject} is a {type(frame).__module__}.{type(frame).__qualname__}; "
                "each must be an Arrow, Polars or pandas DataFrame."
            )
        yield _to_table(frame, subject)


def _to_table(data: Any, subject: str) -> pa.Table:
    if _is_pandas(data):
        _check_names(list(data.columns), subject)
        try:
            table = pa.Table.from_pandas(data, preserve_index=False)
        except (TypeError, ValueError, OverflowError, pa.ArrowNotImplementedError) as error:
            raise SchemaError(f"The data for {subject} has values that do not fit one type: {error}") from error
    else:
        try:
            table = data if isinstance(data, pa.Table) else pa.table(data)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(f"The data for {subject} does not export a stream of rows: {error}") from error
    _check_names(table.column_names, subject)
    return table


def _check_names(names: list[Any], subject: str) -> None:
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise SchemaError(
            f"Column names of the data for {subject} must be strings, but there is {wrong[0]!r} "
            f"({type(wrong[0]).__name__}). Rename it.",
            columns=tuple(wrong),
        )
    if BUCKET in names:
        raise SchemaError(
            f"Column {BUCKET!r} of the data for {subject} has a name that is used while rows are written. Rename it.",
            columns=(BUCKET,),
        )
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise SchemaError(
            f"The data for {subject} has more than one column named {', '.join(doubled)}.", columns=tuple(doubled)
        )
