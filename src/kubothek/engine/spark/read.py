"""Runs read tasks on Spark.

A read plan is cut into as few tasks per core as keep all cores busy, because a Python task costs about 25 ms whatever
it does; each row of a small ``spark.range`` is one task, and ``mapInArrow`` runs it, so nothing is shuffled and nothing
passes the driver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from kubothek.engine.local import count_threads
from kubothek.engine.reading import UnitReader
from kubothek.engine.spark.jobs import named, run_tasks
from kubothek.engine.spark.payload import Batches, descriptors, pickled, settle_worker, task_numbers, unpickled
from kubothek.engine.spark.session import attempts, check_session, context, cores, restore
from kubothek.engine.spark.travel import travelling
from kubothek.engine.spark_types import spark_schema, task_schema, to_wire
from kubothek.engine.steps import in_order, in_threads
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.heavy_units import count_pieces, cut_heavy
from kubothek.plan.tasks import unit_weights
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_BATCH = 131_072
TASKS_PER_CORE = 4
_BYTES_PER_TASK = 256 * 2**20
_BYTES_WORTH_A_TASK = 128 * 2**20
"""Of files, columns that are not wanted included: their reading takes many times as long as a task's start."""
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"

Result = TypeVar("Result")


def read_units(spark: SparkSession, store: Store, plan: ReadPlan, text: str | None = None) -> DataFrame:
    """Return the rows of a plan as a lazy DataFrame; each unit is read by the task that needs it.

    ``text`` is what Spark's UI shows: ``read dataset weather``.
    """
    check_session(spark)
    schema = spark_schema(plan.schema)
    wire = task_schema(plan.schema)
    pieces = [pickled(piece) for piece in cut_heavy(plan, count_plan_tasks(spark, plan))]
    place = pickled(store)

    def run(numbers: Batches) -> Batches:
        settle_worker()
        for number in task_numbers(numbers):
            tables = unit_tables(unpickled(place), unpickled(pieces[number]))
            yield from in_batches(to_wire(table, wire) for table in tables)

    if not pieces:
        return spark.createDataFrame([], schema)
    body = travelling(run, named(text or f"read {plan.subject}"))
    return spark.range(0, len(pieces), 1, len(pieces)).mapInArrow(body, schema)


def unit_tables(store: Store, plan: ReadPlan) -> Iterator[pa.Table]:
    """Yield the rows of a task's units in order, one unit after the other; from afar, small ones side by side."""
    reader = UnitReader(store, plan)
    steps = (partial(reader.run_step, *run) for run in reader.runs())
    threads = count_threads(store, plan, least=1)
    return in_order(steps) if threads == 1 else in_threads(steps, threads, lead=threads)


def count_tasks(size: int, cores: int) -> int:
    """Return in how many tasks to read files of this size: one to four per core, more only if they would get too large.

    Several per core even out cores of different speed, which pays where their start is small beside the reading.
    """
    per_core = -(-size // (cores * _BYTES_WORTH_A_TASK))
    return max(cores * min(max(per_core, 1), TASKS_PER_CORE), size // _BYTES_PER_TASK)


def count_plan_tasks(spark: SparkSession, plan: ReadPlan) -> int:
    """Return in how many Spark tasks to read the files of a plan."""
    return count_tasks(int(unit_weights(plan).sum()), cores(spark))


def expected_tasks(spark: SparkSession | None, plan: ReadPlan) -> tuple[int, int]:
    """Return in how many tasks :func:`read_units` reads a plan, and on how many cores.

    Without a session these are the cores of this machine.
    """
    if spark is not None:
        check_session(spark)
    found = (os.cpu_count() or 1) if spark is None else cores(spark)
    return count_pieces(plan, count_tasks(int(unit_weights(plan).sum()), found)), found


def gather(
    spark: SparkSession,
    store: Store,
    pieces: Sequence[ReadPlan],
    body: Callable[[Store, ReadPlan], Iterable[Result]],
    text: str,
) -> list[Result]:
    """Run a task body on each piece of a plan, one Spark task per piece, and return what all of them gave, in order.

    Results pass the driver, so they should be small; they and the body must pickle. ``text`` says what they are for:
    ``hash dataset weather``.
    """
    place, most = pickled(store), attempts(spark)
    payloads = [pickled(piece) for piece in pieces]

    def run(numbers: Batches) -> Batches:
        settle_worker()
        for number in task_numbers(numbers):
            results = body(unpickled(place), unpickled(payloads[number]))
            yield from descriptors(results, most)

    if not payloads:
        return []
    return list(run_tasks(spark.range(0, len(payloads), 1, len(payloads)), run, text))


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
    check_session(spark)
    if not paths:
        return spark.createDataFrame([], spark_schema(schema))
    before = spark.conf.get(_LISTING, None)
    spark.conf.set(_LISTING, str(max(len(paths) + 1, 32)))
    try:
        reader = spark.read.schema(spark_schema(schema)).option("basePath", root)
        # Old days are what they say, whatever calendar the session takes other files to be in.
        frame = reader.option("datetimeRebaseMode", "CORRECTED").parquet(*paths)
        if context(spark) is None:
            frame.isLocal()  # when first asked about a frame, a server of Connect looks at its paths
    finally:
        restore(spark, _LISTING, before)
    return frame.select(*map(quoted, schema.names))


def quoted(name: str) -> str:
    """Return a column's name as Spark's expressions take it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"
