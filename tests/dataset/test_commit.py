from __future__ import annotations

import random
import threading
import uuid as uuids
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kubothek.codec.header import encode_header
from kubothek.codec.keys import data_key, header_key
from kubothek.codec.labels import file_name, make_label, write_prefix
from kubothek.codec.schema import decode_schema
from kubothek.codec.staged_table import staged_writer
from kubothek.dataset.commit import commit
from kubothek.dataset.indices.lookup import load_postings
from kubothek.dataset.snapshot import Snapshot, find_snapshot, load_snapshot
from kubothek.errors import (
    AlreadyExistsError,
    AmbiguousDeleteScopeError,
    CommitConflictError,
    CommitStateUnknownError,
    CorruptDatasetError,
    DatasetNotFoundError,
    InvalidInputError,
    StoreError,
    UnindexedColumnError,
)
from kubothek.model.condition import C
from kubothek.model.header import HeaderFormat
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.store.interface import Blob, Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore, WrappedStore

SCHEMA = pa.schema([("p", pa.int64()), ("i1", pa.int64()), ("v1", pa.int64())])
FAST = World(rng=random.Random(1), sleep=lambda seconds: None)


def new_store() -> Store:
    """Give a store that nobody else has."""
    made = open_store(f"memory://{uuids.uuid4().hex}")
    made.world = FAST
    return made


def stage(store: Store, p: int, i1: list[Any], *, v1: Any = 0, indexed: bool = True) -> StagedPartition:
    """Put one file of partition ``p`` and describe it, as a write task does."""
    label = make_label([("p", str(p))], file_name(uuids.uuid4().hex, uuids.uuid4().hex))
    table = pa.table({"i1": pa.array(i1, pa.int64()), "v1": pa.array([v1] * len(i1), pa.int64())})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    key = data_key("d", "table", label)
    data = sink.getvalue().to_pybytes()
    store.put(key, data)
    values = {"i1": table["i1"].drop_null().unique()} if indexed else {}
    return StagedPartition(label, {"table": key}, len(i1), len(data), {"table": SCHEMA}, values)


def change(*added: StagedPartition, **settings: Any) -> ChangeSet:
    """Describe an update."""
    return ChangeSet(uuids.uuid4().hex, "update", added, **settings)


def create(store: Store, *added: StagedPartition, index: bool = True, **settings: Any) -> Snapshot:
    """Create dataset ``d``, partitioned by ``p``."""
    columns = ("i1",) if index else ()
    first = change(
        *added, tables={"table": SCHEMA}, partition_keys=("p",), index_columns=columns, create=True, **settings
    )
    return commit(store, "d", first, None)


def labels(snapshot: Snapshot) -> list[str]:
    """List the labels of the partitions."""
    found: list[str] = snapshot.partitions["label"].to_pylist()
    return found


def index(snapshot: Snapshot) -> dict[int, list[str]]:
    """Read the index on ``i1``."""
    return dict(zip(*load_postings(snapshot, "i1").to_pydict().values(), strict=True))


class Meanwhile(WrappedStore):
    """Lets something else happen just before the first swap of a header."""

    def __init__(self, inner: Store, happen: Callable[[], object]) -> None:
        super().__init__(inner)
        self.happen: Callable[[], object] | None = happen

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        if is_swap(call) and self.happen is not None:
            happen, self.happen = self.happen, None
            happen()
        return act()


class Unanswered(FaultyStore):
    """Loses the answer of a swap that took place, and lets something else happen before anybody looks."""

    def __init__(self, inner: Store, happen: Callable[[], object]) -> None:
        super().__init__(inner, lambda call: Fault.LOSE_ANSWER if is_swap(call) else None)
        self.happen = happen

    def get_many(self, keys: Iterable[str]) -> list[Blob | None]:
        self.happen()
        return self.inner.get_many(keys)


def is_swap(call: Call) -> bool:
    """Tell whether a call writes a header."""
    return call.verb in ("create", "replace") and ".by-dataset-metadata." in call.key


