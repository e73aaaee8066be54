"""The doubles that ship: what they count, delay and break."""

from __future__ import annotations

import pickle
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kubothek.errors import StoreError
from kubothek.store.interface import Doubtful, LostRace, Store, Swapped
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore, SlowStore, WrappedStore


def inner() -> Store:
    """Make an empty store."""
    return Store(f"memory://{uuid.uuid4()}")


def test_calls_and_bytes_are_counted_per_verb() -> None:
    """Each call counts once, with what went there and what came back."""
    store = CountingStore(inner())
    store.put("a", b"123")
    store.get_many(["a", "b", "a"])
    store.delete(["a", "b"])
    assert store.calls == {"put": 1, "get_many": 1, "delete": 1}
    assert (store.sent.total(), store.received["get_many"]) == (3, 6)
    assert store.log[-1] == Call("delete", "a", keys=2)


def test_reads_of_an_open_file_are_counted() -> None:
    """Parquet's own requests show: the footer and one range per column chunk wanted."""
    store = CountingStore(inner())
    with store.create_file("t") as file:
        pq.write_table(pa.table({"x": range(100_000), "v1": range(100_000)}), file)
    store.reset()
    size = store.inner.info("t").size
    pq.ParquetFile(store.open_file("t", size)).read(columns=["x"])
    assert store.calls == {"get_range": 2}
    assert store.received["get_range"] < size


def test_failed_calls_count_too() -> None:
    """A request was made, whatever came of it."""
    store = CountingStore(inner())
    with pytest.raises(KeyError):
        store.get("nothing")
    assert store.calls == {"get": 1}


def test_a_slow_store_waits() -> None:
    """Each call takes at least the latency."""
    begun = time.monotonic()
    SlowStore(inner(), 0.02).get_many(["a", "b"])
    assert time.monotonic() - begun >= 0.02


@pytest.mark.parametrize(
    ("fault", "outcome", "left"),
    [
        (None, Swapped, b"v"),
        (Fault.FAIL, Doubtful, None),
        (Fault.LOSE_ANSWER, Doubtful, b"v"),
        (Fault.REPEAT, LostRace, b"v"),
        (Fault.LATE, Doubtful, None),
    ],
)
def test_a_faulty_swap_ends_as_scripted(fault: Fault | None, outcome: type, left: bytes | None) -> None:
    """What the caller sees and what is in the store are two things."""
    store = FaultyStore(inner(), lambda _: fault)
    assert isinstance(store.create("k", b"v"), outcome)
    (blob,) = store.inner.get_many(["k"])
    assert (blob and blob.data) == left


@pytest.mark.parametrize(
    ("fault", "left"), [(Fault.FAIL, 0), (Fault.REFUSE, 0), (Fault.LOSE_ANSWER, 1), (Fault.LATE, 0)]
)
def test_other_verbs_raise(fault: Fault, left: int) -> None:
    """A put or a streamed file without an answer is an error, done or not."""
    store = FaultyStore(inner(), lambda _: fault)
    with pytest.raises(StoreError):
        store.put("put", b"v")
    with pytest.raises(StoreError), store.create_file("file") as file:
        file.write(b"v")
    assert len(list(store.inner.list())) == 2 * left


def test_a_late_write_lands() -> None:
    """What was late is carried out when the test says so, once."""
    store = FaultyStore(inner(), lambda call: Fault.LATE if call.verb == "put" else None)
    with pytest.raises(StoreError):
        store.put("k", b"late")
    store.land()
    assert store.get("k").data == b"late"


def test_a_script_can_count() -> None:
    """Calls are numbered per verb, so a script can break the second put alone."""
    store = FaultyStore(inner(), lambda call: Fault.REFUSE if (call.verb, call.number) == ("put", 2) else None)
    store.put("a", b"")
    store.get("a")
    with pytest.raises(StoreError):
        store.put("b", b"")
    store.put("c", b"")
    assert [info.key for info in store.list()] == ["a", "c"]


def test_a_double_stays_in_its_process() -> None:
    """A copy elsewhere would see nothing of what it is there to see."""
    with pytest.raises(StoreError):
        pickle.dumps(WrappedStore(inner()))
