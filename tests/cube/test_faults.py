"""What is left of a cube when a store fails or a process dies at any point of a call that changes the cube."""

from __future__ import annotations

import itertools
import uuid as uuids
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.cube.members import as_member, find_members
from kubothek.errors import CommitStateUnknownError, CubeNotFoundError, KubothekError, StoreError
from kubothek.plan.cube.incomplete import Incomplete, find_incomplete
from kubothek.plan.cube.members import Member
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, Fault, FaultyStore, WrappedStore

CUBE = kb.Cube("c", ["x"], ["p"], index_columns=["i1"], suppress_index_on=["x"])
SEED = pa.table({"p": [0, 0, 1], "x": [0, 1, 0], "i1": ["a", "b", "a"], "v1": [1, 2, 3]})
E = pa.table({"p": [0, 1], "x": [0, 0], "v2": [1.5, None]})
F = pa.table({"x": [0, 1], "v3": ["u", "w"]})
NEW_SEED = pa.table({"p": [0, 2], "x": [0, 5], "i1": ["c", "b"], "v1": [-1, -2]})
NEW_E = pa.table({"p": [0, 2], "x": [0, 5], "v2": [-1.5, -2.5]})
NEW_F = pa.table({"x": [0, 5], "v3": ["-u", "-w"]})
OLD = {"seed": SEED, "e": E, "f": F}
NEW = {"seed": NEW_SEED, "e": NEW_E, "f": NEW_F}
LAYOUT = {"f": []}


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def copied(store: Store) -> Store:
    """Return a store with the same objects."""
    copy = new_store()
    keys = [info.key for info in store.list()]
    for key, blob in zip(keys, store.get_many(keys), strict=True):
        assert blob is not None
        copy.put(key, blob.data)
    return copy


Operation = Callable[[Store], Any]
OPERATIONS: dict[str, tuple[dict[str, Any], Operation]] = {
    "build_cube": ({}, lambda s: kb.build_cube(OLD, CUBE, s, partition_on=LAYOUT)),
    "build_cube, overwriting": (OLD, lambda s: kb.build_cube(NEW, CUBE, s, partition_on=LAYOUT, overwrite=True)),
    "extend_cube": ({"seed": SEED}, lambda s: kb.extend_cube({"e": E, "f": F}, CUBE, s, partition_on=LAYOUT)),
    "append_to_cube": (OLD, lambda s: kb.append_to_cube(NEW, CUBE, s, metadata={"e": {"m": 2, "n": 1}})),
    "update_cube": (OLD, lambda s: kb.update_cube(NEW, CUBE, s, metadata={"e": {"m": 2, "n": 1}})),
    "remove_partitions": (OLD, lambda s: kb.remove_partitions(CUBE, s, "p == 0")),
}


def function_of(name: str) -> str:
    """Return the name of the function that an operation calls."""
    return name.partition(",")[0]


def prepared(name: str) -> tuple[Store, Operation]:
    """Return a store as it is before an operation, and the operation."""
    data, operation = OPERATIONS[name]
    store = new_store()
    if data:
        layout = {key: columns for key, columns in LAYOUT.items() if key in data}
        metadata = {"e": {"m": 1}} if "e" in data else None
        kb.build_cube(data, CUBE, store, partition_on=layout, metadata=metadata)
    return store, operation


def state(store: Store) -> Any:
    """Return everything that users can see of the cube, but for names of files."""
    found = members(store)
    seen = [(m.dataset_id, m.schema, m.indexed, {**m.metadata, "creation_time": None}) for m in found]
    try:
        return answer_of(store), seen, find_incomplete(found)
    except CubeNotFoundError:
        return seen


def answer_of(store: Store) -> pa.Table:
    """Ask the cube, whose specification is read from its datasets, for everything."""
    return kb.query_cube("c", store).to_arrow()


def members(store: Store) -> list[Member]:
    """Return the datasets that the cube has."""
    return [as_member(name, snapshot) for name, snapshot in find_members("c", store).items()]


def incomplete(store: Store) -> tuple[Incomplete, ...]:
    """Return which calls did not come to their end."""
    return find_incomplete(members(store))


