"""Growing a dataset by steps: created empty, staged by several, committed by one."""

from __future__ import annotations

import json
import pickle
import uuid as uuids
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.dataset.staging.staged_files import check_files, staged_partition_keys
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CorruptDatasetError,
    DatasetNotFoundError,
    InvalidInputError,
    ObjectNotFoundError,
    SchemaError,
    StoreError,
    UnknownColumnError,
)
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore

ROWS = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "b"], "v1": [1, 2, 3]})
MORE = pa.table({"p": [1, 4], "i1": ["c", "c"], "v1": [10, 40]})
SCHEMA = pa.schema([("p", pa.int8()), ("i1", pa.large_string()), ("v1", pa.int32())])


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def written(**settings: Any) -> Store:
    """Return a store with a dataset."""
    store = new_store()
    kb.write_dataset(ROWS, "u", store, **{"partition_on": "p", "secondary_indices": "i1", **settings})
    return store


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def part(label: str, key: str) -> StagedPartition:
    """Return a partition with an empty file."""
    return StagedPartition(label, {"table": key}, 0, 0, {})


def v1(ds: kb.Dataset) -> list[int]:
    """Return the values of a column, sorted."""
    return sorted(ds.scan("v1").to_arrow()["v1"].to_pylist())


def test_staged_partitions_are_in_no_version() -> None:
    """Staging changes nothing that readers see; a commit makes everything visible at once."""
    store = written()
    staged = kb.write_partitions(MORE, "u", store)
    assert v1(kb.open_dataset("u", store)) == [1, 2, 3]
    assert [part.rows for part in staged] == [1, 1]
    ds = kb.commit_dataset("u", store, new_partitions=staged)
    assert (v1(ds), ds.version, len(ds.load_index("i1").eval_operator("==", "c"))) == ([1, 2, 3, 10, 40], 2, 2)
    assert not [key for key in keys(store) if "/staged/" in key]


def test_several_stage_and_one_commits() -> None:
    """What many writers return is pickled to one that commits it, nested as it comes; the first commit creates."""
    store = new_store()

    def stage(number: int) -> bytes:
        rows = pa.table({"p": [number % 3], "i1": [str(number)], "v1": [number]})
        return pickle.dumps(kb.write_partitions(rows, "u", store, partition_on="p", secondary_indices="i1"))

    with ThreadPoolExecutor(4) as pool:
        staged = [pickle.loads(one) for one in pool.map(stage, range(12))]
    ds = kb.commit_dataset("u", store, new_partitions=[staged[0][0], iter(staged[1:6]), staged[6:]])
    assert (v1(ds), ds.partition_keys, ds.index_columns, ds.version) == (list(range(12)), ("p",), ("i1",), 1)
    assert len(ds.load_index("i1")) == 12


def test_long_indices_are_staged_until_the_commit() -> None:
    """Index values that are too many for a descriptor wait in the store, and are gone after the commit."""
    store = new_store()
    staged = kb.write_partitions(pa.table({"x": range(5000)}), "u", store, secondary_indices="x")
    assert len([key for key in keys(store) if "/staged/" in key]) == 1
    ds = kb.commit_dataset("u", store, new_partitions=staged, secondary_indices="x")
    assert ds.load_index("x").table["x"].to_pylist() == list(range(5000))
    assert not [key for key in keys(store) if "/staged/" in key]


def test_partitions_of_several_tables() -> None:
    """A mapping is staged and committed like rows."""
    store = new_store()
    tables = {"core": ROWS, "helper": MORE.select(["p", "v1"])}
    staged = kb.write_partitions(tables, "u", store, partition_on="p", secondary_indices="i1")
    ds = kb.commit_dataset("u", store, new_partitions=staged)
    assert (ds.tables, len(ds.partitions), ds.index_columns) == (("core", "helper"), 4, ("i1",))
    more = kb.write_partitions(tables, "u", store)
    assert kb.commit_dataset("u", store, new_partitions=more).scan(table="helper").to_arrow().num_rows == 4


