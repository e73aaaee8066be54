"""Datasets of several tables: which rows share a partition, what an index covers, and what does not fit together."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kubothek as kb
from kubothek.dataset.staging.pairing import places_of
from kubothek.errors import (
    AmbiguousDeleteScopeError,
    InvalidInputError,
    NullValueError,
    SchemaError,
    UnknownColumnError,
)
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store

CORE = pa.table({"p": [1, 2, 1], "i1": ["a", "b", "c"], "v1": [3, 2, 1]})
HELPER = pa.table({"p": [1, 3], "i1": ["a", "z"], "v2": [1.0, None]})
BOTH = {"core": CORE, "helper": HELPER}


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def written(data: Any = BOTH, **settings: Any) -> kb.Dataset:
    """Write a dataset partitioned by p, and open it."""
    store = new_store()
    kb.write_dataset(data, "u", store, **{"partition_on": "p", **settings})
    return kb.open_dataset("u", store)


def rows(ds: kb.Dataset, table: str) -> list[str]:
    """Return the rows of a table as text, sorted."""
    return sorted(map(str, ds.scan(table=table).to_arrow().to_pylist()))


def expected(*tables: pa.Table) -> list[str]:
    """Return the rows of these tables, columns in the order of the dataset, as text, sorted."""
    found = [{name: row[name] for name in ["p", *sorted({*row} - {"p"})]} for t in tables for row in t.to_pylist()]
    return sorted(map(str, found))


def files(ds: kb.Dataset) -> dict[str, list[dict[str, int]]]:
    """Return, by the directory part of the labels, how many rows each partition has in each table."""
    found: dict[str, list[dict[str, int]]] = {}
    for label, part in ds.partitions.items():
        counts = {table: pq.read_metadata(ds.store.open_file(key)).num_rows for table, key in part.files.items()}
        found.setdefault(label.rpartition("/")[0], []).append(counts)
    return found


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "as it comes"])
@pytest.mark.parametrize("given", [lambda: BOTH, lambda: [BOTH], lambda: iter([BOTH])], ids=["map", "list", "iterator"])
def test_rows_of_one_mapping_share_partitions(given: Callable[[], Any], shuffle: bool) -> None:
    """Each partition has every table, without rows where a table has none there."""
    ds = written(given(), shuffle=shuffle)
    assert ds.tables == ("core", "helper")
    assert (rows(ds, "core"), rows(ds, "helper")) == (expected(CORE), expected(HELPER))
    assert files(ds) == {
        "p=1": [{"core": 2, "helper": 1}],
        "p=2": [{"core": 1, "helper": 0}],
        "p=3": [{"core": 0, "helper": 1}],
    }


def test_labels_are_those_of_the_first_table() -> None:
    """The key of the first table's file is its label; all others lie in the same directory of their own table."""
    for label, part in written().partitions.items():
        assert part.files["core"] == f"u/core/{label}.parquet"
        assert part.files["helper"].startswith(f"u/helper/{label.rpartition('/')[0]}/")


@pytest.mark.parametrize(("settings", "partitions"), [({}, 4), ({"shuffle": True}, 3)], ids=["as it comes", "shuffled"])
def test_each_mapping_is_cut_by_itself(settings: dict[str, Any], partitions: int) -> None:
    """Rows of two mappings are apart, unless equal partition values are to come together."""
    parts = [BOTH, {"helper": HELPER.slice(0, 1), "core": CORE.slice(0, 0)}]
    ds = written(parts, **settings)
    assert len(ds.partitions) == partitions
    assert rows(ds, "helper") == expected(HELPER, HELPER.slice(0, 1))


@pytest.mark.parametrize(
    ("data", "partitions"),
    [
        (BOTH, [{"core": 3, "helper": 2}]),
        ([BOTH, {"core": CORE.slice(0, 0), "helper": HELPER}], [{"core": 3, "helper": 2}, {"core": 0, "helper": 2}]),
        ({t: frame.slice(0, 0) for t, frame in BOTH.items()}, [{"core": 0, "helper": 0}]),
    ],
    ids=["one", "two", "empty"],
)
def test_without_partition_columns(data: Any, partitions: list[dict[str, int]]) -> None:
    """Each mapping is one partition, also where it has no rows."""
    assert files(written(data, partition_on=())) == {"": partitions}


def test_buckets_hold_equal_values_of_all_tables() -> None:
    """Rows with equal values in the bucket columns are in one partition, whatever table they are of."""
    core = pa.table({"p": [x % 2 for x in range(12)], "x": range(12), "v1": range(12)})
    helper = core.select(["p", "x"]).slice(3, 5).append_column("v2", pa.nulls(5))
    ds = written({"core": core, "helper": helper}, shuffle=True, bucket_by="x", num_buckets=3, secondary_indices="x")
    assert {directory: len(found) for directory, found in files(ds).items()} == {"p=0": 3, "p=1": 3}
    assert all(len(labels) == 1 for labels in ds.load_index("x").table["partition"].to_pylist())
    assert (rows(ds, "core"), rows(ds, "helper")) == (expected(core), expected(helper))


