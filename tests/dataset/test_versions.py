"""Every committed header is kept, nothing else is, and a header of other software finds its place among them."""

from __future__ import annotations

import random
import uuid as uuids
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kubothek.codec.compression import compress, decompress
from kubothek.codec.header import encode_header
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.dataset.versions import adopt, keep_base, list_versions, load_kept, load_kept_state, pin_version
from kubothek.errors import CorruptDatasetError, KubothekError, SnapshotExpiredError, StoreError
from kubothek.model.header import CommitState, HeaderFormat
from kubothek.model.history import UNKNOWN_TIME, KeptVersion
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore

SCHEMA = pa.schema([("p", pa.int64()), ("v1", pa.int64())])
NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)


def new_store() -> Store:
    """Give a store that nobody else has, in which each look at the clock is a second later."""
    made, seconds = open_store(f"memory://{uuids.uuid4().hex}"), iter(range(10**9))
    made.world = World(
        clock=lambda: NOON + timedelta(seconds=next(seconds)),
        rng=random.Random(1),
        sleep=lambda seconds: None,
        author=lambda: "me",
    )
    return made


def part(label: str) -> StagedPartition:
    """Describe a staged file of two rows, which nobody reads."""
    return StagedPartition(label, {"table": f"d/table/{label}.parquet"}, 2, 5, {"table": SCHEMA})


def append(store: Store, *names: str, base: Snapshot | None = None, **how: Any) -> Snapshot:
    """Commit files to ``d``, which is created where it is not there."""
    change = ChangeSet(uuids.uuid4().hex, "update", tuple(part(f"p=1/{name}") for name in names), **how)
    if base is None and not store.get_many(["d.by-dataset-metadata.json"])[0]:
        change = replace(change, tables={"table": SCHEMA}, partition_keys=("p",), create=True)
        return commit(store, "d", change, None)
    return commit(store, "d", change, load_snapshot("d", store) if base is None else base)


def foreign(of: Snapshot, *names: str, **how: Any) -> Snapshot:
    """Put the header that other software makes of one that it has read, with some files more."""
    made = ChangeSet("x", "append", tuple(part(f"p=1/{name}") for name in names), **how)
    scratch = new_store()
    scratch.put(of.key, encode_header(of.header))
    after = commit(scratch, "d", made, load_snapshot("d", scratch)).header
    of.store.put(of.key, encode_header(replace(after, state=None)))
    return load_snapshot("d", of.store)


def state_of(snapshot: Snapshot) -> CommitState:
    """Return the state of a header that has one."""
    assert snapshot.header.state is not None
    return snapshot.header.state


def kept(store: Store, incarnation: str | None = None) -> tuple[KeptVersion, ...]:
    """List the versions of ``d``."""
    return list_versions("d", store, incarnation or state_of(load_snapshot("d", store)).incarnation)


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_every_version_is_kept(header_format: HeaderFormat, tmp_path: Path) -> None:
    """Each header that was committed can be read later, as it was stored, by its number."""
    for store in (new_store(), open_store(tmp_path)):
        made = [
            append(
                store, "a", header_format=header_format, tables={"table": SCHEMA}, partition_keys=("p",), create=True
            )
        ]
        stored = [store.get(made[0].key).data]
        for name in "bc":
            made.append(append(store, name, base=made[-1]))
            stored.append(store.get(made[-1].key).data)
        found = kept(store, state_of(made[0]).incarnation)
        assert [(one.version, one.commit) for one in found] == [(m.version, state_of(m).commit) for m in made]
        assert [load_kept(one, "d", store) for one in found] == [one.header for one in made]
        assert [load_kept_state(one, "d", store) for one in found] == [state_of(one) for one in made]
        data = [store.get(one.key).data for one in found]
        assert [decompress(one, 2**20, "k") if header_format == "json" else one for one in data] == stored


def test_what_a_commit_notes() -> None:
    """Who, when, what, and how much came and went."""
    store = new_store()
    append(store, "a", "b")
    info = state_of(append(store, "c", remove_labels=("p=1/a",))).info
    assert info is not None
    assert (info.operation, info.author, info.library.split()[0]) == ("update", "me", "kubothek")
    assert (info.added, info.removed, info.rows, info.overwrote) == (1, 1, 2, ())
    assert NOON < info.time == kept(store)[-1].time


