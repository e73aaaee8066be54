"""What an opened dataset tells: partitions, indices, and that it does not change."""

from __future__ import annotations

import math
import uuid as uuids
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import DatasetNotFoundError, IndexNotFoundError, PredicateTypeError
from kubothek.testing.stores import CountingStore

ROWS = pa.table({"p": [1, 2, 2], "i1": [date(2020, 1, 1), date(2020, 1, 2), None], "v1": [1, 2, 3]})


def written(**given: Any) -> kb.Dataset:
    """Write the rows, one file per partition, with an index."""
    layout = {"partition_on": "p", "secondary_indices": "i1", **given}
    return kb.write_dataset(ROWS, "u", f"memory://{uuids.uuid4().hex}", **layout)


def test_partitions_by_label() -> None:
    """Partitions are a mapping in the order of the header; each knows its files, rows and bytes."""
    ds = written()
    first, second = ds.partitions
    assert (first[:4], second[:4], len(ds.partitions)) == ("p=1/", "p=2/", 2)
    part = ds.partitions[second]
    assert (part.label, part.rows, part.files) == (second, 2, {"table": f"u/table/{second}.parquet"})
    assert part.bytes == ds.store.info(part.files["table"]).size
    with pytest.raises(KeyError):
        ds.partitions["p=3/x"]


