"""Rows that come as a stream are written piece by piece, so that there may be more of them than memory holds."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import kubothek as kb
from kubothek.dataset.staging import incoming
from kubothek.errors import CorruptDatasetError, DuplicateCellsError, SchemaError

ROWS = pa.table({"p": ["a", "b"] * 50, "x": range(100)})


@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few rows be as many as there are in 128 MiB."""
    monkeypatch.setattr(incoming, "FRAME_BYTES", 200)


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


def batches() -> list[pa.RecordBatch]:
    """Return the rows in batches of ten."""
    return ROWS.to_batches(max_chunksize=10)


def in_files(directory: Path) -> pads.Dataset:
    """Write hive-partitioned Parquet files as others do, and return them as a dataset of PyArrow."""
    pads.write_dataset(ROWS, directory, format="parquet", partitioning=["p"], partitioning_flavor="hive")
    return pads.dataset(directory, partitioning="hive")


GIVEN: dict[str, Callable[[Path], Any]] = {
    "reader": lambda _: pa.RecordBatchReader.from_batches(ROWS.schema, batches()),
    "relation": lambda _: duckdb.from_arrow(ROWS),
    "dataset": in_files,
    "scanner": lambda directory: in_files(directory).scanner(batch_size=10),
    "scan": lambda _: kb.write_dataset(ROWS, "v", new_url()).scan(),
}


@pytest.mark.usefixtures("small_frames")
@pytest.mark.parametrize("name", GIVEN)
def test_streams_are_written(name: str, tmp_path: Path) -> None:
    """Whatever the pieces, all rows are there."""
    ds = kb.write_dataset(GIVEN[name](tmp_path), "u", new_url(), partition_on="p")
    assert ds.scan().to_arrow().sort_by("x").to_pylist() == ROWS.to_pylist()


@pytest.mark.parametrize("name", GIVEN)
def test_small_streams_are_one_piece(name: str, tmp_path: Path) -> None:
    """A stream that fits into a piece makes one file per partition."""
    assert len(kb.write_dataset(GIVEN[name](tmp_path), "u", new_url(), partition_on="p").partitions) == 2


@pytest.mark.usefixtures("small_frames")
def test_pieces_are_written_as_they_come() -> None:
    """The first files are in the store before the last rows are read."""
    store = kb.Store(new_url())
    seen: list[int] = []

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in batches():
            seen.append(len(list(store.list("u/"))))
            yield batch

    kb.write_dataset(pa.RecordBatchReader.from_batches(ROWS.schema, counted()), "u", store, partition_on="p")
    assert seen[0] == 0 < seen[5] < seen[-1]


@pytest.mark.usefixtures("small_frames")
def test_shuffled_streams_are_put_together() -> None:
    """With `shuffle=True` there is one file per partition all the same."""
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    assert len(kb.write_dataset(reader, "u", new_url(), partition_on="p", shuffle=True).partitions) == 2


def test_a_stream_without_rows_has_a_schema() -> None:
    """It makes an empty dataset."""
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, [])
    assert kb.write_dataset(reader, "u", new_url(), partition_on="p").schema.names == ["p", "x"]


def test_rows_of_tables_may_be_streams(tmp_path: Path) -> None:
    """A mapping from table to rows takes a dataset of PyArrow too."""
    ds = kb.write_dataset({"a": in_files(tmp_path), "b": ROWS}, "u", new_url(), partition_on="p")
    assert ds.scan(table="a").to_arrow().num_rows == ds.scan(table="b").to_arrow().num_rows == 100


@pytest.mark.usefixtures("small_frames")
def test_cells_are_unique_across_pieces() -> None:
    """A cell that comes twice, far apart, is found."""
    cube = kb.Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p", seed_dataset="seed")
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, [*batches(), batches()[0]])
    with pytest.raises(DuplicateCellsError):
        kb.build_cube(reader, cube, new_url())


def test_what_is_wrong_with_a_scan_is_said_as_it_is() -> None:
    """An error while a scan is read is that of the scan, and nothing was written."""
    source, store = kb.Store(new_url()), kb.Store(new_url())
    ds = kb.write_dataset(ROWS, "v", source)
    [key] = next(iter(ds.partitions.values())).files.values()
    source.put(key, b"PAR1")
    with pytest.raises(CorruptDatasetError, match=key):
        kb.write_dataset(ds.scan(), "u", store)
    assert list(store.list()) == []


@pytest.mark.parametrize(
    "given", [pa.chunked_array([[1]]), duckdb.sql("SELECT 1 AS x, 2 AS x")], ids=["column", "names"]
)
def test_what_is_no_stream_of_rows(given: Any) -> None:
    """A column is none, nor are rows with a name twice."""
    with pytest.raises(SchemaError):
        kb.write_dataset(given, "u", new_url())


def test_a_dictionary_counts_once(small_frames: None) -> None:
    """Batches that share a large dictionary are one frame, though each of them brings it along."""
    words = pa.array(["w" * 100])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), words)
    batch = pa.record_batch([column], names=["x"])
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch] * 20)
    assert len(kb.write_dataset(reader, "d", new_url()).partitions) == 1
