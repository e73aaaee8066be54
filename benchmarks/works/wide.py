"""A query of a seed and ten enrichments on Spark, against Spark SQL's joins of the same rows.

All columns are summed up per partition, or all rows are handed to Spark and dropped, so that neither side can leave a
column out; the sums of forty columns take both sides the same time. Spark SQL joins the cube's own Parquet
files as it would by default and told to by its hints, and tables that were bucketed and sorted by the keys beforehand,
which spares it the shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

import kubothek as kb
from benchmarks.data import Data
from benchmarks.shuffle import shuffled_bytes
from benchmarks.timing import Case, Contender
from benchmarks.wide import CUBE, ENRICHMENTS, KEYS, WideData, make_wide, table

RESTRICTION = "n1 < 20"
"""Holds for 2 % of the rows of an enrichment."""


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Without a condition, and with one that restricts the query to 2 % of the cells."""
    wide = make_wide(spark, data)
    yield _case(spark, wide, "no condition, summed up", None, sums)
    yield _case(spark, wide, "no condition, rows only", None, drained)
    yield _case(spark, wide, "2 % of the cells, summed up", RESTRICTION, sums)


def _case(
    spark: SparkSession, data: WideData, name: str, where: str | None, consume: Callable[[DataFrame], pa.Table]
) -> Case:
    def ours() -> DataFrame:
        return kb.query_cube(CUBE, data.store, where=where).to_spark(spark)

    def stored(dataset: str) -> DataFrame:
        return spark.read.parquet(data.files(dataset))

    def rival(hint: str | None = None) -> DataFrame:
        return join(stored, where, hint)

    def bucketed() -> DataFrame:
        return join(partial(table, spark, data), where)

    def note() -> str:
        own, default = (shuffled_bytes(spark, partial(drained, frame)) for frame in (ours(), rival()))
        assert own == 0, f"the cube query shuffled {own} bytes"
        return f"Joins shuffle 0 bytes in Kubothek, {default / 1e6:,.1f} MB in Spark SQL."

    contenders = (
        Contender("Kubothek", lambda: consume(ours())),
        Contender("Spark SQL", lambda: consume(rival()), goal=6.0),
        Contender("broadcast hint", lambda: consume(rival("broadcast")), goal=2.0),
        Contender("shuffle-hash hint", lambda: consume(rival("shuffle_hash")), goal=2.0),
        Contender("bucketed tables", lambda: consume(bucketed()), goal=2.0),
    )
    return Case("wide cube query", name, contenders, note)


def join(rows: Callable[[str], DataFrame], where: str | None, hint: str | None = None) -> DataFrame:
    """Join as a user of Spark SQL would; a condition on the first enrichment makes its join an inner one."""
    enrichments = {dataset: rows(dataset) for dataset in ENRICHMENTS}
    first = ENRICHMENTS[0]
    if where is not None:
        enrichments[first] = enrichments[first].where(where)

    def added(left: DataFrame, dataset: str) -> DataFrame:
        right = enrichments[dataset] if hint is None else enrichments[dataset].hint(hint)
        return left.join(right, [*KEYS], "inner" if where is not None and dataset == first else "left")

    return reduce(added, ENRICHMENTS, rows("seed"))


def sums(frame: DataFrame) -> pa.Table:
    """Sum up all payload columns per partition, and count their values."""
    payload = [name for name in frame.columns if name not in KEYS]
    counted = [sql.count(name).alias(f"count_{name}") for name in payload if name.startswith("n")]
    columns = [sql.sum(name).alias(name) for name in payload]
    return (
        frame.groupBy("p").agg(sql.count("*").alias("rows"), sql.sum("x"), sql.sum("y"), *counted, *columns).toArrow()
    )


def drained(frame: DataFrame) -> pa.Table:
    """Make Spark produce every row and drop it; return how many there were."""
    seen = Observation()
    frame.observe(seen, sql.count("*").alias("rows")).write.format("noop").mode("overwrite").save()
    return pa.table({"rows": [seen.get["rows"]]})