class Numbered(WrappedStore):
    """Lists the calls that it gets."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.seen: list[Call] = []

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        """Carry out the call and note it."""
        self.seen.append(call)
        return act()


def calls(store: Store, operation: Operation) -> list[Call]:
    """Return the calls that an operation makes."""
    numbered = Numbered(copied(store))
    operation(numbered)
    return numbered.seen


def nth(number: int, fault: Fault) -> Callable[[Call], Fault | None]:
    """Return a script in which one call goes wrong."""
    numbers = itertools.count()
    return lambda call: fault if next(numbers) == number else None


def faults(seen: list[Call]) -> Iterator[tuple[int, Fault]]:
    """Return what can go wrong: each call before and after it had its effect; refused, where that is another thing."""
    for number, call in enumerate(seen):
        yield number, Fault.FAIL
        yield from [(number, Fault.LOSE_ANSWER)] if call.verb in WRITES else []
        yield from [(number, Fault.REFUSE)] if call.verb in ("create", "replace") else []


WRITES = ("put", "create", "replace", "create_file", "delete")


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failing_store_leaves_all_or_nothing(name: str) -> None:
    """Whichever call of the store fails: an error leaves the cube as it was, and otherwise it is complete."""
    store, operation = prepared(name)
    before, done = state(store), copied(store)
    operation(done)
    after = state(done)
    seen = calls(store, operation)
    for number, fault in faults(seen):
        tried = copied(store)
        try:
            operation(FaultyStore(tried, nth(number, fault)))
        except CommitStateUnknownError:
            pytest.fail(f"one {fault} of {seen[number]} must not make the outcome unknown")
        except KubothekError:
            assert state(tried) == before, (number, fault, seen[number])
        else:
            assert state(tried) == after, (number, fault, seen[number])


class Refusing:
    """A script in which a dataset's header cannot be put, and then the n-th call fails, or all from that one on."""

    def __init__(self, dataset_id: str, number: int, lasting: bool) -> None:
        self.start, self.number, self.lasting = f"c++{dataset_id}.by-dataset", number, lasting
        self.since = 0

    def __call__(self, call: Call) -> Fault | None:
        """Say what goes wrong with a call."""
        if not self.since:
            self.since += call.verb in ("create", "replace") and call.key.startswith(self.start)
            return Fault.REFUSE if self.since else None
        self.since += 1
        failing = self.since - 1 >= self.number if self.lasting else self.since - 1 == self.number
        return Fault.FAIL if failing else None


LAST = {"extend_cube": "f", "remove_partitions": "f"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_call_is_taken_back_although_the_store_fails_once_more(name: str) -> None:
    """Whichever call of the undoing fails, it is repeated."""
    store, operation = prepared(name)
    before = state(store)
    for number in itertools.count(1):
        tried, script = copied(store), Refusing(LAST.get(name, "seed"), number, lasting=False)
        with pytest.raises(StoreError):
            operation(FaultyStore(tried, script))
        assert state(tried) == before
        if script.since <= number:
            break
    assert number > 1


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_store_that_stays_away_while_a_call_is_taken_back(name: str) -> None:
    """The error names the datasets to look at, unless the cube is as it was; the same call again completes it."""
    store, operation = prepared(name)
    before, done = state(store), copied(store)
    operation(done)
    for number in (1, 3):
        tried = copied(store)
        with pytest.raises(KubothekError) as caught:
            operation(FaultyStore(tried, Refusing(LAST.get(name, "seed"), number, lasting=True)))
        if isinstance(caught.value, StoreError):
            assert state(tried) == before
            continue
        assert isinstance(caught.value, CommitStateUnknownError)
        assert set(caught.value.datasets) < {"seed", "e", "f"}
        assert [one.operation for one in incomplete(tried)] == [function_of(name)]
        operation(tried)
        assert (answer_of(tried), incomplete(tried)) == (answer_of(done), ())


class Killed(BaseException):
    """Stands for the end of a process: no code runs after it."""


class Deadly(WrappedStore):
    """Ends the process before or after its n-th write, and answers nothing any more then."""

    def __init__(self, inner: Store, number: int) -> None:
        super().__init__(inner)
        self.left = number
        self.dead = False

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        """Carry out the call, unless the process is dead."""
        self.left -= call.verb in WRITES
        if self.dead or self.left < 0:
            self.dead = True
            raise Killed
        return act()


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_killed_process_leaves_what_the_same_call_completes(name: str) -> None:
    """Each dataset is whole, the call that did not come to its end is known, and repeating it gives what it should."""
    store, operation = prepared(name)
    before, done = state(store), copied(store)
    operation(done)
    after = answer_of(done)
    begun = set()
    for number in range(sum(call.verb in WRITES for call in calls(store, operation))):
        killed = copied(store)
        with pytest.raises(Killed):
            operation(Deadly(killed, number))
        found = incomplete(killed)
        assert [problem for uuid in headers(killed) for problem in kb.verify_dataset(uuid, killed)] == []
        if found:
            assert [one.operation for one in found] == [function_of(name)]
            begun.add(found[0].done)
        elif state(killed) != before:  # complete, but for what is done after the last commit
            assert answer_of(killed) == after
            continue
        operation(killed)
        assert (answer_of(killed), incomplete(killed)) == (after, ())
    assert len(begun) == (1 if name == "extend_cube" else 2)


def headers(store: Store) -> list[str]:
    """Return the uuids of all datasets."""
    return [i.key.split(".")[0] for i in store.list_level("c++")[0] if i.key.endswith(".by-dataset-metadata.json")]
