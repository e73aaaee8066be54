"""The cube of the demo: how it is written on Spark, what is asked, and the same question by hand as joins.

::

    flights    seed       ORIGIN, CARRIER, FLIGHT, TIME_HOUR   a file per MONTH, indices on these and TAILNUM
    weather    coarser    ORIGIN, TIME_HOUR                    a file per MONTH
    delays     computed   ORIGIN, TIME_HOUR                    a file per MONTH
    airports              ORIGIN                               one file
    airlines              CARRIER                              one file
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kubothek.cli.demo_data import DemoData, of_month, until_month
from kubothek.cube.build import build_cube, extend_cube
from kubothek.cube.query import Query, query_cube
from kubothek.cube.update import append_to_cube
from kubothek.dataset.dataset import Dataset
from kubothek.model.cube import Cube

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUBE = Cube(
    uuid_prefix="nyc",
    dimension_columns=("ORIGIN", "CARRIER", "FLIGHT", "TIME_HOUR"),
    partition_columns=("MONTH",),
    seed_dataset="flights",
    index_columns=("TAILNUM",),
)
LAST_BUILT, APPENDED = 11, 12
AIRCRAFT = "N375JB"
FOG = "VISIB < 1"
_UNPARTITIONED: dict[str, tuple[str, ...]] = {"airports": (), "airlines": ()}

_ROLLING_DELAY = """
    WITH hourly AS (
        SELECT ORIGIN, TIME_HOUR, MONTH, sum(DEP_DELAY) AS late, count(DEP_DELAY) AS departures
        FROM {flights} GROUP BY ORIGIN, TIME_HOUR, MONTH
    )
    SELECT ORIGIN, TIME_HOUR, MONTH, sum(late) OVER before / sum(departures) OVER before AS DELAY_BEFORE
    FROM hourly
    WINDOW before AS (
        PARTITION BY ORIGIN ORDER BY TIME_HOUR
        RANGE BETWEEN INTERVAL 3 HOURS PRECEDING AND INTERVAL 1 HOUR PRECEDING
    )
"""
_BY_AIRLINE = """
    SELECT AIRLINE, count(*) AS FLIGHTS, avg(DEP_DELAY) AS DELAY, avg(DELAY_BEFORE) AS DELAY_BEFORE,
           100 * avg(CAST(DEP_TIME IS NULL AS INT)) AS CANCELLED
    FROM {rows} GROUP BY AIRLINE ORDER BY AIRLINE
"""
_BY_HAND = f"""
    SELECT * FROM {{flights}}
    JOIN {{weather}} USING (ORIGIN, TIME_HOUR, MONTH)
    LEFT JOIN {{delays}} USING (ORIGIN, TIME_HOUR, MONTH)
    LEFT JOIN {{airlines}} USING (CARRIER)
    WHERE {FOG}
"""  # noqa: S608  a constant


@dataclass(frozen=True, slots=True)
class Race:
    """The median seconds of both ways to ask, and whether their results are equal."""

    kubothek: float
    by_hand: float
    equal: bool

    @property
    def ratio(self) -> float:
        """Kubothek's time as a multiple of the other's."""
        return self.kubothek / self.by_hand


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table as a Spark DataFrame.

    Its chunks are joined first: ``createDataFrame`` drops, silently, the rows behind a chunk without rows, and filters
    leave such chunks (seen with PySpark 4.3).
    """
    return spark.createDataFrame(table.combine_chunks())


def build_flights(spark: SparkSession, data: DemoData, store: str) -> dict[str, Dataset]:
    """Build the cube with its seed, all months but the last."""
    return build_cube(to_frame(spark, until_month(data.flights, LAST_BUILT)), CUBE, store)


def extend_with_tables(spark: SparkSession, data: DemoData, store: str) -> dict[str, Dataset]:
    """Add what is known of hours, airports and airlines; small tables need no Spark."""
    weather = to_frame(spark, until_month(data.weather, LAST_BUILT))
    tables = {"weather": weather, "airports": data.airports, "airlines": data.airlines}
    return extend_cube(tables, CUBE, store, partition_on=_UNPARTITIONED)


def extend_with_delays(spark: SparkSession, store: str) -> dict[str, Dataset]:
    """Add the mean departure delay of the three hours before, computed on Spark from the cube's own rows."""
    flights = query_cube(CUBE, store, columns="DEP_DELAY").to_spark(spark)
    return extend_cube({"delays": spark.sql(_ROLLING_DELAY, flights=flights)}, CUBE, store)


def append_month(spark: SparkSession, data: DemoData, store: str) -> dict[str, Dataset]:
    """Add the last month to the seed, the weather and the delays in one call."""
    delays = spark.sql(_ROLLING_DELAY, flights=to_frame(spark, data.flights.select(_DELAY_INPUT)))
    month = {
        "flights": to_frame(spark, of_month(data.flights, APPENDED)),
        "weather": to_frame(spark, of_month(data.weather, APPENDED)),
        "delays": delays.where(f"MONTH = {APPENDED}"),
    }
    return append_to_cube(month, CUBE, store)


_DELAY_INPUT = ["ORIGIN", "TIME_HOUR", "MONTH", "DEP_DELAY"]


def rows_of(dataset: Dataset) -> int:
    """Count the rows of a dataset by its header."""
    return sum(part.rows or 0 for part in dataset.partitions.values())


def find_aircraft(store: str) -> Query:
    """Ask where one aircraft flew; the index on its tail number says in which files it is."""
    columns = ["AIRPORT", "DEST", "DEP_DELAY", "TEMP", "TAILNUM"]
    return query_cube(CUBE, store, where=f"TAILNUM == '{AIRCRAFT}'", columns=columns)


def flights_in_fog(store: str) -> Query:
    """Ask for the flights in hours without sight: a condition on an enrichment."""
    return query_cube(CUBE, store, where=FOG, columns=["AIRLINE", "DEP_DELAY", "DEP_TIME", "DELAY_BEFORE"])


def fog_by_airline(spark: SparkSession, store: str) -> list[Any]:
    """Return the delays in fog per airline, from the cube."""
    return spark.sql(_BY_AIRLINE, rows=flights_in_fog(store).to_spark(spark)).collect()


def fog_by_airline_by_hand(spark: SparkSession, store: str) -> list[Any]:
    """Return the same from the same files, joined by hand."""
    names = ("flights", "weather", "delays", "airlines")
    frames: dict[str, Any] = {name: spark.read.parquet(f"{store}/{CUBE.dataset_uuid(name)}/table") for name in names}
    return spark.sql(_BY_AIRLINE, rows=spark.sql(_BY_HAND, **frames)).collect()


def race(ours: Callable[[], list[Any]], theirs: Callable[[], list[Any]], *, rounds: int = 3) -> Race:
    """Run both in turn, once to warm up and then some rounds, and compare their times and results."""
    equal = same_rows(ours(), theirs())
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, seconds in zip((ours, theirs), times, strict=True):
            begin = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - begin)
    return Race(statistics.median(times[0]), statistics.median(times[1]), equal)


def same_rows(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> bool:
    """Tell whether rows are equal; means of floats may differ in the last digits, as they depend on the order.

    Examples
    --------
    >>> same_rows([("AA", 0.1 + 0.2)], [("AA", 0.3)]), same_rows([("AA", 1.0)], [("AA", None)])
    (True, False)
    """
    return len(left) == len(right) and all(
        len(one) == len(other) and all(map(_same, one, other)) for one, other in zip(left, right, strict=True)
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)
