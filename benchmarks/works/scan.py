"""A scan of one dataset on Spark, against Spark's own reader over the whole directory with the same condition.

Spark's reader needs no help: it leaves out folders by their partition, and row groups by their statistics, by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import kubothek as kb
from benchmarks.data import CUBE, Data
from benchmarks.timing import Case, Contender

SUMMED = ("v1", "v2", "n2")
EVERYTHING = ("p", "x", "y", "i1", "n1", "n2", "v1", "v2", "v3", "s1", "s2")


AT_MOST, SELECTIVE = 1 / 1.05, 1 / 0.6
"""How many times our time Spark's reader should need at least: of whole files, and with a filter on their rows."""


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Three columns of eleven, 2 % of the rows, few of the files by partition and by index, and everything."""
    few = f"p < {max(data.size.partitions // 16, 1)}"
    yield _case(spark, data, "3 of 11 columns", SUMMED, None, sums, AT_MOST)
    yield _case(spark, data, "2 % of the rows", SUMMED, "n1 < 20", sums, SELECTIVE)
    yield _case(spark, data, f"few files by partition: {few}", SUMMED, few, sums, AT_MOST)
    yield _case(spark, data, "few files by index: i1 IN (1, 2, 3)", SUMMED, "i1 IN (1, 2, 3)", sums, SELECTIVE)
    yield _full(spark, data)


def _case(
    spark: SparkSession,
    data: Data,
    name: str,
    columns: Sequence[str],
    where: str | None,
    finish: Callable[[DataFrame], pa.Table],
    goal: float,
) -> Case:
    return Case(
        "dataset scan",
        name,
        (
            Contender("Kubothek", lambda: finish(_ours(spark, data, columns, where))),
            Contender("Spark's reader", lambda: finish(_theirs(spark, data, columns, where)), goal=goal),
        ),
    )


def _full(spark: SparkSession, data: Data) -> Case:
    """All columns into a sink that drops them; what it dropped is summed up once, off the clock."""
    frames = {"Kubothek": _ours, "Spark's reader": _theirs}

    @cache
    def dropped(who: str) -> pa.Table:
        return sums(frames[who](spark, data, EVERYTHING, None))

    def drain(who: str) -> None:
        frames[who](spark, data, EVERYTHING, None).write.format("noop").mode("overwrite").save()

    contenders = (
        Contender(who, partial(drain, who), partial(_given, partial(dropped, who)), goal)
        for who, goal in zip(frames, (None, AT_MOST), strict=True)
    )
    return Case("dataset scan", "everything", tuple(contenders))


def _given(rows: Callable[[], pa.Table], _result: None) -> pa.Table:
    return rows()


def _ours(spark: SparkSession, data: Data, columns: Sequence[str], where: str | None) -> DataFrame:
    dataset = kb.open_dataset(CUBE.dataset_uuid("seed"), data.cube.store)
    return dataset.scan(list(columns), where).to_spark(spark)


def _theirs(spark: SparkSession, data: Data, columns: Sequence[str], where: str | None) -> DataFrame:
    frame = spark.read.parquet(data.cube.files("seed"))
    return (frame if where is None else frame.where(where)).select(*columns)


def sums(frame: DataFrame) -> pa.Table:
    """Sum up the columns that all cases read."""
    return frame.agg(sql.count("*").alias("rows"), *(sql.sum(name).alias(name) for name in SUMMED)).toArrow()
