"""Scans on Spark of columns that are no plain columns of the files: categoricals, and those that only an index has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.answers import rows, spark_rows

from kubothek import C, Dataset, Scan, open_dataset, write_dataset
from kubothek.codec.header import encode_header
from kubothek.codec.index import encode_index
from kubothek.codec.keys import index_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"p": [1, 1, 2, 3], "i1": ["a", None, "a", "b"], "v1": [1, 2, 3, 4]})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Three partitions, with an index on x, a column that no file has."""
    path: Path = tmp_path_factory.mktemp("scan_columns")
    snapshot = write_dataset(ROWS, "d", path, partition_on="p")._snapshot
    labels = snapshot.partitions["label"].to_pylist()
    key = index_key("d", "x", datetime(2020, 1, 1, tzinfo=UTC))
    snapshot.store.put(key, encode_index("x", [pa.table({"x": [5, 6], "partition": [labels[:1], labels[1:2]]})]))
    snapshot.store.put(snapshot.key, encode_header(replace(snapshot.header, indices={"x": key})))
    return open_dataset("d", path)


SCANS: dict[str, Callable[[Dataset], Scan]] = {
    "categoricals": lambda ds: ds.scan(["i1", "p", "v1"], categoricals=["i1", "p"]),
    "categoricals and a condition": lambda ds: ds.scan(
        ["i1", "v1"], (C("i1") == "a") | (C("p") == 3), categoricals="i1"
    ),
    "an index-only column": lambda ds: ds.scan(["x", "v1"]),
    "a condition on it": lambda ds: ds.scan("v1", C("x").isin([5, None])),
    "both": lambda ds: ds.scan(["x", "v1"], C("x") != 5, categoricals="x"),
}


@pytest.mark.parametrize("name", SCANS)
def test_answers_are_those_in_process(spark: SparkSession, dataset: Dataset, name: str) -> None:
    """Spark gets the same rows, as plain values."""
    scan = SCANS[name](dataset)
    frame = scan.to_spark(spark)
    assert frame.columns == scan.schema.names
    assert spark_rows(frame) == rows(scan.to_arrow())
