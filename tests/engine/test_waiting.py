"""How many answers of an object store are waited for in turn: a few, whatever the number of files, columns and rows."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.engine.spark import unit_tables
from kubothek.model.read_plan import ReadPlan
from kubothek.store.interface import Store
from kubothek.testing.stores import SlowStore

LATENCY = 0.04
"""Seconds; long beside what computing takes and threads need to begin."""


def new_store() -> Store:
    """Return an empty store."""
    return kb.Store(f"memory://{uuids.uuid4().hex}")


@cache
def dataset() -> Store:
    """Put a dataset of a large file and eleven small ones, with a large index, in four versions."""
    store, random = new_store(), np.random.default_rng(0)
    p = np.concatenate([np.zeros(100_000, np.int64), np.arange(1, 1101) % 11 + 1])
    table = pa.table({"p": p, "i1": range(len(p)), **{f"v{n}": random.random(len(p)) for n in range(12)}})
    kb.write_dataset(table, "u", store, partition_on="p", secondary_indices="i1")
    for p in (100, 101, 102):
        kb.update_dataset(table.slice(0, 1).set_column(0, "p", pa.array([p])), "u", store)
    return store


@cache
def cube() -> Store:
    """Put a cube of a seed and six enrichments in twelve partitions of some files each."""
    store, x = new_store(), np.arange(120)
    cells = {"x": x, "p": x % 12}
    spec = kb.Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p", index_columns=["i1"])
    kb.build_cube(pa.table({**cells, "i1": x}), spec, store)
    kb.extend_cube({f"e{n}": pa.table({**cells, f"v{n}": x * 1.0}) for n in range(6)}, spec, store)
    kb.append_to_cube({"e0": pa.table({**cells, "v0": x * 2.0})}, spec, store)
    return store


def scanned(columns: Any = None, where: Any = None, **options: Any) -> Callable[[Store], Any]:
    """Return what opens the dataset and reads it."""
    return lambda store: kb.open_dataset("u", store, **options).scan(columns, where=where).to_arrow()


def small_files(store: Store) -> ReadPlan:
    """Return the plan to read all files but one."""
    return kb.open_dataset("u", store).scan(where="p > 0").plan


def queried(**question: Any) -> Callable[[Store], Any]:
    """Return what opens the cube and queries it."""
    return lambda store: kb.query_cube("c", store, **question).to_arrow()


# What is read, and how many answers are waited for at most.
READS: dict[str, tuple[Callable[[], Store], Callable[[Store], Any], int]] = {
    "the header": (dataset, lambda store: kb.open_dataset("u", store), 1),
    "small files, at once": (dataset, scanned(where="p > 0"), 2),
    "small files, by a task on Spark": (dataset, lambda store: list(unit_tables(store, small_files(store))), 2),
    "a large file": (dataset, scanned(where="p == 0"), 3),
    "a large file and small ones": (dataset, scanned(), 3),
    "columns of it": (dataset, scanned(["v1", "v3", "v5", "v11"], "p == 0"), 3),
    "columns of rows that match": (dataset, scanned(["v1", "v3", "v5", "v11"], "p == 0 & v7 > 0.5"), 4),
    "a large index": (dataset, lambda store: kb.open_dataset("u", store).scan(where="i1 == 77").explain(), 3),
    "a large index, and the file": (dataset, scanned("v1", "i1 == 77"), 6),
    "a large index, and a small file": (dataset, scanned("v1", "i1 == 100500"), 4),
    "an old version": (dataset, scanned(where="p > 0", at=1), 4),
    "a partition of a cube": (cube, queried(where="p == 3"), 3),
    "cells with conditions": (cube, queried(where="p == 3 & v1 > 2 & v2 > 3 & v5 > 1"), 4),
    "cells by an index": (cube, queried(where="i1 == 3 & v1 > 2"), 6),
}


@pytest.mark.parametrize("name", READS)
def test_answers_that_are_waited_for(name: str) -> None:
    """Opening, planning and reading wait for few answers in turn; what can be asked for at once is."""
    made, read, most = READS[name]

    def waited() -> int:
        store = SlowStore(made(), LATENCY)
        read(store)
        return store.round_trips

    assert any(waited() <= most for _ in range(3))  # on a busy machine, threads may begin late