@pytest.mark.parametrize("url", ["memory", "directory"])
def test_create_and_append(url: str, tmp_path: Path) -> None:
    """What was committed is what a fresh look finds, with its index, in the order of the commits."""
    store = new_store() if url == "memory" else open_store(tmp_path)
    a, b = stage(store, 1, [1, 2]), stage(store, 2, [2, None])
    first = create(store, a, metadata={"m": "ü"})
    commit(store, "d", change(b, metadata={"n": 1}), first)
    found = load_snapshot("d", store)
    assert (labels(found), found.version) == ([a.label, b.label], 2)
    assert index(found) == {1: [a.label], 2: [a.label, b.label]}
    assert {k: found.header.metadata[k] for k in ("m", "n")} == {"m": "ü", "n": 1}
    assert found.file_table()["partition/p"].to_pylist() == [1, 2]


def test_state_counts_commits() -> None:
    """Version and recent ids go on with each commit, the incarnation stays."""
    store = new_store()
    first = create(store, stage(store, 1, [1]))
    done = first
    for _ in range(70):
        done = commit(store, "d", change(metadata={"n": 1}), done)
    old, state = first.header.state, done.header.state
    assert old is not None
    assert state is not None
    assert (state.version, len(state.recent), state.recent[-1]) == (71, 64, state.commit)
    assert state.incarnation == old.incarnation


def test_schema_copy_is_there_for_others() -> None:
    """The copy beside the data is put at creation, and again when a null column gets its type."""
    store = new_store()
    nulls = pa.schema([("p", pa.int64()), ("v1", pa.null())])
    first = commit(store, "d", change(tables={"table": nulls}, partition_keys=("p",), create=True), None)
    typed = nulls.set(1, pa.field("v1", pa.string()))
    commit(store, "d", change(tables={"table": typed}), first)
    copy = decode_schema(store.get("d/table/_common_metadata").data, "d/table/_common_metadata")
    assert copy.field("v1").type == pa.string()
    assert load_snapshot("d", store).schema() == typed


def test_schema_copy_that_was_deleted_with_an_earlier_dataset() -> None:
    """Who deletes what an earlier dataset left may come in between; the copy is there all the same."""
    store = new_store()
    shared = Meanwhile(store, lambda: store.delete(["d/table/_common_metadata"]))
    create(shared, stage(store, 1, [1]))
    copy = decode_schema(store.get("d/table/_common_metadata").data, "d/table/_common_metadata")
    assert copy == load_snapshot("d", store).schema()


def test_opening_takes_one_round_trip() -> None:
    """Our header holds the schema, so one request for both possible headers is all."""
    store = CountingStore(new_store())
    create(store, stage(store, 1, [1]))
    store.reset()
    load_snapshot("d", store)
    assert dict(store.calls) == {"get_many": 1}


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"must_be_absent": True}, AlreadyExistsError),
        ({"partition_keys": ("v1",)}, InvalidInputError),
        ({"tables": {"other": SCHEMA}}, InvalidInputError),
        (
            {"tables": {"table": pa.schema([("p", pa.int64()), ("i1", pa.int64()), ("v1", pa.string())])}},
            InvalidInputError,
        ),
        ({"index_columns": ("i1", "v1")}, InvalidInputError),
        ({"remove_labels": ("p=9/x",)}, InvalidInputError),
        ({"delete_scope": (C("v1") == 0,)}, UnindexedColumnError),
        ({"delete_scope": (C("nope") == 0,)}, InvalidInputError),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_does_not_fit(settings: dict[str, Any], error: type[Exception]) -> None:
    """A change that does not fit is refused before anything is written."""
    store = CountingStore(new_store())
    base = create(store, stage(store, 1, [1]))
    store.reset()
    with pytest.raises(error):
        commit(store, "d", change(**settings), base)
    assert set(store.calls) <= {"get_many", "get_range", "info"}


def test_nothing_to_update() -> None:
    """An update that may not create needs a dataset."""
    with pytest.raises(DatasetNotFoundError):
        commit(new_store(), "d", change(), None)


def test_overwrite_replaces_all() -> None:
    """Nothing of the old layout, schema or metadata stays; the files do, for those who read them."""
    store = new_store()
    old = stage(store, 1, [1])
    base = create(store, old, metadata={"m": 1})
    schema = pa.schema([("q", pa.string())])
    done = commit(store, "d", change(tables={"table": schema}, overwrite=True), base)
    assert (done.schema(), done.partition_keys, labels(done), done.index_columns) == (schema, (), [], ())
    assert list(done.header.metadata) == ["creation_time"]
    assert store.get(old.files["table"])


