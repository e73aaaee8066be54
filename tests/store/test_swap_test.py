"""Before the first commit: stores that do not keep their word are found out, and nothing is written to them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import obstore.store
import pyarrow as pa
import pytest
from tests.store.s3_double import HANG_UP, Answer, Flaw, Request, S3Double, error, s3_double

import kubothek as kb
from kubothek.errors import StoreError
from kubothek.store.interface import Doubtful, LostRace, Store, Swapped
from kubothek.store.remote import RemoteStore
from kubothek.store.swap_test import PREFIX, find_fault
from kubothek.store.world import World
from kubothek.testing.stores import CountingStore, Fault, FaultyStore, WrappedStore

ROWS = pa.table({"x": [1, 2], "p": [1, 2]})
SAYS = {
    Flaw.IGNORES: "ignores the condition of a write: an object was created where one was",
    Flaw.IGNORES_TAGS: "ignores the condition of a write: an object was replaced by way of a tag",
    Flaw.REVIVES: "ignores the condition of a write: an object was replaced that had been deleted",
    Flaw.REFUSES: "refuses every conditional write: an object could not be replaced though its tag was right",
    Flaw.NO_TAGS: "tags .* cannot be relied on",
    Flaw.WEAK_TAGS: "tags .* cannot be relied on",
    Flaw.NEW_TAGS: "tags .* cannot be relied on",
    Flaw.ONE_TAG: "tags .* cannot be relied on",
    Flaw.PRETENDS: "does not show what it said it had written",
}


@pytest.fixture
def double() -> Iterator[S3Double]:
    """Run a server that nobody has tried out."""
    with s3_double() as server:
        yield server


def patient(store: Store) -> Store:
    """Take the waiting out of a store's world."""
    store.world = replace(World(), sleep=lambda _: None)
    return store


def test_every_flaw_is_listed() -> None:
    """The table of flaws is whole."""
    assert set(SAYS) == set(Flaw)


@pytest.mark.parametrize("flaw", Flaw)
def test_a_flawed_server_is_refused(double: S3Double, flaw: Flaw) -> None:
    """The message says which of its duties it neglects, and how to write to it at one's own risk."""
    double.flaw = flaw
    with pytest.raises(StoreError, match=f"{SAYS[flaw]}.*unsafe_single_writer=True") as caught:
        double.store().check_swap()
    assert caught.value.operation == "check_swap"
    assert double.objects == {}


@pytest.mark.parametrize("flaw", [Flaw.IGNORES, Flaw.REFUSES])
def test_no_write_leaves_anything_on_a_flawed_server(double: S3Double, flaw: Flaw) -> None:
    """Neither data nor a header nor a cube's dataset goes to a store that could lose it."""
    double.flaw = flaw
    cube = kb.Cube("cube", dimension_columns=["x"], partition_columns=["p"])
    for write in (
        lambda: kb.write_dataset(ROWS, "uuid", double.store()),
        lambda: kb.update_dataset(ROWS, "uuid", double.store()),
        lambda: kb.write_partitions(ROWS, "uuid", double.store()),
        lambda: kb.create_empty_dataset(ROWS.schema, "uuid", double.store()),
        lambda: kb.build_cube(ROWS, cube, double.store()),
    ):
        with pytest.raises(StoreError, match="tried out"):
            write()
    assert double.objects == {}
    assert not [one.path for one in double.requests if one.method == "PUT" and PREFIX not in one.path]


def test_a_copy_asks_the_target(double: S3Double) -> None:
    """What is copied from is only read."""
    double.flaw = Flaw.IGNORES
    source = Store("memory://swap-test-copy")
    kb.write_dataset(ROWS, "uuid", source)
    with pytest.raises(StoreError, match="tried out"):
        kb.copy_dataset("uuid", source, to_store=double.store())
    assert double.objects == {}


def test_a_sound_server_is_tried_once_by_all_threads(double: S3Double) -> None:
    """Stores of one URL and endpoint share the result; another prefix is tried again, and nothing of it stays."""
    stores = [double.store("s3://bucket/once", region=f"r{i}") for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda store: store.check_swap(), stores))
    tried = len(double.requests)
    assert (tried, len([one for one in double.requests if one.method == "PUT"])) == (13, 5)
    pickle.loads(pickle.dumps(stores[0])).check_swap()
    assert len(double.requests) == tried
    double.store("s3://bucket/other").check_swap()
    assert (len(double.requests), double.objects) == (2 * tried, {})


def test_a_flawed_server_is_tried_again(double: S3Double) -> None:
    """Only a good result is remembered: servers get repaired."""
    double.flaw, store = Flaw.REFUSES, double.store()
    with pytest.raises(StoreError):
        store.check_swap()
    double.flaw = None
    store.check_swap()


def test_answers_that_get_lost_are_asked_for_again(double: S3Double) -> None:
    """A write without an answer counts as what is there then, written or not."""
    store = patient(double.store())
    seen: list[str] = []

    def script(request: Request) -> Answer | None:
        seen.append(request.method)
        if request.method != "PUT":
            return None
        return [replace(HANG_UP, done=True), HANG_UP, None][seen.count("PUT") % 3]

    double.script = script
    store.check_swap()
    assert seen.count("PUT") > 5


