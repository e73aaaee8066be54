"""The data source on Spark, against the same read plans in ``mapInArrow``, and against Spark's own reader.

All read the files of the same cube: its seed as a dataset of its own, and the cube as a whole, which Spark's reader
joins with SQL. The data source is loaded anew for each query; what it reads of columns and rows is said by options, and
in one case by filters that Spark pushes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import kubothek as kb
from benchmarks.data import CUBE, KEYS, Data
from benchmarks.timing import Case, Contender
from benchmarks.works import cube, queries, scan
from benchmarks.works.consumers import sums
from kubothek.engine.spark import read_units
from kubothek.spark import register

SEED = CUBE.dataset_uuid("seed")


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Columns, rows and files of a dataset, and cells of a cube."""
    register(spark)
    few = f"p < {max(data.size.partitions // 16, 1)}"
    yield _dataset(spark, data, "3 of 11 columns", scan.SUMMED, None)
    yield _dataset(spark, data, "all columns", scan.EVERYTHING, None)
    yield _dataset(spark, data, "2 % of the rows", scan.SUMMED, "n1 < 20")
    yield _dataset(spark, data, "few files, pushed", scan.SUMMED, few)
    yield _cube(spark, data)


def _dataset(spark: SparkSession, data: Data, name: str, columns: tuple[str, ...], where: str | None) -> Case:
    pushed = name.endswith("pushed")

    def source() -> DataFrame:
        if not pushed:
            return _load(spark, data, dataset=SEED, columns=",".join(columns), where=where)
        wanted = ",".join(("p", *columns))
        return _load(spark, data, dataset=SEED, columns=wanted, pushdown=True).where(str(where)).select(*columns)

    def tasks() -> DataFrame:
        read = kb.open_dataset(SEED, data.cube.store)
        return read_units(spark, read.store, read.scan(list(columns), where).plan)

    def own() -> DataFrame:
        frame = spark.read.parquet(data.cube.files("seed"))
        return (frame if where is None else frame.where(where)).select(*columns)

    return _case(name, source, tasks, own, scan.sums)


def _cube(spark: SparkSession, data: Data) -> Case:
    question = queries.Question(cube.PAYLOAD)

    def source() -> DataFrame:
        return _load(spark, data, cube=CUBE.uuid_prefix, columns=",".join((*KEYS, *cube.PAYLOAD)))

    def tasks() -> DataFrame:
        return queries.ask(data.cube, question).to_spark(spark)

    def own() -> DataFrame:
        return queries.stored(spark, data.cube, question)

    return _case("cube", source, tasks, own, sums(data.cube.partners))


def _case(
    name: str,
    source: Callable[[], DataFrame],
    tasks: Callable[[], DataFrame],
    own: Callable[[], DataFrame],
    finish: Callable[[DataFrame], Any],
) -> Case:
    return Case(
        "data source",
        name,
        (
            Contender("Kubothek, data source", lambda: finish(source())),
            Contender("Kubothek, mapInArrow", lambda: finish(tasks())),
            Contender("Spark's reader", lambda: finish(own())),
        ),
        reason="Three ways of which a user chooses one; the goals are those of the scan and of the cube query.",
    )


def _load(spark: SparkSession, data: Data, **options: Any) -> DataFrame:
    given = {name: value for name, value in options.items() if value is not None}
    return spark.read.format("kubothek").options(**given).load(data.cube.store)