def test_delete_scope_by_partition() -> None:
    """Partitions that a scope selects are gone from header and index, in the commit that adds others."""
    store = new_store()
    a, b, c = (stage(store, p, [p, 7]) for p in (1, 2, 1))
    base = create(store, a, b)
    done = commit(store, "d", change(c, delete_scope=(C("p") == 1, C("p") == 3)), base)
    assert labels(done) == [b.label, c.label]
    assert index(done) == {1: [c.label], 2: [b.label], 7: sorted([b.label, c.label])}


@pytest.mark.parametrize("i1", [[1, 2], [1, None]], ids=["other value", "null"])
def test_delete_scope_that_would_delete_more(i1: list[Any]) -> None:
    """A file with other values or nulls is never removed for one value."""
    store = new_store()
    mixed = stage(store, 1, i1)
    base = create(store, mixed, stage(store, 2, [5]))
    with pytest.raises(AmbiguousDeleteScopeError) as caught:
        commit(store, "d", change(delete_scope=(C("i1") == 1,)), base)
    assert caught.value.labels == (mixed.label,)


def test_delete_scope_by_index() -> None:
    """A file of one value throughout is removed; files that the index rules out are not even looked at."""
    store = CountingStore(new_store())
    one, other = stage(store, 1, [1, 1]), stage(store, 1, [2, 3])
    base = create(store, one, other)
    store.reset()
    done = commit(store, "d", change(delete_scope=((C("i1") == 1) & (C("p") == 1),)), base)
    assert labels(done) == [other.label]
    assert other.files["table"] not in {call.key for call in store.log}


def test_staged_index_values() -> None:
    """Index values that were too many to travel are read from their file, which goes after the commit."""
    store = new_store()
    part, key = stage(store, 1, [1]), "_kubothek/d/x/staged/i1.staged"
    sink = pa.BufferOutputStream()
    with staged_writer(sink, key, pa.schema([("i1", pa.int64())])) as writer:
        writer.write_table(pa.table({"i1": [4, 5]}))
    store.put(key, sink.getvalue().to_pybytes())
    done = create(store, replace(part, index_values={"i1": key}))
    assert index(done) == {4: [part.label], 5: [part.label]}
    assert store.get_many([key]) == [None]


def test_build_and_drop_index() -> None:
    """An index can be added for what is there, and forgotten."""
    store = new_store()
    part = stage(store, 1, [1], indexed=False)
    base = create(store, part, index=False)
    content = pa.table({"i1": [1], "partition": [[part.label]]})
    built = commit(store, "d", change(build_indices={"i1": content}), base)
    assert index(built) == {1: [part.label]}
    assert commit(store, "d", change(drop_indices=("i1",)), built).index_columns == ()


def test_unique_writes_end_with_their_files() -> None:
    """The header forgets a checked write once no partition of it is left."""
    store = new_store()
    part = stage(store, 1, [1])
    prefix = write_prefix(part.label.rpartition("/")[2])
    base = create(store, part, unique_write=prefix)
    assert base.header.state is not None
    assert base.header.state.unique_writes == (prefix,)
    done = commit(store, "d", change(stage(store, 2, [1]), remove_labels=(part.label,)), base)
    assert done.header.state is not None
    assert done.header.state.unique_writes == ()


def test_restore() -> None:
    """Going back is a commit of its own with the earlier content."""
    store = new_store()
    part = stage(store, 1, [1])
    first = create(store, part)
    second = commit(store, "d", change(stage(store, 2, [2]), delete_scope=(C("p") == 1,)), first)
    done = commit(store, "d", change(restore=first.header), second)
    assert (labels(done), index(done), done.version) == ([part.label], {1: [part.label]}, 3)


def test_lost_race_keeps_both() -> None:
    """An append that comes second goes on top, with its own files, and leaves no unused index file."""
    store = new_store()
    parts = [stage(store, p, [p]) for p in (1, 2, 3)]
    base = create(store, parts[0])
    shared = Meanwhile(store, lambda: commit(store, "d", change(parts[1]), base))
    done = commit(shared, "d", change(parts[2]), base)
    assert labels(load_snapshot("d", store)) == labels(done) == [part.label for part in parts]
    assert index(done) == {p: [parts[p - 1].label] for p in (1, 2, 3)}
    assert len(list(store.list("d/indices/"))) == 3


