"""Values at the edge of their types, as Spark sees them: through its own reader and through tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.answers import is_native, setting

from kubothek import write_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLOATS = [-0.0, 0.0, float("inf"), float("-inf"), float("nan"), 5e-324, -1.7976931348623157e308, None]
MICROSECONDS = [
    -62135596800000000,  # 0001-01-01
    -12219292800000001,  # the last of the old calendar
    -12218860800000000,  # within the days that the change of calendars left out
    -1,
    0,
    253402300799999999,  # the end of 9999
    None,
]


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["native", "tasks"])
def test_numbers_at_the_edge(spark: SparkSession, tmp_path: Path, where: str | None) -> None:
    """Zeros of either sign, infinities, NaN and null stay apart, also inside lists and structs."""
    table = pa.table(
        {
            "x": range(len(FLOATS)),
            "v1": pa.array(FLOATS, pa.float64()),
            "v2": pa.array([[value] for value in FLOATS], pa.list_(pa.float64())),
            "v3": pa.array([{"a": value} for value in FLOATS], pa.struct([("a", pa.float64())])),
        }
    )
    frame = write_dataset(table, "d", tmp_path).scan(where=where).to_spark(spark)
    assert is_native(frame) == (where is None)
    found = frame.select("x", "v1", "v2", "v3").orderBy("x").toArrow()
    assert str(found.to_pydict()) == str(table.to_pydict())


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["native", "tasks"])
def test_times_at_the_edge(spark: SparkSession, tmp_path: Path, where: str | None, zone: str) -> None:
    """Days and times from the year 1 to the year 9999 are what they say, in any calendar and zone."""
    days = [None if one is None else one // 86_400_000_000 for one in MICROSECONDS]
    table = pa.table(
        {
            "x": pa.array(range(len(days)), pa.int64()),
            "v1": pa.array(days, pa.int32()).cast(pa.date32()),
            "v2": pa.array(MICROSECONDS, pa.timestamp("us")),
            "v3": pa.array(MICROSECONDS, pa.timestamp("us", "UTC")),
        }
    )
    with setting(spark, "spark.sql.session.timeZone", zone):
        frame = write_dataset(table, "d", tmp_path).scan(where=where).to_spark(spark)
        found = frame.select(*table.column_names).orderBy("x").toArrow()
    for name, kind in (("v1", pa.int32()), ("v2", pa.int64()), ("v3", pa.int64())):
        assert found[name].cast(kind).to_pylist() == table[name].cast(kind).to_pylist()
