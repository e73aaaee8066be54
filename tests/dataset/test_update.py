"""Adding to datasets and deleting from them, in one commit."""

from __future__ import annotations

import uuid as uuids
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import (
    AmbiguousDeleteScopeError,
    DatasetNotFoundError,
    InvalidInputError,
    NullValueError,
    SchemaError,
    StoreError,
    UnindexedColumnError,
    UnknownColumnError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Fault, FaultyStore

ROWS = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "b"], "v1": [1, 2, 3]})
MORE = pa.table({"p": [1, 4], "i1": ["c", "c"], "v1": [10, 40]})


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


def v1(store: Store) -> list[int]:
    """Return the values of a column, sorted."""
    return sorted(kb.open_dataset("u", store).scan("v1").to_arrow()["v1"].to_pylist())


def test_append() -> None:
    """New rows come after old ones; indices know both; files that were there stay as they are."""
    store = written()
    before = kb.open_dataset("u", store)
    ds = kb.update_dataset(MORE, "u", store, metadata={"m": 1})
    assert ds.scan("v1").to_arrow()["v1"].to_pylist() == [1, 2, 3, 10, 40]
    assert list(ds.partitions)[:3] == list(before.partitions)
    assert (ds.version, ds.metadata["m"], len(ds.load_index("i1").eval_operator("==", "c"))) == (2, 1, 2)
    assert before.scan("v1").to_arrow().num_rows == 3


def test_an_update_creates_what_is_absent() -> None:
    """Without a dataset the update is its first write, with the layout that it gives."""
    ds = kb.update_dataset(MORE, "u", new_store(), partition_on="p", secondary_indices="i1", metadata={"m": 1})
    assert (ds.version, ds.partition_keys, ds.index_columns, ds.metadata["m"]) == (1, ("p",), ("i1",), 1)
    with pytest.raises(DatasetNotFoundError):
        kb.update_dataset(None, "u", new_store(), delete_scope=[{"p": 1}])


SCOPES: dict[str, tuple[Any, list[int]]] = {
    "one mapping": ({"p": 1}, [2, 3]),
    "a list of mappings": ([{"p": 1}, {"p": 3}], [2]),
    "several columns": ([{"p": 2, "i1": "b"}, {"p": 2, "i1": "a"}], [1, 3]),
    "an indexed column": ([{"i1": "b"}], [1]),
    "a condition": (C("p") > 1, [1]),
    "a text": ("p == 1 | p == 2", [3]),
    "nothing that is there": ([{"p": 99}], [1, 2, 3]),
}


@pytest.mark.parametrize("name", SCOPES)
def test_delete_scope(name: str) -> None:
    """A scope removes the files that it fits, and nothing else."""
    scope, left = SCOPES[name]
    store = written()
    kb.update_dataset(None, "u", store, delete_scope=scope)
    assert v1(store) == left


def test_replace_a_partition() -> None:
    """Rows that are added in the same call are not deleted."""
    store = written()
    kb.update_dataset(MORE, "u", store, delete_scope=[{"p": 1}])
    ds = kb.open_dataset("u", store)
    assert v1(store) == [2, 3, 10, 40]
    assert (ds.version, ds.load_index("i1").eval_operator("==", "a")) == (2, frozenset())


def test_an_update_keeps_what_it_does_not_name() -> None:
    """Partition columns, indices, header format and other metadata stay."""
    store = written(header_format="msgpack", metadata={"m": 1, "n": 1})
    ds = kb.update_dataset(MORE, "u", store, metadata={"n": 2})
    assert (ds.partition_keys, ds.index_columns, ds.metadata["m"], ds.metadata["n"]) == (("p",), ("i1",), 1, 2)
    assert [key for key in keys(store) if "by-dataset-metadata" in key] == ["u.by-dataset-metadata.msgpack.zstd"]


def test_metadata_alone() -> None:
    """An update may only add to the metadata."""
    store = written()
    assert kb.update_dataset(None, "u", store, metadata={"m": 1}).metadata["m"] == 1
    assert v1(store) == [1, 2, 3]


def test_columns_of_nulls_become_typed() -> None:
    """A column that held nothing takes the type of its first values, and the old rows stay null."""
    store = new_store()
    kb.write_dataset(pa.table({"x": [1], "v1": pa.nulls(1)}), "u", store)
    kb.update_dataset(pa.table({"x": [2], "v1": ["a"]}), "u", store)
    ds = kb.update_dataset(pa.table({"x": [3], "v1": pa.nulls(1)}), "u", store)
    assert ds.scan().to_arrow().to_pydict() == {"v1": [None, "a", None], "x": [1, 2, 3]}


NESTED: dict[str, tuple[pa.Array, pa.Array]] = {
    "lists": (pa.array([[], None, [None]], pa.list_(pa.null())), pa.array([["a"], [None], []])),
    "structs": (
        pa.array([{"a": None, "b": 1}, None, {"a": None, "b": None}], pa.struct([("a", pa.null()), ("b", pa.int8())])),
        pa.array([{"a": "q", "b": 2}, None, {"a": None, "b": 3}]),
    ),
    "lists in structs": (
        pa.array([{"a": None}, None, {"a": []}], pa.struct([("a", pa.list_(pa.null()))])),
        pa.array([{"a": [1.5]}, {"a": None}, None]),
    ),
}


