"""A collection of garbage leaves every version that is retained with all its files, whatever happens meanwhile."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.dataset.meanwhile import Meanwhile

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.kept_header import encode_kept
from kubothek.codec.keys import parse_version_key, version_key
from kubothek.dataset.snapshot import find_snapshot, load_snapshot
from kubothek.dataset.versions import adopt, list_versions, load_kept
from kubothek.errors import (
    CommitConflictError,
    CorruptDatasetError,
    DatasetNotFoundError,
    KubothekError,
    SnapshotExpiredError,
    StoreError,
)
from kubothek.model.header import CommitState, Header
from kubothek.plan.garbage import named_keys
from kubothek.plan.retention import DEFAULT_KEEP
from kubothek.store.interface import Level, ObjectInfo, Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore, WrappedStore

HOUR, NONE = timedelta(hours=1), timedelta(0)
HEADER = "u.by-dataset-metadata.json"


@dataclass
class Clock:
    """A clock that goes on only when it is told to."""

    now: datetime = datetime(2020, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


def new_store(clock: Callable[[], datetime] | None = None) -> Store:
    """Return an empty store with this clock, in which nobody waits."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    store.world = World(clock=clock or Clock(), sleep=lambda _: None)
    return store


def rows_of(*values: int) -> pa.Table:
    """Return rows of two partitions."""
    return pa.table({"p": [value % 2 for value in values], "i1": [str(value) for value in values], "v1": values})


def overwrite(store: Store, *values: int) -> None:
    """Replace the dataset."""
    kb.write_dataset(rows_of(*values), "u", store, partition_on="p", secondary_indices="i1", overwrite=True)


def overwritten(versions: int, clock: Clock | None = None) -> Store:
    """Return a store with a dataset, each version of which replaced what was there: version 1 holds 1, and so on."""
    store = new_store(clock)
    for key, data in _history(versions):
        store.put(key, data)
    return store


@cache
def _history(versions: int) -> tuple[tuple[str, bytes], ...]:
    """Return the objects of such a dataset, in the order in which they were written."""
    store = new_store()
    for version in range(1, versions + 1):
        overwrite(store, version)
    infos = sorted(store.list(), key=lambda info: info.modified)
    return tuple((info.key, store.get(info.key).data) for info in infos)


def collect(store: Store, keep: int | timedelta | None = 1, older_than: timedelta = NONE) -> list[str]:
    """Collect the garbage of the dataset."""
    return kb.garbage_collect_dataset("u", store, keep=keep, older_than=older_than)


def values(store: Store, at: int | None = None) -> list[int]:
    """Return what a version holds, read by index and by scan."""
    dataset = kb.open_dataset("u", store, at=at)
    found = sorted(dataset.scan().to_arrow()["v1"].to_pylist())
    assert len(dataset.load_index("i1")) == len(found)
    return found


def files(store: Store) -> set[str]:
    """Return the keys of all data and index files."""
    return {info.key for info in store.list("u/") if info.key.endswith(".parquet")}


def copies(store: Store) -> list[int]:
    """Return the numbers of the versions that are kept."""
    named = [parse_version_key(info.key) for info in store.list("_kubothek/u/")]
    return sorted(one[0] for one in named if one is not None)


def state(store: Store) -> CommitState:
    """Return our own state of the dataset."""
    found = load_snapshot("u", store).header.state
    assert found is not None
    return found


# What is retained -----------------------------------------------------------------------------------------------------


def test_twenty_versions_are_retained() -> None:
    """Unless more or fewer are asked for."""
    store = overwritten(DEFAULT_KEEP + 5)
    assert collect(store, keep=None)
    assert (state(store).oldest, state(store).version) == (7, 26)  # the collection made one, too
    assert [values(store, at) for at in range(7, 26)] == [[at] for at in range(7, 26)]
    assert copies(store) == list(range(7, 27))
    assert len(files(store)) == 2 * 19


