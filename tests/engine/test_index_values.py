"""Distinct values of a file: inline where they are few, spilled in sorted runs where they are many."""

from __future__ import annotations

import uuid as uuids

import numpy as np
import pyarrow as pa
import pytest

from kubothek.codec.staged_table import read_staged
from kubothek.engine.index_values import IndexValues, union_values
from kubothek.store.interface import Store
from kubothek.store.open import open_store

HELD = 2**16


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def runs(store: Store, key: str | pa.Array) -> list[list[int]]:
    """Return the batches of a staged file."""
    assert isinstance(key, str)
    return [part.column(0).to_pylist() for part in read_staged(store.open_file(key), key)]


def gathered(store: Store, *columns: pa.Array) -> pa.Array | str:
    """Return the values of row groups with these columns."""
    values = IndexValues(store, "staged/", columns[0].type)
    for column in columns:
        values.add(pa.chunked_array([column]))
    return values.close()


def test_few_values_are_inline() -> None:
    """They are distinct and sorted over all row groups, without nulls and NaN, and nothing is stored."""
    store = new_store()
    found = gathered(store, pa.array([2.0, None, 1.0]), pa.array([float("nan"), 2.0, 0.0]))
    assert (found.to_pylist(), keys(store)) == ([0.0, 1.0, 2.0], [])
    assert gathered(store, pa.array([], pa.string())).to_pylist() == []


@pytest.mark.parametrize("values", [pa.array(range(5000)), pa.array(["x" * 5000 + str(n) for n in range(100)])])
def test_many_or_large_values_are_staged(values: pa.Array) -> None:
    """Both number and size decide; the staged file holds the values sorted."""
    store = new_store()
    key = gathered(store, values)
    assert keys(store) == [key]
    assert [value for run in runs(store, key) for value in run] == sorted(values.to_pylist())


def test_more_than_is_held_is_spilled_in_sorted_runs() -> None:
    """What is held stays bounded: distinct values go out in runs, repeated ones only once in each."""
    store = new_store()
    columns = [pa.array(np.arange(n * 5000, (n + 1) * 5000)[::-1]) for n in range(20)]
    before, values = pa.total_allocated_bytes(), IndexValues(store, "staged/", pa.int64(), HELD)
    for column in columns:
        values.add(pa.chunked_array([column, column]))
        assert pa.total_allocated_bytes() - before < 6 * HELD
    found = runs(store, values.close())
    assert len(found) > 5
    assert all(run == sorted(run) for run in found)
    assert sorted(value for run in found for value in run) == list(range(100_000))


def test_repeated_values_are_not_spilled() -> None:
    """Many row groups with the same values leave no more than these."""
    store = new_store()
    values = IndexValues(store, "staged/", pa.int64(), HELD)
    for _ in range(100):
        values.add(pa.chunked_array([pa.array(range(4000))]))
    assert (values.close().to_pylist(), keys(store)) == (list(range(4000)), [])


def test_an_abandoned_file_is_not_there() -> None:
    """Neither runs that were spilled nor a file that was closed already stay."""
    store = new_store()
    for close in (False, True):
        values = IndexValues(store, "staged/", pa.int64(), HELD)
        for start in range(3):
            values.add(pa.chunked_array([pa.array(range(start * HELD, (start + 1) * HELD))]))
        if close:
            values.close()
        values.abandon()
        assert keys(store) == []


def test_unions() -> None:
    """Values of several files become those of one; staged ones are staged anew, and the old ones are gone."""
    store = new_store()
    few = union_values(store, "staged/", pa.int64(), [pa.array([1, 3]), pa.array([2, 3]), pa.nulls(0)])
    assert few.to_pylist() == [1, 2, 3]
    old = gathered(store, pa.array(range(5000)))
    key = union_values(store, "staged/", pa.int64(), [old, pa.array([4999, 5000])])
    assert (keys(store), [value for run in runs(store, key) for value in run]) == ([key], list(range(5001)))
