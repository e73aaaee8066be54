"""What is foretold of Spark: the number of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kubothek import Cube, build_cube, query_cube, write_dataset
from kubothek.errors import InvalidInputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUBE = Cube("c", ["x"], ["p"])


def test_tasks_are_foretold(spark: SparkSession, tmp_path: Path) -> None:
    """As many tasks are expected of a session as its lazy DataFrame has partitions."""
    seed = pa.table({"x": range(7), "p": range(7)})
    build_cube({"seed": seed, "e": seed.append_column("v1", seed["x"])}, CUBE, str(tmp_path))
    for query in (query_cube(CUBE, str(tmp_path), where=where) for where in (None, "p > 5")):
        partitions = query.to_spark(spark).selectExpr("spark_partition_id()").distinct()
        assert query.explain(spark=spark).tasks == partitions.count()


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    """Tasks are foretold for Spark sessions only."""
    ds = write_dataset(pa.table({"x": [1]}), "u", str(tmp_path))
    with pytest.raises(InvalidInputError, match="SparkSession"):
        ds.scan().explain(spark="local[4]")  # type: ignore[arg-type]  # wrong on purpose