def test_what_is_given_up_cannot_be_opened() -> None:
    """Versions that were given up are gone, as the message says, and cannot be brought back."""
    store = overwritten(4)
    reader = kb.open_dataset("u", store, at=1)
    collect(store, keep=2)
    for call in (lambda: kb.open_dataset("u", store, at=1), lambda: kb.rollback_dataset("u", store, 1)):
        with pytest.raises(SnapshotExpiredError):
            call()
    with pytest.raises(SnapshotExpiredError):
        reader.scan().to_arrow()
    assert values(store, 4) == [4]


def test_who_reads_has_time() -> None:
    """A version that was replaced just now stays, however long ago it was made, and whatever is to be kept."""
    clock = Clock()
    store = overwritten(1, clock)
    clock.now += 1000 * HOUR
    overwrite(store, 2)
    assert collect(store, keep=1, older_than=HOUR) == []
    assert values(store, at=1) == [1]
    clock.now += HOUR
    assert len(collect(store, keep=1, older_than=HOUR)) == 3  # a data file, an index, and a header
    assert files(store) == set(map(str, named_keys(load_snapshot("u", store).header).to_pylist()))


def test_it_settles() -> None:
    """Where nothing happens, a collection commits once, and then nothing more, however often it is repeated."""
    clock = Clock()
    store = overwritten(30, clock)
    for keep in (None, 3, 2 * HOUR, 1):
        for _ in range(4):
            clock.now += 5 * HOUR
            collect(store, keep, older_than=HOUR)
    assert state(store).version <= 30 + 4
    before = state(store)
    clock.now += 5 * HOUR
    assert (collect(store, 1, HOUR), state(store)) == ([], before)


def test_a_dry_run_writes_nothing() -> None:
    """It lists exactly what would go, and leaves every object as it is."""
    store = overwritten(4)
    watched = CountingStore(store)
    listed = kb.garbage_collect_dataset("u", watched, keep=2, older_than=NONE, dry_run=True)
    assert not {"put", "create", "replace", "delete"} & set(watched.calls)
    assert len(listed) == 3 + 2 * 3
    assert collect(store, keep=2) == listed


def test_appends_alone() -> None:
    """Where versions only grew, no data file goes; what goes are copies of headers, and indices."""
    store = overwritten(1)
    for value in (3, 5, 7):
        kb.update_dataset(rows_of(value), "u", store)
    gone = collect(store)
    assert [key for key in gone if "/table/" in key] == []
    assert (values(store), copies(store)) == ([1, 3, 5, 7], [5])


def test_the_commit_is_like_any_other() -> None:
    """It changes nothing but the version, says who gave up what, and keeps a call that was cut short as such."""
    store = overwritten(3)
    call = kb.model.header.CubeCall("c", "build_cube", ("a", "b"))
    header = load_snapshot("u", store).header
    store.put(HEADER, encode_header(replace(header, state=replace(state(store), cube_call=call))))
    before = load_snapshot("u", store)
    collect(store)
    after = load_snapshot("u", store)
    assert (after.partitions, after.schemas, after.header.metadata) == (
        before.partitions,
        before.schemas,
        before.header.metadata,
    )
    assert (state(store).cube_call, state(store).conformed, state(store).unique_writes) == (
        call,
        True,
        before.header.state.unique_writes if before.header.state else None,
    )
    assert kb.open_dataset("u", store).history()[0].operation == "garbage_collect_dataset"


# What is not known ----------------------------------------------------------------------------------------------------


class Lagging(WrappedStore):
    """Lists nothing that was written after a moment."""

    def __init__(self, inner: Store, until: datetime) -> None:
        super().__init__(inner)
        self.until = until

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return (info for info in self.inner.list(prefix) if info.modified <= self.until)

    def list_level(self, prefix: str = "") -> Level:
        infos, folders = self.inner.list_level(prefix)
        return [info for info in infos if info.modified <= self.until], folders


@pytest.mark.parametrize("keep", [1, 2, 4])
def test_listings_that_lag(keep: int) -> None:
    """Whatever a listing does not show yet, the versions that are retained have their files."""
    moments = sorted({info.modified for info in overwritten(5).list()})
    for moment in moments:
        store = overwritten(5)
        kb.garbage_collect_dataset("u", Lagging(store, moment), keep=keep, older_than=NONE)
        assert state(store).oldest <= 5 - keep + 2
        check_all_versions(store)
    assert len(moments) > 15


