"""Scans: columns, conditions, which files are read, and the ways to read them."""

from __future__ import annotations

import math
import uuid as uuids
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubothek as kb
from kubothek import C
from kubothek.errors import (
    InvalidInputError,
    PredicateTypeError,
    SnapshotExpiredError,
    UnknownColumnError,
)
from kubothek.testing.conditions import conditions, matches
from kubothek.testing.stores import CountingStore

ROWS = {
    "p": [1, 1, 2, 2, 3],
    "q": ["a", "b", "a", "b", "a"],
    "i1": [7, 8, 7, None, 9],
    "v1": [0.5, None, 1.5, 2.5, -1.0],
}


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


@cache
def shared() -> kb.Dataset:
    """Return a dataset to which nobody writes."""
    return written()


def written() -> kb.Dataset:
    """Write the rows, each partition as a file, with an index."""
    return kb.write_dataset(pa.table(ROWS), "u", new_url(), partition_on=["p", "q"], secondary_indices="i1")


@pytest.mark.parametrize(
    "columns",
    [["v1", "p"], ["q"], ["i1", "v1", "q", "p"], ["p", "q"], []],
    ids=["mixed", "a partition column", "all", "partition columns", "none"],
)
def test_columns_come_as_asked(columns: list[str]) -> None:
    """Columns are in the order asked for, and rows are as many, even without columns."""
    found = shared().scan(columns).to_arrow()
    assert (found.column_names, found.num_rows) == (columns, 5)
    assert found.to_pydict() == {name: ROWS[name] for name in columns}


def test_one_column_is_a_name() -> None:
    """A single name need not be in a list."""
    assert shared().scan("v1", where="p == 2").to_arrow().to_pydict() == {"v1": [1.5, 2.5]}


def test_columns_that_can_be_looked_at_once() -> None:
    """Names may come from an iterator or from pandas."""
    names = ["v1", "p"]
    for columns in (iter(names), pd.Index(names)):
        assert shared().scan(columns).schema.names == names


def test_a_condition_on_columns_that_are_not_asked_for() -> None:
    """What decides need not be in the result."""
    assert shared().scan([], where="v1 > 1").to_arrow().num_rows == 2
    assert shared().scan("p", where=C("i1").is_null()).to_arrow()["p"].to_pylist() == [2]


ASKED: dict[str, tuple[Any, int, dict[str, int]]] = {
    "everything": (None, 5, {}),
    "a partition column": (C("p") == 1, 2, {"partition": 3}),
    "both partition columns": ("p == 1 & q == 'b'", 1, {"partition": 4}),
    "an index": (C("i1") == 7, 2, {"index": 3}),
    "a value that no file holds": (C("i1") == 99, 0, {"index": 5}),
    "null, of which an index knows nothing": (C("i1").is_null(), 5, {}),
    "other values, of which it knows nothing": (C("i1") != 7, 5, {}),
    "both": ((C("p") > 1) & (C("i1") < 9), 1, {"partition": 2, "index": 2}),
    "a column that nothing is known of": (C("v1") > 0, 5, {}),
    "one or the other": ((C("p") == 3) | (C("i1") == 8), 2, {"index": 3}),
}


@pytest.mark.parametrize("name", ASKED)
def test_which_files_are_read(name: str) -> None:
    """Each file is read or dropped by a rule that proves that it holds no match."""
    where, files, dropped = ASKED[name]
    [source] = shared().scan(where=where).explain().sources
    assert (source.files, source.total) == (files, 5)
    assert sum(source.dropped.values()) == sum(dropped.values())
    assert name == "one or the other" or dict(source.dropped) == dropped


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "p": st.integers(0, 2),
    "q": st.sampled_from(["", "a", "b/c"]),
    "i1": st.integers(0, 3),
    "i2": st.sampled_from(["x", "y"]),
    "v1": st.sampled_from([-1.5, -0.0, 0.0, 2.0]),
}
TYPES = {"p": pa.int64(), "q": pa.string(), "i1": pa.int64(), "i2": pa.string(), "v1": pa.float64()}
SOME = {name: values if name in "pq" else values | st.none() for name, values in VALUES.items()}


