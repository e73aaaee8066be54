"""A cube with a seed, a function that sums it up, and what a full rebuild gives: for the tests of what is computed."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import kubothek as kb
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

CUBE = kb.Cube("c", ["x", "y"], ["p", "q"], index_columns=["i1"])
PLACES = [(p, q) for p in range(3) for q in "ab"]
SEED = pa.schema([("p", pa.int64()), ("q", pa.string()), ("x", pa.int64()), ("y", pa.int64()), ("v1", pa.int64())])


def seed(*places: tuple[int, str], v1: int = 1, cells: int = 2) -> pa.Table:
    """Make some cells in each of some physical partitions."""
    rows = [{"p": p, "q": q, "x": x, "y": y, "v1": v1} for p, q in places for x in range(cells) for y in range(2)]
    return pa.Table.from_pylist(rows, schema=SEED)


def features(*places: int, f1: int = 1) -> pa.Table:
    """Make rows of an enrichment that is partitioned by ``p`` and has the dimension ``x``."""
    return pa.table({"p": [p for p in places for _ in "01"], "x": [0, 1] * len(places), "f1": [f1] * 2 * len(places)})


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def built(*places: tuple[int, str], at: StoreLike | None = None, **data: pa.Table) -> Store:
    """Return a store with a cube: its seed in some physical partitions, and some enrichments by ``p``."""
    store = new_store() if at is None else open_store(at)
    kb.build_cube({"seed": seed(*(places or PLACES)), **data}, CUBE, store, partition_on={name: ["p"] for name in data})
    return store


class Sums:
    """Sums up the payload in each physical partition of the dataset by ``x``, and remembers what it was given."""

    def __init__(self, *keys: str, f1: bool = False) -> None:
        self.keys, self.payload = keys, {"v1": "s1"} | ({"f1": "s2"} if f1 else {})
        self.given: list[set[tuple[int, str]]] = []

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Compute one physical partition."""
        self.given.append(set(zip(rows["p"].to_pylist(), rows["q"].to_pylist(), strict=True)))
        rows = rows.append_column("r", pc.add(rows["x"], 10)).append_column("s", pc.equal(rows["x"], 0))
        sums = rows.group_by([*self.keys, "x"]).aggregate([(name, "sum") for name in self.payload])
        return sums.select([*self.keys, "x", *(f"{name}_sum" for name in self.payload)]).rename_columns(
            [*self.keys, "x", *self.payload.values()]
        )


def refresh(store: Store, *keys: str, f1: bool = False, **how: Any) -> list[set[tuple[int, str]]]:
    """Refresh the dataset ``sums`` with these partition columns, and return what was computed."""
    compute = Sums(*keys, f1=f1)
    kb.refresh_cube(CUBE, store, "sums", compute, partition_on=keys, **how)
    return compute.given


def stale(store: Store, **how: Any) -> list[str]:
    """Return what is stale now, as texts."""
    return list(map(str, kb.stale_partitions(CUBE, store, "sums", **how)))


def rows(store: Store, dataset_id: str = "sums") -> list[tuple[Any, ...]]:
    """Return what a dataset holds, sorted."""
    table = kb.open_dataset(f"c++{dataset_id}", store).scan().to_arrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


def rebuilt(store: Store, *keys: str, f1: bool = False) -> list[tuple[Any, ...]]:
    """Compute everything anew, in a copy of the cube that has no sums, and return what they are."""
    others: Sequence[str] = [name for name in kb.discover_cube("c", store)[1] if name != "sums"]
    copy = new_store()
    kb.copy_cube("c", store, to_store=copy, datasets=others)
    refresh(copy, *keys, f1=f1, datasets=[name for name in others if name != "seed"])
    return rows(copy)
