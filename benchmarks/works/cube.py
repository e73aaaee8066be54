"""A cube query on Spark, against Spark SQL's joins over the same Parquet files.

The query joins a seed with two enrichments and is summed up per partition. Spark SQL joins as it would by default,
and told to by its hints for a broadcast and for a shuffled hash join. Everything from opening to the sums is timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import kubothek as kb
from benchmarks.data import CUBE, Data
from benchmarks.shuffle import shuffled_bytes
from benchmarks.timing import Case, Contender

KEYS = ["p", "x", "y"]
PAYLOAD = ["n1", "v1", "a2", "a3", "b1", "b2"]
RESTRICTION = "a1 < 20"
"""Holds for 2 % of the rows of an enrichment."""


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Without a condition, and with one that restricts the query to 2 % of the cells."""
    yield _case(spark, data, "no condition", None, goal=3.5)
    yield _case(spark, data, "2 % of the cells", RESTRICTION, goal=8.0)


def _case(spark: SparkSession, data: Data, name: str, where: str | None, goal: float) -> Case:
    def ours() -> DataFrame:
        return kb.query_cube(CUBE, data.store, where=where, columns=PAYLOAD).to_spark(spark)

    def rival(name: str, hint: str | None, goal: float) -> Contender:
        return Contender(name, lambda: sums(join(spark, data, where, hint)), goal=goal)

    def note() -> str:
        own, default = (shuffled_bytes(spark, partial(_drain, f)) for f in (ours(), join(spark, data, where)))
        assert own == 0, f"the cube query shuffled {own} bytes"
        return f"Joins shuffle 0 bytes in Kubothek, {default / 1e6:,.1f} MB in Spark SQL."

    return Case(
        "cube query",
        name,
        (
            Contender("Kubothek", lambda: sums(ours())),
            rival("Spark SQL", None, goal),
            rival("broadcast hint", "broadcast", 2.0),
            rival("shuffle-hash hint", "shuffle_hash", 2.0),
        ),
        note,
    )


def join(spark: SparkSession, data: Data, where: str | None, hint: str | None = None) -> DataFrame:
    """Join the datasets as a user of Spark SQL would; a condition on an enrichment makes its join an inner one."""
    seed, complete, incomplete = (spark.read.parquet(data.files(name)) for name in ("seed", "complete", "partial"))
    if where is not None:
        complete = complete.where(where)
    if hint is not None:
        complete, incomplete = complete.hint(hint), incomplete.hint(hint)
    joined = seed.join(complete, KEYS, "left" if where is None else "inner").join(incomplete, KEYS, "left")
    return joined.select(*KEYS, *PAYLOAD)


def sums(frame: DataFrame) -> pa.Table:
    """Sum up all payload columns per partition."""
    columns = [sql.sum(name).alias(name) for name in PAYLOAD]
    return frame.groupBy("p").agg(sql.count("*").alias("rows"), sql.count("b1").alias("partners"), *columns).toArrow()


def _drain(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()
