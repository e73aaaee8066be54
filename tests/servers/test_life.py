"""A dataset's and a cube's life on each server, from the first write to the last trace."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.errors import DatasetNotFoundError
from kubothek.store.interface import Store

ROWS = pa.table({"p": [1, 1, 2, 3], "i1": ["a", "b", "a", "c"], "v1": [1, 2, 3, 4]})
MORE = pa.table({"p": [1, 4], "i1": ["d", "a"], "v1": [5, 6]})
CUBE = kb.Cube("c", ["x"], ["p"], index_columns=["i1"])
SEED = pa.table({"p": [0, 0, 1], "x": [0, 1, 2], "i1": ["a", "b", "a"]})
ENRICHMENT = pa.table({"p": [0, 1], "x": [1, 2], "v1": [1.5, 2.5]})


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows, and the columns in each, in a fixed order."""
    return sorted(({name: row[name] for name in sorted(row)} for row in rows), key=str)


def rows(scan: Any) -> list[dict[str, Any]]:
    """Return the rows of a scan or a query."""
    return in_order(scan.to_arrow().to_pylist())


def test_a_dataset(store: Store) -> None:
    """It is written, changed, indexed, read, tidied up and deleted, and leaves nothing behind."""
    kb.write_dataset(ROWS, "d", store, partition_on="p", secondary_indices="i1")
    kb.update_dataset(MORE, "d", store, delete_scope=[{"p": 1}])
    kb.build_dataset_indices("d", store, "v1")
    expected = in_order([row for row in ROWS.to_pylist() if row["p"] != 1] + MORE.to_pylist())
    assert rows(kb.open_dataset("d", store).scan()) == expected
    found = rows(kb.open_dataset("d", store).scan(where=kb.C("i1") == "a"))
    assert found == [row for row in expected if row["i1"] == "a"]
    assert kb.garbage_collect_dataset("d", store, older_than=timedelta(0), keep=1) != []
    assert (rows(kb.open_dataset("d", store).scan()), kb.verify_dataset("d", store)) == (expected, [])
    kb.delete_dataset("d", store)
    assert list(store.list()) == []


def test_a_dataset_made_again(store: Store) -> None:
    """After a deletion the name is free, and nothing of before is there."""
    kb.write_dataset(ROWS, "d", store)
    kb.delete_dataset("d", store)
    with pytest.raises(DatasetNotFoundError):
        kb.open_dataset("d", store)
    kb.write_dataset(MORE, "d", store, header_format="msgpack")
    assert rows(kb.open_dataset("d", store).scan()) == in_order(MORE.to_pylist())


def test_a_cube(store: Store) -> None:
    """It is built, extended, found, queried, copied, updated and deleted."""
    kb.build_cube(SEED, CUBE, store)
    kb.extend_cube({"e": ENRICHMENT}, CUBE, store)
    found, _ = kb.discover_cube("c", store)
    joined = [row | {"v1": {1: 1.5, 2: 2.5}.get(row["x"])} for row in SEED.to_pylist()]
    assert rows(kb.query_cube(found, store)) == in_order(joined)
    assert [row["x"] for row in rows(kb.query_cube("c", store, where=kb.C("v1") > 2))] == [2]
    kb.remove_partitions(CUBE, store, kb.C("p") == 0)
    assert [row["x"] for row in rows(kb.query_cube("c", store))] == [2]
    assert kb.check_cube(CUBE, store) == []
    kb.cleanup_cube(CUBE, store, older_than=timedelta(0), keep=1)
    kb.delete_cube(CUBE, store)
    assert list(store.list()) == []
