"""What a lookup in an index reads of it."""

from __future__ import annotations

import uuid as uuids
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.testing.stores import CountingStore

VALUES = 200_000
FILE = 200_000
"""Fewer bytes than the index file has."""


@cache
def large() -> kb.Dataset:
    """Return a dataset of 50 files with an index of 200,000 values."""
    rows = pa.table({"p": [x % 50 for x in range(VALUES)], "i1": range(VALUES)})
    return kb.write_dataset(rows, "u", f"memory://{uuids.uuid4().hex}", partition_on="p", secondary_indices="i1")


LOOKUPS: dict[str, tuple[Any, int]] = {
    "one value": (C("i1") == 77_777, 1),
    "no value": (C("i1") == -1, 0),
    "a list of neighbours": (C("i1").isin(range(50_000, 51_000)), 50),
    "a twofold negation": (~(C("i1") != 5), 1),
    "an interval": (C("i1").in_interval(100, 110), 10),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_lookup_reads_one_row_group(name: str) -> None:
    """Of a large index its footer and the row group with the values are read, and then the files that hold them."""
    where, files = LOOKUPS[name]
    store = CountingStore(large().store)
    ds = kb.open_dataset("u", store)
    assert store.info(ds._snapshot.header.indices["i1"]).size > FILE
    store.reset()
    assert ds.scan(where=where).explain().files == files
    assert store.received["get_range"] < FILE / 2
    assert store.calls["get_range"] <= 2


def test_a_long_list_is_one_lookup() -> None:
    """A thousand values from anywhere are looked up at once, and each is found."""
    wanted = range(0, VALUES, 200)
    store = CountingStore(large().store)
    ds = kb.open_dataset("u", store)
    store.reset()
    scan = ds.scan("i1", where=C("i1").isin(wanted))
    assert store.calls["get_range"] <= 2
    assert sorted(scan.to_arrow()["i1"].to_pylist()) == list(wanted)