def test_two_creators() -> None:
    """Of two that create a dataset at once, the second adds to it, unless it demanded that there be none."""
    for settings, error in (({}, None), ({"must_be_absent": True}, CommitConflictError)):
        store = new_store()
        a, b = stage(store, 1, [1]), stage(store, 2, [2])
        shared = Meanwhile(store, lambda store=store, a=a: create(store, a))
        if error is None:
            assert labels(create(shared, b, **settings)) == [a.label, b.label]
        else:
            with pytest.raises(error, match="created meanwhile"):
                create(shared, b, **settings)


def test_delete_scope_is_evaluated_again() -> None:
    """A scope means the dataset as it is at the commit, also what came meanwhile."""
    store = new_store()
    base = create(store, stage(store, 1, [1]))
    kept, other = stage(store, 2, [1]), stage(store, 1, [1])
    shared = Meanwhile(store, lambda: commit(store, "d", change(kept, other), base))
    assert labels(commit(shared, "d", change(delete_scope=(C("p") == 1,)), base)) == [kept.label]


def test_scope_that_became_ambiguous() -> None:
    """What came meanwhile can make a scope impossible; then both sides are named."""
    store = new_store()
    base = create(store, stage(store, 1, [1]))
    shared = Meanwhile(store, lambda: commit(store, "d", change(stage(store, 1, [1, 2])), base))
    with pytest.raises(CommitConflictError, match="other rows") as caught:
        commit(shared, "d", change(delete_scope=(C("i1") == 1,)), base)
    assert caught.value.theirs == load_snapshot("d", store).header.state.commit  # type: ignore[union-attr]


CONFLICTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "overwritten": ({"tables": {"table": SCHEMA}, "overwrite": True}, {}),
    "index dropped": ({"drop_indices": ("i1",)}, {"index_columns": ("i1",)}),
    "same label removed": ({"delete_scope": (C("p") == 1,)}, {"remove_labels": ...}),
    "index built meanwhile outdated": ({"delete_scope": (C("p") == 1,)}, {"build_indices": ...}),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_conflicts(case: str) -> None:
    """Two commits that cannot both hold: the second fails, the first stays, and the second's index files go."""
    theirs, ours = CONFLICTS[case]
    store = new_store()
    part = stage(store, 1, [1])
    base = create(store, part)
    built = {"i1": pa.table({"i1": [1], "partition": [[part.label]]})}
    ours = {k: {"remove_labels": (part.label,), "build_indices": built}[k] if v is ... else v for k, v in ours.items()}
    winner: list[Snapshot] = []
    shared = Meanwhile(store, lambda: winner.append(commit(store, "d", change(**theirs), base)))
    with pytest.raises(CommitConflictError, match="meanwhile"):
        commit(shared, "d", change(**ours), base)
    assert load_snapshot("d", store).etag == winner[0].etag


def test_index_built_meanwhile() -> None:
    """Values of an index that came meanwhile are read from the staged files that were written without."""
    store = new_store()
    part, told = stage(store, 1, [1]), stage(store, 2, [4])
    late, empty = stage(store, 2, [3, None, 1, 3], indexed=False), stage(store, 3, [], indexed=False)
    base = create(store, part, index=False)
    content = {"i1": pa.table({"i1": [1], "partition": [[part.label]]})}
    shared = CountingStore(Meanwhile(store, lambda: commit(store, "d", change(build_indices=content), base)))
    done = commit(shared, "d", change(late, told, empty), base)
    assert index(done) == {1: sorted([part.label, late.label]), 3: [late.label], 4: [told.label]}
    assert labels(done) == [part.label, late.label, told.label, empty.label]
    read = {call.key for call in shared.log if call.verb == "get_range"}
    assert read.isdisjoint([*part.keys, *told.keys])
    assert read >= {*late.keys}


def test_deleted_meanwhile() -> None:
    """A dataset that is gone is not brought back by an update, also not by one that may create."""
    store = new_store()
    base = create(store, stage(store, 1, [1]))
    shared = Meanwhile(store, lambda: store.delete([base.key]))
    with pytest.raises(CommitConflictError, match="deleted meanwhile"):
        commit(shared, "d", change(stage(store, 2, [1]), create=True), base)


