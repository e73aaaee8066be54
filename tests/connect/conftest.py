"""The one Connect session that all tests here share, and the server behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.connect.server import connect_server

from kubothek.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.register_assert_rewrite("tests.spark")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server as tests/spark starts Spark: two tasks at a time, each tried twice, in UTC."""
    config = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4", "spark.master": "local[2,2]"}
    with connect_server(tmp_path_factory.mktemp("server"), config) as address:
        yield address


@pytest.fixture(scope="session")
def spark(server: str) -> Iterator[SparkSession]:
    """Connect to it."""
    session = local_session("kubothek-tests", remote=server)
    yield session
    session.stop()