def test_deletions_and_metadata_are_committed_alone_or_together() -> None:
    """Each part of a commit may be all there is of it, and the header's format stays."""
    store = written(header_format="msgpack")
    staged = kb.write_partitions(MORE, "u", store)
    ds = kb.commit_dataset("u", store, new_partitions=staged, delete_scope=[{"p": 1}], metadata={"m": 1})
    assert (v1(ds), ds.metadata["m"], ds.version) == ([2, 3, 10, 40], 1, 2)
    assert v1(kb.commit_dataset("u", store, delete_scope="p == 2")) == [3, 10, 40]
    assert kb.commit_dataset("u", store, metadata={"m": 2}).metadata["m"] == 2
    assert [key for key in keys(store) if "by-dataset-metadata" in key] == ["u.by-dataset-metadata.msgpack.zstd"]


def test_columns_of_nulls_become_typed() -> None:
    """Partitions that were staged before anyone knew a type fit those that know it."""
    store = new_store()
    parts = [kb.write_partitions(pa.table({"x": [1], "v1": v}), "u", store) for v in (pa.nulls(1), pa.array(["a"]))]
    ds = kb.commit_dataset("u", store, new_partitions=parts)
    assert ds.scan().to_arrow().to_pydict() == {"v1": [None, "a"], "x": [1, 1]}


def test_partitions_of_a_dataset_that_lists_none() -> None:
    """Where a header leaves it to a listing which partitions there are, staged files are committed with the others."""
    store = written(secondary_indices=())
    header = json.loads(store.get("u.by-dataset-metadata.json").data)
    store.put("u.by-dataset-metadata.json", json.dumps({k: header[k] for k in header if k[0] == "d"}).encode())
    staged = kb.write_partitions(MORE, "u", store, partition_on="p")
    ds = kb.commit_dataset("u", store, new_partitions=staged)
    assert (v1(ds), len(ds.partitions)) == ([1, 2, 3, 10, 40], 5)


def staged(**settings: Any) -> Callable[[Store], Any]:
    """Return what stages partitions for a dataset."""
    data, uuid = settings.pop("data", MORE), settings.pop("uuid", "u")
    return lambda store: kb.write_partitions(data, uuid, store, **settings)


def changed(**change: Any) -> Callable[[Store], Any]:
    """Return what stages partitions and then claims something else of the first."""
    return lambda store: replace(kb.write_partitions(MORE, "u", store)[0], **change)


def twice(store: Store) -> Any:
    """Stage partitions and give them twice."""
    return [kb.write_partitions(MORE, "u", store)] * 2


def committed(store: Store) -> Any:
    """Stage partitions and commit them."""
    parts = kb.write_partitions(MORE, "u", store)
    kb.commit_dataset("u", store, new_partitions=parts)
    return parts


def cut(store: Store) -> Any:
    """Stage partitions and damage a file."""
    parts = kb.write_partitions(MORE, "u", store)
    store.put(parts[1].files["table"], b"")
    return parts


def lost(store: Store) -> Any:
    """Stage partitions and lose a file."""
    parts = kb.write_partitions(MORE, "u", store)
    store.delete([parts[1].files["table"]])
    return parts


def lost_index(store: Store) -> Any:
    """Stage partitions with many index values and lose them."""
    rows = pa.table({"p": [1] * 5000, "i1": [str(n) for n in range(5000)], "v1": range(5000)})
    parts = kb.write_partitions(rows, "u", store)
    store.delete([key for key in keys(store) if "/staged/" in key])
    return parts


def before_overwrite(store: Store) -> Any:
    """Stage partitions, then replace the dataset by one of another schema."""
    parts = kb.write_partitions(MORE, "u", store)
    kb.write_dataset(ROWS.drop_columns("v1"), "u", store, partition_on="p", secondary_indices="i1", overwrite=True)
    return parts


