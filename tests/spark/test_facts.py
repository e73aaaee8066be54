"""Indices, footers and hashes from Spark's tasks: the same as in-process, and nothing is left behind."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.answers import left_behind
from tests.spark.flaky import FlakyStore

import kubothek as kb
from kubothek.errors import InvalidInputError, SnapshotExpiredError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = datetime.UTC


def rows(count: int = 24) -> pa.Table:
    """Rows of every kind of type, with nulls in all columns but the partition column."""
    values: dict[str, list[Any]] = {
        "i1": [7, -1, 2**62],
        "v1": [0.0, -0.0, math.nan],
        "v2": ["a", "ü" * 9, ""],
        "v3": [b"\0", b"", b"xyz" * 5],
        "v4": [Decimal("1.50"), Decimal("-9.99"), Decimal(0)],
        "v5": [[1, None], [], [2]],
        "v6": [{"a": "x", "b": None}, {"a": None, "b": [True]}, {"a": "", "b": []}],
        "v7": [datetime.time(1), datetime.time(2, 3, 4, 5), datetime.time.max],
        "v8": [datetime.datetime(2020, 1, 1, tzinfo=UTC), datetime.datetime(1960, 1, 1, tzinfo=UTC), None],
        "v9": [datetime.date(2020, 2, 29), datetime.date(1, 1, 1), None],
    }
    columns = {name: [(*some, None)[i % 4] for i in range(count)] for name, some in values.items()}
    made = pa.table({"p": [i % 3 for i in range(count)], "x": range(count), **columns})
    wide = pa.array([None if i % 4 == 3 else i for i in range(count)], pa.decimal256(60, 2))
    return made.append_column("v10", wide).append_column("v11", made["v2"].dictionary_encode())


def written(folder: Path, **layout: Any) -> kb.Dataset:
    """Write the rows as several files."""
    frames = [rows().slice(start, 6) for start in range(0, 24, 6)]
    return kb.write_dataset(frames, "d", folder, **{"partition_on": "p", **layout})


@pytest.mark.parametrize("group_by", [None, "p", ["v1", "v2"], "v10"], ids=["all", "partition", "two", "decimal"])
def test_hashes_are_those_of_this_process(spark: SparkSession, tmp_path: Path, group_by: Any) -> None:
    """Every type hashes the same on both sides, as a whole and by group, also types that Spark does not know."""
    written(tmp_path)
    there, here = (kb.hash_dataset("d", tmp_path, group_by=group_by, spark=session) for session in (spark, None))
    assert there.schema == here.schema
    assert repr(there.to_pylist()) == repr(here.to_pylist())  # NaN equals NaN there


def test_rows_that_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    """The same rows written by Spark, in other files, have the same hash."""
    columns = [f"v{i}" for i in (1, 2, 3, 4, 5, 6, 8, 9)]
    kb.write_dataset(rows().select(["p", *columns]), "here", tmp_path, partition_on="p")
    frame = kb.open_dataset("here", tmp_path).scan().to_spark(spark).repartition(5)
    kb.write_dataset(frame, "there", tmp_path, partition_on="p", shuffle=True)
    assert kb.hash_dataset("here", tmp_path) == kb.hash_dataset("there", tmp_path, spark=spark)


def test_footers_are_those_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    """Facts about row groups come in the same order, also of chosen files."""
    written(tmp_path, rows_per_row_group=1)
    for where in (None, "p != 1", "p > 5"):
        found = kb.collect_dataset_metadata("d", tmp_path, where=where, spark=spark)
        assert found == kb.collect_dataset_metadata("d", tmp_path, where=where)
        assert (found.num_rows > 0) == (where != "p > 5")


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "staged"])
def test_indices_are_those_of_this_process(spark: SparkSession, tmp_path: Path, inline: bool) -> None:
    """Spark's tasks find the same values; what they stage is gone afterwards."""
    count = 100 if inline else 60_000
    data = pa.table({"p": [i % 3 for i in range(count)], "i1": range(count), "v1": [str(i % 7) for i in range(count)]})
    kb.write_dataset(data, "d", tmp_path, partition_on="p")
    found = kb.build_dataset_indices("d", tmp_path, ["i1", "v1"], spark=spark).load_all_indices()
    expected = kb.build_dataset_indices("d", tmp_path, ["i1", "v1"]).load_all_indices()
    assert {name: index.table for name, index in found.items()} == {n: i.table for n, i in expected.items()}
    assert len(found["i1"]) == count
    assert not list((tmp_path / "_kubothek").rglob("*.staged"))


@pytest.mark.parametrize(("times", "fails"), [(1, False), (99, True)], ids=["once", "always"])
def test_an_index_whose_values_cannot_be_staged(spark: SparkSession, tmp_path: Path, times: int, fails: bool) -> None:
    """Another attempt mends it; without one the dataset stays as it was, and nothing is left."""
    marker = tmp_path / "marker"
    marker.mkdir()
    store = FlakyStore(tmp_path / "d", fails="/staged/", times=times, marker=str(marker), error=StoreError)
    kb.write_dataset(pa.table({"i1": range(60_000)}), "d", tmp_path / "d")
    if not fails:
        assert len(kb.build_dataset_indices("d", store, "i1", spark=spark).load_index("i1")) == 60_000
    else:
        with pytest.raises(StoreError, match="refused"):
            kb.build_dataset_indices("d", store, "i1", spark=spark)
        assert kb.open_dataset("d", store).index_columns == ()
    assert [path for path in left_behind(tmp_path / "d") if path.suffix == ".staged"] == []


def test_errors_keep_their_types(spark: SparkSession, tmp_path: Path) -> None:
    """What a task finds missing is the same error as in-process; stores of one process are refused."""
    ds = written(tmp_path)
    (part, *_) = ds.partitions.values()
    (tmp_path / part.files["table"]).unlink()
    for call in (kb.hash_dataset, kb.collect_dataset_metadata):
        with pytest.raises(SnapshotExpiredError, match=part.label):
            call("d", tmp_path, spark=spark)
    kb.write_dataset(rows(), "d", "memory://facts")
    with pytest.raises((InvalidInputError, StoreError), match="memory"):
        kb.hash_dataset("d", "memory://facts", spark=spark)


def test_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    """A dataset without files needs no task."""
    written(tmp_path)
    kb.update_dataset(None, "d", tmp_path, delete_scope=[{"p": p} for p in range(3)])
    assert kb.hash_dataset("d", tmp_path, spark=spark).to_pylist() == [{"rows": 0, "hash": 0}]
    assert kb.collect_dataset_metadata("d", tmp_path, spark=spark).num_rows == 0
    assert len(kb.build_dataset_indices("d", tmp_path, "i1", spark=spark).load_index("i1")) == 0
