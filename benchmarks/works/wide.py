"""A query of a seed and ten enrichments on Spark, against Spark SQL's joins of the same rows.

All columns are summed up per partition, or all rows are handed to Spark and dropped, so that neither side can leave a
column out; the sums of forty columns take both sides the same time. How Spark SQL joins is told in
:mod:`benchmarks.works.queries`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from benchmarks.data import Data
from benchmarks.timing import Case
from benchmarks.wide import make_wide
from benchmarks.works.consumers import drained, sums
from benchmarks.works.cube import PLAIN, RESTRICTED, by_index, case
from benchmarks.works.queries import Question, restricted


def cases(spark: SparkSession, data: Data) -> Iterator[Case]:
    """Without a condition, and with such as select by payload, by partition and by the index of an enrichment."""
    cube, few = make_wide(spark, data), f"p < {max(data.size.partitions // 16, 1)}"
    aggregated, first = sums(cube.partners), cube.enrichments[0]
    yield case(spark, cube, "all cells, summed up", Question(), aggregated, PLAIN)
    yield case(spark, cube, "all cells, rows only", Question(), drained, PLAIN)
    yield case(spark, cube, "2 % of the cells by payload, summed up", restricted(cube), aggregated, RESTRICTED)
    yield case(spark, cube, f"{few}, summed up", Question(None, few), aggregated, PLAIN)
    yield case(spark, cube, "3 values of an index, summed up", by_index(None, first), aggregated, RESTRICTED)
    collected = Question(None, "n1 = 7 AND v1 < 0.05", first)
    yield case(spark, cube, "1 of 20,000 cells, collected", collected, DataFrame.toArrow, RESTRICTED)
    yield case(spark, cube, "2 of 33 columns, summed up", Question(("v0", "n10")), aggregated, PLAIN)
