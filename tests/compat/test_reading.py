"""Frames of pandas have the values that are stored, or there are none."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.io.eager import read_dataset_as_dataframes, read_table
from kubothek.compat.io.eager_cube import query_cube
from kubothek.compat.reading import to_pandas
from kubothek.errors import InvalidInputError

LAST = date(9999, 12, 31)
BIG = 2**53 + 1  # which no float holds
OUT_OF_RANGE = {
    "date32": pa.array([LAST]),
    "date64": pa.array([None, LAST], pa.date64()),
    "the first day": pa.array([date(1, 1, 1)]),
    "one day too early": pa.array([date(1677, 9, 21)]),
    "one day too late": pa.array([date(2262, 4, 12)]),
    "categories": pa.array([LAST]).dictionary_encode(),
    "times": pa.array([LAST]).cast(pa.timestamp("us")),
    "times of a zone": pa.array([LAST]).cast(pa.timestamp("us", "UTC")),
    "durations": pa.array([timedelta(days=200_000)]),
}


@pytest.fixture(scope="module")
def url() -> str:
    """Put a dataset with days that nanoseconds cannot count."""
    place = "memory://compat_reading"
    kb.write_dataset(pa.table({"x": [1], "until": [LAST]}), "d", place, secondary_indices="until")
    return place


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_values_out_of_range(name: str) -> None:
    """What does not fit into nanoseconds is an error that names the column."""
    with pytest.raises(InvalidInputError, match="'v1'") as caught:
        to_pandas(pa.table({"x": OUT_OF_RANGE[name], "v1": OUT_OF_RANGE[name]}))
    assert caught.value.columns == ("x", "v1")


def test_values_at_the_limit() -> None:
    """The first and the last day that nanoseconds can count are read."""
    days = [date(1677, 9, 22), None, date(2262, 4, 11)]
    found = to_pandas(pa.table({"v1": pa.array(days)}))["v1"]
    assert [None if day is None else day.isoformat() for day in days] == [
        None if str(time) == "NaT" else time.date().isoformat() for time in found
    ]


@pytest.mark.parametrize("read", [read_table, read_dataset_as_dataframes])
def test_reads_of_datasets(read: Any, url: str) -> None:
    """Dates as objects are whole, and without them nothing is returned."""
    with pytest.raises(InvalidInputError, match="'until' are out of range: pass dates_as_object=True"):
        read("d", url)
    found = read("d", url, dates_as_object=True)
    assert (found[0]["table"] if isinstance(found, list) else found)["until"].tolist() == [LAST]


def test_reads_of_indices(url: str) -> None:
    """Indices are no other than columns."""
    loaded = DatasetMetadata.load_from_store("d", url)
    with pytest.raises(InvalidInputError, match="date_as_object=True"):
        loaded.get_indices_as_dataframe(date_as_object=False)
    assert loaded.get_indices_as_dataframe()["until"].tolist() == [LAST]


def test_reads_of_cubes() -> None:
    """A cube has no objects for dates, so the error names what has."""
    cube = kb.Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p")
    rows = pa.table({"x": [1], "p": [1], "v1": [LAST]})
    kb.build_cube(rows, cube, "memory://compat_reading_cube")
    with pytest.raises(InvalidInputError, match=r"'v1'.*kubothek\.query_cube"):
        query_cube(cube, "memory://compat_reading_cube")


def test_indices_keep_large_integers() -> None:
    """Integers are whole where some partition has no value, and NumPy's where each has one."""
    place = "memory://compat_reading_large"
    rows = pa.table({"p": [1, 2], "i1": pa.array([BIG, None])})
    kb.write_dataset(rows, "d", place, partition_on="p", secondary_indices="i1")
    found = DatasetMetadata.load_from_store("d", place).get_indices_as_dataframe()
    assert {name: str(kind) for name, kind in found.dtypes.items()} == {"p": "int64", "i1": "Int64"}
    assert found["i1"].dropna().tolist() == [BIG]