def test_no_clear_answer_is_no_leave_to_write(double: S3Double) -> None:
    """After a few tries it is an error."""
    double.script = lambda request: error(503, "SlowDown") if request.method == "PUT" else None
    with pytest.raises(StoreError, match=r"3 times no clear answer.*SlowDown"):
        patient(double.store()).check_swap()


def test_a_refusal_to_write_is_told_as_it_is(double: S3Double) -> None:
    """Without permission it is not about conditions."""
    double.script = lambda request: error(403, "AccessDenied") if request.method == "PUT" else None
    with pytest.raises(StoreError, match="AccessDenied"):
        double.store().check_swap()


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.LOSE_ANSWER, Fault.REPEAT])
def test_single_faults_do_not_mislead(fault: Fault) -> None:
    """Whichever conditional write goes wrong once, a sound store is found sound."""
    for verb, number in [("create", 1), ("create", 2), ("replace", 1), ("replace", 2), ("replace", 3)]:
        store = FaultyStore(
            f"memory://{fault.name}-{verb}-{number}",
            lambda c, v=verb, n=number: fault if (c.verb, c.number) == (v, n) else None,
        )
        assert find_fault(patient(store)) is None


def test_reading_asks_for_nothing(double: S3Double) -> None:
    """A store from which is only read may be as it is."""
    kb.write_dataset(ROWS, "uuid", double.store())
    double.flaw, again = Flaw.IGNORES, double.store("s3://bucket", region="elsewhere")
    double.requests.clear()
    assert kb.open_dataset("uuid", again).scan().to_arrow().num_rows == 2
    assert not [one for one in double.requests if PREFIX in one.path or one.method == "PUT"]


@pytest.mark.parametrize(
    "store",
    [Store("s3://bucket", region="eu-west-1"), Store("s3://bucket", endpoint="https://s3.eu-west-1.amazonaws.com"),
     Store("gs://bucket"), Store("az://container", account_name="account"),
     Store("abfss://container@account.dfs.core.windows.net/prefix"), Store("memory://known"), Store("/known")],
    ids=repr,
)  # fmt: skip
def test_the_providers_own_stores_are_known(store: Store) -> None:
    """Nothing is tried out where it is known; there is no server here that could answer."""
    store.check_swap()


def test_a_store_that_is_given_is_tried_out(tmp_path: Path) -> None:
    """What stands behind a backend is not known by its URL."""
    RemoteStore("s3://bucket", backend=obstore.store.MemoryStore()).check_swap()
    with pytest.raises(StoreError, match="refuses every conditional write"):
        RemoteStore("s3://bucket", backend=obstore.store.LocalStore(tmp_path)).check_swap()


def test_a_store_that_cannot_swap_is_refused() -> None:
    """Whatever kind of store says so, nothing is written to it."""
    store = CountingStore("memory://cannot-swap")
    store.can_swap = False
    with pytest.raises(StoreError, match="cannot write on a condition"):
        kb.write_dataset(ROWS, "uuid", store)
    assert set(store.calls) <= {"get_many"}


@pytest.mark.parametrize("flaw", [Flaw.IGNORES, Flaw.REFUSES, Flaw.WEAK_TAGS])
def test_a_single_writer_may_write_anywhere(double: S3Double, flaw: Flaw) -> None:
    """With the user's word that there is no other writer, commits go to a store that is refused else."""
    double.flaw = flaw
    store = double.store(unsafe_single_writer=True)
    kb.write_dataset(ROWS, "uuid", store)
    kb.update_dataset(ROWS, "uuid", store)
    assert kb.open_dataset("uuid", store).scan().to_arrow().num_rows == 4
    assert not [one for one in double.requests if {"if-match", "if-none-match"} & set(one.headers)]


def test_a_single_writer_looks_first(double: S3Double, tmp_path: Path) -> None:
    """What another has put before is seen; the option is pickled and does not show."""
    for store in (double.store(unsafe_single_writer=True), Store(tmp_path, unsafe_single_writer=True)):
        store = pickle.loads(pickle.dumps(store))
        store.check_swap()
        first = store.create("k", b"1")
        assert isinstance(first, Swapped)
        assert store.create("k", b"2") == store.replace("k", b"2", "other") == LostRace()
        assert isinstance(store.replace("k", b"3", store.get("k").etag), Swapped)
        assert (store.can_swap, store.unsafe_single_writer, "unsafe" in repr(store)) == (False, True, False)
        WrappedStore(store).check_swap()


def test_a_single_writer_may_be_in_doubt(double: S3Double) -> None:
    """A put without an answer may have been carried out."""
    double.script = lambda request: HANG_UP if request.method == "PUT" else None
    assert isinstance(double.store(unsafe_single_writer=True).create("k", b""), Doubtful)


def test_what_a_killed_trial_left_is_removed(double: S3Double) -> None:
    """Objects on which conditions were tried out are leftovers like others."""
    double.objects[f"/bucket/{PREFIX}abc"] = b"1"
    store = double.store()
    (modified,) = [info.modified for info in store.list(PREFIX)]
    assert store.remove_leftovers(modified) == []
    later = modified.replace(year=modified.year + 1)
    assert store.remove_leftovers(later, dry_run=True) == store.remove_leftovers(later) == [f"{PREFIX}abc"]
    assert double.objects == {}
