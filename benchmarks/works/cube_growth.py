"""How the cost of a cube query grows with its rows and with the number of its enrichments, on Spark and in-process.

Rows grow with the partitions of the query, which are all of one size; enrichments are those of the wide cube, of which
the query names so many. Columns grow with the enrichments, by three each.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from benchmarks.curves import Curve
from benchmarks.data import Data, StoredCube
from benchmarks.timing import Case, Contender
from benchmarks.wide import make_wide, wide_cube
from benchmarks.works.consumers import summed_table, sums
from benchmarks.works.cube import PAYLOAD
from benchmarks.works.growth import curves
from benchmarks.works.queries import Question, ask, in_process, stored

_ENRICHMENTS = (1, 2, 5, 10)
_DOUBLINGS = 4
REASON = "What is looked for is how cost grows."


def rows(spark: SparkSession, data: Data) -> Iterator[Curve]:
    """A cube query against rows, each place twice the one before."""
    partitions = [data.size.partitions >> n for n in reversed(range(_DOUBLINGS))]
    places = [
        (data.size.rows * count / data.size.partitions, Question(PAYLOAD, f"p < {count}")) for count in partitions
    ]
    on_spark = ((x, _on_spark(spark, data.cube, question)) for x, question in places)
    yield from curves("cube query on Spark, 2 enrichments", "rows of the seed", on_spark, "Every row is read.")
    here = ((x, _in_process(data.cube, question)) for x, question in places)
    yield from curves("cube query in-process, 2 enrichments", "rows of the seed", here, "Every row is read.")


def enrichments(spark: SparkSession, data: Data) -> Iterator[Curve]:
    """A cube query against the number of its enrichments."""
    wide = make_wide(spark, data)
    cubes = [(n, wide_cube(wide.folder, n)) for n in _ENRICHMENTS]
    questions = [(n, cube, Question(_payload(n))) for n, cube in cubes]
    on_spark = ((n, _on_spark(spark, cube, question)) for n, cube, question in questions)
    yield from curves("cube query on Spark", "enrichments", on_spark, "Every enrichment is read and joined.")
    here = ((n, _in_process(cube, question)) for n, cube, question in questions)
    yield from curves("cube query in-process", "enrichments", here, "Every enrichment is read and joined.")


def _payload(enrichments: int) -> tuple[str, ...]:
    return ("n0", "v0", *(f"{kind}{n}" for n in range(1, enrichments + 1) for kind in "nvw"))


def _on_spark(spark: SparkSession, cube: StoredCube, question: Question) -> Case:
    consume = sums(cube.partners)

    def ours() -> DataFrame:
        return ask(cube, question).to_spark(spark)

    contenders = (
        Contender("Kubothek", lambda: consume(ours())),
        Contender("Spark SQL", lambda: consume(stored(spark, cube, question))),
    )
    return Case("cube query", "on Spark", contenders, reason=REASON)


def _in_process(cube: StoredCube, question: Question) -> Case:
    contenders = in_process(cube, question, summed_table, None, ordered=False)
    return Case("cube query", "in-process", tuple(contenders), reason=REASON)
