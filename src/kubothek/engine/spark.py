"""Runs read and write tasks on Spark.

A read plan is cut into as few tasks per core as keep all cores busy, because a Python task costs about 25 ms whatever
it does; each row of a small ``spark.range`` is one task, and ``mapInArrow`` runs it, so nothing is shuffled and nothing
passes the driver. A write is sorted by Spark (it spills) and streamed through the write task; what comes back is one
descriptor per file. :mod:`kubothek.engine.spark_types` says which Spark type stands for which type of record.

This module can be imported without PySpark; the session always comes from the caller.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from kubothek.engine.local import count_threads
from kubothek.engine.reading import UnitReader
from kubothek.engine.spark_types import spark_schema, spark_type, task_schema, to_wire
from kubothek.engine.steps import in_order, in_threads
from kubothek.engine.writing import BUCKET, WriteTask, check_cells, write_files
from kubothek.errors import InvalidInputError, KubothekError
from kubothek.model.read_plan import ReadPlan
from kubothek.model.staged import StagedPartition
from kubothek.plan.tasks import count_pieces, cut_plan, unit_bytes
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame, SparkSession

ROWS_PER_BATCH = 131_072
_TASKS_PER_CORE = 4
_BYTES_PER_TASK = 256 * 2**20
_BYTES_WORTH_A_TASK = 128 * 2**20
"""Of files, columns that are not wanted included: their reading takes many times as long as a task's start."""
_ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ARROW_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BYTES_PER_BATCH = 64 * 2**20
_LOCAL = re.compile(r"local(?:\[[^,]*(?:,\s*([0-9]+)\s*)?\])?")
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"

Batches = Iterator[pa.RecordBatch]
Result = TypeVar("Result")


def is_spark(data: object) -> bool:
    """Tell whether data is a Spark DataFrame, classic or Connect, without importing Spark."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def check_session(spark: object) -> None:
    """Refuse what is not a Spark session, classic or Connect, without importing Spark."""
    if not any(k.__name__ == "SparkSession" and k.__module__.startswith("pyspark.sql.") for k in type(spark).__mro__):
        raise InvalidInputError(f"spark must be a SparkSession or None, not {spark!r}.")


def is_spark_schema(schema: object) -> bool:
    """Tell whether this is the schema of a Spark DataFrame, without importing Spark."""
    kind = type(schema)
    return kind.__name__ == "StructType" and kind.__module__.startswith("pyspark.sql.")


def read_units(spark: SparkSession, store: Store, plan: ReadPlan) -> DataFrame:
    """Return the rows of a plan as a lazy DataFrame; each unit is read by the task that needs it."""
    schema = spark_schema(plan.schema)
    wire = task_schema(plan.schema)
    pieces = [pickle.dumps(piece) for piece in cut_plan(plan, count_plan_tasks(spark, plan))]
    place = pickle.dumps(store)

    def run(numbers: Batches) -> Batches:
        _settle_worker()
        for number in _numbers(numbers):
            tables = unit_tables(_unpickled(place), _unpickled(pieces[number]))
            yield from in_batches(to_wire(table, wire) for table in tables)

    if not pieces:
        return spark.createDataFrame([], schema)
    return spark.range(0, len(pieces), 1, len(pieces)).mapInArrow(run, schema)


def unit_tables(store: Store, plan: ReadPlan) -> Iterator[pa.Table]:
    """Yield the rows of a task's units in order, one unit after the other; from afar, small ones side by side."""
    reader = UnitReader(store, plan)
    steps = (partial(reader.step, unit) for unit in range(plan.units.num_rows))
    threads = count_threads(store, plan, least=1)
    return in_order(steps) if threads == 1 else in_threads(steps, threads, lead=threads)