def test_deleted_while_its_index_is_read() -> None:
    """A dataset that others delete before its index was merged is deleted, not damaged; else it is damaged."""
    store = new_store()
    base = create(store, stage(store, 1, [1]))
    store.delete([base.header.indices["i1"]])
    with pytest.raises(CorruptDatasetError, match="does not exist"):
        commit(store, "d", change(stage(store, 2, [1])), base)
    store.delete([base.key])
    with pytest.raises(CommitConflictError, match="deleted meanwhile"):
        commit(store, "d", change(stage(store, 2, [1])), base)


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.FAIL, Fault.REPEAT, Fault.LATE], ids=lambda f: f.name)
@pytest.mark.parametrize("creating", [True, False])
def test_no_answer(fault: Fault, *, creating: bool) -> None:
    """Whether the request or its answer got lost, the change is there once."""
    inner = new_store()
    first, second = stage(inner, 1, [1]), stage(inner, 2, [2])
    base = None if creating else create(inner, first)
    swaps: list[Call] = []
    store = FaultyStore(inner, lambda call: fault if is_swap(call) and not swaps and not swaps.append(call) else None)
    done = create(store, first) if base is None else commit(store, "d", change(second), base)
    store.land()
    found = load_snapshot("d", inner)
    assert labels(found) == labels(done) == [part.label for part in (first, second)[: 1 if creating else 2]]
    assert sorted(index(found)) == ([1] if creating else [1, 2])


def test_no_answer_then_a_late_one() -> None:
    """A request that lands after it was given up is found when the next try is refused."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]))
    seen: list[Call] = []

    def script(call: Call) -> Fault | None:
        if not is_swap(call):
            return None
        seen.append(call)
        if len(seen) == 2:
            store.land()
        return Fault.LATE if len(seen) == 1 else None

    store = FaultyStore(inner, script)
    done = commit(store, "d", change(stage(inner, 2, [2])), base)
    assert (len(labels(done)), sorted(index(load_snapshot("d", inner)))) == (2, [1, 2])


@pytest.mark.parametrize("creating", [True, False])
def test_no_answer_then_a_refusal(creating: bool) -> None:
    """A refused repetition says nothing about the request before it, which may come through later."""
    inner = new_store()
    base = None if creating else create(inner, stage(inner, 1, [1]))
    faults = iter([Fault.LATE, Fault.REFUSE])
    store = FaultyStore(inner, lambda call: next(faults) if is_swap(call) else None)
    settings = {"tables": {"table": SCHEMA}, "partition_keys": ("p",), "index_columns": ("i1",), "create": True}
    with pytest.raises(CommitStateUnknownError, match="refused another"):
        commit(store, "d", change(stage(inner, 2, [2]), **settings), base)
    store.land()
    assert 2 in index(load_snapshot("d", inner))


def test_no_answer_and_others_went_on() -> None:
    """With a lost answer and later commits of others, the ids in the header tell ours."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]))
    later = lambda: commit(inner, "d", change(metadata={"n": 1}), load_snapshot("d", inner))
    store = Unanswered(inner, later)
    done = commit(store, "d", change(metadata={"m": 1}), base)
    assert done.header.metadata["m"] == 1


def test_no_answer_and_a_foreign_header() -> None:
    """Where other software dropped the ids, the outcome is unknown, says so, and nothing is tidied away."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]))
    foreign = encode_header(replace(base.header, state=None))

    store = Unanswered(inner, lambda: inner.put(base.key, foreign))
    written = change(metadata={"m": 1}, delete_scope=(C("p") == 1,))
    with pytest.raises(CommitStateUnknownError) as caught:
        commit(store, "d", written, base)
    assert caught.value.write_id == written.write_id
    assert len(list(inner.list("d/indices/"))) == 2


def test_no_answer_and_commits_on_a_foreign_header() -> None:
    """Nor does the list of ids tell where it was begun anew after other software: ours may have been below that."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]))
    happened: list[object] = []

    def happen() -> None:
        if not happened:
            happened.append(inner.put(base.key, encode_header(replace(base.header, state=None))))
            commit(inner, "d", change(metadata={"n": 1}), load_snapshot("d", inner))

    with pytest.raises(CommitStateUnknownError):
        commit(Unanswered(inner, happen), "d", change(metadata={"m": 1}), base)
    assert load_snapshot("d", inner).version == 3


