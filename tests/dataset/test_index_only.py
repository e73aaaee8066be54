"""Columns that an index has and no table: one value per partition, usable like any other column."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.codec.header import encode_header
from kubothek.codec.index import encode_index
from kubothek.codec.keys import index_key
from kubothek.errors import InvalidInputError, UnknownColumnError

DAY = date(2020, 2, 29)


def with_index(column: str, entries: Mapping[Any, Sequence[int]], kind: pa.DataType | None = None) -> kb.Dataset:
    """Write a dataset of four files, p=1 to p=4, and an index by hand; ``entries`` lists values of p."""
    rows = pa.table({"p": [1, 2, 3, 4, 4], "v1": [10, 20, 30, 40, 41]})
    written = kb.write_dataset(rows, "u", f"memory://{uuids.uuid4().hex}", partition_on="p", secondary_indices="v1")
    snapshot, labels = written._snapshot, {int(label[2]): label for label in written.partitions}
    key = index_key("u", column, datetime(2020, 1, 1, tzinfo=UTC))
    lists = [[labels[p] for p in listed] for listed in entries.values()]
    index = pa.table({column: pa.array(list(entries), kind), "partition": pa.array(lists, pa.list_(pa.string()))})
    snapshot.store.put(key, encode_index(column, [index]))
    indices = {**snapshot.header.indices, column: key}
    snapshot.store.put(snapshot.key, encode_header(replace(snapshot.header, indices=indices)))
    return kb.open_dataset("u", snapshot.store)


@cache
def shared() -> kb.Dataset:
    """Return a dataset with an index on x, which is in no file; p=3 is not in it."""
    return with_index("x", {5: [1, 4], 6: [2]})


ASKED: dict[str, tuple[Any, list[int]]] = {
    "equal": (C("x") == 5, [10, 40, 41]),
    "different, as null is": (C("x") != 5, [20, 30]),
    "ordered": ("x > 5", [20]),
    "in": ([[("x", "in", [6, 7, None])]], [20, 30]),
    "not in": ([[("x", "not in", [6])]], [10, 30, 40, 41]),
    "null": (C("x").is_null(), [30]),
    "with other columns": ((C("x") == 5) & (C("v1") > 10) & (C("p") == 4), [40, 41]),
    "or other columns": ((C("x") == 6) | (C("v1") == 10), [10, 20]),
}


@pytest.mark.parametrize("name", ASKED)
def test_conditions(name: str) -> None:
    """Conditions on the column select whole partitions; those that the index does not list have null."""
    where, expected = ASKED[name]
    assert shared().scan("v1", where=where).to_arrow()["v1"].to_pylist() == expected


def test_as_a_column() -> None:
    """The column is in the result where it is named, with the type of its index, and not otherwise."""
    assert shared().scan().schema.names == shared().schema.names == ["p", "v1"]
    found = shared().scan(["x", "p"]).to_arrow()
    assert found.to_pydict() == {"x": [5, 6, None, 5, 5], "p": [1, 2, 3, 4, 4]}
    assert found.schema == shared().scan(["x", "p"]).schema == pa.schema({"x": pa.int64(), "p": pa.int64()})
    assert with_index("x", {DAY: [2]}).scan("x", where="x >= '2020-01-01'").to_arrow()["x"].to_pylist() == [DAY]


def test_groups() -> None:
    """Rows are grouped by the column; those of partitions without value are in no group."""
    for scan in (shared().scan("v1"), shared().scan("v1", where=C("x") > 0)):
        groups = [(key, table["v1"].to_pylist()) for key, table in scan.groups("x")]
        assert groups == [((5,), [10, 40, 41]), ((6,), [20])]
    assert [key for key, _ in shared().scan("x").groups(["v1", "x"])] == [(10, 5), (20, 6), (40, 5), (41, 5)]


def test_files_are_dropped_without_reading() -> None:
    """The value is known before a file is opened."""
    [source] = shared().scan(where="x == 6").explain().sources
    assert (source.files, dict(source.dropped)) == (1, {"partition": 3})


def test_the_index_itself() -> None:
    """The index is loaded as all others are."""
    assert list(shared().indices) == list(shared().load_all_indices()) == ["p", "v1", "x"]
    assert shared().load_index("x").table["x"].type == pa.int64()
    assert len(shared().indices["x"].eval_operator("==", 5)) == 2


def test_partitions_are_deleted_by_it() -> None:
    """A delete scope on the column is never ambiguous, because a partition has one value."""
    ds = with_index("x", {5: [1, 4], 6: [2]})
    left = kb.update_dataset(None, "u", ds.store, delete_scope=[{"x": 5}])
    assert left.scan(["x", "v1"]).to_arrow().to_pydict() == {"x": [6, None], "v1": [20, 30]}


def test_several_values_of_one_partition() -> None:
    """Rows of a partition under several values have none of them: an error names the partition, if it is asked."""
    ds = with_index("x", {5: [1, 2], 6: [2]})
    assert ds.scan("v1").to_arrow().num_rows == 5
    with pytest.raises(InvalidInputError, match=r"'p=2/.*\(5, 6\)") as caught:
        ds.scan("v1", where="x == 5")
    assert [label[:4] for label in caught.value.labels] == ["p=2/"]


def test_an_index_in_the_header() -> None:
    """Old headers keep values as texts, and nothing says of what type they were."""
    snapshot = shared()._snapshot
    embedded = {"y": {"5": tuple(shared().partitions)[:1]}}
    header = replace(snapshot.header, embedded_indices=embedded)
    ds = kb.Dataset(replace(snapshot, header=header))
    assert ds.scan("v1", where=C("y") == "5").to_arrow()["v1"].to_pylist() == [10]


def test_columns_that_are_nowhere() -> None:
    """What is neither in a table nor in an index is unknown still."""
    with pytest.raises(UnknownColumnError, match="'z'"):
        shared().scan(["x", "z"])
    with pytest.raises(UnknownColumnError, match="z"):
        shared().scan(where="x == 1 & z == 1")


def test_new_rows_have_no_value() -> None:
    """Rows are added as always; the column is null in them, and the index stays as it is for all others."""
    ds = with_index("x", {5: [1, 4], 6: [2]})
    kb.update_dataset(pa.table({"p": [1, 9], "v1": [11, 90]}), "u", ds.store)
    staged = kb.write_partitions(pa.table({"p": [9], "v1": [91]}), "u", ds.store)
    ds = kb.commit_dataset("u", ds.store, new_partitions=staged, delete_scope=[{"p": 2}])
    found = {row["v1"]: row["x"] for row in ds.scan(["v1", "x"]).to_arrow().to_pylist()}
    assert found == {10: 5, 30: None, 40: 5, 41: 5, 11: None, 90: None, 91: None}
    assert sorted(ds.scan("v1", where="x == 5").to_arrow()["v1"].to_pylist()) == [10, 40, 41]
    assert kb.verify_dataset("u", ds.store) == []
