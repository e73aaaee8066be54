"""Cubes for tests that look at what is stored: of this library, of others, and damaged."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import kubothek as kb
from kubothek.store.interface import Store
from kubothek.store.open import open_store

CUBE = kb.Cube("c", ["x", "y"], ["p"], index_columns=["i1"])
SEED = pa.table({"p": [0, 0, 1], "x": [0, 1, 0], "y": [0, 0, 0], "i1": ["a", "b", "a"], "v1": [1, 2, 3]})
E = pa.table({"p": [0, 1], "x": [0, 0], "v2": [1.5, None]})
FREE = pa.table({"x": [0, 1], "v3": ["s", "t"]})


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def build(store: Store, cube: kb.Cube = CUBE) -> Store:
    """Build a cube with an enrichment that is partitioned as the seed is, and one that is not; return the store."""
    kb.build_cube({"seed": SEED, "e": E, "free": FREE}, cube, store, partition_on={"free": []})
    return store


def keys(store: Store) -> set[str]:
    """Return all keys."""
    return {info.key for info in store.list()}


def answer(store: Store, cube: kb.Cube | str = "c") -> list[dict[str, Any]]:
    """Return all rows of a cube."""
    rows: list[dict[str, Any]] = kb.query_cube(cube, store).to_arrow().to_pylist()
    return rows


def edit_header(store: Store, uuid: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a header as a hand would that knows what it does."""
    key = f"{uuid}.by-dataset-metadata.json"
    header = json.loads(store.get(key).data)
    header.get("kubothek", {}).pop("seal", None)
    change(header)
    store.put(key, json.dumps(header).encode())


def edit_metadata(store: Store, uuid: str, **entries: Any) -> None:
    """Set entries of the user metadata; ``None`` removes one."""

    def change(header: dict[str, Any]) -> None:
        found = header["metadata"] | entries
        header["metadata"] = {name: value for name, value in found.items() if value is not None}

    edit_header(store, uuid, change)


def make_foreign(store: Store, uuid: str) -> None:
    """Make a header what other software would have written: without what we record beyond the format."""
    edit_header(store, uuid, lambda header: header.pop("kubothek"))


def replace_file(store: Store, uuid: str, rows: pa.Table) -> str:
    """Replace the dataset's first file by one that other software might have written; return its key."""
    make_foreign(store, uuid)
    key = next(iter(kb.open_dataset(uuid, store).partitions.values())).files["table"]
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    store.put(key, sink.getvalue().to_pybytes())
    return key
