"""The one Spark session that all Spark tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kubothek.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark: two tasks at a time, each tried twice, in UTC, so that a test may set another zone."""
    config = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}
    session = local_session("kubothek-tests", master="local[2,2]", memory="2g", config=config)
    yield session
    session.stop()
