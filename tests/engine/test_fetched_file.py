"""How a file of an object store is fetched: what is asked for, how often, and what happens if it is not what it was."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.foreign import file_of, parquet

import kubothek as kb
from kubothek.engine.fetched_file import FetchedFile, open_fetched
from kubothek.engine.ranged_parquet import RangedParquet
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError, SnapshotExpiredError, StoreError
from kubothek.plan.ranges import FOOTER_BYTES, REQUEST_BYTES
from kubothek.store.interface import Part
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore

BYTES = bytes(range(256)) * 1024


def stored(data: bytes = BYTES) -> CountingStore:
    """Put an object under ``k`` and count what is asked for after."""
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    store.put("k", data)
    store.reset()
    return store


@pytest.mark.parametrize("size", [len(BYTES), None], ids=["recorded", "unknown"])
def test_reading_what_was_fetched(size: int | None) -> None:
    """Parts that were fetched, or lie in several of them, are read without any request; others with one."""
    store = stored()
    file = FetchedFile(store, "k", size)
    file.fetch_end()
    file.fetch([(0, 1000), (1000, 1000), (100_000, 10)])
    assert (file.size(), store.calls) == (len(BYTES), {"get_range": 3})
    for start, length in [(0, 2000), (1500, 500), (100_001, 9), (len(BYTES) - 7, 7), (len(BYTES), 1)]:
        file.seek(start)
        assert bytes(file.read(length)) == BYTES[start : start + length]
    assert store.calls["get_range"] == 3
    file.seek(1990)
    assert (bytes(file.read(20)), file.tell(), store.calls["get_range"]) == (BYTES[1990:2010], 2010, 4)


def test_parts_of_a_long_range_are_put_together() -> None:
    """A range that takes several requests is read as one."""
    data = np.random.default_rng(0).bytes(2 * REQUEST_BYTES + 5)
    store = stored(data)
    file = FetchedFile(store, "k", len(data))
    file.fetch([(0, len(data))])
    assert (bytes(file.read()), store.calls["get_range"], store.received["get_range"]) == (data, 3, len(data))


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "in parts"])
def test_another_file_of_the_same_object(whole: bool) -> None:
    """What was fetched whole is shared with files for other threads; parts of it are not kept for them."""
    store = stored()
    file = FetchedFile(store, "k", len(BYTES))
    file.fetch_end(len(BYTES) if whole else FOOTER_BYTES)
    assert bytes(file.again().read()) == BYTES
    assert store.calls["get_range"] == (1 if whole else 2)


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[:-1],
    "cut to less than is asked for": lambda data: data[:100],
    "empty": lambda data: b"",
    "longer": lambda data: data + b"x",
    "other bytes": lambda data: data[::-1],
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_object_that_is_replaced_while_it_is_read(name: str) -> None:
    """Parts of two objects are never put together: the second is refused with its key."""
    store = stored()
    file = FetchedFile(store, "k", len(BYTES))
    file.fetch_end()
    store.put("k", CHANGES[name](BYTES))
    for act in (lambda: file.fetch([(0, 100), (150_000, 10)]), file.read, lambda: file.again().read(10)):
        with pytest.raises(CorruptDatasetError, match="replaced") as caught:
            act()
        assert caught.value.key == "k"


@pytest.mark.parametrize("rows", [10, 20_000], ids=["fetched whole", "in ranges"])
@pytest.mark.parametrize("name", ["cut short", "cut to less than is asked for", "empty", "longer"])
def test_a_data_file_of_another_size_than_recorded(rows: int, name: str) -> None:
    """A data file that was cut short or replaced is a damage of the dataset, and said to be that file's."""
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    ds = kb.write_dataset(pa.table({f"v{n}": np.random.default_rng(n).random(rows) for n in range(9)}), "u", store)
    [key] = [part.files["table"] for part in ds.partitions.values()]
    store.put(key, CHANGES[name](store.get(key).data))
    for read in (ds.scan("v1").to_arrow, lambda: list(ds.scan("v1").batches())):
        with pytest.raises(CorruptDatasetError, match="bytes") as caught:
            read()
        assert caught.value.key == key


