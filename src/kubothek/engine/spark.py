"""Runs read and write tasks on Spark, and says which Spark type stands for which type of record.

A read plan is cut into a few tasks per core (a Python task costs about 25 ms whatever it does); each row of a small
``spark.range`` is one task, and ``mapInArrow`` runs it, so nothing is shuffled and nothing passes the driver. A write
is sorted by Spark (it spills) and streamed through the write task; what comes back is one descriptor per file.

============================  ========================  ==========================================
type of record                Spark type                between Spark and the task
============================  ========================  ==========================================
int64                         BIGINT
uint64                        DECIMAL(20, 0)            cast, as Spark has no unsigned integers
double, bool                  DOUBLE, BOOLEAN
string, binary                STRING, BINARY            dictionaries become plain values
date32                        DATE
timestamp[us]                 TIMESTAMP_NTZ
timestamp[us, UTC]            TIMESTAMP                 the instant; the session zone only shows it
time64[us]                    STRING                    ``HH:MM:SS.ffffff``, as mapInArrow has no times
decimal128(p, s)              DECIMAL(p, s)
null                          VOID
list<T>, struct<...>          ARRAY<T>, STRUCT<...>     the same rules inside
============================  ========================  ==========================================

Towards the format, BYTE, SHORT and INT widen to int64, FLOAT to double, CHAR and VARCHAR to string, TIME to
time64[us]. Maps, intervals, variants and user-defined types have no place in it.

This module can be imported without PySpark; the session always comes from the caller.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.engine.reading import UnitReader
from kubothek.engine.writing import BUCKET, WriteTask, check_cells, write_files
from kubothek.errors import KubothekError, SchemaError
from kubothek.model.read_plan import ReadPlan
from kubothek.model.staged import StagedPartition
from kubothek.plan.tasks import cut_plan, unit_bytes
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

ROWS_PER_BATCH = 131_072
_TASKS_PER_CORE = 4
_BYTES_PER_TASK = 256 * 2**20
_ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"

Batches = Iterator[pa.RecordBatch]


def is_spark(data: object) -> bool:
    """Tell whether data is a Spark DataFrame, classic or Connect, without importing Spark."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def read_units(spark: SparkSession, store: Store, plan: ReadPlan) -> DataFrame:
    """Return the rows of a plan as a lazy DataFrame; each unit is read by the task that needs it."""
    schema = spark_schema(plan.schema)
    wire = task_schema(plan.schema)
    wanted = max(_TASKS_PER_CORE * _cores(spark), int(unit_bytes(plan).sum()) // _BYTES_PER_TASK)
    pieces = [pickle.dumps(piece) for piece in cut_plan(plan, wanted)]
    place = pickle.dumps(store)

    def run(numbers: Batches) -> Batches:
        _one_thread()
        for number in _numbers(numbers):
            piece = pickle.loads(pieces[number])  # noqa: S301  made by this process's driver
            reader = UnitReader(pickle.loads(place), piece)  # noqa: S301
            for position in range(piece.units.num_rows):
                table = to_wire(reader.read(position), wire)
                yield from table.combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)

    if not pieces:
        return spark.createDataFrame([], schema)
    return spark.range(0, len(pieces), 1, len(pieces)).mapInArrow(run, schema)


def read_files(spark: SparkSession, root: str, paths: Sequence[str], schema: pa.Schema) -> DataFrame:
    """Return the rows of chosen Parquet files below a directory through Spark's own reader.

    Partition columns are read from the paths by Spark, with the types of ``schema``.
    """
    if not paths:
        return spark.createDataFrame([], spark_schema(schema))
    before = spark.conf.get(_LISTING, None)
    spark.conf.set(_LISTING, str(max(len(paths) + 1, 32)))
    try:
        frame = spark.read.schema(spark_schema(schema)).option("basePath", root).parquet(*paths)
    finally:
        _restore(spark, _LISTING, before)
    return frame.select(*map(_quoted, schema.names))


