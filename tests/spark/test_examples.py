"""The pipeline of the examples on a sample: right by another computation, idempotent, and limited to what changed.

The figures are computed again by DuckDB from the delivered files, delays and predictions included.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

from kubothek import open_dataset, query_cube
from kubothek.cli.demo_cube import same_rows
from kubothek.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = Path(__file__).parents[2] / "examples" / "pipeline"
FIRST, ADDED = ("2013-01", "2013-02"), "2013-03"
BY_MONTH = ("raw_flights", "raw_weather", "nyc++flights", "nyc++weather", "nyc++delays", "nyc++predictions", "kpis")
KEYS = ["MONTH", "ORIGIN", "CARRIER"]

# A flight knows of departures of its day that had taken place by its hour; {late} minutes are late.
IN_DUCKDB = """
    WITH flights AS (
        SELECT *, TIME_HOUR + to_minutes(CAST(MINUTE + DEP_DELAY AS BIGINT)) AS LEFT_AT
        FROM (SELECT DISTINCT * FROM read_csv('{landing}/flights/*.csv'))
    ), weather AS (FROM read_csv('{landing}/weather/*.csv')
    ), delays AS (
        SELECT f.ORIGIN, f.CARRIER, f.FLIGHT, f.TIME_HOUR, avg(o.DEP_DELAY) AS AIRPORT_DELAY,
               avg(o.DEP_DELAY) FILTER (WHERE o.CARRIER = f.CARRIER) AS CARRIER_DELAY
        FROM flights f JOIN flights o
            ON o.ORIGIN = f.ORIGIN AND o.MONTH = f.MONTH AND o.DAY = f.DAY AND o.LEFT_AT < f.TIME_HOUR
        GROUP BY ALL
    ), features AS (
        SELECT f.*, 1 AS CONSTANT, (HOUR - 12) / 6 AS HOURS, least(coalesce(d.AIRPORT_DELAY, 0), 120) / 60 AS AIRPORT,
               least(coalesce(d.CARRIER_DELAY, d.AIRPORT_DELAY, 0), 120) / 60 AS AIRLINE,
               CAST(d.AIRPORT_DELAY IS NULL AS INT) AS NOTHING_YET, coalesce(w.WIND_SPEED, 10) / 10 AS WIND,
               CAST(coalesce(w.PRECIP, 0) > 0 AS INT) AS RAIN, CAST(coalesce(w.VISIB, 10) < 2 AS INT) AS FOG
        FROM flights f LEFT JOIN delays d USING (ORIGIN, CARRIER, FLIGHT, TIME_HOUR)
        LEFT JOIN weather w USING (ORIGIN, TIME_HOUR)
    ), predicted AS (
        SELECT *, 1 / (1 + exp(-list_dot_product(
            {weights}::DOUBLE[], [CONSTANT, HOURS, AIRPORT, AIRLINE, NOTHING_YET, WIND, RAIN, FOG]::DOUBLE[]
        ))) AS P_LATE FROM features
    )
    SELECT printf('2013-%02d', MONTH) AS MONTH, ORIGIN, CARRIER, count(*) AS FLIGHTS,
           avg(CAST(DEP_TIME IS NULL AS DOUBLE)) AS CANCELLED, avg(DEP_DELAY) AS DELAY,
           avg(CAST(DEP_DELAY > 15 AS DOUBLE)) AS LATE,
           avg(P_LATE) FILTER (WHERE DEP_TIME IS NOT NULL) AS EXPECTED_LATE,
           avg((P_LATE - CAST(DEP_DELAY > 15 AS DOUBLE)) ** 2) AS BRIER
    FROM predicted GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True)
class Pipeline:
    """The steps, with the directories that they work on."""

    spark: SparkSession
    landing: Path
    store: str

    def run(self, **options: Any) -> dict[str, Any]:
        """Run all steps; return what each did."""
        return dict(step("run").run(self.spark, str(self.landing), self.store, **options))

    def labels(self) -> dict[str, set[str]]:
        """Return the files of every dataset."""
        return {uuid: set(open_dataset(uuid, self.store).partitions) for uuid in BY_MONTH}

    def versions(self) -> dict[str, int | None]:
        """Return how often each dataset was committed to."""
        return {uuid: open_dataset(uuid, self.store).version for uuid in BY_MONTH}

    def kpis(self) -> list[dict[str, Any]]:
        """Return the key figures."""
        rows = open_dataset("kpis", self.store).scan().to_arrow().sort_by([(key, "ascending") for key in KEYS])
        return rows.to_pylist()

    def expected(self) -> list[dict[str, Any]]:
        """Return the key figures as DuckDB computes them from the files and the weights of the model."""
        weights = open_dataset("late_model", self.store).scan().to_arrow()["WEIGHT"].to_pylist()
        asked = IN_DUCKDB.replace("{landing}", str(self.landing)).replace("{weights}", str(weights))
        return duckdb.sql(asked).to_arrow_table().to_pylist()


