"""A partitioned, sorted write on Spark, by a call and through the data source, against Spark's own partitioned writer.

Kubothek keeps an index on a column and commits; Spark's writer does neither. All read the same unsorted rows. Through
the data source they are sorted by Spark before, which tasks notice, or by the tasks, which may have to spill.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

import kubothek as kb
from benchmarks.data import Data
from benchmarks.timing import Case, Contender
from kubothek.spark import register

SORTED = ["x", "y"]
_STORED = "rows/table/*/*.parquet"


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Into 64 and into 512 partitions."""
    register(spark)
    for partitions in (64, 512):
        yield _case(spark, data, partitions)


def _case(spark: SparkSession, data: Data, partitions: int) -> Case:
    p = f"p{partitions}"

    def ours() -> Path:
        target = data.written / uuid.uuid4().hex
        kb.write_dataset(
            spark.read.parquet(data.rows),
            "rows",
            str(target),
            partition_on=p,
            sort_by=SORTED,
            secondary_indices="i1",
            shuffle=True,
        )
        return target

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

    return Case(
        "partitioned write",
        f"{partitions} partitions",
        (
            Contender("Kubothek", ours, lambda folder: _taken(folder, p, _STORED)),
            Contender("data source, sorted", partial(through_source, p, *SORTED), lambda f: _taken(f, p, _STORED)),
            Contender("data source, unsorted", through_source, lambda f: _taken(f, p, _STORED)),
            Contender("Spark's writer", theirs, lambda folder: _taken(folder, p, "*/*.parquet"), goal=1.0),
        ),
    )


def _taken(folder: Path, p: str, pattern: str) -> pa.Table:
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
