"""Writing a new dataset: what is there afterwards, and that nothing is after an error."""

from __future__ import annotations

import math
import uuid as uuids
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.errors import (
    AlreadyExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    NullValueError,
    SchemaError,
    StoreError,
    UnknownColumnError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Fault, FaultyStore

ROWS = pa.table({"p": [1, 2, 1], "i1": ["a", "a", "b"], "v1": [1.0, 2.0, None]})


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def rows(ds: kb.Dataset) -> list[dict[str, Any]]:
    """Return all rows, in a fixed order."""
    return sorted(ds.scan().to_arrow().to_pylist(), key=str)


def test_what_was_written_is_there() -> None:
    """The returned dataset and one opened afresh are the same: rows, layout, metadata and version."""
    store = new_store()
    written = kb.write_dataset(ROWS, "u", store, partition_on="p", secondary_indices="i1", metadata={"m": {"ü": [1]}})
    for ds in (written, kb.open_dataset("u", store)):
        assert rows(ds) == sorted(ROWS.to_pylist(), key=str)
        assert (ds.partition_keys, ds.index_columns, ds.tables, ds.version) == (("p",), ("i1",), ("table",), 1)
        assert ds.schema == pa.schema([("p", pa.int64()), ("i1", pa.string()), ("v1", pa.float64())])
        assert ds.metadata["m"] == {"ü": [1]}


def test_only_what_the_format_knows_is_in_the_store() -> None:
    """A dataset is its header, its schema, its data files and one file per index."""
    store = new_store()
    kb.write_dataset(ROWS, "u", store, partition_on="p", secondary_indices="i1")
    public = [key for key in keys(store) if not key.startswith("_kubothek/")]
    shapes = [key.split("/")[:3] for key in public]
    assert sorted(shape[:2] + shape[2:][:1] for shape in shapes) == sorted([
        ["u.by-dataset-metadata.json"], ["u", "indices", "i1"], ["u", "table", "_common_metadata"],
        ["u", "table", "p=1"], ["u", "table", "p=2"],
    ])  # fmt: skip


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_header_formats(header_format: Any) -> None:
    """Either header can be written and is found again; an overwrite keeps the one there is."""
    store = new_store()
    kb.write_dataset(ROWS, "u", store, header_format=header_format)
    kb.write_dataset(ROWS, "u", store, overwrite=True)
    headers = [key for key in keys(store) if "by-dataset-metadata" in key]
    assert [key.split(".")[2] for key in headers] == [header_format]
    assert kb.open_dataset("u", store).version == 2


def test_a_table_of_another_name() -> None:
    """The one table may have any name and is found without it."""
    store = new_store()
    ds = kb.write_dataset(ROWS, "u", store, table="rows")
    assert (ds.tables, ds.scan("v1").to_arrow().num_rows) == (("rows",), 3)
    assert ds.scan(table="rows").schema == ds.schema


def test_overwrite_replaces_schema_and_layout() -> None:
    """What was there does not bind what replaces it; the old snapshot can still be read."""
    store = new_store()
    old = kb.write_dataset(ROWS, "u", store, partition_on="p", secondary_indices="i1", metadata={"m": 1})
    new = kb.write_dataset(pa.table({"x": [b"b"]}), "u", store, overwrite=True)
    assert (rows(new), new.partition_keys, new.index_columns) == ([{"x": b"b"}], (), ())
    assert "m" not in new.metadata
    assert rows(old) == sorted(ROWS.to_pylist(), key=str)


def test_readers_see_one_schema_or_the_other(tmp_path: Path) -> None:
    """While a dataset is overwritten again and again, each read gives one of its two contents, never a mixture."""
    contents = [pa.table({"p": [1, 2], "i1": ["a", "b"]}), pa.table({"i1": [1, 2], "x": [b"a", b"b"]})]
    kb.write_dataset(contents[0], "u", tmp_path, partition_on="p")
    done, seen = Event(), list[pa.Table]()

    def read() -> None:
        while not done.is_set() or len(seen) < 10:
            seen.append(kb.open_dataset("u", tmp_path).scan().to_arrow())

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for number in range(12):
            settings: dict[str, Any] = {"secondary_indices": "i1"} if number % 2 == 0 else {"partition_on": "p"}
            kb.write_dataset(contents[(number + 1) % 2], "u", tmp_path, overwrite=True, **settings)
        done.set()
        reader.result()
    wanted = [table.sort_by("i1").to_pydict() for table in contents]
    assert all(table.sort_by("i1").to_pydict() in wanted for table in seen)


def test_frames_are_files_of_their_own() -> None:
    """Each frame cuts its files, unless equal partition values are to come together."""
    frames = [ROWS, ROWS.slice(0, 1), ROWS.slice(0, 0)]
    apart = kb.write_dataset(iter(frames), "u", new_store(), partition_on="p")
    together = kb.write_dataset(frames, "u", new_store(), partition_on="p", shuffle=True)
    assert (len(apart.partitions), len(together.partitions)) == (3, 2)
    assert rows(apart) == rows(together)


@pytest.mark.parametrize("frames", [[ROWS.slice(0, 0)], [ROWS.slice(0, 0), ROWS]], ids=["empty", "empty and not"])
@pytest.mark.parametrize("partition_on", [(), "p"], ids=["unpartitioned", "partitioned"])
def test_empty_frames(frames: list[pa.Table], partition_on: Any) -> None:
    """An empty frame keeps the schema; without partition columns it is a file without rows, else none."""
    ds = kb.write_dataset(frames, "u", new_store(), partition_on=partition_on, secondary_indices="i1")
    assert kb.open_dataset("u", ds.store).schema.field("v1").type == pa.float64()
    assert ds.scan().to_arrow().num_rows == sum(frame.num_rows for frame in frames)
    assert len(ds.partitions) == (2 if partition_on else 1) * (len(frames) - 1) + (0 if partition_on else 1)
    assert len(ds.load_index("i1")) == len(set(ds.scan("i1").to_arrow()["i1"].to_pylist()))


def test_frames_are_in_memory_one_at_a_time() -> None:
    """The next frame is taken when the one before it is gone."""
    alive: list[weakref.ref[Any]] = []

    def frames(several: bool) -> Iterator[Any]:
        for _ in range(4):
            assert [one for one in alive if one() is not None] == []
            frame = pd.DataFrame({"p": [1, 2, 3], "v1": [1, 2, 3]})
            alive.append(weakref.ref(frame))
            yield {"a": frame} if several else frame
            del frame

    for several in (False, True):
        ds = kb.write_dataset(frames(several), "u", new_store(), partition_on="p", secondary_indices="v1")
        assert len(ds.partitions) == 12


def test_arrow_frames_are_freed_one_by_one(tmp_path: Path) -> None:
    """What Arrow holds does not grow with the number of frames."""
    held: list[int] = []

    def frames() -> Iterator[pa.Table]:
        for number in range(6):
            held.append(pa.total_allocated_bytes())
            yield pa.table({"p": np.arange(200_000) % 5, "v1": np.full(200_000, number)})

    kb.write_dataset(frames(), "u", tmp_path, partition_on="p")
    assert max(held) - min(held) < 2**20


def test_a_column_of_nulls_takes_the_type_of_another_frame() -> None:
    """Null fits every type: rows, schema and index are those of the typed frame."""
    frames = [pa.table({"x": [1], "i1": pa.nulls(1)}), pa.table({"x": [2], "i1": ["a"]})]
    for shuffle in (True, False):
        ds = kb.write_dataset(frames, "u", new_store(), secondary_indices="i1", shuffle=shuffle)
        assert ds.scan(["x", "i1"]).to_arrow().to_pydict() == {"x": [1, 2], "i1": [None, "a"]}
        assert ds.schema.field("i1").type == pa.string()
        assert ds.load_index("i1").table["i1"].to_pylist() == ["a"]


def set_column(name: str, values: Any) -> pa.Table:
    """Return the rows with one column replaced."""
    return ROWS.set_column(ROWS.column_names.index(name), name, pa.array(values))


DUPLICATE = pa.table([[1], [2]], ["v1", "v1"])
REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], type[Exception], str]] = {
    "null in a partition column": (lambda: set_column("p", [1, None, 2]), {}, NullValueError, "null"),
    "NaN in a partition column": (lambda: set_column("p", [1.0, math.nan, 2.0]), {}, NullValueError, "NaN"),
    "null in a later frame": (lambda: [ROWS, set_column("p", [1, None, 2])], {}, NullValueError, "null"),
    "zone-aware partitions": (
        lambda: set_column("p", pa.array([0] * 3, pa.timestamp("us", "UTC"))), {}, SchemaError, "timestamp_ntz"
    ),
    "list partitions": (lambda: set_column("p", [[1]] * 3), {}, SchemaError, "p"),
    "unknown columns": (
        lambda: ROWS, {"partition_on": "z1", "sort_by": "z2", "secondary_indices": "z3"}, UnknownColumnError,
        "z1.*z3.*z2",
    ),
    "unknown column in a later frame": (lambda: [ROWS, ROWS.drop_columns("p")], {}, UnknownColumnError, "p"),
    "frames that differ": (lambda: [ROWS, set_column("v1", ["a", "b", "c"])], {}, SchemaError, "v1"),
    "frames that differ, shuffled": (
        lambda: [ROWS, ROWS.drop_columns("v1")], {"shuffle": True}, SchemaError, "v1"
    ),
    "a name twice": (lambda: pa.table([[1], [1], [1]], ["p", "v1", "v1"]), {}, SchemaError, "v1"),
    "only partition columns": (lambda: ROWS.select(["p"]), {}, SchemaError, "beside"),
    "no columns": (lambda: pa.table({}), {"partition_on": ()}, SchemaError, "column"),
    "no frames": (list, {}, InvalidInputError, "p"),
    "no data": (lambda: None, {}, InvalidInputError, "data"),
    "an index on a list": (
        lambda: set_column("i1", [[1]] * 3), {"secondary_indices": "i1"}, SchemaError, "secondary_indices"
    ),
    "an index on nothing but nulls": (
        lambda: set_column("i1", [None] * 3), {"secondary_indices": "i1"}, SchemaError, "i1"
    ),
    "an index on a partition column": (lambda: ROWS, {"secondary_indices": "p"}, InvalidInputError, "both"),
    "a column listed twice": (lambda: ROWS, {"sort_by": ["v1", "v1"]}, InvalidInputError, "more than once"),
    "buckets without a shuffle": (lambda: ROWS, {"num_buckets": 2}, InvalidInputError, "shuffle=True"),
    "no compression of this name": (lambda: ROWS, {"compression": "zip"}, InvalidInputError, "zip"),
    "no rows in a row group": (lambda: ROWS, {"rows_per_row_group": 0}, InvalidInputError, "positive"),
    "no header of this name": (lambda: ROWS, {"header_format": "xml"}, InvalidInputError, "xml"),
    "no mapping of metadata": (lambda: ROWS, {"metadata": [1]}, InvalidInputError, "metadata"),
    "a table name with a slash": (lambda: ROWS, {"table": "a/b"}, InvalidInputError, "a/b"),
    "a text as a flag": (lambda: ROWS, {"overwrite": "no"}, InvalidInputError, "True or False"),
    "metadata that JSON cannot hold": (lambda: ROWS, {"metadata": {"m": object()}}, InvalidInputError, "metadata"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_writes(name: str) -> None:
    """A write that cannot be is an error of the call, and the store is as empty as it was."""
    data, settings, error, told = REFUSED[name]
    store = new_store()
    with pytest.raises(error, match=f"(?s){told}"):
        kb.write_dataset(data(), "u", store, **{"partition_on": "p", **settings})
    assert keys(store) == []


@pytest.mark.parametrize("uuid", ["", "a b", "a/b", "../u", "ü", "u\n"])
def test_names_that_are_not_allowed(uuid: str) -> None:
    """The name is checked before anything is written."""
    store = new_store()
    with pytest.raises(InvalidInputError):
        kb.write_dataset(ROWS, uuid, store)
    assert keys(store) == []


def test_a_dataset_is_not_replaced_unasked() -> None:
    """A name that is taken is an error, found before data is looked at."""
    store = new_store()
    kb.write_dataset(ROWS, "u", store)
    before = keys(store)
    with pytest.raises(AlreadyExistsError, match="overwrite=True"):
        kb.write_dataset(iter(lambda: pytest.fail("data was read"), None), "u", store)
    assert keys(store) == before


@pytest.mark.parametrize("what", ["/table/p=2", "/indices/", ".by-dataset-metadata"], ids=["data", "index", "header"])
def test_a_store_that_refuses(what: str) -> None:
    """When the store fails half-way, no dataset is there and no data file or index is left."""
    store = new_store()
    puts = ("create", "create_file")
    broken = FaultyStore(store, lambda call: Fault.REFUSE if call.verb in puts and what in call.key else None)
    with pytest.raises(StoreError):
        kb.write_dataset(ROWS, "u", broken, partition_on="p", secondary_indices="i1")
    with pytest.raises(DatasetNotFoundError):
        kb.open_dataset("u", store)
    assert [key for key in keys(store) if "_common_metadata" not in key] == []


def test_an_interrupted_source_leaves_nothing() -> None:
    """An error of whatever yields the frames passes through, and what was staged before is gone."""

    def frames() -> Any:
        yield ROWS
        raise RuntimeError("the source broke")

    store = new_store()
    with pytest.raises(RuntimeError, match="the source broke"):
        kb.write_dataset(frames(), "u", store, partition_on="p")
    assert keys(store) == []