def step(name: str) -> Any:
    """Return a script of the examples as a module."""
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def pipeline(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """The pipeline, run on two months of the flights with low numbers."""
    sys.path.insert(0, str(PIPELINE))
    register(spark)
    folder = tmp_path_factory.mktemp("pipeline")
    made = Pipeline(spark, folder / "landing", str(folder / "store"))
    step("deliver").deliver(made.landing, FIRST, flights_below=40)
    assert set(made.run()) == {"ingest", "clean", "weather", "delays", "train", "predict", "kpis"}
    yield made
    sys.path.remove(str(PIPELINE))


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare rows but for the last digits of means."""
    assert expected
    names = list(expected[0])
    assert same_rows(*([[row[name] for name in names] for row in rows] for rows in (found, expected))), found


def test_key_figures_are_those_of_another_computation(pipeline: Pipeline) -> None:
    """DuckDB computes the same from the delivered files, in its own way."""
    assert_same(pipeline.kpis(), pipeline.expected())


def test_running_again_changes_nothing(pipeline: Pipeline) -> None:
    """No step finds anything to do, and no dataset gets a commit."""
    before = pipeline.versions()
    done = pipeline.run()
    assert done.pop("ingest") == {"raw_flights": [], "raw_weather": []}
    assert done == {name: [] for name in ("clean", "weather", "delays", "predict", "kpis")}
    assert pipeline.versions() == before


def test_a_new_month_adds_only_itself(pipeline: Pipeline) -> None:
    """Each dataset gets one commit, which leaves the files of the other months alone."""
    files, versions = pipeline.labels(), pipeline.versions()
    step("deliver").deliver(pipeline.landing, (ADDED,), flights_below=40)
    pipeline.run()
    assert {uuid: version - 1 for uuid, version in pipeline.versions().items()} == versions
    added = {uuid: labels - files[uuid] for uuid, labels in pipeline.labels().items()}
    assert all(labels and all(f"MONTH={ADDED}/" in label for label in labels) for labels in added.values())
    assert all(files[uuid] <= labels for uuid, labels in pipeline.labels().items())
    assert_same(pipeline.kpis(), pipeline.expected())


def test_a_corrected_delivery_replaces_its_month(pipeline: Pipeline) -> None:
    """Flights that come again, twice and with other delays, change their month in what is made from them alone."""
    files = pipeline.labels()
    path = pipeline.landing / "flights" / f"{FIRST[1]}.csv"
    rows = csv.read_csv(path)
    again = rows.set_column(rows.column_names.index("DEP_DELAY"), "DEP_DELAY", pc.add(rows["DEP_DELAY"], 9))
    csv.write_csv(pa.concat_tables([again, again]), path)
    pipeline.run()
    changed = {uuid: labels ^ files[uuid] for uuid, labels in pipeline.labels().items()}
    assert {uuid for uuid, labels in changed.items() if labels} == set(BY_MONTH) - {"raw_weather", "nyc++weather"}
    assert all(f"MONTH={FIRST[1]}/" in label for labels in changed.values() for label in labels)
    assert_same(pipeline.kpis(), pipeline.expected())


def test_the_model_knows_its_rows(pipeline: Pipeline) -> None:
    """Trained again on the rows that its pin names, however they have changed since, the model has the same weights."""
    model, train = open_dataset("late_model", pipeline.store), step("train")
    month, x, late = train.departures(pipeline.spark, pipeline.store, FIRST, model.metadata["pin"])
    weights = train.fit(x[month == FIRST[0]], late[month == FIRST[0]])
    assert model.scan().to_arrow()["WEIGHT"].to_pylist() == pytest.approx(weights)
    assert model.metadata["brier"] < model.metadata["brier_of_a_guess"]


def test_a_new_model_predicts_again_when_asked(pipeline: Pipeline) -> None:
    """A model that is trained anew is a version more, and only ``again`` brings it to months that are predicted."""
    step("train").train(pipeline.spark, pipeline.store)
    predict = step("predict").predict
    assert predict(pipeline.spark, pipeline.store) == []
    assert predict(pipeline.spark, pipeline.store, again=True) == [*FIRST, ADDED]
    assert set(query_cube("nyc", pipeline.store, columns="MODEL").to_arrow()["MODEL"].to_pylist()) == {2}
    step("kpis").aggregate(pipeline.spark, pipeline.store)
    assert_same(pipeline.kpis(), pipeline.expected())