def test_old_versions_can_be_read() -> None:
    """The snapshot of a version is that of its commit, but without a tag."""
    store = new_store()
    made = append(store, "a")
    append(store, "b")
    found = pin_version(load_kept(kept(store)[0], "d", store), store)
    assert (found.header, found.partitions, found.schemas, found.etag) == (
        made.header,
        made.partitions,
        made.schemas,
        "",
    )


def history(call: Call, verb: str) -> bool:
    """Tell whether a call is one to the kept versions."""
    return call.verb == verb and "/history/" in call.key


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.REFUSE, Fault.LOSE_ANSWER], ids=lambda fault: fault.name)
def test_who_replaces_a_header_keeps_it(fault: Fault) -> None:
    """A winner that could not keep its header has committed all the same, and the next writer keeps it."""
    store = new_store()
    first = append(store, "a")
    failing = FaultyStore(store, lambda call: fault if history(call, "create") and "00002-" in call.key else None)
    second = append(failing, "b")
    assert len(kept(store)) == (2 if fault is Fault.LOSE_ANSWER else 1)
    append(store, "c")
    assert [load_kept(one, "d", store).partitions for one in kept(store)[:2]] == [first.partitions, second.partitions]
    assert [one.version for one in kept(store)] == [1, 2, 3]


@pytest.mark.parametrize("verb", ["info", "create"])
def test_a_header_that_cannot_be_kept_is_not_replaced(verb: str) -> None:
    """Then nothing was committed, and nothing is left."""
    store = new_store()
    base = append(store, "a")
    store.delete([kept(store)[0].key])
    failing = FaultyStore(store, lambda call: Fault.FAIL if history(call, verb) else None)
    with pytest.raises(StoreError):
        append(failing, "b", base=base)
    assert load_snapshot("d", store).etag == base.etag
    assert kept(store) == ()


def test_only_what_was_committed_is_kept() -> None:
    """Who finds another header where the one to be replaced was keeps nothing, and loses the race."""
    store = new_store()
    base = append(store, "a")
    append(store, "b", base=base)
    store.delete([one.key for one in kept(store)])
    assert not keep_base(store, base)
    assert kept(store) == ()
    assert append(store, "c", base=base).version == 3
    assert [one.version for one in kept(store)] == [2, 3]


def test_what_keeping_costs() -> None:
    """One look before the swap, and one object after it."""
    store = CountingStore(new_store())
    base = append(store, "a")
    store.reset()
    append(store, base=base, metadata={"m": 1})
    assert dict(store.calls) == {"info": 1, "replace": 1, "create": 1}


def test_the_listing_leaves_out_what_is_no_version() -> None:
    """What somebody put beside the versions is none, and of two of one number the later one counts."""
    store = new_store()
    append(store, "a")
    folder, _, name = kept(store)[0].key.rpartition("/")
    late = name.replace("-2020", "-2021")
    for other in ("x", "1-2020.json.zst", late, f"{name}.bak", f"x/{name}", name.replace("-20200101", "-20209901")):
        store.put(f"{folder}/{other}", b"")
    assert [one.key for one in kept(store)] == [f"{folder}/{late}"]


def damaged(change: Callable[[bytes], bytes]) -> tuple[Store, KeptVersion]:
    """Return a store with one version whose bytes were changed, and that version."""
    store = new_store()
    append(store, "a")
    (one,) = kept(store)
    store.put(one.key, change(store.get(one.key).data))
    return store, one