def test_a_copy_that_is_missing() -> None:
    """Where a version that stays has no copy, no file goes; once that version is given up, all of them do."""
    store = overwritten(4)
    store.delete([info.key for info in store.list("_kubothek/u/") if "/00000000000000000003-" in info.key])
    before = files(store)
    collect(store, keep=3)
    assert (files(store), values(store, 4)) == (before, [4])
    collect(store, keep=1)
    assert len(files(store)) == 2


def test_a_copy_that_is_damaged() -> None:
    """Where a version that stays cannot be understood, nothing at all goes; a cube says so of all its datasets."""
    store = overwritten(4)
    damaged = next(info.key for info in store.list("_kubothek/u/") if "/00000000000000000003-" in info.key)
    store.put(damaged, b"torn")
    before = {info.key for info in store.list()}
    with pytest.raises(CorruptDatasetError) as caught:
        collect(store, keep=3)
    assert (caught.value.key, {info.key for info in store.list()}) == (damaged, before)
    collect(store, keep=1)
    assert len(files(store)) == 2


def test_commits_of_other_software() -> None:
    """A foreign commit is a version like any other, which the commit that gives up older ones adopts."""
    store = overwritten(4)
    foreign(store)
    collect(store, keep=2)
    assert (state(store).version, state(store).oldest, copies(store)) == (6, 5, [5, 6])
    assert (values(store, 5), values(store), len(files(store))) == ([4], [4], 2)


def test_datasets_of_other_software() -> None:
    """As long as it is not known which history the dataset has, nothing of any goes but what is in passing."""
    store = overwritten(4)
    in_its_place(store)
    store.put("_kubothek/u/i/staged/w/x.arrow", b"")
    assert collect(store) == ["_kubothek/u/i/staged/w/x.arrow"]


def test_a_dataset_that_was_replaced() -> None:
    """The history of a dataset that gave way to another goes, but for what somebody may be reading."""
    clock = Clock()
    store = overwritten(4, clock)
    clock.now += 2 * HOUR
    in_its_place(store)
    kb.update_dataset(rows_of(9), "u", store, delete_scope=[{"p": 0}])
    former = kb.open_dataset("u", store, at=1)
    assert [len(collect(store, older_than=HOUR)), copies(store)] == [3 * 3, [1, 2, 4]]
    clock.now += HOUR
    assert former.scan().to_arrow()["v1"].to_pylist() == [4]
    collect(store, older_than=HOUR)
    assert (copies(store), values(store)) == ([2, 3], [9])
    check_all_versions(store)


def test_a_hidden_header_that_is_young() -> None:
    """As long as a second header may yet count, everything of its history stays too."""
    clock = Clock()
    store = overwritten(4, clock)
    hidden = replace(load_snapshot("u", store).header, state=replace(state(store), incarnation="i", version=1))
    copy = version_key("u", "i", 1, None, state(store).commit, "json")
    store.put(copy, encode_kept(encode_header(hidden), "json"))
    clock.now += 2 * HOUR
    store.put("u.by-dataset-metadata.msgpack.zstd", encode_header(replace(hidden, format="msgpack")))
    collect(store, older_than=HOUR)
    assert copy in {info.key for info in store.list()}


# Others, meanwhile ----------------------------------------------------------------------------------------------------


def back(store: Store, to: int) -> None:
    """Bring back a version, if it is there still."""
    with suppress(SnapshotExpiredError, CommitConflictError):
        kb.rollback_dataset("u", store, to)


def foreign(store: Store) -> None:
    """Commit as other software does, which drops our state."""
    header = decode_header(store.get(HEADER).data, HEADER)
    store.put(HEADER, encode_header(replace(header, state=None, metadata={**header.metadata, "foreign": True})))


def in_its_place(store: Store) -> None:
    """Replace the dataset by another one, as other software does."""
    header = decode_header(store.get(HEADER).data, HEADER)
    store.put(HEADER, encode_header(replace(header, state=None, metadata={"creation_time": "2001-01-01T00:00:00"})))


def anew(store: Store) -> None:
    """Delete the dataset and write it again."""
    kb.delete_dataset("u", store)
    overwrite(store, 9)


