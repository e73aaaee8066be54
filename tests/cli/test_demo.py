"""The rows of the demo are fit for a cube, and what it recommends works."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kubothek import build_cube
from kubothek.cli import demo_data
from kubothek.cli.demo import NEXT
from kubothek.cli.demo_cube import CUBE
from kubothek.cli.demo_data import DemoData, load_demo_data
from kubothek.errors import CorruptDatasetError


@pytest.fixture(scope="module")
def data() -> DemoData:
    """Read the tables once."""
    return load_demo_data()


@pytest.mark.parametrize("name", ["flights", "weather", "airports", "airlines"])
def test_cells_are_unique_and_complete(data: DemoData, name: str) -> None:
    """The dimensions that a table has identify its rows, and none is null, as cubes want it."""
    table = getattr(data, name)
    dimensions = [column for column in CUBE.dimension_columns if column in table.column_names]
    assert table.select(dimensions).group_by(dimensions).aggregate([]).num_rows == table.num_rows
    assert sum(table[column].null_count for column in dimensions) == 0


def test_payload_columns_live_in_one_table(data: DemoData) -> None:
    """Calendar columns are with the flights alone; only dimensions and the partition column are shared."""
    shared = set(data.flights.column_names) & set(data.weather.column_names)
    assert shared == {"ORIGIN", "TIME_HOUR", "MONTH"}
    assert {"YEAR", "DAY", "HOUR"} <= set(data.flights.column_names)


def test_hours_lie_in_the_same_month_everywhere(data: DemoData) -> None:
    """An hour at an airport has one month, so flights and their weather are in the same partition."""
    hours = pa.concat_tables([table.select(["ORIGIN", "TIME_HOUR", "MONTH"]) for table in (data.flights, data.weather)])
    distinct = hours.group_by(hours.column_names).aggregate([])
    assert distinct.num_rows == distinct.group_by(["ORIGIN", "TIME_HOUR"]).aggregate([]).num_rows


def test_files_of_another_version_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that does not have the files, here any other, is named with the file that is missing."""
    monkeypatch.setattr(demo_data, "_PACKAGE", "click")
    with pytest.raises(CorruptDatasetError, match=r"flights\.csv\.zip of the package click"):
        load_demo_data()


def test_recommended_code_runs(tmp_path: Path) -> None:
    """What the demo proposes to do next is valid for its cube."""
    flight = {"ORIGIN": ["JFK"], "CARRIER": ["B6"], "FLIGHT": [1], "TIME_HOUR": [0], "MONTH": [1], "TAILNUM": ["N1"]}
    weather = {"ORIGIN": ["JFK"], "TIME_HOUR": [0], "MONTH": [1], "WIND_GUST": [70.0]}
    build_cube({"flights": pa.table(flight), "weather": pa.table(weather)}, CUBE, tmp_path)
    setup, query = NEXT.format(cube=CUBE.uuid_prefix, store=tmp_path).strip().splitlines()
    names: dict = {}
    exec(f"{setup}\nrows = {query}", names)  # noqa: S102  it is ours
    assert names["rows"].num_rows == 1
