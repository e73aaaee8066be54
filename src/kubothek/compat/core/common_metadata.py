"""Schemas as Kartothek shows them: Arrow's, with a note of where each comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from kubothek.dataset.staging.pandas_rows import table_from_pandas
from kubothek.errors import InvalidInputError
from kubothek.model.schema import merge_schemas, normalise_schema, normalise_type

__all__ = [
    "SchemaWrapper",
    "empty_dataframe_from_schema",
    "make_meta",
    "normalize_column_order",
    "normalize_type",
    "validate_compatible",
]


class SchemaWrapper:
    """An Arrow schema and where it comes from; everything that a schema has can be asked of it.

    Examples
    --------
    >>> SchemaWrapper(pa.schema([("x", pa.int64())]), "a frame").names
    ['x']
    """

    def __init__(self, schema: pa.Schema, origin: str | set[str]) -> None:
        self._schema = schema
        self.origin = {origin} if isinstance(origin, str) else set(origin)

    def internal(self) -> pa.Schema:
        """Return the schema itself."""
        return self._schema

    def with_origin(self, origin: str | set[str]) -> SchemaWrapper:
        """Return the schema with another note of where it comes from."""
        return SchemaWrapper(self._schema, origin)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._schema, name)

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._schema)

    def __getitem__(self, place: int) -> pa.Field:
        return self._schema[place]

    def __eq__(self, other: object) -> bool:
        return bool(self._schema.equals(unwrapped(other))) if isinstance(other, (SchemaWrapper, pa.Schema)) else False

    def __hash__(self) -> int:
        return hash(str(self._schema))

    def __repr__(self) -> str:
        return repr(self._schema)


def unwrapped(schema: Any) -> Any:
    """Return the Arrow schema in a wrapper; anything else as it is."""
    return schema.internal() if isinstance(schema, SchemaWrapper) else schema


def make_meta(obj: Any, origin: str, partition_keys: Sequence[str] | None = None) -> SchemaWrapper:
    """Return the schema of record of a frame or a schema: normalised types, partition columns first, others by name.

    Examples
    --------
    >>> make_meta(pa.schema([("y", pa.int8()), ("x", pa.int64())]), "an example").internal()
    x: int64
    y: int64
    """
    schema = unwrapped(obj)
    if not isinstance(schema, pa.Schema):
        if type(obj).__name__ != "DataFrame":
            raise InvalidInputError(f"A schema is taken from a pandas frame or an Arrow schema, not from {obj!r}.")
        schema = table_from_pandas(obj, origin).schema
    return SchemaWrapper(normalise_schema(schema, tuple(partition_keys or ())), origin)


def normalize_column_order(schema: SchemaWrapper, partition_keys: Sequence[str] | None = None) -> SchemaWrapper:
    """Return the schema with partition columns first, and the others by name."""
    keys = tuple(partition_keys or ())
    rest = sorted(set(schema.names) - set(keys))
    ordered = pa.schema([schema.field(name) for name in (*keys, *rest)], schema.metadata)
    return SchemaWrapper(ordered, schema.origin)


def normalize_type(
    t_pa: pa.DataType, t_pd: str | None, t_np: str | None, metadata: dict[str, Any] | None
) -> tuple[pa.DataType, str | None, str | None, dict[str, Any] | None]:
    """Return the type of record of an Arrow type, and pandas' names of it where they change with it."""
    found = normalise_type(t_pa)
    if found == t_pa:
        return t_pa, t_pd, t_np, metadata
    is_number = pa.types.is_integer(found) or pa.types.is_floating(found)
    name = str(found.to_pandas_dtype().__name__) if is_number else str(found)
    return found, name, name if is_number else "object", None


def validate_compatible(schemas: Iterable[Any], ignore_pandas: bool = False) -> SchemaWrapper:
    """Return the schema that frames of these schemas have together.

    Raises
    ------
    SchemaError
        They do not fit each other.
    """
    del ignore_pandas  # what pandas says of columns is no part of a schema here
    given = list(schemas)
    if not given:
        raise InvalidInputError("There is no schema among none; give one at least.")
    origins = {name for one in given for name in getattr(one, "origin", {"a schema"})}
    merged = unwrapped(given[0])
    for one in given[1:]:
        merged = merge_schemas(merged, unwrapped(one), what=", ".join(sorted(origins)), stored=False)
    return SchemaWrapper(merged, origins)


def empty_dataframe_from_schema(schema: Any, columns: Sequence[str] | None = None, date_as_object: bool = False) -> Any:
    """Return a pandas frame without rows that has the columns and types of a schema."""
    found = unwrapped(schema)
    wanted = found if columns is None else pa.schema([found.field(name) for name in columns])
    return wanted.empty_table().to_pandas(date_as_object=date_as_object, coerce_temporal_nanoseconds=True)
