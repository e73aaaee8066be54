"""How a schema of record is stored: as text in the header, and as a Parquet file without data for other readers.

``<uuid>/<table>/_common_metadata`` is the place where Kartothek and Plateau look; the header's own copy is the one that
counts, because one put commits it together with everything else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.pandas_metadata import PANDAS_KEY, pandas_metadata
from kubothek.errors import CorruptDatasetError, SchemaError
from kubothek.model.schema import normalise_type

_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError)
"""What Arrow raises for a schema that it does not understand, or that is too deep. It runs no code that a file brings:
an extension type that this process has not registered is read as the type that it is stored as."""
_PANDAS_INDEX = re.compile(r"__index_level_\d+__\Z")


def decode_schema(data: bytes, key: str) -> pa.Schema:
    """Return the schema of record that a ``_common_metadata`` file holds.

    Types are normalised, whoever wrote them, and columns keep their order. Leftovers of a pandas index are dropped.
    A type that this library would not write is kept as it is.

    Raises
    ------
    CorruptDatasetError
        If it is no Parquet file, or names a column twice; ``key`` is the file's.
    """
    try:
        stored = pq.read_schema(pa.BufferReader(data))
        return _of_record([field for field in stored if not _PANDAS_INDEX.match(field.name)], key)
    except _UNREADABLE as error:
        raise CorruptDatasetError(f"{key!r} is not a Parquet file with a schema: {error}", key=key) from error


def _of_record(stored: Iterable[pa.Field], key: str | None) -> pa.Schema:
    """Return the schema of normalised types; ``UnicodeDecodeError`` for a name that is no UTF-8."""
    fields = [pa.field(field.name, _tolerant(field.type)) for field in stored]
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise CorruptDatasetError(f"{key!r} names a column more than once: {', '.join(names)}.", key=key)
    return pa.schema(fields)


def _tolerant(t: pa.DataType) -> pa.DataType:
    try:
        return normalise_type(t)
    except SchemaError:
        return t


def encode_schema(schema: pa.Schema) -> bytes:
    """Return a ``_common_metadata`` file for a schema of record, which Kartothek and Plateau can read and update.

    Examples
    --------
    >>> schema = pa.schema([("P", pa.string()), ("v1", pa.int64())])
    >>> decode_schema(encode_schema(schema), "d/table/_common_metadata") == schema
    True
    """
    sink = pa.BufferOutputStream()
    described = schema.with_metadata({PANDAS_KEY: pandas_metadata(schema)})
    # As for indices: readers of Kartothek's time know the item of a list by this older name.
    pq.write_metadata(described, sink, coerce_timestamps="us", use_compliant_nested_type=False)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # PyArrow has no types


def schema_to_text(schema: pa.Schema) -> str:
    """Return the schema as base64 of its Arrow IPC form.

    Examples
    --------
    >>> schema = pa.schema([("v1", pa.decimal128(5, 2))])
    >>> schema_from_text(schema_to_text(schema), "d.by-dataset-metadata.json")
    v1: decimal128(5, 2)
    """
    return base64.b64encode(schema.remove_metadata().serialize()).decode()


def schema_from_text(text: str, key: str | None = None) -> pa.Schema:
    """Return the schema that :func:`schema_to_text` wrote.

    Raises
    ------
    CorruptDatasetError
        If it cannot be read; ``key`` names the object that holds it.
    """
    try:
        return _of_record(pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text, validate=True))), key)
    except _UNREADABLE as error:
        raise CorruptDatasetError(
            f"{key or 'A header'!r} holds a schema that cannot be read: {error}.", key=key
        ) from error