def test_an_index_covers_all_tables() -> None:
    """A label is listed for a value that any of its tables holds; columns of one table can be indexed too."""
    ds = written(secondary_indices=["i1", "v2"])
    assert [label.rpartition("/")[0] for label in ds.load_index("i1").eval_operator("==", "a")] == ["p=1"]
    assert ds.load_index("i1").table["i1"].to_pylist() == ["a", "b", "c", "z"]
    assert ds.load_index("v2").table["v2"].to_pylist() == [1.0]
    assert ds.scan(table="helper", where="i1 == 'z'").to_arrow()["p"].to_pylist() == [3]


def test_long_indices_of_two_tables() -> None:
    """Values that are staged as files are put together, and nothing of them stays."""
    store = new_store()
    tables = {t: pa.table({"p": [1] * 5000, "x": range(start, start + 5000)}) for t, start in (("a", 0), ("b", 4000))}
    ds = kb.write_dataset(tables, "u", store, partition_on="p", secondary_indices="x")
    assert ds.load_index("x").table["x"].to_pylist() == list(range(9000))
    assert not [key for key in keys(store) if "staged" in key]


def test_order_and_kinds_of_frames() -> None:
    """Each table is sorted by what it has of the order, and may be given as any kind of frame."""
    ds = written({"core": pl.DataFrame(CORE), "helper": HELPER.to_pandas()}, sort_by=["v1", "v2"], partition_on=())
    assert ds.scan("v1", table="core").to_arrow()["v1"].to_pylist() == [1, 2, 3]
    assert ds.scan("v2", table="helper").to_arrow()["v2"].to_pylist() == [1.0, None]


def test_a_column_of_nulls_has_the_type_of_the_other_table() -> None:
    """A shared column has one type; where it holds nothing it takes that of the other table, at once or later."""
    untyped = HELPER.set_column(1, "i1", pa.nulls(2))
    ds = written({"core": CORE, "helper": untyped}, secondary_indices="i1")
    assert ds.scan(table="helper").schema.field("i1").type == pa.string()
    first = {"core": CORE.set_column(1, "i1", pa.nulls(3)), "helper": untyped}
    ds = written([first, BOTH], shuffle=True)
    assert ds.scan(table="core").schema.field("i1").type == pa.string()


def test_update_and_overwrite() -> None:
    """An update adds partitions of all tables and removes others; an overwrite may change the tables."""
    ds = written(secondary_indices="i1")
    more = {"helper": HELPER, "core": CORE.slice(0, 1)}
    updated = kb.update_dataset(more, "u", ds.store, delete_scope=[{"p": 1}], metadata={"m": 1})
    assert rows(updated, "core") == expected(CORE.slice(1, 1), CORE.slice(0, 1))
    assert rows(updated, "helper") == expected(HELPER.slice(1), HELPER)
    again = kb.write_dataset({"core": HELPER, "other": CORE}, "u", ds.store, partition_on="p", overwrite=True)
    assert (again.tables, rows(again, "other")) == (("core", "other"), expected(CORE))
    assert kb.write_dataset(CORE, "u", ds.store, overwrite=True).tables == ("table",)
    assert rows(ds, "helper") == expected(HELPER)


def test_one_table_as_a_mapping() -> None:
    """A mapping with one table is the same as its rows with the table's name."""
    ds = written({"only": CORE})
    assert ds.tables == ("only",)
    assert [part.rows for part in ds.partitions.values()] == [2, 1]
    assert rows(kb.update_dataset([{"only": CORE}], "u", ds.store), "only") == expected(CORE, CORE)


def test_a_scope_looks_at_all_tables() -> None:
    """A partition goes where the value is the only one in every table that has the column; no rows have no say."""
    core = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "a"]})
    helper = pa.table({"p": [1, 2], "i1": ["a", "a"]})
    ds = written({"core": core, "helper": helper}, secondary_indices="i1")
    with pytest.raises(AmbiguousDeleteScopeError) as caught:
        kb.update_dataset(None, "u", ds.store, delete_scope=[{"i1": "a"}])
    assert [label.partition("/")[0] for label in caught.value.labels] == ["p=2"]
    left = kb.update_dataset(None, "u", ds.store, delete_scope=[{"i1": "a", "p": 1}, {"i1": "a", "p": 3}])
    assert [label.partition("/")[0] for label in left.partitions] == ["p=2"]


def test_tables_of_a_header_that_lists_no_partitions() -> None:
    """Files found by a listing are read whatever the sizes of those beside them."""
    store = new_store()
    one = {"core": CORE.slice(0, 1), "helper": HELPER.slice(0, 1)}
    kb.write_dataset(one, "u", store)
    [part] = kb.open_dataset("u", store).partitions.values()
    label = part.files["core"].rpartition("/")[2]
    store.copy(part.files["helper"], f"u/helper/{label}")
    store.delete([part.files["helper"]])
    header = json.loads(store.get("u.by-dataset-metadata.json").data)
    store.put("u.by-dataset-metadata.json", json.dumps({k: header[k] for k in header if k[0] == "d"}).encode())
    ds = kb.open_dataset("u", store)
    assert [(sorted(part.files), part.bytes) for part in ds.partitions.values()] == [(["core", "helper"], None)]
    assert ds.scan(table="helper").to_arrow()["i1"].to_pylist() == ["a"]


