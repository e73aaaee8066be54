"""Every operation on top of every other one that came first: both hold, or the second says why not.

Each operation is given twice: as it is called, and as what it does to a plain Python value. ``ours`` is begun on the
base, ``theirs`` is committed before ours can be. Where nothing is said in :data:`CONFLICTS`, the dataset must then be
what the value becomes by theirs and then ours, rows and indices alike.
"""

from __future__ import annotations

import random
import uuid as uuids
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.header import encode_header
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import find_snapshot, load_snapshot
from kubothek.errors import CommitConflictError
from kubothek.model.staged import ChangeSet
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import Call, WrappedStore

Row = tuple[int, int, Any, Any]
FAST = World(rng=random.Random(1), sleep=lambda seconds: None)


@dataclass(frozen=True)
class Value:
    """What a dataset is: its rows (p, i1, v1, n), the columns with an index, and one entry of its metadata."""

    rows: frozenset[Row]
    indexed: frozenset[str] = frozenset({"i1"})
    m: Any = None

    def without(self, gone: Callable[[Row], bool]) -> Value:
        """Return it without some rows."""
        return replace(self, rows=frozenset(row for row in self.rows if not gone(row)))

    def plus(self, *rows: Row) -> Value:
        """Return it with more rows."""
        return replace(self, rows=self.rows | set(rows))


FIRST = Value(frozenset({(1, 1, "a", None), (2, 3, "b", None)}))
BASE = FIRST.plus((1, 2, "c", None))


def table(*rows: Row, n: pa.DataType | None = None) -> pa.Table:
    """Return rows as a table."""
    kinds = {"p": pa.int64(), "i1": pa.int64(), "v1": pa.string(), "n": n or pa.null()}
    return pa.table(
        [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds.values())], names=list(kinds)
    )


@cache
def base_objects() -> dict[str, bytes]:
    """Return the objects of a dataset of two versions."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    kb.write_dataset(table(*FIRST.rows), "d", store, partition_on="p", secondary_indices="i1")
    kb.update_dataset(table(*(BASE.rows - FIRST.rows)), "d", store)
    return {info.key: store.get(info.key).data for info in store.list()}


def based() -> Store:
    """Return a store with that dataset."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    store.world = FAST
    for key, data in base_objects().items():
        store.put(key, data)
    return store


def append(*rows: Row, n: pa.DataType | None = None, scope: Any = ()) -> Callable[[Store], object]:
    """Return the update that adds rows, and deletes first."""
    return lambda store: kb.update_dataset(table(*rows, n=n), "d", store, delete_scope=scope)


def plain(**how: Any) -> Callable[[Store], object]:
    """Return a commit of nothing but what is said."""
    return lambda store: commit(store, "d", ChangeSet(uuids.uuid4().hex, "update", **how), find_snapshot("d", store))


def remove(store: Store) -> None:
    """Remove the partition of the first row by its label."""
    label = next(one for one in load_snapshot("d", store).partitions["label"].to_pylist() if one in first_labels())
    plain(remove_labels=(label,))(store)


@cache
def first_labels() -> tuple[str, ...]:
    """Return the label of the first version's partition ``p=1``."""
    labels = load_snapshot("d", based()).partitions["label"].to_pylist()
    return tuple(label for label in labels if label.startswith("p=1/"))[:1]


def overwrite(store: Store) -> None:
    """Replace the dataset by another one."""
    rows = table((9, 9, "o", None))
    kb.write_dataset(rows, "d", store, partition_on="p", secondary_indices="i1", overwrite=True)


def foreign(store: Store) -> None:
    """Append as other software does: rows and index are there, our state is not."""
    scratch = open_store(f"memory://{uuids.uuid4().hex}")
    for info in store.list():
        scratch.put(info.key, store.get(info.key).data)
    kb.update_dataset(table((4, 7, "f", None)), "d", scratch)
    for info in scratch.list("d/"):
        store.put(info.key, scratch.get(info.key).data)
    made = load_snapshot("d", scratch)
    store.put(made.key, encode_header(replace(made.header, state=None)))


@dataclass(frozen=True)
class Operation:
    """An operation, and what it does to a value; ``None`` is no dataset."""

    run: Callable[[Store], object]
    model: Callable[[Value], Value | None]


