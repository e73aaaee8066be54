"""Errors on Spark: typed on the driver where a call of ours fails, told in Spark's own error where its action does."""

from __future__ import annotations

import pickle
import uuid as uuids
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.answers import left_behind, rows, spark_rows
from tests.spark.flaky import FlakyStore

import kubothek.errors as all_errors
from kubothek import Cube, Store, build_cube, open_dataset, query_cube, update_dataset, write_dataset
from kubothek.errors import CorruptDatasetError, KubothekError, StoreError
from kubothek.testing.stores import CountingStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = [kind for kind in vars(all_errors).values() if isinstance(kind, type) and issubclass(kind, KubothekError)]
CUBE = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])


def frame_of(spark: SparkSession, count: int = 20) -> DataFrame:
    """A few rows in two tasks."""
    return spark.range(0, count, 1, 2).selectExpr("id AS x", "id % 2 AS p", "id AS v1")


def in_memory() -> Store:
    """A store that only this process sees, with a dataset and a cube in it."""
    store = Store(f"memory://{uuids.uuid4().hex}")
    data = pa.table({"x": [1], "p": [1], "v1": [1]})
    write_dataset(data, "d", store, partition_on="p")
    build_cube(data, CUBE, store)
    return store


def test_every_error_crosses_processes_whole(spark: SparkSession) -> None:
    """Type, message and details of every error are the same after a way through Spark's workers."""
    assert len(KINDS) > 15

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            errors = [KINDS[number]("ü: what to do", column="x", examples=[number]) for number in batch[0].to_pylist()]
            yield pa.record_batch({"error": pa.array(map(pickle.dumps, errors), pa.binary())})

    found = spark.range(0, len(KINDS), 1, 1).mapInArrow(make, "error binary").collect()
    for number, (kind, row) in enumerate(zip(KINDS, found, strict=True)):
        error = pickle.loads(row.error)
        assert (type(error), str(error)) == (kind, "ü: what to do")
        assert (error.column, error.examples) == ("x", [number])


IN_MEMORY: dict[str, Callable[[SparkSession, Store], Any]] = {
    "write": lambda spark, store: write_dataset(frame_of(spark), "new", store),
    "update": lambda spark, store: update_dataset(frame_of(spark), "d", store),
    "build": lambda spark, store: build_cube(frame_of(spark), CUBE, store, overwrite=True),
    "scan": lambda spark, store: open_dataset("d", store).scan().to_spark(spark),
    "query": lambda spark, store: query_cube(CUBE, store).to_spark(spark),
}


@pytest.mark.parametrize("call", IN_MEMORY)
def test_a_store_in_memory_is_refused(spark: SparkSession, call: str) -> None:
    """Tasks cannot reach this process's memory; the error says so, names the store, and nothing changes."""
    store = in_memory()
    before = list(store.list())
    with pytest.raises(StoreError, match=f"{store.url}.*Use a directory or an object store"):
        IN_MEMORY[call](spark, store)
    assert list(store.list()) == before


def test_a_wrapper_of_this_process_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A double that counts here cannot count in tasks, and says so."""
    with pytest.raises(StoreError, match="process"):
        write_dataset(frame_of(spark), "d", CountingStore(str(tmp_path)))


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["native", "tasks"])
def test_a_file_that_is_gone(spark: SparkSession, tmp_path: Path, where: str | None) -> None:
    """Spark's error names the file that was deleted; from a task it also says what to do."""
    data = write_dataset(pa.table({"x": [1, 2], "p": [1, 2]}), "d", tmp_path, partition_on="p")
    frame = data.scan(where=where).to_spark(spark)
    key = data.partitions[next(iter(data.partitions))].files["table"]
    (tmp_path / key).unlink()
    expected = (
        Path(key).name if where is None else f"SnapshotExpiredError: The data file '{key}'.*Open the dataset again"
    )
    with pytest.raises(Exception, match=expected):
        frame.toArrow()


@pytest.mark.parametrize("kept", [slice(0, 16), slice(0, -1), slice(4, None)], ids=["start", "no end", "moved"])
def test_a_file_that_is_damaged(spark: SparkSession, tmp_path: Path, kept: slice) -> None:
    """The error of a read names the damaged file, in this process and on Spark."""
    data = write_dataset(pa.table({"x": range(9)}), "d", tmp_path)
    (part,) = data.partitions.values()
    file = tmp_path / part.files["table"]
    file.write_bytes(file.read_bytes()[kept])
    with pytest.raises(CorruptDatasetError, match=file.name) as caught:
        data.scan(where="x > 0").to_arrow()
    assert caught.value.key == part.files["table"]
    with pytest.raises(Exception, match=f"CorruptDatasetError: .*{file.name}"):
        data.scan(where="x > 0").to_spark(spark).collect()


def test_errors_of_the_caller_stay_what_they_are(spark: SparkSession, tmp_path: Path) -> None:
    """An error in the caller's own step is Spark's, with the caller's message, and not one of ours."""
    from pyspark.errors import PythonException

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ZeroDivisionError("rows cannot be divided")

    with pytest.raises(PythonException, match="rows cannot be divided"):
        write_dataset(frame_of(spark).mapInArrow(fail, "x long, p long, v1 long"), "d", tmp_path)


def test_a_store_that_fails_once_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    """An answer of the storage that another attempt may mend does not fail the write of a cube."""
    store = FlakyStore(tmp_path / "store", fails="c++seed/table/p=1", times=1, marker=str(tmp_path), error=StoreError)
    build_cube(frame_of(spark), CUBE, store)
    assert (tmp_path / "1").exists()
    assert spark_rows(query_cube(CUBE, tmp_path / "store").to_spark(spark)) == rows(
        pa.table({"p": [x % 2 for x in range(20)], "v1": range(20), "x": range(20)})
    )


def test_a_dataset_that_cannot_be_staged_takes_the_others_back(spark: SparkSession, tmp_path: Path) -> None:
    """When the storage refuses one dataset of a cube for good, nothing is left of all."""
    store = FlakyStore(tmp_path / "store", fails="c++seed/", times=99, marker=str(tmp_path), error=StoreError)
    more = frame_of(spark).withColumnRenamed("v1", "v2")
    with pytest.raises(StoreError, match="refused"):
        build_cube({"seed": frame_of(spark), "more": more}, CUBE, store)
    assert not left_behind(tmp_path / "store")
    assert not list((tmp_path / "store").glob("*.by-dataset-metadata.*"))