@settings(max_examples=settings.default.max_examples // 2)
@given(
    st.lists(st.fixed_dictionaries(SOME), max_size=12),
    st.lists(conditions(VALUES), min_size=1, max_size=3),
    st.sampled_from([["p"], ["q", "p"], []]),
    st.sampled_from([["i1", "i2"], ["i1"], []]),
)
def test_conditions_select_as_plain_python(
    rows: list[dict[str, Any]], asked: list[kb.Condition], keys: list[str], indices: list[str]
) -> None:
    """Partitions, indices, row groups and sorting never change which rows match."""
    table = pa.Table.from_pylist(rows, pa.schema(list(TYPES.items())))
    ds = kb.write_dataset(
        table, "u", new_url(), partition_on=keys, secondary_indices=indices, sort_by="v1", rows_per_row_group=2
    )
    for where in asked:
        found = ds.scan(where=where).to_arrow().to_pylist()
        assert sorted(map(told, found)) == sorted(told(row) for row in rows if matches(where, row))


def told(row: dict[str, Any]) -> str:
    """Return a row as a text that can be sorted, in which zeros of either sign differ."""
    return str(sorted(row.items()))


def test_nan_is_found_by_asking_for_it() -> None:
    """NaN matches no order, and null and NaN where NaN is asked for, whatever the statistics say."""
    rows = pa.table({"x": [1, 2, 3], "v1": [math.nan, 1.0, None]})
    ds = kb.write_dataset(rows, "u", new_url(), secondary_indices="v1", rows_per_row_group=1)
    for where, expected in [("v1 > 0", [2]), ("v1 != 1", [1, 3]), ("v1 <= 1", [2])]:
        assert ds.scan("x", where=where).to_arrow()["x"].to_pylist() == expected
    assert ds.scan("x", where=C("v1").isin([math.nan])).to_arrow()["x"].to_pylist() == [1, 3]


def test_forms_of_a_condition_agree() -> None:
    """An object, a text and lists of tuples say the same."""
    ds = shared()
    forms: list[Any] = [
        (C("p") == 1) & (C("q") == "a") | (C("i1") == 9),
        "p == 1 & q == 'a' | i1 == 9",
        [[("p", "==", 1), ("q", "==", "a")], [("i1", "==", 9)]],
    ]
    assert [ds.scan("v1", where=form).to_arrow()["v1"].to_pylist() for form in forms] == [[0.5, -1.0]] * 3


def test_ways_to_read_agree() -> None:
    """Batches, pandas, Polars, and whatever reads an Arrow stream give the same rows."""
    scan = shared().scan(["p", "v1"], where="p < 3")
    rows = scan.to_arrow().to_pylist()
    assert pa.Table.from_batches(scan.batches(), scan.schema).to_pylist() == rows
    assert pl.DataFrame(scan).to_dicts() == scan.to_polars().to_dicts() == rows
    with duckdb.connect() as connection:
        connection.register("scan", pa.RecordBatchReader.from_stream(scan))
        assert connection.execute("SELECT sum(p), count(*), sum(v1) FROM scan").fetchall() == [(6, 4, 4.5)]
    assert scan.to_pandas()["p"].tolist() == [1, 1, 2, 2]


CATEGORICALS = {
    "text": pa.array(["x", None, "y", "x", "y"]),
    "integers": pa.array([1, 2, 1, None, 2]),
    "truth values": pa.array([True, None, False, True, True]),
    "decimals": pa.array([Decimal("1.5"), None, Decimal("2.5")] * 2)[:5],
    "bytes": pa.array([b"a/b", b"", None, b"", b""]),
    "dates": pa.array([date(2020, 1, 1), None] * 3)[:5],
}


@pytest.mark.parametrize("name", CATEGORICALS)
def test_categoricals(name: str) -> None:
    """Columns come as dictionaries where this is asked, with the same values, in every way to read."""
    table = pa.table({"x": range(5), "p": ROWS["p"], "v1": CATEGORICALS[name]})
    scan = kb.write_dataset(table, "u", new_url(), partition_on="p").scan(["x", "v1", "p"], categoricals=("v1", "p"))
    kinds = {"v1": pa.dictionary(pa.int32(), table.schema.field("v1").type), "p": pa.dictionary(pa.int32(), pa.int64())}
    found = scan.to_arrow()
    assert scan.schema == found.schema == pa.schema([("x", pa.int64()), *kinds.items()])
    assert found.to_pydict() == table.select(["x", "v1", "p"]).to_pydict()
    assert pa.Table.from_batches(scan.batches(), scan.schema).to_pydict() == found.to_pydict()
    assert scan.to_pandas()["v1"].dtype == "category"
    assert scan.to_polars()["v1"].to_list() == found["v1"].to_pylist()
    assert all(group.schema == scan.schema for by in ("p", None) for _, group in scan.groups(by))


def test_categoricals_are_compared_by_their_values() -> None:
    """Conditions and indices take no notice of how a column is given, and one that is not wanted has no effect."""
    for where, expected in [("i1 == 7", [7, 7]), ("i1 > 7", [8, 9]), ("i1 is null | v1 > 1", [7, None])]:
        found = shared().scan(["i1"], where, categoricals="i1").to_arrow()
        assert (found["i1"].to_pylist(), pa.types.is_dictionary(found["i1"].type)) == (expected, True)
    assert [key for key, _ in shared().scan("i1", categoricals=["i1"]).groups("i1")] == [(7,), (8,), (9,)]
    assert shared().scan("v1", categoricals="i1").schema == pa.schema({"v1": pa.float64()})


def test_no_rows_keep_the_schema() -> None:
    """A scan without matches has columns and types in every form."""
    scan = shared().scan(["p", "v1"], where="p == 9")
    assert scan.to_arrow().schema == scan.schema == pa.table(scan).schema
    assert list(scan.to_pandas().columns) == scan.to_polars().columns == ["p", "v1"]


def test_a_scan_reads_nothing_before_it_is_asked() -> None:
    """Planning reads an index at most; a lookup reads only the files that hold the value."""
    store = CountingStore(shared().store)
    ds = kb.open_dataset("u", store)
    store.reset()
    scan = ds.scan("v1", where="p == 1")
    assert not store.calls
    scan.to_arrow()
    assert {call.key.split("/")[2] for call in store.log} == {"p=1"}
    store.reset()
    assert ds.scan("v1", where="i1 == 9").to_arrow()["v1"].to_pylist() == [-1.0]
    assert {call.key.split("/")[1] for call in store.log} == {"indices", "table"}
    assert len({call.key for call in store.log if "/table/" in call.key}) == 1


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an unknown column": ({"columns": ["v1", "z"]}, UnknownColumnError, "'z'"),
    "an unknown column in a condition": ({"where": "z == 1"}, UnknownColumnError, "z"),
    "a column twice": ({"columns": ["v1", "v1"]}, InvalidInputError, "more than once"),
    "a literal of another type": ({"where": C("q") == 1}, PredicateTypeError, "q"),
    "several": ({"where": (C("q") == 1) & (C("z1") == 1) & (C("z2") == 2)}, InvalidInputError, "(?s)q.*z1.*z2"),
    "an unknown categorical": ({"columns": "v1", "categoricals": ["z"]}, UnknownColumnError, "'z'"),
    "an unknown table": ({"table": "z"}, InvalidInputError, "z"),
    "columns without an order": ({"columns": {"v1", "p"}}, InvalidInputError, "columns must be .* ordered sequence"),
    "columns that are no names": ({"columns": 3}, InvalidInputError, "columns must be a column name .* not 3"),
    "categoricals that are no names": ({"categoricals": [3]}, InvalidInputError, "categoricals must hold .* holds 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_scans(name: str) -> None:
    """What does not fit the schema is an error when the scan is planned."""
    arguments, error, told = REFUSED[name]
    with pytest.raises(error, match=told):
        shared().scan(**arguments)


def test_nested_columns_are_no_categoricals() -> None:
    """Lists and structs cannot be dictionaries, and a column without any value stays as it is."""
    ds = kb.write_dataset(pa.table({"l1": [[1]], "v1": [1], "v2": [None]}), "u", new_url())
    with pytest.raises(InvalidInputError, match="'l1' of type list") as caught:
        ds.scan(categoricals=["v1", "l1"])
    assert caught.value.columns == ("l1",)
    assert ds.scan("v2", categoricals="v2").to_arrow().schema == pa.schema({"v2": pa.null()})


def test_files_that_are_gone() -> None:
    """A snapshot whose files were deleted says so, with the key."""
    ds = written()
    part = next(iter(ds.partitions.values()))
    ds.store.delete(part.files.values())
    with pytest.raises(SnapshotExpiredError) as caught:
        ds.scan().to_arrow()
    assert caught.value.key == part.files["table"]
