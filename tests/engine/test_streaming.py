"""Rows as a stream of batches: in order, in pieces whatever the file, and nothing left behind."""

from __future__ import annotations

import gc
import gzip
import threading
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.foreign import file_of, new_store, parquet, put_dataset

import kubothek as kb
from kubothek.codec import csv, row_groups
from kubothek.engine import data_files, reading
from kubothek.engine.lazy import LazyRows
from kubothek.testing.stores import CountingStore

RECORD = pa.schema([("v1", pa.string()), ("x", pa.int64())])


def rows(count: int, start: int = 0) -> pa.Table:
    """Return so many rows."""
    numbers = range(start, start + count)
    return pa.table({"v1": [None if n % 9 == 0 else "abc"[n % 3] for n in numbers], "x": numbers}, RECORD)


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ten rows be as many as a quarter of a million, and a few lines a block of text."""
    monkeypatch.setattr(row_groups, "_ROWS", 10)
    monkeypatch.setattr(data_files, "SMALL_FILE_ROWS", 5)
    monkeypatch.setattr(reading, "_TESTED_ROWS", 10)
    monkeypatch.setattr(csv, "_BLOCK_BYTES", 100)


@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("where", [None, "v1 == 'a'", "x >= 95 & x < 130", "x < 0"])
@pytest.mark.parametrize("columns", [None, ["x"], []], ids=str)
@pytest.mark.parametrize("group", [3, 10, 40, 1000])
def test_batches_are_the_table(group: int, columns: Any, where: str | None) -> None:
    """Batches have the rows of the table in its order, with row groups of any size."""
    files = {f"{n}.parquet": parquet(rows(100, 100 * n), row_group_size=group) for n in range(3)}
    scan = put_dataset(new_store(), RECORD, files).scan(columns, where=where)
    table, batches = scan.to_arrow(), list(scan.batches())
    assert sum(batch.num_rows for batch in batches) == table.num_rows
    assert columns == [] or pa.Table.from_batches(batches, scan.schema).equals(table.combine_chunks())
    assert all(0 < batch.num_rows <= max(group, 20) for batch in batches)


@pytest.mark.usefixtures("small_runs")
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), max_size=4), st.integers(-5, 60))
def test_any_files(files: list[tuple[int, int]], least: int) -> None:
    """Whatever the files and their row groups, a stream is what plain Python picks."""
    data = {f"{n}.parquet": parquet(rows(count), row_group_size=group) for n, (count, group) in enumerate(files)}
    scan = put_dataset(new_store(), RECORD, data).scan(where=kb.C("x") > least)
    expected = [row for count, _ in files for row in rows(count).to_pylist() if row["x"] > least]
    assert [row for batch in scan.batches() for row in batch.to_pylist()] == expected


@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_is_streamed(name: str) -> None:
    """Blocks of a text come as batches, in order."""
    text = rows(1000).to_pandas().to_csv(sep=";", index=False).encode()
    scan = file_of(new_store(), RECORD, gzip.compress(text) if name.endswith(".gz") else text, name).scan()
    batches = list(scan.batches())
    assert len(batches) > 50
    assert pa.Table.from_batches(batches).to_pylist() == rows(1000).to_pylist() == scan.to_arrow().to_pylist()


def open_files() -> int:
    """Count what this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


KINDS = {"parquet": 10, "one row group": 1000, "csv": 0}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("ends", ["closed", "dropped", "error"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_consumer_that_stops_early(tmp_path: Path, kind: str, ends: str) -> None:
    """However a consumer leaves, no thread and no open file stays."""
    text = "x;v1\n" + "1;a\n" * 1000 if kind == "csv" else ""
    data = text.encode() or parquet(rows(1000), row_group_size=KINDS[kind])
    name = "csv" if kind == "csv" else "parquet"
    scan = put_dataset(kb.Store(tmp_path), RECORD, {f"{n}.{name}": data for n in range(3)}).scan(where="v1 == 'a'")
    gc.collect()
    before = threading.active_count(), open_files()
    batches: Any = scan.batches()
    next(batches)
    if ends == "closed":
        batches.close()
    elif ends == "error":
        with pytest.raises(ValueError, match="mine"):
            batches.throw(ValueError("mine"))
    del batches
    assert (threading.active_count(), open_files()) == before


def test_a_stream_of_dictionaries() -> None:
    """Polars and DuckDB read a stream whose batches have dictionaries of their own."""
    files = {f"{n}.parquet": parquet(rows(20, 7 * n), row_group_size=5) for n in range(3)}
    scan = put_dataset(new_store(), RECORD, files).scan(categoricals="v1")
    assert scan.schema.field("v1").type == pa.dictionary(pa.int32(), pa.string())
    expected = [row["v1"] for n in range(3) for row in rows(20, 7 * n).to_pylist()]
    assert pl.DataFrame(scan)["v1"].to_list() == scan.to_polars()["v1"].to_list() == expected
    assert scan.to_pandas()["v1"].cat.categories.tolist() == ["b", "c", "a"]
    assert [value for (value,) in duckdb.sql("SELECT v1 FROM scan").fetchall()] == expected


def test_dictionaries_with_conditions_and_partitions() -> None:
    """Partition columns are dictionaries too; conditions on categoricals pick the same rows as on plain columns."""
    table = rows(50).append_column("p", pa.array([n % 4 for n in range(50)]))
    ds = kb.write_dataset(table, "u", new_store(), partition_on="p", rows_per_row_group=5)
    for where in (None, "v1 == 'a'", "v1 == null", "v1 != 'b' & p > 1", "p in (0, 3)", "v1 == 'zz'"):
        plain = ds.scan(where=where).to_arrow()
        encoded = ds.scan(where=where, categoricals=["p", "v1"]).to_arrow()
        assert encoded.to_pylist() == plain.to_pylist()
        assert [str(kind) for kind in encoded.schema.types] == [
            "dictionary<values=int64, indices=int32, ordered=0>",
            "dictionary<values=string, indices=int32, ordered=0>",
            "int64",
        ]


def test_dictionaries_in_groups() -> None:
    """Files that serve several groups give each its own rows, as dictionaries."""
    table = rows(50).append_column("i1", pa.array([n % 3 for n in range(50)]))
    ds = kb.write_dataset(table, "u", new_store(), secondary_indices="i1")
    for (key,), group in ds.scan(["v1", "x"], categoricals="v1").groups("i1"):
        assert group.to_pylist() == [row for row in rows(50).to_pylist() if row["x"] % 3 == key]


@pytest.mark.usefixtures("small_runs")
def test_streaming_needs_no_more_requests_than_pieces() -> None:
    """Footers are read once; a piece of a remote file costs a request or two."""
    store = CountingStore(new_store())
    scan = file_of(store, RECORD, parquet(rows(40), row_group_size=10)).scan()
    store.reset()
    assert sum(batch.num_rows for batch in scan.batches()) == 40
    streamed = len(store.calls)
    store.reset()
    scan.to_arrow()
    assert streamed <= len(store.calls) + 4


def test_no_rows() -> None:
    """A dataset without files is an empty stream of its columns."""
    scan: LazyRows = put_dataset(new_store(), RECORD, {}).scan()
    assert list(scan.batches()) == []
    assert pa.RecordBatchReader.from_stream(scan).read_all().equals(RECORD.empty_table())
