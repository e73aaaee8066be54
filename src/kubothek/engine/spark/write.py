"""Runs write tasks on Spark.

Spark brings the rows of a partition or bucket into one task, which sorts them, spilling where Spark does, and streams
them into files: with Spark's own sort a write takes half as long again. What comes back is one descriptor per file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kubothek.engine.sorted_files import sort_and_write
from kubothek.engine.spark.jobs import run_tasks
from kubothek.engine.spark.payload import Batches, descriptors, pickled, settle_worker, task_numbers, unpickled
from kubothek.engine.spark.read import ROWS_PER_BATCH, TASKS_PER_CORE
from kubothek.engine.spark.session import attempts, cores, settings
from kubothek.engine.spark_types import spark_type
from kubothek.engine.writing import BUCKET, WriteTask, check_cells
from kubothek.errors import StoreError
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ARROW_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BYTES_PER_BATCH = 64 * 2**20
_LOCAL_FOLDERS = "SPARK_LOCAL_DIRS"


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
    StoreError
        The executors write to a directory that the driver does not see.
    """
    from pyspark.sql import functions as sql

    rows, short = _short_named(frame, task.schema.names)
    order = [*task.partition_on]
    if shuffle:
        cut_at = [short[name] for name in order]
        if bucket_by and num_buckets:
            values = [_as_record(sql.col(short[name]), task.schema.field(name).type) for name in bucket_by]
            bucket = sql.pmod(sql.hash(*values), sql.lit(num_buckets))
            rows = rows.withColumn(BUCKET, bucket.cast("bigint"))
            cut_at.append(BUCKET)
            order.append(BUCKET)
        rows = rows.repartition(*cut_at) if cut_at else rows.repartition(1)
    names = [*task.schema.names, *rows.columns[len(task.schema.names) :]]
    place, most = pickled(store), attempts(frame.sparkSession)

    def run(batches: Batches) -> Batches:
        settle_worker()
        named = (batch.rename_columns(names) for batch in batches)
        opened = unpickled(place)
        written = sort_and_write(opened, task, named, [*order, *sort_by], whole=True, folder=local_folder())
        yield from descriptors(written, most)
        opened.flush()

    with settings(frame.sparkSession, {_ARROW_ROWS: ROWS_PER_BATCH, _ARROW_BYTES: _BYTES_PER_BATCH}):
        staged = run_tasks(rows, run, f"write {_subject(task)}")
    check_reached(store, staged)
    return staged


def local_folder() -> str | None:
    """Return where Spark lets its executors spill, which it removes when they end."""
    return os.environ.get(_LOCAL_FOLDERS, "").split(",")[0] or None


def check_reached(store: Store, staged: Sequence[StagedPartition]) -> None:
    """Refuse files that the executors have put into a directory of their own machines, where only they see them.

    Raises
    ------
    StoreError
        Files of tasks are not there for the driver.
    """
    paths = [store.local_path(key) for part in staged for key in part.keys]
    missing = [path for path in paths if path is not None and not Path(path).exists()]
    if missing:
        raise StoreError(
            f"{len(missing)} of {len(paths)} files that tasks have just written to {store.url!r} are not there for the "
            "driver: on the machines of the executors this is another directory. Use an object store, or a directory "
            "on a file system that all of them share; nothing was committed.",
            key=missing[0],
            operation="write",
        )


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
    place, most = pickled(store), attempts(spark)
    payloads = [pickled(group) for group in groups]

    def check(number: int) -> Iterator[StagedPartition]:
        check_cells(unpickled(place), task, unpickled(payloads[number]))
        yield from ()

    def run(numbers: Batches) -> Batches:
        settle_worker()
        for number in task_numbers(numbers):
            yield from descriptors(check(number), most)

    tasks = min(len(payloads), TASKS_PER_CORE * cores(spark))
    run_tasks(spark.range(0, len(payloads), 1, tasks), run, f"look for cells given twice in {_subject(task)}")


def _subject(task: WriteTask) -> str:
    return f"dataset {task.uuid}" if task.table == SINGLE_TABLE else f"table {task.table} of dataset {task.uuid}"


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
