"""Runs read and write tasks on Spark.

A read plan is cut into a few tasks per core (a Python task costs about 25 ms whatever it does); each row of a small
``spark.range`` is one task, and ``mapInArrow`` runs it, so nothing is shuffled and nothing passes the driver. A write
is sorted by Spark (it spills) and streamed through the write task; what comes back is one descriptor per file.
:mod:`kubothek.engine.spark_types` says which Spark type stands for which type of record.

This module can be imported without PySpark; the session always comes from the caller.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.engine.reading import UnitReader
from kubothek.engine.spark_types import spark_schema, task_schema, to_wire
from kubothek.engine.writing import BUCKET, WriteTask, check_cells, write_files
from kubothek.errors import InvalidInputError, KubothekError
from kubothek.model.read_plan import ReadPlan
from kubothek.model.staged import StagedPartition
from kubothek.plan.tasks import cut_plan, unit_bytes
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_BATCH = 131_072
_TASKS_PER_CORE = 4
_BYTES_PER_TASK = 256 * 2**20
_ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_LOCAL = re.compile(r"local(?:\[[^,]*(?:,\s*([0-9]+)\s*)?\])?")
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
        reader = spark.read.schema(spark_schema(schema)).option("basePath", root)
        # Old days are what they say, whatever calendar the session takes other files to be in.
        frame = reader.option("datetimeRebaseMode", "CORRECTED").parquet(*paths)
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

    rows, short = _short_named(frame, task.schema.names)
    cut_at = [short[name] for name in task.partition_on]
    if shuffle:
        if bucket_by and num_buckets:
            bucket = sql.pmod(sql.hash(*(short[name] for name in bucket_by)), sql.lit(num_buckets))
            rows = rows.withColumn(BUCKET, bucket.cast("bigint"))
            cut_at.append(BUCKET)
        rows = rows.repartition(*cut_at) if cut_at else rows.repartition(1)
    if cut_at or sort_by:
        rows = rows.sortWithinPartitions(*cut_at, *(short[name] for name in sort_by))
    names = [*task.schema.names, *rows.columns[len(task.schema.names) :]]
    place, attempts = pickle.dumps(store), _attempts(frame.sparkSession)

    def run(batches: Batches) -> Batches:
        _one_thread()
        named = (batch.rename_columns(names) for batch in batches)
        return _descriptors(write_files(pickle.loads(place), task, named), attempts)  # noqa: S301

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
    place, attempts = pickle.dumps(store), _attempts(spark)
    payloads = [pickle.dumps(group) for group in groups]

    def check(number: int) -> Iterator[StagedPartition]:
        check_cells(pickle.loads(place), task, pickle.loads(payloads[number]))  # noqa: S301
        yield from ()

    def run(numbers: Batches) -> Batches:
        _one_thread()
        for number in _numbers(numbers):
            yield from _descriptors(check(number), attempts)

    tasks = min(len(payloads), _TASKS_PER_CORE * _cores(spark))
    _collect(spark.range(0, len(payloads), 1, tasks).mapInArrow(run, "descriptor binary"))


def _short_named(frame: DataFrame, names: Sequence[str]) -> tuple[DataFrame, dict[str, str]]:
    """Choose columns, name them by their position, and return the new names by the old.

    Not every name can be said in every expression (``mapInArrow`` itself stumbles over backticks and over names that
    differ only in case). Text loses its collation, under which what is written as different would sort as equal.
    """
    from pyspark.sql import functions as sql

    short = {name: f"c{number}" for number, name in enumerate(frame.columns)}
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    columns = [
        sql.collate(short[name], "UTF8_BINARY").alias(short[name])
        if kinds[name].startswith("string collate")
        else sql.col(short[name])
        for name in names
    ]
    return frame.toDF(*short.values()).select(*columns), short


def _descriptors(staged: Iterable[StagedPartition], attempts: int) -> Batches:
    """Yield what was staged as rows of one binary column; an error of ours becomes a row too, to keep its type.

    What another attempt may mend, such as an answer of the storage, is raised as long as Spark will make one.
    """
    from pyspark import TaskContext

    found: list[bytes] = []
    try:
        found.extend(map(pickle.dumps, staged))
    except KubothekError as error:
        context = TaskContext.get()
        last = context is None or context.attemptNumber() + 1 >= attempts
        if not last and not isinstance(error, InvalidInputError):
            raise
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


def _attempts(spark: SparkSession) -> int:
    """Return how often Spark runs a failing task before it gives up."""
    master = str(spark.conf.get("spark.master", ""))
    if local := _LOCAL.fullmatch(master):
        return int(local[1] or 1)
    return int(spark.conf.get("spark.task.maxFailures", None) or 4)


def _restore(spark: SparkSession, name: str, before: str | None) -> None:
    if before is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, before)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
