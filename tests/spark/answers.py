"""How Spark tests look at results: rows as sorted tuples, a session zone for a while, what a plan does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[Any, ...]]


def rows(table: pa.Table) -> Rows:
    """Return rows as tuples, in an order that does not depend on how they were read."""
    return sorted(zip(*(values(table.column(name)) for name in table.column_names), strict=True), key=repr)


def values(column: pa.ChunkedArray) -> list[Any]:
    """Return plain values; instants in UTC, where Python can hold the first and last day of the calendar."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", "UTC"))
    found: list[Any] = column.to_pylist()
    return found


def spark_rows(frame: DataFrame) -> Rows:
    """Run a frame and return its rows as :func:`rows` does."""
    return rows(frame.toArrow())


def spark_types(frame: DataFrame) -> dict[str, str]:
    """Return Spark's names of the column types."""
    return {field.name: field.dataType.simpleString() for field in frame.schema}


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Change one setting of the shared session for a while."""
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


def physical_plan(frame: DataFrame) -> str:
    """Return how Spark will run a frame, as it prints it."""
    with redirect_stdout(StringIO()) as printed:
        frame.explain()
    return printed.getvalue()


def is_native(frame: DataFrame) -> bool:
    """Tell whether Spark reads the files itself."""
    plan = physical_plan(frame)
    native = "FileScan parquet" in plan
    assert native or "MapInArrow" in plan or "LocalTableScan" in plan or "ExistingRDD" in plan, plan
    return native


def shuffled_bytes(spark: SparkSession) -> int:
    """Return how many bytes all tasks of the session have written for a shuffle so far."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()  # what tasks tell of themselves arrives later than their rows
    executors = context.statusStore().executorList(False)
    return sum(executors.apply(number).totalShuffleWrite() for number in range(executors.size()))


def left_behind(folder: Path, seconds: float = 10) -> list[Path]:
    """Return every data file below a folder, and what was to become one, once workers that were stopped have ended."""
    give_up = time.monotonic() + seconds
    while (found := _data_files(folder)) and time.monotonic() < give_up:
        time.sleep(0.1)
    return found


def _data_files(folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "_common_metadata"]
    return [path for path in files if path.suffix == ".parquet" or "_kubothek" in path.parts]
