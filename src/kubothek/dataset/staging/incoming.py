"""What users may hand over as rows, parsed once at the door: Spark DataFrames, or a sequence of Arrow tables.

Accepted are Spark DataFrames (classic and Connect), everything that exports an Arrow stream (PyArrow, Polars, DuckDB),
pandas DataFrames (their index is dropped), and iterables of the latter two, each element a *frame* of its own. What is
a stream and not in memory yet (a reader, a PyArrow dataset, a scan) is cut into frames of so many bytes, so that more
rows than memory holds can be written. Rows of several tables come as a mapping from table to frame, or as an iterable
of such mappings, each a *part* of its own. Frames and parts are taken one by one, and nothing here keeps one when the
next is taken: that is why they pass through ``map``, as a generator or ``enumerate`` would hold on to its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Any

import pyarrow as pa

from kubothek.codec.keys import check_table
from kubothek.dataset.staging.pandas_rows import table_from_pandas
from kubothek.engine.lazy import LazyRows
from kubothek.engine.spark import is_spark
from kubothek.engine.writing import BUCKET
from kubothek.errors import InvalidInputError, SchemaError

FRAME_BYTES = 128 * 2**20
"""Bytes of Arrow memory from which on the rows of a stream are written, and the next ones are a frame of their own."""


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows of one table that Spark tasks write."""

    frame: Any


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows of one table that this process writes, frame by frame; the iterator can be consumed once."""

    frames: Iterator[pa.Table]


@dataclass(frozen=True, slots=True)
class SparkTables:
    """Rows of each table that Spark tasks write."""

    frames: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ArrowTables:
    """Rows of the named tables that this process writes, part by part; the iterator can be consumed once."""

    tables: tuple[str, ...]
    parts: Iterator[Mapping[str, pa.Table]]


Rows = SparkRows | ArrowRows
Tables = SparkTables | ArrowTables


def parse_data(data: Any, subject: str) -> Rows | Tables:
    """Return data for a dataset: rows of the one table that it is for, or of the tables that it names itself.

    The first element of an iterable is taken to see which of both it is.

    Raises
    ------
    InvalidInputError, SchemaError
        As :func:`parse_rows` does; or tables are named that cannot be, or not the same in each part.
    """
    if isinstance(data, Mapping):
        return _parse_mapping(data, subject)
    if is_spark(data) or _is_frame(data) or isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        return parse_rows(data, subject)
    elements = iter(data)
    first = list(islice(elements, 1))
    if not first or not isinstance(first[0], Mapping):
        return parse_rows(_put_back(first, elements), subject)
    tables = _table_names(first[0], subject)
    return ArrowTables(tables, map(partial(_part, subject, tables), count(), _put_back(first, elements)))


def _put_back(first: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    """Yield what was taken already and then the rest; ``chain`` would keep the first one alive."""
    while first:
        yield first.pop(0)
    yield from rest


def as_tables(rows: Rows, table: str) -> Tables:
    """Return the rows of one table as those of a dataset with this table alone."""
    if isinstance(rows, SparkRows):
        return SparkTables({table: rows.frame})
    return ArrowTables((table,), map(partial(_named, table), rows.frames))


def _named(table: str, frame: pa.Table) -> dict[str, pa.Table]:
    return {table: frame}


def _parse_mapping(data: Mapping[str, Any], subject: str) -> Tables:
    tables = _table_names(data, subject)
    on_spark = [table for table in tables if is_spark(data[table])]
    if not on_spark:
        return ArrowTables(tables, map(partial(_part, subject, tables), count(), [data]))
    if len(on_spark) < len(tables):
        raise InvalidInputError(
            f"The data for {subject} is a Spark DataFrame for {', '.join(on_spark)} only. Give all tables as Spark "
            "DataFrames, or none."
        )
    for table in tables:
        _check_names(data[table].columns, f"table {table!r} of {subject}")
    return SparkTables(dict(data))


def _table_names(part: Mapping[str, Any], subject: str) -> tuple[str, ...]:
    if not part:
        raise InvalidInputError(f"The data for {subject} is an empty mapping; it must map each table to its rows.")
    for table in part:
        check_table(table)
    return tuple(part)


def _part(subject: str, tables: tuple[str, ...], number: int, part: Any) -> dict[str, pa.Table]:
    """Convert one mapping of an iterable."""
    if not isinstance(part, Mapping) or set(part) != set(tables):
        found = f"for {', '.join(map(str, part))}" if isinstance(part, Mapping) else f"a {_kind(part)}"
        raise InvalidInputError(
            f"Element {number} of the data for {subject} is {found}; each must be a mapping with the tables "
            f"{', '.join(tables)}."
        )
    for table in tables:
        if not _is_frame(part[table]):
            raise InvalidInputError(
                f"The data for table {table!r} of {subject} is a {_kind(part[table])}. Give an Arrow, Polars or "
                "pandas DataFrame, such as pa.table({column: values}); a mapping is taken for one of tables to their "
                "rows. Several parts are an iterable of mappings, Spark DataFrames one mapping."
            )
    return {table: _to_table(part[table], f"table {table!r} of {subject}") for table in tables}


def parse_rows(data: Any, subject: str) -> Rows:
    """Return the rows of one table in one of the two shapes that can be written.

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
    if _is_stream(data):
        return ArrowRows(_cut(*_batches(data, subject)))
    if _is_frame(data):
        return ArrowRows(iter([_to_table(data, subject)]))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        return ArrowRows(map(partial(_frame, subject), count(), data))
    raise InvalidInputError(
        f"The data for {subject} is a {_kind(data)}. Give a Spark, Arrow, Polars or pandas DataFrame, a PyArrow "
        "dataset, anything else that exports an Arrow stream, or an iterable of these."
    )


