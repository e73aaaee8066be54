"""A cube query in this process, against Polars and DuckDB joining the same Parquet files; an Arrow table each.

Kubothek's table comes sorted by the dimensions, and its batches partition by partition: both are measured, the first
with rivals that sort, the second with such as do not. How they join is told in :mod:`benchmarks.works.queries`. The
tables are compared by the sums and counts of all columns per partition, off the clock.
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
            for ordered, order in ((True, "sorted"), (False, "in any order")):
                contenders = in_process(cube, question, summed_table, GOAL, ordered=ordered)
                said = f"{len(cube.enrichments)} enrichments, {name}, {order}"
                yield Case("cube query in-process", said, tuple(contenders))
