"""A query of a seed and two enrichments on Spark, against Spark SQL's joins of the same Parquet files.

Everything from opening to the last row is timed. How Spark SQL joins, by default, by hints, and over bucketed tables,
is told in :mod:`benchmarks.works.queries`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import Data, StoredCube
from benchmarks.shuffle import shuffled_bytes
from benchmarks.timing import Case
from benchmarks.works.consumers import drained, summed_files, sums, written
from benchmarks.works.queries import BEST, Question, ask, on_spark, restricted, stored

PAYLOAD = ("n1", "v1", "a2", "a3", "b1", "b2")
PLAIN, RESTRICTED = 5.0, 8.0
"""Goals against Spark SQL by default: without, and with a condition that restricts."""


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Without a condition and with such as select by payload, partition and index; few columns; and other consumers."""
    cube, few = data.cube, f"p < {max(data.size.partitions // 16, 1)}"
    aggregated = sums(cube.partners)
    yield case(spark, cube, "all cells, summed up", Question(PAYLOAD), aggregated, PLAIN)
    yield case(spark, cube, "2 % of the cells by payload, summed up", restricted(cube, PAYLOAD), aggregated, RESTRICTED)
    yield case(spark, cube, f"{few}, summed up", Question(PAYLOAD, few), aggregated, PLAIN)
    yield case(spark, cube, "3 values of an index, summed up", by_index(PAYLOAD, "seed"), aggregated, RESTRICTED)
    yield case(spark, cube, "2 of 15 columns, summed up", Question(("v1", "b1")), aggregated, PLAIN)
    collected = Question(PAYLOAD, "a1 = 7 AND a4 < 0.05", "complete")
    yield case(spark, cube, "1 of 20,000 cells, collected", collected, DataFrame.toArrow, RESTRICTED)
    yield case(spark, cube, "all cells, written", Question(PAYLOAD), written(data.written), None, summed_files)


def by_index(columns: tuple[str, ...] | None, dataset: str) -> Question:
    """Ask for three values of the column that has an index."""
    return Question(columns, "i1 IN (1, 2, 3)", dataset)


def case(
    spark: SparkSession,
    cube: StoredCube,
    name: str,
    question: Question,
    consume: Callable[[DataFrame], object],
    goal: float | None,
    rows: Callable[..., pa.Table] = lambda found: found,
) -> Case:
    """Let all contenders answer a question; a write has no goal, since it takes most of the time itself."""

    def note() -> str:
        own, default = (
            shuffled_bytes(spark, partial(drained, frame))
            for frame in (ask(cube, question).to_spark(spark), stored(spark, cube, question))
        )
        assert own == 0, f"the cube query shuffled {own} bytes"
        return f"Joins shuffle 0 bytes in Kubothek, {default / 1e6:,.1f} MB in Spark SQL."

    goals = (goal, None if goal is None else BEST)
    contenders = tuple(on_spark(spark, cube, question, consume, rows, goals))
    work = f"cube query, {len(cube.enrichments)} enrichments"
    if goal is None:
        return Case(work, name, contenders, reason="The write of the rows is Spark's own, and the same for all.")
    return Case(work, name, contenders, note)
