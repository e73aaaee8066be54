"""A partitioned, sorted write on Spark, by a call and through the data source, against Spark's own partitioned writer.

Kubothek keeps an index on a column and commits; Spark's writer does neither. All read the same unsorted rows, which
Spark shuffles by the columns of the layout, so that each partition or bucket is one sorted file in both. Spark sorts
the rows for its own writer; Kubothek's tasks sort them, and may have to spill. Through the data source, Spark may have
sorted them before, which tasks notice.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import kubothek as kb
from benchmarks.data import Data
from benchmarks.timing import Case, Contender
from kubothek.spark import register

SORTED = ["x", "y"]
BUCKETS = 4
GOALS = {64: 1 / 0.9, 512: 1 / 0.6}
"""How many times our time Spark's writer should need at least, by the number of partitions."""
_STORED = "rows/table/*/*.parquet"


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Into 64 and into 512 partitions, and into 64 of four buckets each."""
    register(spark)
    for partitions in (64, 512):
        yield _case(spark, data, partitions)
    yield _bucketed(spark, data)


def _case(spark: SparkSession, data: Data, partitions: int) -> Case:
    p = f"p{partitions}"

    def theirs() -> Path:
        target = data.written / uuid.uuid4().hex
        rows = spark.read.parquet(data.rows).repartition(p).sortWithinPartitions(p, *SORTED)
        rows.write.partitionBy(p).option("compression", "zstd").parquet(str(target))
        return target

    def through_source(*order: str) -> Path:
        target = data.written / uuid.uuid4().hex
        rows = spark.read.parquet(data.rows).repartition(p)
        options = {"dataset": "rows", "partition_on": p, "sort_by": ",".join(SORTED), "secondary_indices": "i1"}
        ordered = rows.sortWithinPartitions(*order) if order else rows
        ordered.write.format("kubothek").mode("append").options(**options).save(str(target))
        return target

    stored = partial(_taken, p, _STORED)
    return Case(
        "partitioned write",
        f"{partitions} partitions",
        (
            Contender("Kubothek", partial(_ours, spark, data, p), stored),
            Contender("Spark's writer", theirs, partial(_taken, p, "*/*.parquet"), GOALS[partitions]),
            Contender("Kubothek, data source, sorted", partial(through_source, p, *SORTED), stored),
            Contender("Kubothek, data source, unsorted", through_source, stored),
        ),
    )


def _bucketed(spark: SparkSession, data: Data) -> Case:
    """Spark only buckets tables, so that it is a table, of which the files are looked at."""
    p, bucket = "p64", sql.expr(f"pmod(hash(x), {BUCKETS})")

    def theirs() -> Path:
        target = data.written / uuid.uuid4().hex
        rows = spark.read.parquet(data.rows).repartition(p, bucket).sortWithinPartitions(p, bucket, *SORTED)
        writer = rows.write.partitionBy(p).bucketBy(BUCKETS, "x").sortBy(*SORTED)
        name = f"t{target.name}"
        writer.option("path", str(target)).option("compression", "zstd").saveAsTable(name)
        return target

    def taken(target: Path) -> pa.Table:
        spark.sql(f"DROP TABLE t{target.name}")
        return _taken(p, "*/*.parquet", target)

    return Case(
        "partitioned write",
        f"64 partitions in {BUCKETS} buckets each",
        (
            Contender(
                "Kubothek",
                partial(_ours, spark, data, p, bucket_by="x", num_buckets=BUCKETS),
                partial(_taken, p, _STORED),
            ),
            Contender("Spark's writer", theirs, taken, GOALS[64]),
        ),
    )


def _ours(spark: SparkSession, data: Data, p: str, **layout: Any) -> Path:
    target = data.written / uuid.uuid4().hex
    layout = {"partition_on": p, "sort_by": SORTED, "secondary_indices": "i1", "shuffle": True, **layout}
    kb.write_dataset(spark.read.parquet(data.rows), "rows", str(target), **layout)
    return target


def _taken(p: str, pattern: str, folder: Path) -> pa.Table:
    """Sum up what was written, per partition, and remove it."""
    question = f"""
        SELECT {p}, count(*) AS rows, count(DISTINCT filename) AS files, bit_xor(hash(x, y, i1, n1, s1)) AS cells,
               sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3
        FROM read_parquet('{folder / pattern}', hive_partitioning = true, filename = true) GROUP BY {p}
    """  # noqa: S608  our own names
    with duckdb.connect() as connection:
        found = connection.sql(question).to_arrow_table()
    shutil.rmtree(folder)
    return found
