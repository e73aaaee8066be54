"""The data source on a server of Connect: what a classic session is asked, too, and what is different.

A frame of Connect is a question that the server reads whenever it is asked; nothing is opened when it is made.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from tests.spark.test_source import (
    pushing,
    store,
    test_a_query_opens_the_files_of_a_scan,
    test_a_schema_of_the_user_chooses_columns,
    test_views_are_found_and_joined,
)

from kubothek import update_dataset, write_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_options_that_are_wrong_are_refused_when_the_server_sees_them(spark: SparkSession, tmp_path: Path) -> None:
    """The first question about the frame is answered by what is wrong."""
    frame = spark.read.format("kubothek").option("dataset", "d").option("colums", "x").load(str(tmp_path))
    with pytest.raises(PySparkException, match="'colums' is unknown; did you mean 'columns'"):
        frame.schema  # noqa: B018  asks the server


def test_a_version_holds_a_frame_still(spark: SparkSession, tmp_path: Path) -> None:
    """With ``at`` a frame shows the same rows whatever others commit."""
    write_dataset(pa.table({"x": [1]}), "d", tmp_path)
    frame = spark.read.format("kubothek").options(dataset="d", at=1).load(str(tmp_path))
    update_dataset(pa.table({"x": [2]}), "d", tmp_path)
    assert [row.x for row in frame.collect()] == [1]
    assert [row.x for row in frame.where("x > 0").collect()] == [1]
