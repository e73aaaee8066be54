"""What is done with the rows of a query: they are summed up, collected, written, or dropped."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sql

from benchmarks.data import KEYS


def sums(partners: tuple[str, ...]) -> Callable[[DataFrame], pa.Table]:
    """Return what sums up all numbers per partition, and counts the values of those columns that tell of partners."""

    def summed(frame: DataFrame) -> pa.Table:
        kinds = dict(frame.dtypes)
        payload = [name for name in frame.columns if name not in KEYS and kinds[name] != "string"]
        counted = [sql.count(name).alias(f"count_{name}") for name in payload if name in partners]
        columns = [sql.sum(name).alias(name) for name in payload]
        keys = [sql.count("*").alias("rows"), sql.sum("x"), sql.sum("y")]
        return frame.groupBy("p").agg(*keys, *counted, *columns).toArrow()

    return summed


def drained(frame: DataFrame) -> pa.Table:
    """Make Spark produce every row and drop it; return how many there were."""
    seen = Observation()
    frame.observe(seen, sql.count("*").alias("rows")).write.format("noop").mode("overwrite").save()
    return pa.table({"rows": [seen.get["rows"]]})


def written(folder: Path) -> Callable[[DataFrame], Path]:
    """Return what writes the rows as Parquet into a new place below a folder."""

    def write(frame: DataFrame) -> Path:
        target = folder / uuid.uuid4().hex
        frame.write.option("compression", "zstd").parquet(str(target))
        return target

    return write


def summed_files(folder: Path) -> pa.Table:
    """Sum up what was written, per partition, and remove it."""
    with duckdb.connect() as connection:
        rows = connection.sql(f"FROM read_parquet('{folder}/*.parquet')")
        payload = sorted(set(rows.columns) - {"p"})
        summed = ", ".join(f"sum({name}::double) AS {name}, count({name}) AS count_{name}" for name in payload)
        found = rows.aggregate(f"p, {summed}", "p").to_arrow_table()
    shutil.rmtree(folder)
    return found


def summed_table(found: pa.Table) -> pa.Table:
    """Sum up a table, per partition, and count the values of its columns."""
    payload = sorted(set(found.column_names) - {"p"})
    kinds = {name: found.schema.field(name).type for name in payload}
    numbers = [name for name in payload if pa.types.is_integer(kinds[name]) or pa.types.is_floating(kinds[name])]
    wanted = [*((name, "sum") for name in numbers), *((name, "count") for name in payload)]
    totals = found.group_by("p").aggregate(wanted)
    return totals.set_column(totals.column_names.index("p"), "p", totals.column("p").cast(pa.int64()))