OPERATORS: dict[str, tuple[str, Any, list[int]]] = {
    "equal": ("==", 2, [2]),
    "different": ("!=", 2, [1]),
    "less": ("<", 2, [1]),
    "at most": ("<=", 2, [1, 2]),
    "more": (">", 1.0, [2]),
    "at least": (">=", 3, []),
    "in": ("in", [1, 7], [1]),
    "in nothing": ("in", [], []),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_indices_answer(name: str) -> None:
    """An index gives the labels of files with a matching value, for partition columns too."""
    op, value, expected = OPERATORS[name]
    ds = written()
    places = {int(label[2]): label for label in ds.partitions}
    assert ds.load_index("p").eval_operator(op, value) == {places[p] for p in expected}


def test_indices_convert_literals() -> None:
    """Values are compared as the column's type, or refused."""
    index = written().load_index("i1")
    assert len(index.eval_operator("==", "2020-01-01")) == len(index) - 1 == 1
    with pytest.raises(PredicateTypeError):
        index.eval_operator("==", 1)


MIXED: dict[str, tuple[str, str, Any, list[int]]] = {
    "integers of any width": ("i1", "in", [np.int8(1), 2.0, Decimal(3), np.uint64(9)], [1, 2, 3]),
    "floats of any width": ("i2", "in", [np.float32(0.5), 2], [1, 4]),
    "beyond signed integers": ("i3", "in", [np.uint8(1), 2**64 - 1], [1, 2]),
    "an array": ("p", "in", np.array([1, 4], np.int16), [1, 4]),
    "not in": ("i1", "not in", [1, None], [2, 3]),
    "null": ("i1", "==", None, []),
    "anything but null": ("i1", "!=", None, [1, 2, 3]),
    "null in a list": ("i1", "in", (1, None), [1]),
    "NaN": ("i2", "==", math.nan, []),
    "NaN in a list": ("i2", "in", [math.nan, 0.5], [1]),
    "order leaves NaN out": ("i2", ">", -1, [1, 4]),
}


@pytest.mark.parametrize("name", MIXED)
def test_indices_take_numbers_of_all_widths(name: str) -> None:
    """Numbers compare by value, whatever their width, and null and NaN are in no index."""
    column, op, value, expected = MIXED[name]
    wide = pa.array([2**64 - 1, 1, 2, 3], pa.uint64())
    rows = {"p": [1, 2, 3, 4], "i1": [1, 2, 3, None], "i2": [0.5, math.nan, None, 2.0], "i3": wide}
    layout = {"partition_on": "p", "secondary_indices": ["i1", "i2", "i3"]}
    ds = kb.write_dataset(pa.table(rows), "u", f"memory://{uuids.uuid4().hex}", **layout)
    found = ds.load_index(column).eval_operator(op, value)
    assert sorted(int(label[2]) for label in found) == expected


@pytest.mark.parametrize(("partition", "index"), [(".x", "[0]"), ("a/b", "unit"), ("file", "label"), ("key", "ü = &")])
def test_odd_names_and_values(partition: str, index: str) -> None:
    """Columns may be called like something inside a plan, and labels hold what a path could not."""
    values = ["a/b", "ü=%2F", "", "..", "n\nl"]
    rows = pa.table({partition: values, index: [3, 2, 1, 1, None], "v1": range(5)})
    url = f"memory://{uuids.uuid4().hex}"
    ds = kb.write_dataset(rows, "u", url, partition_on=partition, secondary_indices=index)
    assert {label: part.label for label, part in ds.partitions.items()} == {label: label for label in ds.partitions}
    assert [len(ds.load_index(partition).eval_operator("==", value)) for value in values] == [1] * 5
    where = C(index).in_interval(1, 3) & (C(partition) != "..")
    groups = ds.scan("v1", where).groups([index, partition])
    assert [(key, table["v1"].to_pylist()) for key, table in groups] == [((1, ""), [2]), ((2, "ü=%2F"), [1])]


def test_indices_by_column() -> None:
    """All indices are there by column, loaded when looked at; others are not found."""
    ds = written()
    assert (list(ds.indices), len(ds.indices), list(ds.load_all_indices())) == (["p", "i1"], 2, ["p", "i1"])
    assert ds.indices["i1"].table.column_names == ["i1", "partition"]
    assert "v1" not in ds.indices
    for find in (ds.load_index, ds.indices.__getitem__):
        with pytest.raises(IndexNotFoundError, match="it has i1"):
            find("v1")


def test_asking_for_an_index_does_not_load_it() -> None:
    """Whether a column has an index is in the header."""
    store = CountingStore(written().store)
    ds = kb.open_dataset("u", store)
    store.reset()
    assert "i1" in ds.indices
    assert "v1" not in ds.indices
    assert not store.calls


def test_a_dataset_does_not_change() -> None:
    """Later commits are seen by opening again."""
    ds = written()
    kb.update_dataset(ROWS, "u", ds.store, delete_scope=[{"p": 1}], metadata={"m": 1})
    assert (len(ds.partitions), ds.version, "m" in ds.metadata) == (2, 1, False)
    assert ds.scan("v1").to_arrow()["v1"].to_pylist() == [1, 2, 3]
    assert len(ds.load_index("p").eval_operator("==", 1)) == 1
    assert kb.open_dataset("u", ds.store).version == 2


def test_metadata_cannot_be_set() -> None:
    """What is shown is not what is stored, so it cannot be changed by mistake."""
    with pytest.raises(TypeError):
        written().metadata["m"] = 1  # type: ignore[index]


def test_opening_is_one_request() -> None:
    """A dataset of ours is opened by one round trip, whatever it holds."""
    store = CountingStore(written().store)
    kb.open_dataset("u", store).schema.field("v1")
    assert dict(store.calls) == {"get_many": 1}


def test_a_dataset_that_is_not_there() -> None:
    """A name that is missing is not found, and similar ones are suggested."""
    ds = written()
    with pytest.raises(DatasetNotFoundError, match="Did you mean 'u'"):
        kb.open_dataset("uu", ds.store)
    with pytest.raises(KeyError):
        kb.open_dataset("other", ds.store)


def test_representations() -> None:
    """Datasets, partitions, indices and scans show the facts one asks for first."""
    ds = written()
    assert repr(ds).startswith("<Dataset u: 2 partitions, ")
    assert repr(ds).endswith("partitioned by p, indices on i1>")
    assert (repr(ds.partitions), repr(ds.load_index("i1"))) == ("<2 partitions>", "<Index on i1: 2 values>")
    assert repr(ds.scan(where="p == 1")) == str(ds.scan(where="p == 1").explain())
    assert repr(ds.scan(where="p == 1")).startswith("dataset u: 1 unit, 3 columns\nwhere p == 1\n")
