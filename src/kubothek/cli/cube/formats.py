"""How rows are written for programs: as CSV, JSON or Parquet, piece by piece while they are read.

========  ==============================================================================================
format    what it is
========  ==============================================================================================
csv       UTF-8, a line of names first; null is an empty field, the empty text is ``""``; nested values
          and bytes are JSON texts
json      one array with an object per row, each on a line of its own; times are ISO texts, decimals are
          texts, bytes are base64; NaN and infinity are null, as JSON has none
parquet   the types as they are
========  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO

import click
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv
from pyarrow import types

from kubothek.errors import KubothekError

Writer = Callable[[pa.Schema, Iterable[pa.Table], IO[bytes]], int]
"""Writes tables of one schema to a binary file, and returns how many rows that were."""

_NO_CSV = (types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_duration)
_JSON_ROWS = 10_000
"""Rows that become Python objects at a time."""


def write_csv(schema: pa.Schema, tables: Iterable[pa.Table], file: IO[bytes]) -> int:
    """Write rows as CSV; see the module."""
    text = pa.schema([pa.field(f.name, pa.string() if _is_no_csv(f.type) else f.type) for f in schema])
    rows = 0
    with arrow_csv.CSVWriter(file, text) as writer:
        for table in tables:
            columns = [_json_texts(column) if _is_no_csv(column.type) else column for column in table.columns]
            writer.write_table(pa.Table.from_arrays(columns, schema=text))
            rows += table.num_rows
    return rows


def write_json(_: pa.Schema, tables: Iterable[pa.Table], file: IO[bytes]) -> int:
    """Write rows as one JSON array; see the module."""
    rows, encoder = 0, msgspec.json.Encoder()
    file.write(b"[")
    for table in tables:
        for batch in table.to_batches(max_chunksize=_JSON_ROWS):
            lines = encoder.encode_lines(batch.to_pylist()).rstrip(b"\n")  # a line end within a text is escaped
            file.write((b",\n" if rows else b"\n") + lines.replace(b"\n", b",\n"))
            rows += batch.num_rows
    file.write(b"\n]\n" if rows else b"]\n")
    return rows


def write_parquet(schema: pa.Schema, tables: Iterable[pa.Table], file: IO[bytes]) -> int:
    """Write rows as Parquet, a row group per piece."""
    rows = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
            rows += table.num_rows
    return rows


WRITERS: dict[str, Writer] = {"csv": write_csv, "json": write_json, "parquet": write_parquet}


def format_of(path: str) -> str:
    """Return the format that the end of a file's name says.

    Raises
    ------
    click.UsageError
        It says none.

    Examples
    --------
    >>> format_of("cold days.csv")
    'csv'
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in WRITERS:
        raise click.UsageError(f"{path!r} does not say its format; end it in .csv, .json or .parquet, or say --format.")
    return suffix


@contextmanager
def new_file(path: str) -> Iterator[IO[bytes]]:
    """Write a file that takes its place when it is complete, and none if writing it fails.

    A link stays one: the file that it names is replaced. What is no file, such as a pipe or a device, is written to.

    Raises
    ------
    click.ClickException
        The file cannot be written.
    """
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            with place.open("wb") as file:
                yield file
            return
        with _complete(place.resolve()) as file:
            yield file
    except KubothekError:  # of the store that is read, and perhaps an OSError too
        raise
    except OSError as error:
        raise click.ClickException(f"Cannot write {path!r}: {error.strerror or error}.") from error


@contextmanager
def _complete(place: Path) -> Iterator[IO[bytes]]:
    # A name that nobody can foresee, and that is new: no link lies in wait there, and no two commands share it.
    partial = place.with_name(f".kubothek-{token_hex(8)}")
    try:
        with partial.open("xb") as file:
            yield file
        if place.exists():
            partial.chmod(place.stat().st_mode)
        partial.replace(place)
    finally:
        partial.unlink(missing_ok=True)


def _is_no_csv(kind: pa.DataType) -> bool:
    return any(belongs(kind) for belongs in _NO_CSV)


def _json_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = [None if value is None else msgspec.json.encode(value).decode() for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])
