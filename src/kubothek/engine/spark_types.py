"""Which Spark type stands for which type of record, in both directions.

============================  ========================  ==========================================
type of record                Spark type                between Spark and the task
============================  ========================  ==========================================
int64                         BIGINT
uint64                        DECIMAL(20, 0)            cast, as Spark has no unsigned integers
double, bool                  DOUBLE, BOOLEAN
string, binary                STRING, BINARY
date32                        DATE
timestamp[us]                 TIMESTAMP_NTZ
timestamp[us, UTC]            TIMESTAMP                 the instant; the session zone only shows it
time64[us]                    STRING                    ``HH:MM:SS.ffffff``, as mapInArrow has no times
decimal128(p, s)              DECIMAL(p, s)
null                          VOID
list<T>, struct<...>          ARRAY<T>, STRUCT<...>     the same rules inside
dictionary<int32, T>          as T                      plain values, as Spark has no dictionaries
============================  ========================  ==========================================

Towards the format, BYTE, SHORT and INT widen to int64, FLOAT to double, CHAR and VARCHAR to string, TIME to
time64[us]. Where a dataset has uint64 and times already, it takes them back as they were shown (:func:`as_recorded`).
Maps, intervals, variants and user-defined types have no place in it.

What Spark has no type for (decimals beyond 38 digits) and what the format has none for is refused with the names of
all such columns. This module can be imported without PySpark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from kubothek.codec.conform import conform_column
from kubothek.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema that stands for a schema of record.

    Raises
    ------
    SchemaError
        Spark has no type for some columns; all of them are named.
    """
    from pyspark.sql.types import StructType

    found, problems = StructType(), {}
    for field in schema:
        try:
            found.add(field.name, spark_type(field.type), True)
        except SchemaError as error:
            problems[field.name] = str(error)
    if problems:
        raise _unfit("cannot be read by Spark; read them in-process or leave them out", problems)
    return found


def spark_type(kind: pa.DataType) -> DataType:
    """Return the Spark type that stands for a type of record."""
    from pyspark.sql import types as sql

    flat: dict[pa.DataType, DataType] = {
        pa.int64(): sql.LongType(),
        pa.uint64(): sql.DecimalType(20, 0),
        pa.float64(): sql.DoubleType(),
        pa.bool_(): sql.BooleanType(),
        pa.string(): sql.StringType(),
        pa.binary(): sql.BinaryType(),
        pa.date32(): sql.DateType(),
        pa.timestamp("us"): sql.TimestampNTZType(),
        pa.timestamp("us", "UTC"): sql.TimestampType(),
        pa.time64("us"): sql.StringType(),
        pa.null(): sql.NullType(),
    }
    if kind in flat:
        return flat[kind]
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return sql.DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return sql.ArrayType(spark_type(kind.value_type), True)
    if pa.types.is_struct(kind):
        return sql.StructType([sql.StructField(field.name, spark_type(field.type), True) for field in kind])
    raise SchemaError(f"Spark has no type for {kind}")


def task_schema(schema: pa.Schema) -> pa.Schema:
    """Return the Arrow schema in which a task gives columns to Spark."""
    return pa.schema([pa.field(field.name, _task_type(field.type)) for field in schema])


def _task_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _task_type(kind.value_type)
    if kind == pa.uint64():
        return pa.decimal128(20, 0)
    if pa.types.is_time(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_task_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _task_type(field.type)) for field in kind])
    return kind


def to_wire(table: pa.Table, wire: pa.Schema) -> pa.Table:
    """Cast rows to the Arrow types in which Spark takes them, column by column."""
    if table.schema.equals(wire):
        return table
    return pa.Table.from_arrays(
        [conform_column(column, field.type) for column, field in zip(table.columns, wire, strict=True)], schema=wire
    )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow types that stand for a Spark schema, not yet normalised.

    Raises
    ------
    SchemaError
        Columns have types that the format cannot hold; all of them are named.
    """
    fields, problems = [], {}
    for field in schema.fields:
        try:
            fields.append(pa.field(field.name, _arrow_type(field.dataType)))
        except SchemaError as error:
            problems[field.name] = str(error)
    if problems:
        raise _unfit("of the DataFrame cannot be stored", problems)
    return pa.schema(fields)


def as_recorded(schema: pa.Schema, record: pa.Schema) -> pa.Schema:
    """Return the types that columns from Spark have where a dataset has columns which Spark shows with these types.

    So what was read is taken back: uint64 as DECIMAL(20, 0), also inside lists and structs, and columns of time64 as
    STRING; inside lists and structs Spark's TIME must be given.

    Parameters
    ----------
    schema
        Arrow types of the columns of a DataFrame.
    record
        The schema of record of the dataset that they are for.

    Examples
    --------
    >>> as_recorded(pa.schema({"x": pa.decimal128(20, 0), "v": pa.int8()}), pa.schema({"x": pa.uint64()})).types
    [DataType(uint64), DataType(int8)]
    """
    known = {field.name: field.type for field in record}
    times = {name for name, kind in known.items() if pa.types.is_time(kind)}
    found = {f.name: _as_recorded(f.type, known.get(f.name, f.type)) for f in schema}
    texts = {name for name, kind in found.items() if kind == pa.string()}
    return pa.schema([pa.field(f.name, (known if f.name in times & texts else found)[f.name]) for f in schema])


def _as_recorded(kind: pa.DataType, record: pa.DataType) -> pa.DataType:
    if record == pa.uint64() and kind == _task_type(record):
        return record
    if pa.types.is_list(kind) and pa.types.is_list(record):
        return pa.list_(_as_recorded(kind.value_type, record.value_type))
    if pa.types.is_struct(kind) and pa.types.is_struct(record):
        known = {field.name: field.type for field in record}
        return pa.struct([pa.field(f.name, _as_recorded(f.type, known.get(f.name, f.type))) for f in kind])
    return kind


def _arrow_type(kind: DataType) -> pa.DataType:
    from pyspark.sql import types as sql

    if isinstance(kind, sql.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, sql.ArrayType):
        return pa.list_(_arrow_type(kind.elementType))
    if isinstance(kind, sql.StructType) and kind.fields:
        return pa.struct([pa.field(field.name, _arrow_type(field.dataType)) for field in kind.fields])
    flat: dict[str, pa.DataType] = {
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }
    name = kind.simpleString()
    if name in flat:
        return flat[name]
    if name.startswith(("string", "char", "varchar")):
        return pa.string()
    if name.startswith("time("):
        return pa.time64("us")
    advice = next((advice for begin, advice in _ADVICE.items() if name.startswith(begin)), "store its parts")
    raise SchemaError(f"the format has no type for Spark's {name}; {advice}")


_ADVICE = {
    "map": "store map_entries(column), an array of structs",
    "interval": "store it as a number with the unit in the column's name",
    "variant": "store to_json(column)",
    "geo": "store st_asbinary(column)",
    "udt": "store its parts as columns or as a struct",
    "struct": "leave it out",
}


def _unfit(what: str, problems: Mapping[str, str]) -> SchemaError:
    told = "\n".join(f"- {name!r}: {problem}" for name, problem in problems.items())
    return SchemaError(f"These columns {what}:\n{told}", columns=tuple(problems))