def with_type(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Return rows with one column replaced."""
    return table.set_column(table.column_names.index(name), name, pa.array(values))


REFUSED: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no tables": ({}, {}, InvalidInputError, "empty mapping"),
    "a table name with a slash": ({"a/b": CORE}, {}, InvalidInputError, "a/b"),
    "a table called indices": ({"indices": CORE}, {}, InvalidInputError, "indices"),
    "a name that is no text": ({1: CORE}, {}, InvalidInputError, "1"),
    "a table name beside a mapping": (BOTH, {"table": "core"}, InvalidInputError, "leave out"),
    "frames of a table": ({"core": [CORE], "helper": HELPER}, {}, InvalidInputError, "iterable of mappings"),
    "another table later": ([BOTH, {"core": CORE}], {}, InvalidInputError, "Element 1 .* core, helper"),
    "rows later": ([BOTH, CORE], {}, InvalidInputError, "Element 1 .*Table"),
    "a mapping later": ([CORE, BOTH], {}, InvalidInputError, "Element 1 .*dict"),
    "no partition column in a table": ({"core": CORE, "helper": HELPER.drop_columns("p")}, {}, UnknownColumnError, "p"),
    "partition columns of two types": (
        {"core": CORE, "helper": with_type(HELPER, "p", ["1", "3"])}, {}, SchemaError, r"'p' \(int64 in 'core', string"
    ),
    "shared columns of two types": (
        {"core": CORE, "helper": with_type(HELPER, "i1", [1, 2])}, {}, SchemaError, "'i1'"
    ),
    "shared columns of two types, later": (
        [{"core": with_type(CORE, "i1", [None] * 3), "helper": HELPER},
         {"core": with_type(CORE, "i1", [1, 2, 3]), "helper": with_type(HELPER, "i1", [None] * 2)}],
        {}, SchemaError, "'i1'",
    ),
    "null in a partition column": (
        {"core": CORE, "helper": with_type(HELPER, "p", [1, None])}, {}, NullValueError, "p"
    ),
    "an index on a column of no table": (BOTH, {"secondary_indices": ["i1", "z"]}, UnknownColumnError, "columns z,"),
    "an order by a column of no table": (BOTH, {"sort_by": "z"}, UnknownColumnError, "z"),
    "buckets by any column": (BOTH, {"shuffle": True, "num_buckets": 2}, InvalidInputError, "bucket_by"),
    "buckets by a column of one table": (
        BOTH, {"shuffle": True, "num_buckets": 2, "bucket_by": "v1"}, UnknownColumnError, "table 'helper'.*v1"
    ),
    "nothing but partition columns": ({"core": CORE, "helper": HELPER.select(["p"])}, {}, SchemaError, "helper"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_writes(name: str) -> None:
    """Tables that do not fit together are an error of the call, and the store is as empty as it was."""
    data, settings, error, told = REFUSED[name]
    store = new_store()
    with pytest.raises(error, match=f"(?s){told}"):
        kb.write_dataset(data, "u", store, **{"partition_on": "p", **settings})
    assert keys(store) == []


@pytest.mark.parametrize("data", [CORE, {"core": CORE}, {**BOTH, "more": CORE}], ids=["rows", "one table", "more"])
def test_an_update_has_every_table(data: Any) -> None:
    """Data for other tables than the dataset has is refused, and nothing is left of it."""
    ds = written()
    before = keys(ds.store)
    with pytest.raises(InvalidInputError, match=r"core.*helper"):
        kb.update_dataset(data, "u", ds.store)
    assert keys(ds.store) == before


def staged(label: str, table: str, bucket: int | None = None) -> StagedPartition:
    """Return a partition of one table."""
    return StagedPartition(label, {table: f"u/{table}/{label}.parquet"}, 1, 1, {}, bucket=bucket)


def test_files_meet_where_directory_and_bucket_are_equal() -> None:
    """Several files of one table at one place are paired in their order."""
    a = [staged("p=1/a", "a", 0), staged("p=1/b", "a", 1), staged("p=1/c", "a", 1)]
    b = [staged("p=1/d", "b", 1), staged("p=2/e", "b", 1)]
    found = {place: [one.label for one in files.values()] for place, files in places_of({"a": a, "b": b}).items()}
    assert found == {
        ("p=1", 0, 0): ["p=1/a"],
        ("p=1", 1, 0): ["p=1/b", "p=1/d"],
        ("p=1", 1, 1): ["p=1/c"],
        ("p=2", 1, 0): ["p=2/e"],
    }


def test_a_pandas_index_is_dropped() -> None:
    """The index of a pandas frame is dropped in every table."""
    frame = pd.DataFrame({"p": [1], "v1": [2]}, index=pd.Index([7], name="z"))
    assert written({"a": frame, "b": frame}).scan(table="b").schema.names == ["p", "v1"]
