"""How many requests are foreseen, and how many are made."""

from __future__ import annotations

import uuid as uuids
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.testing.stores import CountingStore


@cache
def written(rows: int) -> CountingStore:
    """Write a file of ten columns whose chunks have 8 bytes per row, and count what is asked of its store."""
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    random = np.random.default_rng(0)
    table = pa.table({f"v{n}": random.random(rows) for n in range(10)})
    kb.write_dataset(table, "u", store)
    return store


# Of a file with so many rows: what is asked for, and how many requests that takes.
CASES: dict[str, tuple[int, Any, Any, int]] = {
    "a small file comes with its footer": (10, None, None, 1),
    "a file not worth a round trip": (3000, ["v0", "v9"], "v5 < 0.5", 1),
    "all columns": (20_000, None, None, 1),
    "nearly all columns": (20_000, [f"v{n}" for n in range(1, 9)], None, 1),
    "columns far apart": (20_000, ["v0", "v9"], None, 3),
    "columns with little between them": (7400, ["v2"], "v0 < 0.5", 2),
    "few rows are read at once": (10_000, ["v0", "v5"], "v9 < 0.5", 4),
    "what follows a condition is not worth a round trip": (20_000, ["v0", "v8"], "v9 < 0.5", 3),
    "what follows a condition waits for it": (60_000, ["v0", "v8"], "v9 < 0.5", 4),
    "a condition on what is wanted": (20_000, ["v0", "v1"], "v0 < 0.5", 2),
    "each run of row groups": (300_000, ["v0", "v9"], None, 5),
    "long ranges": (300_000, None, None, 6),
    "no columns": (20_000, [], None, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_requests_are_foreseen(name: str) -> None:
    """As many requests are made as were foreseen, and measuring them gives the same number."""
    rows, columns, where, expected = CASES[name]
    store = written(rows)
    scan = kb.open_dataset("u", store).scan(columns, where=where)
    store.reset()
    list(scan.batches())
    measured = scan.explain(analyze=True).sources[0].measured
    assert measured is not None
    assert (scan.explain().requests, measured.requests, store.calls["get_range"]) == (expected, expected, 2 * expected)
    assert 2 * measured.bytes == store.received["get_range"]


def test_bytes_of_small_files_are_fetched_once() -> None:
    """A file no longer than what is fetched with a footer is not asked for again."""
    measured = kb.open_dataset("u", written(10)).scan(["v1"]).explain(analyze=True).sources[0]
    assert measured.measured is not None
    assert measured.measured.bytes == measured.bytes