def test_no_answer_and_a_foreign_header_with_our_files() -> None:
    """Where other software has kept what was added, it was committed, whatever else it dropped."""
    inner = new_store()
    base, happened = create(inner, stage(inner, 1, [1])), list[object]()

    def happen() -> None:
        now = load_snapshot("d", inner)
        if not happened:
            happened.append(inner.put(now.key, encode_header(replace(now.header, state=None))))

    part = stage(inner, 2, [2])
    done = commit(Unanswered(inner, happen), "d", change(part), base)
    assert labels(done)[1:] == [part.label]
    assert load_snapshot("d", inner).version is None


def test_unreadable_after_no_answer() -> None:
    """Where the header cannot be read back either, nothing is guessed."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]))
    store = FaultyStore(inner, lambda call: Fault.FAIL if is_swap(call) or call.verb == "get_many" else None)
    with pytest.raises(CommitStateUnknownError, match="cannot be read"):
        commit(store, "d", change(metadata={"m": 1}), base)


def test_any_failure_before_the_swap_changes_nothing() -> None:
    """Wherever the store refuses, the dataset is as it was, and can be updated afterwards."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]))
    part, refused = stage(inner, 2, [2]), 0
    for step in range(1, 20):
        calls: list[Call] = []
        store = FaultyStore(
            inner, lambda call, n=step, c=calls: c.append(call) or (Fault.REFUSE if len(c) == n else None)
        )
        try:
            commit(store, "d", change(part), base)
            break
        except StoreError:
            refused += 1
            assert load_snapshot("d", inner).etag == base.etag
            assert len(list(inner.list("d/indices/"))) <= 2
    assert refused >= 3
    assert len(labels(load_snapshot("d", inner))) == 2


def test_msgpack_gives_way_to_json() -> None:
    """A msgpack header with a JSON header beside it would never be read: the commit goes there instead."""
    store = new_store()
    a, b = stage(store, 1, [1]), stage(store, 2, [2])
    base = create(store, a, header_format="msgpack")
    json = encode_header(replace(base.header, format="json", state=None))
    shared = Meanwhile(store, lambda: store.put(header_key("d", "json"), json))
    done = commit(shared, "d", change(b), base)
    assert (labels(done), done.header.format) == ([a.label, b.label], "json")
    assert store.get_many([header_key("d", "msgpack")]) == [None]


@pytest.mark.parametrize("first", ["json", "msgpack"])
def test_creators_in_two_formats(first: HeaderFormat) -> None:
    """A header in one format does not keep one in the other out, and yet nobody's dataset is hidden by a second one."""
    store = new_store()
    a, b = stage(store, 1, [1]), stage(store, 2, [2])
    second: HeaderFormat = "msgpack" if first == "json" else "json"
    shared = Meanwhile(store, lambda: create(store, a, header_format=first))
    done = create(shared, b, header_format=second)
    assert labels(done) == labels(load_snapshot("d", store)) == [a.label, b.label]
    assert done.header.format == first
    assert store.get_many([header_key("d", second)]) == [None]


def test_late_creator_gives_way_to_what_is_committed() -> None:
    """A JSON header of a dataset that is just being created never costs what was committed to a msgpack header."""
    inner, other, looks = new_store(), new_store(), []
    a, b, key = stage(inner, 1, [1]), stage(inner, 2, [2]), header_key("d", "json")
    base = create(inner, a, header_format="msgpack")
    late = create(other, stage(other, 3, [3])).key

    def other_writer(call: Call) -> None:
        if call.verb == "get_many" and call.key == key and looks.append(call) is None and len(looks) == 4:
            inner.delete([key])  # gives way

    shared = Meanwhile(FaultyStore(inner, other_writer), lambda: inner.put(key, other.get(late).data))
    done = commit(shared, "d", change(b), base)
    assert labels(done) == labels(load_snapshot("d", inner)) == [a.label, b.label]