class Refusing(CountingStore):
    """Answers as some stores do: who asks for bytes beyond the end gets an error."""

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """Refuse what goes beyond the end."""
        if start is not None and start + length > self.inner.info(key).size:
            raise StoreError("416", key=key, operation="get_part")
        return super().get_part(key, start, length)


def test_a_store_that_refuses_ranges_beyond_the_end() -> None:
    """That a file is too short is found by looking, whatever the store says."""
    store = Refusing(stored(b"short"))
    with pytest.raises(CorruptDatasetError, match="5 bytes, not 10"):
        FetchedFile(store, "k", 10).fetch_end()


@pytest.mark.parametrize("failing", [1, 2, 3], ids=["the footer", "a range", "another range"])
def test_a_read_that_fails(failing: int) -> None:
    """A request that fails in the end is an error of the store that names the file, wherever in the file it was."""
    table = pa.table({f"v{n}": np.random.default_rng(n).random(100_000) for n in range(4)})
    inner = kb.write_dataset(table, "u", f"memory://{uuids.uuid4().hex}").store

    def script(call: Call) -> Fault | None:
        return Fault.FAIL if (call.verb, call.number) == ("get_range", failing) else None

    with pytest.raises(StoreError) as caught:
        kb.open_dataset("u", FaultyStore(inner, script)).scan(["v0", "v2"]).to_arrow()
    assert "/table/" in caught.value.key


def test_files_that_are_gone() -> None:
    """A file that is not there is what a missing object is; as a data file, it expired with its snapshot."""
    with pytest.raises(ObjectNotFoundError):
        open_fetched(stored(), "other")
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    ds = kb.write_dataset(pa.table({"v1": [1]}), "u", store)
    store.delete([part.files["table"] for part in ds.partitions.values()])
    with pytest.raises(SnapshotExpiredError):
        ds.scan().to_arrow()


# Columns of several kinds; how they are written, and which are read.
WIDE = {
    "x": pa.array(range(30_000)),
    "text": pa.array([f"{n % 7}" for n in range(30_000)]),
    "a.b": pa.array(np.random.default_rng(1).random(30_000)),
    "nested": pa.array([{"a": n, "l": [n, n]} for n in range(30_000)]),
    "list": pa.array([[n] * (n % 3) for n in range(30_000)]),
}
WRITTEN: dict[str, dict[str, Any]] = {
    "dictionaries": {},
    "plain": {"use_dictionary": False, "compression": "none"},
    "version 1": {"version": "1.0", "data_page_version": "1.0"},
    "page index": {"write_page_index": True, "data_page_size": 4096},
}


@pytest.mark.parametrize("name", WRITTEN)
def test_all_that_arrow_reads_was_foreseen(name: str) -> None:
    """Once the chunks of the wanted columns are there, Arrow asks for nothing else, whoever wrote the file."""
    data = parquet(pa.table(WIDE), row_group_size=10_000, **WRITTEN[name])
    store = stored(data)
    file = FetchedFile(store, "k", len(data))
    file.fetch_end()
    opened = RangedParquet(file)
    for columns in (["x"], ["text", "list"], ["nested", "a.b"]):
        opened.fetch([0, 2], columns)
        store.reset()
        found = opened.read_row_groups([0, 2], columns=columns, use_threads=False)
        assert (found, store.calls) == (pq.ParquetFile(pa.BufferReader(data)).read_row_groups([0, 2], columns), {})


def test_rows_of_a_row_group_that_is_too_large_to_decode_at_once() -> None:
    """They are read in a few long requests, and are the rows that were written."""
    table = pa.table({"v1": np.arange(1_100_000), "v2": np.arange(1_100_000)})
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    data = parquet(table, row_group_size=len(table), use_dictionary=False, compression="none")
    ds = file_of(store, table.schema, data)
    store.reset()
    assert pa.Table.from_batches(ds.scan().batches()) == table
    assert store.calls["get_range"] <= 5
