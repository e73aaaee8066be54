"""Scans of datasets with several tables, or with one of another name."""

from __future__ import annotations

import uuid as uuids
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import InvalidInputError, UnindexedColumnError, UnknownColumnError
from kubothek.testing.stores import CountingStore

CORE = pa.table({"p": [1, 2], "i1": [5, 6], "v1": [10, 20]})
HELPER = pa.table({"p": [1, 2, 2], "i1": [5, 6, 7], "v2": ["a", "b", "c"]})


@cache
def shared() -> kb.Dataset:
    """Return a dataset of two tables with partitions and an index in common."""
    url = f"memory://{uuids.uuid4().hex}"
    return kb.write_dataset({"core": CORE, "helper": HELPER}, "u", url, partition_on="p", secondary_indices="i1")


def test_tables_are_read_one_by_one() -> None:
    """A scan reads the table that is named; a condition selects its rows alone."""
    assert shared().scan(table="core").to_arrow() == CORE
    assert shared().scan(table="helper").to_arrow() == HELPER
    assert shared().scan("v2", "i1 == 7 | v2 == 'a'", "helper").to_arrow()["v2"].to_pylist() == ["a", "c"]


def test_an_index_is_of_all_tables() -> None:
    """A value that only another table has selects the partition, and no row."""
    scan = shared().scan(table="core", where=C("i1") == 7)
    assert (scan.explain().files, scan.to_arrow().num_rows) == (1, 0)
    groups = [(key, table["v1"].to_pylist()) for key, table in shared().scan(table="core").groups("i1")]
    assert groups == [((5,), [10]), ((6,), [20]), ((7,), [])]


def test_schemas() -> None:
    """A dataset's columns are those of all its tables, and each table has its schema."""
    assert shared().schema.names == ["p", "i1", "v1", "v2"]
    assert {name: schema.names for name, schema in shared().schemas.items()} == {
        "core": ["p", "i1", "v1"],
        "helper": ["p", "i1", "v2"],
    }


ELSEWHERE: dict[str, Any] = {
    "columns": lambda ds: ds.scan(["v1", "v2"], table="core"),
    "conditions": lambda ds: ds.scan(where=(C("v2") == "a") & (C("p") == 1), table="core"),
    "categoricals": lambda ds: ds.scan(table="core", categoricals="v2"),
    "groups": lambda ds: ds.scan(table="core").groups("v2"),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_columns_of_another_table(name: str) -> None:
    """The error says which table has the column."""
    with pytest.raises(UnknownColumnError, match=r"table 'core' of dataset 'u'.*Table 'helper' has 'v2'") as caught:
        ELSEWHERE[name](shared())
    assert caught.value.columns == ("v2",)


def test_which_table() -> None:
    """Where there are several, one is named; where there is one, it is meant whatever its name."""
    with pytest.raises(InvalidInputError, match="several tables: name one of 'core', 'helper'"):
        shared().scan()
    with pytest.raises(InvalidInputError, match="no table 'table'"):
        shared().scan(table="table")
    with pytest.raises(UnindexedColumnError, match="table 'core'"):
        shared().scan(table="core").groups("v1")
    single = kb.write_dataset(CORE, "u", f"memory://{uuids.uuid4().hex}", table="core")
    assert single.scan().to_arrow().select(CORE.column_names) == CORE
    assert str(single.scan().explain()).startswith("table core of dataset u: 1 unit, 3 columns")


def test_sizes_of_partitions_are_no_sizes_of_files() -> None:
    """What is recorded of a partition is the sum over its tables, which must not be taken for the size of a file."""
    source = kb.write_dataset({"core": CORE, "helper": HELPER}, "u", f"memory://{uuids.uuid4().hex}")
    ds = kb.open_dataset("u", CountingStore(source.store))
    assert ds.scan(table="helper").explain().bytes is None
    assert ds.scan("v2", table="helper").to_arrow()["v2"].to_pylist() == ["a", "b", "c"]