def test_creator_that_died_before_it_gave_way() -> None:
    """Its JSON header is taken away by whoever has committed to the msgpack header that it hides."""
    inner, other = new_store(), new_store()
    a, b, key = stage(inner, 1, [1]), stage(inner, 2, [2]), header_key("d", "json")
    base = create(inner, a, header_format="msgpack")
    late = create(other, stage(other, 3, [3])).key
    shared = Meanwhile(inner, lambda: inner.put(key, other.get(late).data))
    assert labels(commit(shared, "d", change(b), base)) == labels(load_snapshot("d", inner)) == [a.label, b.label]
    assert inner.get_many([key]) == [None]


@pytest.mark.parametrize("first", ["json", "msgpack", None])
def test_creators_of_which_one_died(first: HeaderFormat | None) -> None:
    """What the first creator was told is there stays, and the other's header goes; commits go on."""
    store, parts = new_store(), {}
    for header_format in ("json", "msgpack"):
        alone = new_store()
        parts[header_format] = stage(alone, 1, [1])
        create(alone, parts[header_format], header_format=header_format)
        for info in alone.list():
            if "/history/" not in info.key or header_format == first:
                store.put(info.key, alone.get(info.key).data)
    base, part = load_snapshot("d", store), stage(store, 2, [2])
    assert base.shadowed
    if first == "msgpack":
        with pytest.raises(CommitConflictError, match="created again"):
            commit(store, "d", change(part), base)
    commit(store, "d", change(part), load_snapshot("d", store))
    found = load_snapshot("d", store)
    assert (labels(found), found.shadowed) == ([parts[first or "json"].label, part.label], False)


def test_created_in_the_other_format_while_staging() -> None:
    """A dataset that others created while rows were staged is seen whatever the format of its header."""
    store = new_store()
    a, b = stage(store, 1, [1]), stage(store, 2, [2])
    create(store, a, header_format="msgpack")
    with pytest.raises(CommitConflictError, match="created meanwhile"):
        create(store, b, must_be_absent=True)
    assert labels(load_snapshot("d", store)) == [a.label]


def test_other_format_that_cannot_be_looked_for() -> None:
    """A creator that cannot look whether a header of the other format is in its way does not know its state."""
    inner = new_store()
    store = FaultyStore(inner, lambda call: Fault.FAIL if call.verb == "get_many" and call.keys == 1 else None)
    part = stage(inner, 1, [1])
    with pytest.raises(CommitStateUnknownError, match="msgpack"):
        create(store, part)
    assert labels(load_snapshot("d", inner)) == [part.label]


def test_msgpack_that_cannot_be_checked() -> None:
    """Where nobody can tell whether a JSON header hides the commit, its index files are left alone."""
    inner = new_store()
    base = create(inner, stage(inner, 1, [1]), header_format="msgpack")
    store = FaultyStore(inner, lambda call: Fault.FAIL if call.verb == "get_many" and call.keys == 2 else None)
    with pytest.raises(CommitStateUnknownError):
        commit(store, "d", change(stage(inner, 2, [2])), base)
    assert sorted(index(load_snapshot("d", inner))) == [1, 2]


def test_leftover_msgpack_header_goes() -> None:
    """Where other software left two headers, the next commit leaves one."""
    store = new_store()
    base = create(store, stage(store, 1, [1]), header_format="msgpack")
    store.put(header_key("d", "json"), encode_header(replace(base.header, format="json", state=None)))
    found = load_snapshot("d", store)
    assert found.shadowed
    commit(store, "d", change(metadata={"m": 1}), found)
    assert [store.get_many([header_key("d", f)]) == [None] for f in ("json", "msgpack")] == [False, True]


@pytest.mark.parametrize("url", ["memory", "directory"])
def test_nothing_is_lost_between_threads(url: str, tmp_path: Path) -> None:
    """Two writers that append at once: every acknowledged partition is there at the end, and in the index."""
    store = new_store() if url == "memory" else open_store(tmp_path)
    count = 50 if url == "memory" else 10
    create(store)
    done: list[str] = []

    def append(p: int) -> None:
        for _ in range(count):
            part = stage(store, p, [p])
            commit(store, "d", change(part), find_snapshot("d", store))
            done.append(part.label)

    threads = [threading.Thread(target=append, args=(p,)) for p in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = load_snapshot("d", store)
    assert sorted(labels(found)) == sorted(done)
    assert sorted(label for some in index(found).values() for label in some) == sorted(done)
    assert len(done) == 2 * count
    assert found.version > 2 * count  # more where a slow machine made one ask the other to wait