MEANWHILE: dict[str, Callable[[Store], object]] = {
    "append": lambda store: kb.update_dataset(rows_of(9), "u", store),
    "overwrite": lambda store: overwrite(store, 9),
    "back to what goes": lambda store: back(store, 1),
    "back to what stays": lambda store: back(store, 3),
    "another collection": collect,
    "a collection that keeps more": lambda store: collect(store, keep=4),
    "delete and write again": anew,
    "delete": lambda store: kb.delete_dataset("u", store),
    "foreign": foreign,
    "a foreign dataset in its place": in_its_place,
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_others_meanwhile(case: str) -> None:
    """At whatever moment others change the dataset, every version that is not given up has its files afterwards."""
    assert collected_with(MEANWHILE[case], overwritten(4)) > 12


def test_others_after_a_foreign_commit() -> None:
    """So it is where other software has made the last commit, which the first of ours adopts."""
    store = overwritten(4)
    foreign(store)
    assert collected_with(MEANWHILE["back to what goes"], store) > 12


def collected_with(happen: Callable[[Store], object], given: Store) -> int:
    """Collect garbage while something happens before the first call, the second, and so on; return how many."""
    objects = [(info.key, given.get(info.key).data) for info in sorted(given.list(), key=lambda info: info.modified)]
    for number in range(1, 100):
        store = new_store()
        for key, data in objects:
            store.put(key, data)
        watched = Meanwhile(store, number, lambda s=store: happen(s))
        with suppress(DatasetNotFoundError):
            kb.garbage_collect_dataset("u", watched, keep=3, older_than=NONE)
        check_all_versions(store)
        if watched.calls < number:
            break
    return number


def test_a_dataset_that_is_busy() -> None:
    """Whenever others commit meanwhile, old versions are given up, and their files go, all the same."""
    for number in range(1, 100):
        store = overwritten(4)
        old = set(named_keys(load_kept_header(store, 1)).to_pylist())
        watched = Meanwhile(store, number, lambda s=store: (overwrite(s, 8), overwrite(s, 9)))
        kb.garbage_collect_dataset("u", watched, keep=3, older_than=NONE)
        assert (state(store).oldest >= 3, old & files(store)) == (True, set())
        if watched.calls < number:
            break
    assert number > 12


def check_all_versions(store: Store) -> None:
    """Look whether each version that was not given up is kept and has its files."""
    current = find_snapshot("u", store)
    if current is None:
        return
    known = adopt(current).header.state
    assert known is not None
    assert known.oldest <= known.version
    kept = [one for one in list_versions("u", store, known.incarnation) if known.oldest <= one.version < known.version]
    assert [one.version for one in kept] == list(range(known.oldest, known.version))
    for header in (current.header, *(load_kept(one, "u", store) for one in kept)):
        assert files(store).issuperset(named_keys(header).to_pylist())


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.LOSE_ANSWER, Fault.REFUSE, Fault.LATE], ids=lambda one: one.name)
def test_failures(fault: Fault) -> None:
    """Wherever a collection fails, every version that is not given up can be read, and the next one completes it."""
    for number in range(1, 100):
        store, calls = overwritten(4), list[Call]()
        broken = FaultyStore(store, lambda call, c=calls, n=number: c.append(call) or (fault if len(c) == n else None))
        with suppress(KubothekError):
            kb.garbage_collect_dataset("u", broken, keep=2, older_than=NONE)
        check_all_versions(store)
        broken.land()
        collect(store, keep=2)
        check_all_versions(store)
        assert (values(store), len(files(store))) == ([4], 2)
        if len(calls) < number:
            break
    assert number > 12


# Any history ----------------------------------------------------------------------------------------------------------


@dataclass
class Version:
    """What a version held, which files it had, and when it was replaced; as the model remembers it."""

    values: list[int]
    files: set[str]
    snapshot: kb.Dataset
    replaced: datetime | None = None


