"""The demo's steps on a part of its rows: what is computed is right, and both ways of asking agree."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest

from kubothek import query_cube
from kubothek.cli import demo_cube
from kubothek.cli.demo_data import DemoData, load_demo_data
from kubothek.spark.progress import StageTasks, watch_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def data() -> DemoData:
    """Keep the flights with low numbers, so that each month and airport has some."""
    data = load_demo_data()
    return DemoData(data.flights.filter(pc.field("FLIGHT") < 60), data.weather, data.airports, data.airlines)


@pytest.fixture(scope="module")
def store(spark: SparkSession, data: DemoData, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the cube as the demo does."""
    store = str(tmp_path_factory.mktemp("demo"))
    demo_cube.build_flights(spark, data, store)
    demo_cube.extend_with_tables(spark, data, store)
    demo_cube.extend_with_delays(spark, store)
    demo_cube.append_month(spark, data, store)
    return store


def test_the_cube_holds_every_flight(store: str, data: DemoData) -> None:
    """Each row of the package is one cell, those of the appended month included."""
    dimensions = list(demo_cube.CUBE.dimension_columns)
    expected = data.flights.select(dimensions).sort_by([(column, "ascending") for column in dimensions])
    assert query_cube(demo_cube.CUBE, store).to_arrow().select(dimensions).to_pydict() == expected.to_pydict()


def test_delays_are_those_of_the_three_hours_before(store: str, data: DemoData) -> None:
    """The computed table equals a loop over all flights, across the border of the appended month too."""
    by_hour = defaultdict(list)
    for row in data.flights.select(["ORIGIN", "TIME_HOUR", "DEP_DELAY"]).to_pylist():
        by_hour[row["ORIGIN"], row["TIME_HOUR"]].append(row["DEP_DELAY"])

    def expected(origin, hour):
        before = [d for n in (1, 2, 3) for d in by_hour.get((origin, hour - timedelta(hours=n)), []) if d is not None]
        return sum(before) / len(before) if before else None

    rows = query_cube(demo_cube.CUBE, store, columns="DELAY_BEFORE").to_arrow().to_pylist()
    assert [row["DELAY_BEFORE"] for row in rows] == [expected(row["ORIGIN"], row["TIME_HOUR"]) for row in rows]


def test_both_ways_give_the_same_rows(spark: SparkSession, store: str) -> None:
    """The cube's answer is that of the joins by hand, and there is one."""
    ours, by_hand = (ask(spark, store) for ask in (demo_cube.fog_by_airline, demo_cube.fog_by_airline_by_hand))
    assert demo_cube.same_rows(ours, by_hand)
    assert len(ours) > 3


def test_progress_is_seen_while_spark_works(spark: SparkSession) -> None:
    """The status tracker tells of running tasks from another thread than the one that waits."""
    seen: list[StageTasks] = []

    def slow(batches):
        time.sleep(1)
        yield from batches

    with watch_tasks(spark, seen.append, every=0.05):
        spark.range(0, 2, 1, 2).mapInArrow(slow, "id long").collect()
    assert max(tasks.total for tasks in seen) == 2
