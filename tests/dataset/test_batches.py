"""A batch of a streaming query takes effect once, whoever repeats it and whatever happens in between."""

from __future__ import annotations

import random
import threading
import uuid as uuids
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.other_writers import forget_state

import kubothek as kb
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import Snapshot, find_snapshot, load_snapshot
from kubothek.dataset.versions import adopt
from kubothek.model.header import StreamBatch
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import Call, Fault, FaultyStore

SCHEMA = pa.schema([("p", pa.int64()), ("v1", pa.int64())])


def new_store() -> Store:
    """Give a store that nobody else has."""
    made = open_store(f"memory://{uuids.uuid4().hex}")
    made.world = World(rng=random.Random(1), sleep=lambda seconds: None)
    return made


def send(
    store: Store, number: int, *names: str, query: str = "q", base: Any = "now", **how: Any
) -> tuple[str, Snapshot]:
    """Commit a batch of new files, and return its write id and what the dataset is then."""
    parts = tuple(
        StagedPartition(f"p=1/{name}", {"table": f"d/table/p=1/{name}.parquet"}, 1, 1, {"table": SCHEMA})
        for name in names or [uuids.uuid4().hex]
    )
    for part in parts:
        store.put(part.files["table"], b"")
    change = ChangeSet(
        uuids.uuid4().hex,
        "stream",
        parts,
        tables={"table": SCHEMA},
        partition_keys=("p",),
        create=True,
        batch=StreamBatch(query, number),
        **how,
    )
    return change.write_id, commit(store, "d", change, find_snapshot("d", store) if base == "now" else base)


def took_place(sent: tuple[str, Snapshot]) -> bool:
    """Tell whether a commit took place, as a sink finds it out."""
    state = sent[1].header.state
    return state is not None and sent[0] in state.recent


def labels(store: Store) -> list[str]:
    """List the labels of the partitions."""
    found: list[str] = load_snapshot("d", store).partitions["label"].to_pylist()
    return found


def is_swap(call: Call) -> bool:
    """Tell whether a call writes a header."""
    return call.verb in ("create", "replace") and ".by-dataset-metadata." in call.key


@pytest.mark.parametrize("creates", [True, False])
def test_a_batch_again_changes_nothing(creates: bool) -> None:
    """Neither the same one nor one before it; the next one, and any of another query, is new."""
    store = new_store()
    if not creates:
        send(store, 7, query="other")
    assert took_place(send(store, 3))
    before = load_snapshot("d", store)
    for number in (3, 2, 0):
        sent = send(store, number)
        assert (took_place(sent), sent[1].etag) == (False, before.etag)
    assert took_place(send(store, 4))
    assert took_place(send(store, 0, query="another"))


@pytest.mark.parametrize("how", [{}, {"must_be_absent": True}, {"overwrite": True}], ids=str)
def test_a_batch_that_was_prepared_for_what_is_no_longer_there(how: dict[str, Any]) -> None:
    """Whoever loses against himself is not told of a conflict: what he wanted is there."""
    store = new_store()
    assert took_place(send(store, 0, base=None))
    assert not took_place(send(store, 0, base=None, **how))
    base = load_snapshot("d", store)
    assert took_place(send(store, 1, base=base))
    assert not took_place(send(store, 1, base=base))
    assert load_snapshot("d", store).version == 2


@pytest.mark.parametrize("url", ["memory", "directory"])
@pytest.mark.parametrize("creates", [True, False])
def test_one_of_two_that_commit_a_batch_at_once(url: str, *, creates: bool, tmp_path: Path) -> None:
    """Exactly one of them takes effect, and neither fails."""
    store = new_store() if url == "memory" else open_store(tmp_path)
    first = 0 if creates else 1
    if not creates:
        send(store, 0)
    start, sent = threading.Barrier(4), list[tuple[str, Snapshot]]()

    def run(query: str, number: int) -> None:
        base = find_snapshot("d", store)
        start.wait()
        sent.append(send(store, number, query=query, base=base))

    tasks = [("q", first), ("q", first), ("r", 0), ("s", 0)]
    threads = [threading.Thread(target=run, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(took_place, sent)) == [False, True, True, True]
    assert len(labels(store)) == 3 + (not creates)


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.FAIL])
def test_a_batch_without_an_answer(fault: Fault) -> None:
    """A request that was carried out is found again, and one that was not is repeated; after it all is as usual."""
    inner, swaps = new_store(), list[Call]()
    send(inner, 0)
    store = FaultyStore(inner, lambda call: fault if is_swap(call) and not swaps and not swaps.append(call) else None)
    store.world = inner.world
    assert took_place(send(store, 1, "a"))
    assert not took_place(send(store, 1, "b"))
    assert len(labels(inner)) == 2


def test_what_is_done_in_between_forgets_no_batch() -> None:
    """A rollback, an overwrite, a commit of other software, and commits after it."""
    store = new_store()
    send(store, 0, "a")
    send(store, 1, "b")
    now = load_snapshot("d", store)
    commit(store, "d", ChangeSet(uuids.uuid4().hex, "restore", restore=now.header), now)
    assert not took_place(send(store, 1))
    forget_state(store, "d")
    adopted = adopt(load_snapshot("d", store)).header.state
    assert adopted is not None
    assert adopted.streams == {"q": 1}
    assert not took_place(send(store, 1))
    assert took_place(send(store, 2, "c"))
    forget_state(store, "d")
    assert not took_place(send(store, 2))
    assert labels(store) == ["p=1/a", "p=1/b", "p=1/c"]


def test_a_dataset_that_was_deleted_starts_anew() -> None:
    """Its batches went with it."""
    store = new_store()
    send(store, 5)
    kb.delete_dataset("d", store)
    assert took_place(send(store, 5))
    assert took_place(send(store, 6))


def test_a_rollback_keeps_what_streams_have_sent() -> None:
    """The rows are as they were, but the query does not send the batch again, which would bring them back."""
    store = new_store()
    for number in range(2):
        kb.update_dataset(pa.table({"v1": [number]}), "d", store)
    commit(store, "d", ChangeSet(uuids.uuid4().hex, "stream", batch=StreamBatch("q", 9)), load_snapshot("d", store))
    back = kb.rollback_dataset("d", store, 1)
    assert back.scan().to_arrow()["v1"].to_pylist() == [0]
    state = load_snapshot("d", store).header.state
    assert state is not None
    assert state.streams == {"q": 9}