ONE = [{"p": 1}]
OPERATIONS: dict[str, Operation] = {
    "append": Operation(append((3, 5, "x", None)), lambda d: d.plus((3, 5, "x", None))),
    "replace": Operation(
        append((1, 6, "y", None), scope=ONE), lambda d: d.without(lambda r: r[0] == 1).plus((1, 6, "y", None))
    ),
    "delete": Operation(
        lambda store: kb.update_dataset(None, "d", store, delete_scope=ONE), lambda d: d.without(lambda r: r[0] == 1)
    ),
    "delete by index": Operation(
        lambda store: kb.update_dataset(None, "d", store, delete_scope=[{"i1": 3}]),
        lambda d: d.without(lambda r: r[1] == 3),
    ),
    "remove": Operation(remove, lambda d: d.without(lambda r: r[2] == "a")),
    "metadata": Operation(
        lambda store: kb.update_dataset(None, "d", store, metadata={"m": 1}), lambda d: replace(d, m=1)
    ),
    "overwrite": Operation(overwrite, lambda d: Value(frozenset({(9, 9, "o", None)}))),
    "build": Operation(
        lambda store: kb.build_dataset_indices("d", store, "v1"), lambda d: replace(d, indexed=d.indexed | {"v1"})
    ),
    "drop": Operation(
        lambda store: kb.drop_dataset_indices("d", store, "i1"), lambda d: replace(d, indexed=d.indexed - {"i1"})
    ),
    "type int": Operation(append((3, 5, "i", 1), n=pa.int64()), lambda d: d.plus((3, 5, "i", 1))),
    "type text": Operation(append((3, 5, "t", "u"), n=pa.string()), lambda d: d.plus((3, 5, "t", "u"))),
    "give up": Operation(plain(oldest=2), lambda d: d),
    "roll back": Operation(lambda store: kb.rollback_dataset("d", store, 1), lambda d: FIRST),
}
ONLY_THEIRS: dict[str, Operation] = {
    "foreign": Operation(foreign, lambda d: d.plus((4, 7, "f", None))),
    "delete dataset": Operation(lambda store: kb.delete_dataset("d", store), lambda d: None),
}
THEIRS = OPERATIONS | ONLY_THEIRS

CONFLICTS: dict[tuple[str, str], str] = {
    **{(ours, "overwrite"): "was overwritten" for ours in OPERATIONS},
    **{(ours, "delete dataset"): "was deleted meanwhile" for ours in OPERATIONS},
    **{("remove", theirs): "removed or replaced meanwhile" for theirs in ("remove", "delete", "replace")},
    **{("roll back", theirs): "would be undone" for theirs in THEIRS if theirs not in ("overwrite", "delete dataset")},
    ("delete by index", "drop"): "neither partition columns",
    ("type int", "type text"): "does not fit",
    ("type text", "type int"): "does not fit",
}
CONFLICTS = {pair: why for pair, why in CONFLICTS.items() if pair[0] != "overwrite"}


class Meanwhile(WrappedStore):
    """Lets something else happen just before the first swap of a header."""

    def __init__(self, inner: Store, happen: Callable[[Store], object]) -> None:
        super().__init__(inner)
        self.happen: Callable[[Store], object] | None = happen

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        if call.verb == "replace" and self.happen is not None:
            happen, self.happen = self.happen, None
            happen(self.inner)
        return act()


def value_of(store: Store) -> Value | None:
    """Return what is there, each index compared with the rows of each file."""
    if find_snapshot("d", store) is None:
        return None
    ds = kb.open_dataset("d", store)
    files = {label: rows.to_pylist() for label, rows in ds.scan().groups()}
    for column in ds.index_columns:
        expected: Mapping[Any, set[str]] = defaultdict(set)
        for label, rows in files.items():
            for row in rows:
                expected[row[column]].add(label)
        found = ds.load_index(column)
        assert {value: set(found.eval_operator("==", value)) for value in expected} == expected
    rows = frozenset((row["p"], row["i1"], row["v1"], row["n"]) for part in files.values() for row in part)
    return Value(rows, frozenset(ds.index_columns), ds.metadata.get("m"))


@pytest.mark.parametrize("theirs", THEIRS)
@pytest.mark.parametrize("ours", OPERATIONS)
def test_pairs(ours: str, theirs: str) -> None:
    """Ours holds after theirs, or nothing of it happened and both sides are named."""
    inner = based()
    store, why = Meanwhile(inner, THEIRS[theirs].run), CONFLICTS.get((ours, theirs))
    after = THEIRS[theirs].model(BASE)
    if why is None:
        OPERATIONS[ours].run(store)
        assert value_of(inner) == OPERATIONS[ours].model(BASE if after is None else after)
    else:
        with pytest.raises(CommitConflictError, match=why) as caught:
            OPERATIONS[ours].run(store)
        assert caught.value.ours
        assert caught.value.theirs
        assert value_of(inner) == after
    assert store.happen is None