def write_rows(
    frame: DataFrame,
    store: Store,
    task: WriteTask,
    *,
    sort_by: Sequence[str] = (),
    shuffle: bool = False,
    bucket_by: Sequence[str] = (),
    num_buckets: int | None = None,
) -> tuple[StagedPartition, ...]:
    """Stage the rows of a DataFrame as files and return their descriptors; runs one Spark job at once.

    Raises
    ------
    NullValueError, DuplicateCellsError, SchemaError
        As the write task found.
    """
    from pyspark.sql import functions as sql

    rows = frame.select(*map(_quoted, task.schema.names))
    cut_at = [*task.partition_on]
    if shuffle:
        if bucket_by and num_buckets:
            bucket = sql.pmod(sql.hash(*map(_quoted, bucket_by)), sql.lit(num_buckets))
            rows = rows.withColumn(BUCKET, bucket.cast("bigint"))
            cut_at.append(BUCKET)
        rows = rows.repartition(*map(_quoted, cut_at)) if cut_at else rows.repartition(1)
    if cut_at or sort_by:
        rows = rows.sortWithinPartitions(*map(_quoted, [*cut_at, *sort_by]))
    place = pickle.dumps(store)

    def run(batches: Batches) -> Batches:
        _one_thread()
        return _descriptors(write_files(pickle.loads(place), task, batches))  # noqa: S301

    spark = frame.sparkSession
    before = spark.conf.get(_ARROW_ROWS, None)
    spark.conf.set(_ARROW_ROWS, str(ROWS_PER_BATCH))
    try:
        return _collect(rows.mapInArrow(run, "descriptor binary"))
    finally:
        _restore(spark, _ARROW_ROWS, before)


def check_partitions(
    spark: SparkSession, store: Store, task: WriteTask, groups: Sequence[Sequence[StagedPartition]]
) -> None:
    """Refuse cells that occur in two staged files of one group; each group is read by one task.

    Raises
    ------
    DuplicateCellsError
        Some do.
    """
    if not groups:
        return
    place = pickle.dumps(store)
    payloads = [pickle.dumps(group) for group in groups]

    def check(number: int) -> Iterator[StagedPartition]:
        check_cells(pickle.loads(place), task, pickle.loads(payloads[number]))  # noqa: S301
        yield from ()

    def run(numbers: Batches) -> Batches:
        _one_thread()
        for number in _numbers(numbers):
            yield from _descriptors(check(number))

    tasks = min(len(payloads), _TASKS_PER_CORE * _cores(spark))
    _collect(spark.range(0, len(payloads), 1, tasks).mapInArrow(run, "descriptor binary"))


def _descriptors(staged: Iterable[StagedPartition]) -> Batches:
    """Yield what was staged as rows of one binary column; an error of ours becomes a row too, to keep its type."""
    found: list[bytes] = []
    try:
        found.extend(map(pickle.dumps, staged))
    except KubothekError as error:
        found.append(pickle.dumps(error))
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=["descriptor"])


def _collect(frame: DataFrame) -> tuple[StagedPartition, ...]:
    results = [pickle.loads(bytes(row[0])) for row in frame.collect()]  # noqa: S301  made by our own tasks
    for result in results:
        if isinstance(result, KubothekError):
            raise result
    return tuple(results)


def _numbers(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _one_thread() -> None:
    """Give a task one Arrow thread: Spark runs a task per core already."""
    pa.set_cpu_count(1)


def _cores(spark: SparkSession) -> int:
    """Return how many tasks run at once; a Connect session cannot tell, so it is taken to be a small cluster."""
    context: Callable[[], Any] | None = getattr(type(spark), "sparkContext", None)
    if context is None or type(spark).__module__.startswith("pyspark.sql.connect"):
        return 16
    return int(spark.sparkContext.defaultParallelism)


def _restore(spark: SparkSession, name: str, before: str | None) -> None:
    if before is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, before)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema that stands for a schema of record."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, spark_type(field.type), True) for field in schema])


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
    if pa.types.is_decimal128(kind):
        return sql.DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return sql.ArrayType(spark_type(kind.value_type), True)
    if pa.types.is_struct(kind):
        return sql.StructType([sql.StructField(field.name, spark_type(field.type), True) for field in kind])
    raise SchemaError(f"Spark has no type for {kind}. Read it in-process, or leave the column out.")


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
        [column.cast(field.type) for column, field in zip(table.columns, wire, strict=True)], schema=wire
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
        told = "\n".join(f"- {name!r}: {problem}" for name, problem in problems.items())
        raise SchemaError(f"These columns of the DataFrame cannot be stored:\n{told}", columns=tuple(problems))
    return pa.schema(fields)


def _arrow_type(kind: DataType) -> pa.DataType:
    from pyspark.sql import types as sql

    if isinstance(kind, sql.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, sql.ArrayType):
        return pa.list_(_arrow_type(kind.elementType))
    if isinstance(kind, sql.StructType):
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
}