@pytest.mark.parametrize("shuffle", [True, False, None], ids=["in one shuffled write", "in one write", "in an update"])
@pytest.mark.parametrize("name", NESTED)
def test_nested_nulls_become_typed(name: str, shuffle: bool | None) -> None:
    """Lists and structs that held nothing take the types of their first values, and what was there stays."""
    untyped, typed = (pa.table({"x": range(3), "v1": values}) for values in NESTED[name])
    store = new_store()
    if shuffle is None:
        kb.write_dataset(untyped, "u", store)
        kb.update_dataset(typed, "u", store)
    else:
        kb.write_dataset([untyped, typed], "u", store, shuffle=shuffle)
    ds = kb.open_dataset("u", store)
    assert ds.scan("v1").to_arrow()["v1"].to_pylist() == [*untyped["v1"].to_pylist(), *typed["v1"].to_pylist()]
    assert ds.schema.field("v1").type == kb.write_dataset(typed, "u2", store).schema.field("v1").type


def test_an_indexed_column_may_hold_nothing_but_nulls_later() -> None:
    """An update whose values are all missing adds nothing to the index."""
    store = written()
    ds = kb.update_dataset(MORE.set_column(1, "i1", pa.nulls(2)), "u", store)
    assert ds.load_index("i1").table["i1"].to_pylist() == ["a", "b"]
    assert ds.scan(where="i1 == null").to_arrow().num_rows == 2


def test_narrow_types_are_widened() -> None:
    """Data of a narrower type fits, and so do columns in any order."""
    store = written()
    more = pa.table({"v1": pa.array([7], pa.int8()), "i1": pa.array(["x"], pa.large_string()), "p": [9]})
    kb.update_dataset(more, "u", store)
    assert v1(store) == [1, 2, 3, 7]


@pytest.mark.parametrize("rows", [ROWS.slice(0, 0), []], ids=["an empty frame", "no frames"])
def test_nothing_to_add(rows: Any) -> None:
    """Data without rows adds nothing, and the rest of the update takes place."""
    store = written()
    kb.update_dataset(rows, "u", store, delete_scope=[{"p": 1}])
    assert v1(store) == [2, 3]


REFUSED: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "another type": (MORE.set_column(2, "v1", pa.array(["a", "b"])), {}, SchemaError, "v1"),
    "a column less": (MORE.drop_columns("v1"), {}, SchemaError, "v1"),
    "a column more": (MORE.append_column("v2", pa.array([1, 2])), {}, SchemaError, "v2"),
    "no partition column": (MORE.drop_columns("p"), {}, UnknownColumnError, "p"),
    "no indexed column": (MORE.drop_columns("i1"), {}, UnknownColumnError, "i1"),
    "null in a partition column": (MORE.set_column(0, "p", pa.array([None, 1])), {}, NullValueError, "p"),
    "other partition columns": (MORE, {"partition_on": "i1"}, SchemaError, "partitioned by p"),
    "no partition columns": (MORE, {"partition_on": []}, SchemaError, "partitioned by p"),
    "an index that the rest lacks": (MORE, {"secondary_indices": ["i1", "v1"]}, InvalidInputError, "v1"),
    "a table that is not there": (MORE, {"table": "other"}, InvalidInputError, "other"),
    "a partition column without a type": (
        MORE.set_column(0, "p", pa.nulls(2)), {}, InvalidInputError, "p"
    ),
    "no header of this name": (MORE, {"header_format": "xml"}, InvalidInputError, "xml"),
    "nothing to do": (None, {}, InvalidInputError, "nothing to do"),
    "an empty mapping": (None, {"delete_scope": [{}]}, InvalidInputError, "everything"),
    "an empty text": (None, {"delete_scope": ""}, InvalidInputError, "everything"),
    "a scope without columns": (None, {"delete_scope": "true"}, InvalidInputError, "everything"),
    "a scope on a column without an index": (MORE, {"delete_scope": [{"v1": 1}]}, UnindexedColumnError, "v1"),
    "a scope on a column that is not there": (MORE, {"delete_scope": [{"z": 1}]}, UnknownColumnError, "z"),
    "a scope of the wrong type": (MORE, {"delete_scope": [{"p": "one"}]}, InvalidInputError, "one"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_updates(name: str) -> None:
    """An update that does not fit leaves the dataset and the store as they were."""
    data, settings, error, told = REFUSED[name]
    store = written()
    before = keys(store)
    with pytest.raises(error, match=told):
        kb.update_dataset(data, "u", store, **settings)
    assert (keys(store), kb.open_dataset("u", store).version) == (before, 1)


def test_the_difference_of_schemas_is_shown() -> None:
    """What is stored and what is new are told line by line."""
    with pytest.raises(SchemaError) as caught:
        kb.update_dataset(MORE.set_column(2, "v1", pa.array(["a", "b"])).append_column("w", [[1, 2]]), "u", written())
    assert "\n-v1: int64\n+v1: string\n+w: int64\n" in str(caught.value)
    assert caught.value.columns == ("v1", "w")


def test_a_scope_may_not_take_other_values_along() -> None:
    """A file that holds other values too is not deleted for one of them."""
    store = new_store()
    kb.write_dataset(ROWS, "u", store, secondary_indices="i1")
    with pytest.raises(AmbiguousDeleteScopeError) as caught:
        kb.update_dataset(MORE, "u", store, delete_scope=[{"i1": "b"}])
    assert list(caught.value.labels) == list(kb.open_dataset("u", store).partitions)
    assert v1(store) == [1, 2, 3]


def test_a_store_that_refuses_the_commit() -> None:
    """When the header cannot be replaced, what was staged is taken away."""
    store = written()
    before = keys(store)
    broken = FaultyStore(store, lambda call: Fault.REFUSE if call.verb == "replace" else None)
    with pytest.raises(StoreError):
        kb.update_dataset(MORE, "u", broken)
    assert keys(store) == before
