"""A cube query in this process, against Polars and DuckDB joining the same Parquet files; an Arrow table each.

Kubothek's table comes sorted by the dimensions; the rivals' come in no order, as Kubothek's own batches do. How they
join is told in :mod:`benchmarks.works.queries`. The tables are compared by the sums and counts of all columns per
partition, off the clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from benchmarks.data import Data
from benchmarks.timing import Case
from benchmarks.wide import make_wide
from benchmarks.works.consumers import summed_table
from benchmarks.works.cube import PAYLOAD
from benchmarks.works.queries import Question, in_process, restricted

GOAL = 1 / 1.5
"""At most one and a half times as long as the fastest."""


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Two and ten enrichments, without a condition, and with one that restricts the query to 2 % of the cells."""
    for cube, columns in ((data.cube, PAYLOAD), (make_wide(spark, data), None)):
        for name, question in (("all cells", Question(columns)), ("2 % of the cells", restricted(cube, columns))):
            contenders = in_process(cube, question, summed_table, GOAL)
            yield Case("cube query in-process", f"{len(cube.enrichments)} enrichments, {name}", tuple(contenders))