def other(of: bytes, **changes: Any) -> bytes:
    """Return a kept header with another state."""
    text = decompress(of, 2**20, "k")
    for old, new in changes.items():
        text = text.replace(f'"{old}": '.encode() + new[0], f'"{old}": '.encode() + new[1])
    return compress(text)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[:-5],
    "no frame": lambda data: b"{}",
    "no header": lambda data: compress(b"{}"),
    "other software's": lambda data: compress(
        b'{"dataset_metadata_version": 4, "dataset_uuid": "d", "partitions": {}}'
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_versions(case: str) -> None:
    """What is kept under a version's name and is not that version is refused, and named."""
    store, one = damaged(DAMAGE[case])
    for load in (load_kept, load_kept_state):
        with pytest.raises(CorruptDatasetError) as caught:
            load(one, "d", store)
        assert caught.value.key == one.key


def test_a_version_under_another_name() -> None:
    """Number, commit and incarnation are those that the key says."""
    store = new_store()
    append(store, "a")
    (one,) = kept(store)
    for old, new in (("00001-", "00002-"), (f"-{one.commit}", "-c"), (one.key.split("/")[2], "1f")):
        moved = replace(one, key=one.key.replace(old, new))
        store.put(moved.key, store.get(one.key).data)
        with pytest.raises(CorruptDatasetError, match="not what its name says"):
            load_kept(moved, "d", store)


def test_a_version_that_is_gone() -> None:
    """It has expired; that is not damage."""
    store = new_store()
    append(store, "a")
    (one,) = kept(store)
    store.delete([one.key])
    with pytest.raises(SnapshotExpiredError) as caught:
        load_kept(one, "d", store)
    assert (caught.value.version, caught.value.key) == (1, one.key)


def test_a_foreign_header_goes_on_from_the_newest_version() -> None:
    """It has the next number, and what it changed is known; nothing was overwritten."""
    store = new_store()
    append(store, "a", "b")
    last = append(store, "c")
    state, before = state_of(adopt(foreign(last, "x", "y", remove_labels=("p=1/a",)))), state_of(last)
    assert (state.version, state.incarnation, state.recent[:-1]) == (3, before.incarnation, before.recent)
    assert (state.schema, state.commit) == (before.schema, state.recent[-1])
    info = state.info
    assert info is not None
    assert (info.operation, info.author, info.added, info.removed, info.overwrote) == ("foreign commit", "", 2, 1, ())


def test_a_foreign_header_is_known_by_all_alike() -> None:
    """Whoever adopts it, and however often, gives it the same state, also once it is kept."""
    store = new_store()
    first = foreign(append(store, "a"), "x")
    once = adopt(first)
    assert adopt(load_snapshot("d", store)).header == once.header
    assert keep_base(store, once)
    assert adopt(load_snapshot("d", store)).header == once.header
    assert adopt(once) is once


def test_a_foreign_header_that_is_put_once_more(tmp_path: Path) -> None:
    """By a repeated request, or from a backup: it is a commit of its own, which overwrote what came in between."""
    store = open_store(str(tmp_path))
    first = foreign(append(store, "a"), "x")
    data, seen = store.get(first.key).data, [state_of(adopt(first)).commit]
    for version, name in ((4, "b"), (6, "c")):
        lost = state_of(append(store, name))
        store.put(first.key, data)
        again = adopt(load_snapshot("d", store))
        state = state_of(again)
        assert (state.version, state.incarnation, state.recent) == (
            version,
            lost.incarnation,
            (*lost.recent, state.commit),
        )
        assert state.info is not None
        assert state.info.overwrote == (lost.commit,)
        seen.append(state.commit)
        assert keep_base(store, again)
        assert adopt(load_snapshot("d", store)).header == again.header
    assert len(set(seen)) == 3
    assert [one.version for one in list_versions("d", store, lost.incarnation)] == [*range(1, 7)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_a_foreign_header_overwrote(count: int) -> None:
    """Commits that came after the one which other software had read are named, newest first."""
    store = new_store()
    made = [append(store, "a")]
    made += [append(store, name, metadata={"m": name}) for name in "bcde"]
    info = state_of(adopt(foreign(made[-1 - count], "x"))).info
    assert info is not None
    assert info.overwrote == tuple(state_of(one).commit for one in reversed(made[-count:]))


def test_a_foreign_header_without_history() -> None:
    """It is the first version of a dataset of its own: where none is kept, and where another one was overwritten."""
    store = new_store()
    first = append(store, "a")
    other = foreign(replace(first, header=replace(first.header, metadata={"creation_time": "x"})), "x")
    for found in (other, foreign(append(new_store(), "a"), "x")):
        found.store.delete([info.key for info in found.store.list("_kubothek/") if found is not other])
        state = state_of(adopt(found))
        assert (state.version, state.recent, state.oldest) == (1, (state.commit,), 1)
        assert state.incarnation != state_of(first).incarnation


@pytest.mark.parametrize("since", [1, 2])
def test_what_was_overwritten_comes_back(since: int) -> None:
    """Other software that had read it before goes on in the same history, which names what is gone by that."""
    store = new_store()
    append(store, "a")
    read = append(store, "b")
    new = ChangeSet("1" * 32, "write", (part("p=1/c"),), tables={"table": SCHEMA}, partition_keys=("p",), create=True)
    made = [commit(store, "d", replace(new, overwrite=True), read)]
    made += [append(store, name) for name in "de"[: since - 1]]
    state = state_of(adopt(foreign(read, "x")))
    assert (state.version, state.incarnation) == (3 + since, state_of(read).incarnation)
    assert state.info is not None
    assert state.info.overwrote == tuple(state_of(one).commit for one in reversed(made))


def test_a_foreign_header_that_is_new() -> None:
    """Where other software has created the dataset later than all versions, one of these is read and no more."""
    store = new_store()
    made = [append(store, name) for name in "abc"][-1]
    later = {"creation_time": "2020-01-02T00:00:00"}
    found = foreign(replace(made, header=replace(made.header, metadata=later)), "x")
    counting = CountingStore(store)
    assert state_of(adopt(replace(found, store=counting))).version == 1
    assert [call.verb for call in counting.log if call.verb.startswith("get")] == ["get"]


@pytest.mark.parametrize("number", [5, 2**63 - 1])
def test_a_stray_copy_leads_no_number_astray(number: int) -> None:
    """A foreign header goes on from what can be read, so that the commits after it can be read too."""
    store = new_store()
    last = append(store, "a")
    name = kept(store)[-1].key.replace(f"{1:020d}", f"{number:020d}")
    store.put(name, b"")
    foreign(last, "x")
    assert append(store, "b").version == 3
    assert load_snapshot("d", store).version == 3


def test_a_damaged_version_does_not_end_the_history() -> None:
    """A foreign header goes on after it by number, and from the one before by content."""
    store = new_store()
    append(store, "a")
    last = append(store, "b")
    foreign(last, "x")
    store.put(kept(store, state_of(last).incarnation)[-1].key, b"")
    state = state_of(adopt(load_snapshot("d", store)))
    assert (state.version, state.incarnation) == (3, state_of(last).incarnation)


def test_committing_after_other_software() -> None:
    """The foreign commit takes a number and is kept with its state; ours comes after it."""
    store = new_store()
    for name in "abcd":
        last = append(store, name)
    found = foreign(append(store, "e"), "x")
    assert found.version is None
    done = append(store, "f", base=found)
    assert (done.version, state_of(done).incarnation) == (7, state_of(last).incarnation)
    assert [one.version for one in kept(store)] == [1, 2, 3, 4, 5, 6, 7]
    sixth = load_kept(kept(store)[5], "d", store)
    assert sixth.state is not None
    assert sixth.state.info is not None
    assert (sixth.partitions, sixth.state.info.operation) == (found.partitions, "foreign commit")
    assert sixth.state.commit in state_of(done).recent


def test_other_software_in_between() -> None:
    """A writer that loses the race to other software goes on top of what that left, in the same history."""
    store = new_store()
    base = append(store, "a")
    store.delete([one.key for one in kept(store)])  # its writer died before it kept it
    foreign(base, "x")
    done = append(store, "b", base=base)
    assert done.partitions["label"].to_pylist() == ["p=1/a", "p=1/x", "p=1/b"]
    assert (done.version, [one.version for one in kept(store)]) == (3, [1, 2, 3])


def test_a_version_without_info() -> None:
    """Headers from before commits noted anything are kept too, as older than all others."""
    store = new_store()
    base = append(store, "a")
    store.delete([one.key for one in kept(store)])
    plain = encode_header(replace(base.header, state=replace(state_of(base), info=None)))
    store.put(base.key, plain)
    append(store, "b")
    assert [one.time == UNKNOWN_TIME for one in kept(store)] == [True, False]
    assert encode_header(load_kept(kept(store)[0], "d", store)) == plain


def test_versions_that_were_given_up() -> None:
    """They cannot be brought back, and no commit forgets which ones they are."""
    store = new_store()
    first = append(store, "a")
    second = append(store, "b")
    append(store, oldest=2)
    with pytest.raises(SnapshotExpiredError) as caught:
        append(store, restore=first.header, restored_version=1)
    assert (caught.value.version, caught.value.oldest) == (1, 2)
    done = append(store, restore=second.header, restored_version=2)
    assert (state_of(done).oldest, state_of(foreign(done, "x") and adopt(load_snapshot("d", store))).oldest) == (2, 2)


def test_nothing_is_kept_of_a_commit_that_failed() -> None:
    """Wherever the store refuses, there is a version for each header that was ever there, and for no other."""
    for step in range(1, 20):
        inner, calls = new_store(), list[Call]()
        first = append(inner, "a")
        store = FaultyStore(
            inner, lambda call, n=step, c=calls: c.append(call) or (Fault.REFUSE if len(c) == n else None)
        )
        with suppress(KubothekError):
            append(store, "b", base=first)
        committed = load_snapshot("d", inner).version
        append(inner, "c")
        assert [one.version for one in kept(inner)] == [*range(1, (committed or 0) + 2)]
        if len(calls) < step:
            break
    assert step > 3