class AnyHistory(RuleBasedStateMachine):
    """Compares a dataset with a plain list of versions, through any sequence of commits, collections and pauses."""

    @initialize()
    def begin(self) -> None:
        """Write the first version."""
        self.clock = Clock()
        self.store = new_store(self.clock)
        self.versions: dict[int, Version] = {}
        self.next_value = 0
        self.write()

    def note(self) -> None:
        """Remember the version that is there now."""
        now = self.clock()
        dataset = kb.open_dataset("u", self.store)
        assert dataset.version is not None
        for number in range(len(self.versions) + 1, dataset.version + 1):
            one = dataset if number == dataset.version else kb.open_dataset("u", self.store, at=number)
            header = load_kept_header(self.store, number)
            found = sorted(one.scan().to_arrow()["v1"].to_pylist())
            self.versions[number] = Version(found, set(named_keys(header).to_pylist()), one)
        for version in list(self.versions.values())[:-1]:
            version.replaced = version.replaced or now

    def new_rows(self) -> pa.Table:
        """Return rows that were never there."""
        self.next_value += 2
        return rows_of(self.next_value, self.next_value + 1)

    @rule()
    def write(self) -> None:
        """Replace everything."""
        kb.write_dataset(self.new_rows(), "u", self.store, partition_on="p", secondary_indices="i1", overwrite=True)
        self.note()

    @rule()
    def append(self) -> None:
        """Add rows."""
        kb.update_dataset(self.new_rows(), "u", self.store)
        self.note()

    @rule(p=st.sampled_from([0, 1]))
    def delete(self, p: int) -> None:
        """Remove a partition, and add rows."""
        kb.update_dataset(self.new_rows(), "u", self.store, delete_scope=[{"p": p}])
        self.note()

    @rule(back=st.integers(1, 4))
    def restore(self, back: int) -> None:
        """Bring back what an earlier version held."""
        to = max(state(self.store).oldest, len(self.versions) - back)
        if to < len(self.versions):
            kb.rollback_dataset("u", self.store, to)
            self.note()
            assert self.versions[len(self.versions)].values == self.versions[to].values

    @rule()
    def fail(self) -> None:
        """Leave files that no version names."""
        broken = FaultyStore(self.store, lambda call: Fault.REFUSE if call.verb in ("replace", "delete") else None)
        with pytest.raises(StoreError):
            kb.update_dataset(self.new_rows(), "u", broken)

    @rule(hours=st.sampled_from([0, 1, 5]))
    def wait(self, hours: int) -> None:
        """Let time pass."""
        self.clock.now += hours * HOUR

    @rule(keep=st.sampled_from([1, 2, 3, None, HOUR, 4 * HOUR]), older_than=st.sampled_from([NONE, HOUR, 4 * HOUR]))
    def collect(self, keep: int | timedelta | None, older_than: timedelta) -> None:
        """Collect garbage, twice; what must stay is there, and nothing else but what is young."""
        before = state(self.store).oldest
        for _ in range(2):
            collect(self.store, keep, older_than)
        if state(self.store).version > len(self.versions):
            self.note()
        now, current = self.clock(), len(self.versions)
        count = keep if isinstance(keep, int) else DEFAULT_KEEP if keep is None else 1
        span = max(older_than, keep) if isinstance(keep, timedelta) else older_than
        stays = {
            number
            for number, one in self.versions.items()
            if number >= before and (number > current - count or (one.replaced and one.replaced > now - span))
        }
        assert state(self.store).oldest <= min(stays)
        needed = set().union(*(one.files for number, one in self.versions.items() if number >= min(stays)))
        young = {info.key for info in self.store.list("u/") if info.modified > now - older_than}
        assert needed <= files(self.store) <= needed | young

    @invariant()
    def every_version_reads(self) -> None:
        """Each version that was not given up has its rows, for who opens it now and for who has opened it before."""
        for number, one in self.versions.items():
            if number >= state(self.store).oldest:
                assert values(self.store, number) == one.values
                assert sorted(one.snapshot.scan().to_arrow()["v1"].to_pylist()) == one.values


def load_kept_header(store: Store, number: int) -> Header:
    """Return the header of a version, from its copy."""
    kept = list_versions("u", store, state(store).incarnation)
    return load_kept(next(one for one in kept if one.version == number), "u", store)


AnyHistory.TestCase.settings = settings(max_examples=8, stateful_step_count=8)
TestAnyHistory = AnyHistory.TestCase