REFUSED: dict[str, tuple[Callable[[Store], Any], dict[str, Any], type[Exception], str]] = {
    "nothing": (lambda _: (), {}, InvalidInputError, "nothing to commit"),
    "no partitions": (lambda _: [MORE], {}, InvalidInputError, "write_partitions"),
    "given twice": (twice, {}, InvalidInputError, "is given twice"),
    "committed before": (committed, {}, InvalidInputError, "was committed before"),
    "another dataset": (staged(uuid="u2", partition_on="p"), {}, InvalidInputError, "'u2/table/"),
    "a key outside": (changed(files={"table": "u/table/../../x.parquet"}), {}, InvalidInputError, "do not belong"),
    "a key beside its label": (changed(label="p=9/a"), {}, InvalidInputError, "do not belong"),
    "index values outside": (changed(index_values={"i1": "x.staged"}), {}, InvalidInputError, "'x.staged'"),
    "another partition_on": (staged(), {"partition_on": "i1"}, SchemaError, "partitioned differently"),
    "another schema": (before_overwrite, {}, SchemaError, r"(?s)'v1'.*\+v1: int64"),
    "no index values": (changed(index_values={}), {}, InvalidInputError, "'i1'.*without the values"),
    "an index it has not": (staged(), {"secondary_indices": ["i1", "v1"]}, InvalidInputError, "build_dataset_indices"),
    "a lost file": (lost, {}, ObjectNotFoundError, "1 of 2 staged files"),
    "lost index values": (lost_index, {}, ObjectNotFoundError, r"\.staged"),
    "a damaged file": (cut, {}, CorruptDatasetError, "has 0 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_commits(name: str) -> None:
    """Partitions that do not fit are an error; the dataset stays, and so do the files, for another try."""
    prepare, settings, error, told = REFUSED[name]
    store = written()
    given = prepare(store)
    before, version = keys(store), kb.open_dataset("u", store).version
    with pytest.raises(error, match=told):
        kb.commit_dataset("u", store, new_partitions=given, **settings)
    assert (keys(store), kb.open_dataset("u", store).version) == (before, version)


def test_parts_of_a_new_dataset_are_partitioned_alike() -> None:
    """Nothing is created of partitions that disagree, or that lack the values of an index asked for."""
    store = new_store()
    parts = [
        kb.write_partitions(ROWS, "u", store, partition_on=on, secondary_indices="i1") for on in ("p", ["p", "v1"])
    ]
    with pytest.raises(SchemaError, match=r"'p=1/\w+': 'p'; 'p=1/v1=1/\w+': 'p', 'v1'"):
        kb.commit_dataset("u", store, new_partitions=parts)
    with pytest.raises(InvalidInputError, match="'v1'"):
        kb.commit_dataset("u", store, new_partitions=parts[0], secondary_indices="v1")
    with pytest.raises(DatasetNotFoundError):
        kb.commit_dataset("u", store, metadata={"m": 1})
    with pytest.raises(DatasetNotFoundError):
        kb.open_dataset("u", store)


REFUSED_PARTITIONS: dict[str, tuple[Any, dict[str, Any], type[Exception]]] = {
    "no data": (None, {}, InvalidInputError),
    "another type": (MORE.set_column(2, "v1", pa.array(["a", "b"])), {}, SchemaError),
    "no indexed column": (MORE.drop_columns("i1"), {}, UnknownColumnError),
    "other partition columns": (MORE, {"partition_on": "i1"}, SchemaError),
    "an index that the dataset lacks": (MORE, {"secondary_indices": "v1"}, InvalidInputError),
    "a table that is not there": (MORE, {"table": "other"}, InvalidInputError),
    "no name of a table": (MORE, {"table": ["table"]}, InvalidInputError),
    "a later frame": ([MORE, MORE.drop_columns("v1")], {}, SchemaError),
}


@pytest.mark.parametrize("name", REFUSED_PARTITIONS)
def test_refused_partitions(name: str) -> None:
    """Rows that do not fit the dataset are refused when they are staged, and nothing is left of them."""
    data, settings, error = REFUSED_PARTITIONS[name]
    store = written()
    before = keys(store)
    with pytest.raises(error):
        kb.write_partitions(data, "u", store, **settings)
    assert keys(store) == before


def test_others_commit_the_same_partitions_meanwhile() -> None:
    """What is asked besides the partitions is never taken for done because somebody else has committed these."""
    store = written()
    parts = kb.write_partitions(MORE, "u", store)

    def others_first(call: Call) -> None:
        if call.verb == "replace":
            kb.commit_dataset("u", store, new_partitions=parts)

    with pytest.raises(CommitConflictError, match="twice"):
        kb.commit_dataset("u", FaultyStore(store, others_first), new_partitions=parts, metadata={"m": 1})
    assert v1(kb.open_dataset("u", store)) == [1, 2, 3, 10, 40]


def test_what_cannot_be_committed_now_may_be_later() -> None:
    """A store that refuses leaves the staged files for another try."""
    store = written()
    parts = kb.write_partitions(MORE, "u", store)
    with pytest.raises(StoreError):
        kb.commit_dataset("u", FaultyStore(store, refuse_replace), new_partitions=parts)
    assert v1(kb.commit_dataset("u", store, new_partitions=parts)) == [1, 2, 3, 10, 40]


def refuse_replace(call: Any) -> Fault | None:
    """Refuse to replace anything."""
    return Fault.REFUSE if call.verb == "replace" else None


def test_many_files_are_looked_up_in_a_listing() -> None:
    """From some number on, staged files are found by listing and not asked for one by one."""
    store = CountingStore(new_store())
    parts = [part(f"p={p}/a", f"u/table/p={p}/a.parquet") for p in range(1000)]
    for one in parts:
        store.put(one.files["table"], b"")
    check_files(parts, "u", store, None)
    assert (store.calls["list"], store.calls["info"]) == (2, 0)
    store.delete([parts[7].files["table"]])
    with pytest.raises(ObjectNotFoundError, match=r"1 of 1000 staged files.*p=7/a"):
        check_files(parts, "u", store, None)


SCHEMAS: dict[str, Any] = {
    "PyArrow": SCHEMA,
    "Polars": pl.Schema({"p": pl.Int64, "i1": pl.String, "v1": pl.Int16}),
    "a mapping": {"table": SCHEMA},
    "a scan": pa.struct(list(SCHEMA)),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_empty_dataset(name: str) -> None:
    """It has its schema, layout and metadata, no rows, and takes the first ones as any other dataset."""
    store = new_store()
    settings: dict[str, Any] = {"partition_on": "p", "secondary_indices": "i1", "metadata": {"m": 1}}
    kb.create_empty_dataset(SCHEMAS[name], "u", store, **settings)
    ds = kb.open_dataset("u", store)
    assert ds.schema == pa.schema([("p", pa.int64()), ("i1", pa.string()), ("v1", pa.int64())])
    assert (ds.partition_keys, ds.index_columns, ds.metadata["m"], ds.version) == (("p",), ("i1",), 1, 1)
    assert (ds.scan().to_arrow().num_rows, len(ds.load_index("i1"))) == (0, 0)
    assert v1(kb.commit_dataset("u", store, new_partitions=kb.write_partitions(ROWS, "u", store))) == [1, 2, 3]


def test_an_empty_dataset_of_several_tables() -> None:
    """Each table has its schema; the header has the format asked for and keeps it."""
    store = new_store()
    tables = {"core": SCHEMA, "helper": pa.schema([("p", pa.int64()), ("v2", pa.null())])}
    kb.create_empty_dataset(tables, "u", store, partition_on="p", header_format="msgpack")
    assert kb.open_dataset("u", store).tables == ("core", "helper")
    kb.create_empty_dataset(SCHEMA, "u", store, overwrite=True)
    ds = kb.update_dataset(ROWS, "u", store)
    assert (ds.tables, ds.partition_keys, v1(ds)) == (("table",), (), [1, 2, 3])
    assert [key for key in keys(store) if "by-dataset-metadata" in key] == ["u.by-dataset-metadata.msgpack.zstd"]


REFUSED_SCHEMAS: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no schema": (["p", "v1"], {}, InvalidInputError, "list"),
    "rows": (ROWS, {}, InvalidInputError, "Table"),
    "a type": (pa.int64(), {}, SchemaError, "understood"),
    "no tables": ({}, {}, InvalidInputError, "empty mapping"),
    "a table name beside a mapping": ({"core": SCHEMA}, {"table": "core"}, InvalidInputError, "leave out"),
    "a table name that cannot be": (SCHEMA, {"table": "a/b"}, InvalidInputError, "a/b"),
    "an unknown partition column": (SCHEMA, {"partition_on": "z"}, UnknownColumnError, "z"),
    "a partition column without a type": (pa.schema([("p", pa.null()), ("x", pa.int8())]), {}, SchemaError, "'p'"),
    "an index without a type": (
        pa.schema([("p", pa.int8()), ("x", pa.null())]), {"secondary_indices": "x"}, SchemaError, "'x'"
    ),
    "no columns": (pa.schema([]), {"partition_on": ()}, SchemaError, "no column"),
    "a name twice": (pa.schema([("p", pa.int8()), ("x", pa.int8()), ("x", pa.int8())]), {}, SchemaError, "'x'"),
    "a duration": (pa.schema([("p", pa.int8()), ("x", pa.duration("s"))]), {}, SchemaError, "duration"),
    "no header of this name": (SCHEMA, {"header_format": "xml"}, InvalidInputError, "xml"),
    "metadata that JSON cannot hold": (SCHEMA, {"metadata": {"m": object()}}, InvalidInputError, "metadata"),
    "a name that is not allowed": (SCHEMA, {"uuid": "a/b"}, InvalidInputError, "a/b"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_SCHEMAS)
def test_refused_schemas(name: str) -> None:
    """A schema that cannot be is an error, and nothing is there."""
    schema, settings, error, told = REFUSED_SCHEMAS[name]
    store = new_store()
    with pytest.raises(error, match=told):
        kb.create_empty_dataset(schema, **{"uuid": "u", "store": store, "partition_on": "p", **settings})
    assert keys(store) == []


def test_a_dataset_is_not_emptied_unasked() -> None:
    """A name that is taken is an error; with overwrite the dataset starts anew."""
    store = written()
    with pytest.raises(AlreadyExistsError, match="overwrite=True"):
        kb.create_empty_dataset(SCHEMA, "u", store)
    assert len(kb.create_empty_dataset(SCHEMA, "u", store, overwrite=True).partitions) == 0


BELONGS: dict[str, tuple[Iterable[str], bool]] = {
    "its own": (("p=1/a", "u/table/p=1/a.parquet"), True),
    "another name": (("p=1/a", "u/table/p=1/b.parquet"), True),
    "another folder": (("p=1/a", "u/table/p=2/a.parquet"), False),
    "another table's folder": (("a", "u/other/a.parquet"), False),
    "another kind of file": (("a", "u/table/a.csv"), False),
    "an absolute key": (("a", "/u/table/a.parquet"), False),
}


@pytest.mark.parametrize("name", BELONGS)
def test_keys_that_belong_to_a_dataset(name: str) -> None:
    """A file lies in the folder of its table that its label names."""
    (label, key), fits = BELONGS[name]
    if fits:
        staged_partition_keys([part(label, key)], "u", None)
    else:
        with pytest.raises(InvalidInputError, match="do not belong"):
            staged_partition_keys([part(label, key)], "u", None)