def count_tasks(size: int, cores: int) -> int:
    """Return in how many tasks to read files of this size: one to four per core, more only if they would get too large.

    Several per core even out cores of different speed, which pays where their start is small beside the reading.
    """
    per_core = -(-size // (cores * _BYTES_WORTH_A_TASK))
    return max(cores * min(max(per_core, 1), _TASKS_PER_CORE), size // _BYTES_PER_TASK)


def count_plan_tasks(spark: SparkSession, plan: ReadPlan) -> int:
    """Return in how many Spark tasks to read the files of a plan."""
    return count_tasks(int(unit_bytes(plan).sum()), _cores(spark))


def expected_tasks(spark: SparkSession | None, plan: ReadPlan) -> tuple[int, int]:
    """Return in how many tasks :func:`read_units` reads a plan, and on how many cores.

    Without a session these are the cores of this machine.
    """
    if spark is not None:
        check_session(spark)
    cores = (os.cpu_count() or 1) if spark is None else _cores(spark)
    return count_pieces(plan, count_tasks(int(unit_bytes(plan).sum()), cores)), cores


def gather(
    spark: SparkSession,
    store: Store,
    pieces: Sequence[ReadPlan],
    body: Callable[[Store, ReadPlan], Iterable[Result]],
) -> list[Result]:
    """Run a task body on each piece of a plan, one Spark task per piece, and return what all of them gave, in order.

    Results pass the driver, so they should be small; they and the body must pickle.
    """
    place, attempts = pickle.dumps(store), _attempts(spark)
    payloads = [pickle.dumps(piece) for piece in pieces]

    def run(numbers: Batches) -> Batches:
        _settle_worker()
        for number in _numbers(numbers):
            results = body(_unpickled(place), _unpickled(payloads[number]))
            yield from _descriptors(results, attempts)

    if not payloads:
        return []
    frame = spark.range(0, len(payloads), 1, len(payloads))
    return list(_collect(frame.mapInArrow(run, "descriptor binary")))


def in_batches(tables: Iterable[pa.Table]) -> Batches:
    """Yield rows in batches of a size that is cheap to hand over; small tables are put together."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        if not table.num_columns:  # Arrow forgets the rows of such tables when it puts them together
            yield from table.to_batches()
            continue
        waiting.append(table)
        rows += table.num_rows
        if rows >= ROWS_PER_BATCH // 4:
            yield from pa.concat_tables(waiting).combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)
            waiting, rows = [], 0
    if rows:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)


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
            values = [_as_record(sql.col(short[name]), task.schema.field(name).type) for name in bucket_by]
            bucket = sql.pmod(sql.hash(*values), sql.lit(num_buckets))
            rows = rows.withColumn(BUCKET, bucket.cast("bigint"))
            cut_at.append(BUCKET)
        rows = rows.repartition(*cut_at) if cut_at else rows.repartition(1)
    if cut_at or sort_by:
        rows = rows.sortWithinPartitions(*cut_at, *(short[name] for name in sort_by))
    names = [*task.schema.names, *rows.columns[len(task.schema.names) :]]
    place, attempts = pickle.dumps(store), _attempts(frame.sparkSession)

    def run(batches: Batches) -> Batches:
        _settle_worker()
        named = (batch.rename_columns(names) for batch in batches)
        opened = _unpickled(place)
        yield from _descriptors(write_files(opened, task, named), attempts)
        opened.flush()

    with _settings(frame.sparkSession, {_ARROW_ROWS: ROWS_PER_BATCH, _ARROW_BYTES: _BYTES_PER_BATCH}):
        return _collect(rows.mapInArrow(run, "descriptor binary"))


def _as_record(column: Column, kind: pa.DataType) -> Column:
    """Widen numbers as they are stored, since equal numbers of different width do not hash alike."""
    return column.cast(spark_type(kind)) if kind in (pa.int64(), pa.float64()) else column


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
        check_cells(_unpickled(place), task, _unpickled(payloads[number]))
        yield from ()

    def run(numbers: Batches) -> Batches:
        _settle_worker()
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


def _descriptors(results: Iterable[object], attempts: int) -> Batches:
    """Yield results of a task as rows of one binary column; an error of ours becomes a row too, to keep its type.

    What another attempt may mend, such as an answer of the storage, is raised as long as Spark will make one.
    """
    from pyspark import TaskContext

    found: list[bytes] = []
    try:
        found.extend(map(pickle.dumps, results))
    except KubothekError as error:
        context = TaskContext.get()
        last = context is None or context.attemptNumber() + 1 >= attempts
        if not last and not isinstance(error, InvalidInputError):
            raise
        found.append(pickle.dumps(error))
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=["descriptor"])


def _collect(frame: DataFrame) -> tuple[Any, ...]:
    results = [_unpickled(bytes(row[0])) for row in frame.collect()]
    for result in results:
        if isinstance(result, KubothekError):
            raise result
    return tuple(results)


def _unpickled(data: bytes) -> Any:
    """Return what the driver pickled for its tasks, or they for it."""
    return pickle.loads(data)  # noqa: S301  both are this program; nothing from a store comes here


def _numbers(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


@cache
def _settle_worker() -> None:
    """Prepare a worker process once for all of its tasks.

    Arrow gets one thread, because Spark runs a task per core already. What has been imported is taken out of the
    garbage collector's sight: Spark has it look through everything after each task, which is most of a task's cost.
    """
    pa.set_cpu_count(1)
    gc.freeze()


def _cores(spark: SparkSession) -> int:
    """Return how many tasks run at once; a Connect session cannot tell, so it is taken to be a small cluster."""
    context = _context(spark)
    return 16 if context is None else int(context.defaultParallelism)


def _attempts(spark: SparkSession) -> int:
    """Return how often Spark runs a failing task before it gives up."""
    context = _context(spark)
    if context is not None and (local := _LOCAL.fullmatch(context.master or "")):
        return int(local[1] or 1)
    return int(spark.conf.get("spark.task.maxFailures", None) or 4)


def _context(spark: SparkSession) -> SparkContext | None:
    """Return the context of a session; one of Connect has none."""
    return None if type(spark).__module__.startswith("pyspark.sql.connect") else spark.sparkContext


@contextmanager
def _settings(spark: SparkSession, values: Mapping[str, object]) -> Iterator[None]:
    """Change settings of a session for a while."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, str(value))
    try:
        yield
    finally:
        for name, old in before.items():
            _restore(spark, name, old)


def _restore(spark: SparkSession, name: str, before: str | None) -> None:
    if before is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, before)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
