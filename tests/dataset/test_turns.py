"""A writer whose attempts take long gets its turn, and one that asked for it and died holds up nobody for ever."""

from __future__ import annotations

import random
import uuid as uuids
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kubothek import update_dataset
from kubothek.codec.header import encode_header
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.dataset.turns import wait_for_turn
from kubothek.errors import CommitConflictError
from kubothek.model.staged import ChangeSet
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import Call, WrappedStore

SCHEMA = pa.schema([("p", pa.int64()), ("v1", pa.int64())])


@dataclass
class Time:
    """Seconds that pass only where somebody waits; ``then`` happens while somebody does."""

    now: float = 0.0
    then: list[Callable[[], object]] = field(default_factory=list)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        if self.then:
            self.then.pop(0)()

    def world(self) -> World:
        start = datetime(2020, 1, 1, tzinfo=UTC)
        return World(lambda: start + timedelta(seconds=self.now), random.Random(1), self.pass_by, lambda: "me")


def created(time: Time, **how: Any) -> tuple[Store, Snapshot]:
    """Return a store with a dataset."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    store.world = time.world()
    made = ChangeSet("1", "create", tables={"table": SCHEMA}, partition_keys=("p",), create=True, **how)
    return store, commit(store, "d", made, None)


def update(store: Store, **how: Any) -> Snapshot:
    """Commit a change of metadata."""
    return commit(
        store, "d", ChangeSet(uuids.uuid4().hex, "update", metadata={"m": 1}, **how), load_snapshot("d", store)
    )


class Busy(WrappedStore):
    """Lets others commit before each swap that is not the one of these numbers, unless they are asked to hold back."""

    def __init__(self, inner: Store, time: Time, *undisturbed: int) -> None:
        super().__init__(inner)
        self.time, self.undisturbed, self.swaps = time, undisturbed, 0

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        if call.verb == "replace":
            self.swaps += 1
            state = load_snapshot("d", self.inner).header.state
            assert state is not None
            if not state.hold and self.swaps not in self.undisturbed:
                self.time.now += 20
                update(self.inner)
        return act()


def test_a_slow_writer_gets_its_turn() -> None:
    """It loses three races, asks the others to hold back, and commits; nobody is asked after that."""
    time = Time()
    inner, base = created(time)
    busy = Busy(inner, time, 4)
    done = commit(busy, "d", ChangeSet("ours", "update", metadata={"n": 1}), base)
    state = done.header.state
    assert state is not None
    assert (busy.swaps, done.version, done.header.metadata["n"], state.hold) == (5, 6, 1, 0)


def test_a_quick_writer_asks_nobody() -> None:
    """Attempts that take no time are simply made again."""
    time = Time()
    inner, base = created(time)
    busy = Busy(inner, time, 9)
    busy.time = Time()  # what passes there is not seen by the writer
    done = commit(busy, "d", ChangeSet("ours", "update", metadata={"n": 1}), base)
    assert (busy.swaps, done.version) == (9, 10)


def test_nobody_is_asked_for_what_cannot_be_done() -> None:
    """A change that conflicts with what came first fails as ever."""
    time = Time()
    inner, base = created(time)
    busy = Busy(inner, time)
    with pytest.raises(CommitConflictError, match="would be undone"):
        commit(busy, "d", ChangeSet("ours", "rollback", restore=base.header), base)
    assert busy.swaps == 1


@pytest.mark.parametrize(("asked", "waited"), [(0.0, 0.0), (1.5, 1.5), (1e9, 60.0)])
def test_others_wait_for_as_long_as_asked(asked: float, waited: float) -> None:
    """Then the one that asked has died, and its request is replaced by what comes next."""
    time = Time()
    store, _ = created(time, hold=asked)
    done = update(store)
    assert (done.version, time.now) == (2, pytest.approx(waited))


def test_others_go_on_as_soon_as_it_is_done() -> None:
    """What was asked for is over with the commit for which it was, and another request counts anew."""
    time = Time()
    store, first = created(time, hold=50)
    again, last = (ChangeSet(name, "update", hold=hold) for name, hold in (("2", 3.0), ("3", 0.0)))
    waits = [lambda: None, lambda: commit_at_once(store, again), lambda: None, lambda: commit_at_once(store, last)]
    time.then = waits
    found = wait_for_turn(first)
    assert found is not None
    assert (found.version, waits) == (3, [])
    assert time.now < 1


def test_rows_that_waited_for_an_index_are_in_it() -> None:
    """Who holds back while an index is built has staged its rows without values of the index, which it reads then."""
    time = Time()
    store, _ = created(time, hold=50)
    time.then = [lambda: commit_at_once(store, ChangeSet("2", "build", index_columns=("v1",)))]
    done = update_dataset(pa.table({"p": [1, 1], "v1": [7, 8]}), "d", store)
    assert (done.version, done.load_index("v1").table["v1"].to_pylist()) == (3, [7, 8])


def commit_at_once(store: Store, change: ChangeSet) -> None:
    """Commit without waiting, as the one that has asked does."""
    now = load_snapshot("d", store)
    other = open_store(f"memory://{uuids.uuid4().hex}")
    other.world = Time().world()
    state = now.header.state
    assert state is not None
    other.put(now.key, encode_header(replace(now.header, state=replace(state, hold=0.0))))
    commit(other, "d", change, load_snapshot("d", other))
    for info in other.list():
        store.put(info.key, other.get(info.key).data)
