"""What Kartothek and Plateau want to know about a table's columns: the ``pandas`` entry of a Parquet file's metadata.

They can read a table without it but not update one. The entry describes an empty data frame with these columns; the
types are named as pandas' own documentation of the entry names them.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from pyarrow import types

PANDAS_KEY = b"pandas"
_PANDAS_VERSION = "1.3.5"
"""The version whose layout the entry has; readers put their own in its place."""

_NAMES = (
    (types.is_null, "empty"),
    (types.is_boolean, "bool"),
    (types.is_int64, "int64"),
    (types.is_uint64, "uint64"),
    (types.is_float64, "float64"),
    (types.is_string, "unicode"),
    (types.is_binary, "bytes"),
    (types.is_date, "date"),
    (types.is_time, "time"),
    (types.is_decimal, "decimal"),
)
_PLAIN = {"bool", "int64", "uint64", "float64"}


def pandas_metadata(schema: pa.Schema) -> bytes:
    """Return the entry for a schema of normalised types."""
    text_index = {"encoding": "UTF-8"}
    return json.dumps(
        {
            "column_indexes": [_column(None, "unicode", "object", text_index)],
            "columns": [_column(f.name, _pandas_type(f.type), _numpy_type(f.type), _details(f.type)) for f in schema],
            "creator": {"library": "pyarrow", "version": pa.__version__},
            "index_columns": [{"kind": "range", "name": None, "start": 0, "step": 1, "stop": 0}],
            "pandas_version": _PANDAS_VERSION,
        },
        sort_keys=True,
    ).encode()


def _column(name: str | None, pandas_type: str, numpy_type: str, metadata: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "field_name": name,
        "metadata": metadata,
        "name": name,
        "numpy_type": numpy_type,
        "pandas_type": pandas_type,
    }


def _pandas_type(t: pa.DataType) -> str:
    if types.is_timestamp(t):
        return "datetime" if t.tz is None else "datetimetz"
    if types.is_list(t):
        return f"list[{_pandas_type(t.value_type)}]"
    return next((name for belongs, name in _NAMES if belongs(t)), "object")


def _numpy_type(t: pa.DataType) -> str:
    if types.is_timestamp(t):
        return "datetime64[ns]"
    name = _pandas_type(t)
    return name if name in _PLAIN else "object"


def _details(t: pa.DataType) -> dict[str, Any] | None:
    if types.is_timestamp(t) and t.tz is not None:
        return {"timezone": t.tz}
    if types.is_decimal(t):
        return {"precision": t.precision, "scale": t.scale}
    return None