def _frame(subject: str, number: int, frame: Any) -> pa.Table:
    """Convert one element of an iterable."""
    if not _is_frame(frame):
        raise InvalidInputError(
            f"Element {number} of the data for {subject} is a {_kind(frame)}; each must be an Arrow, Polars or "
            "pandas DataFrame."
        )
    return _to_table(frame, subject)


def _kind(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}"


def _is_frame(data: Any) -> bool:
    """Tell what can be taken into memory; a Spark DataFrame exports a stream too, which would collect it."""
    if is_spark(data):
        return False
    arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return arrow or _is_pandas(data) or _is_arrow_dataset(data)


def _is_stream(data: Any) -> bool:
    """Tell what gives its rows piece by piece; what is in memory already is one frame."""
    if isinstance(data, pa.Table | pa.RecordBatch) or _library(data) in ("polars", "pandas") or is_spark(data):
        return False
    return hasattr(data, "__arrow_c_stream__") or _is_arrow_dataset(data)


def _is_arrow_dataset(data: Any) -> bool:
    """Tell a dataset or a scanner of PyArrow, whose module need not be imported for that."""
    return _library(data) == "pyarrow" and hasattr(data, "count_rows") and hasattr(data, "to_table")


def _batches(data: Any, subject: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema and the rows of a stream, of which nothing is read yet.

    Raises
    ------
    SchemaError
        It is no stream of rows, or its column names are not distinct.
    """
    if isinstance(data, LazyRows):  # whose errors would be lost on the way through a stream of another's
        schema, rows = data.schema, data.batches()
    else:
        schema, rows = _open_stream(data, subject)
    _check_names(schema.names, subject)
    return schema, rows


def _open_stream(data: Any, subject: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    try:
        if _is_arrow_dataset(data):
            # By default Arrow reads as far ahead as eight times what is written at once.
            ahead = {"fragment_readahead": 1, "batch_readahead": 1}
            reader = (data.scanner(**ahead) if hasattr(data, "scanner") else data).to_reader()
        else:
            reader = pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"The data for {subject} does not export a stream of rows: {error}") from error
    return reader.schema, iter(reader)


def _cut(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of a stream in frames, at least one."""
    held: list[pa.RecordBatch] = []
    frames: list[pa.Table] = []
    size = count = 0
    while (batch := next(batches, None)) is not None:
        held.append(batch)
        size += sum(map(_own_bytes, batch.columns))
        if size >= FRAME_BYTES:
            frames.append(pa.Table.from_batches(held, schema))
            size, count = 0, count + 1
            held.clear()
            del batch
            yield frames.pop()
    if held or not count:
        yield pa.Table.from_batches(held, schema)


def _own_bytes(column: pa.Array) -> int:
    """Return the bytes of a column but for its dictionary, which comes with every batch and is held once."""
    return int((column.indices if pa.types.is_dictionary(column.type) else column).nbytes)


def _is_pandas(data: Any) -> bool:
    return type(data).__name__ == "DataFrame" and _library(data) == "pandas"


def _library(data: Any) -> str:
    """Return the package that an object's class is from; where inside of it changes with versions."""
    return type(data).__module__.partition(".")[0]


def _to_table(data: Any, subject: str) -> pa.Table:
    if _is_pandas(data):
        _check_names(list(data.columns), subject)
        table = table_from_pandas(data, subject)
    else:
        _refuse_python_objects(data, subject)
        try:
            table = data if isinstance(data, pa.Table) else _read(data)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(f"The data for {subject} does not export a stream of rows: {error}") from error
    _check_names(table.column_names, subject)
    return table


def _read(data: Any) -> pa.Table:
    return data.to_table() if _is_arrow_dataset(data) else pa.table(data)


def _refuse_python_objects(data: Any, subject: str) -> None:
    """Refuse columns of Python objects, which Polars exports as bytes: their addresses."""
    dtypes = data.schema if _library(data) == "polars" and isinstance(getattr(data, "schema", None), Mapping) else {}
    wrong = [name for name, dtype in dtypes.items() if "Object" in str(dtype)]
    if wrong:
        raise SchemaError(
            f"The data for {subject} has Python objects in {', '.join(map(repr, wrong))}. Cast them to a type "
            "that holds their values.",
            columns=tuple(wrong),
        )


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
