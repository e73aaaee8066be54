"""What is particular about a store behind a network: no answers, other processes, and the library between."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import obstore.exceptions
import obstore.store
import pytest

from kubothek.errors import ObjectNotFoundError, StoreError
from kubothek.store.interface import Doubtful, LostRace, Store
from kubothek.store.remote import RemoteStore

FORK = """
import os
import obstore.store
from kubothek.errors import StoreError
from kubothek.store.remote import RemoteStore
def fresh():
    return RemoteStore("s3://bucket", backend=obstore.store.MemoryStore())
def child(act):
    if (pid := os.fork()) == 0:
        try:
            act()
        except StoreError as error:
            os._exit(17 if error.operation == "fork" else 1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
unused = fresh()
codes = [child(lambda: unused.put("k", b""))]
store = fresh()
store.put("k", b"v")
file = store.open_file("k")
for act in (lambda: store.get("k"), lambda: list(store.list()), lambda: fresh().put("k", b""), lambda: file.read(1)):
    codes.append(child(act))
print(codes, store.get("k").data)
"""


class Backend:
    """Stands for an obstore store of which every call ends in one error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, verb: str) -> Any:
        def fail(*_: Any, **__: Any) -> None:
            raise self.error

        return fail


def failing(error: Exception) -> Store:
    """Make a store of which every call ends in this error."""
    return RemoteStore("s3://bucket", backend=Backend(error))


def test_a_forked_child_is_told_instead_of_hanging() -> None:
    """After the first use every call in a forked child is an error at once; before it, forking is harmless."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    ran = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, env=env, check=False)
    assert (ran.stdout, ran.stderr) == ("[0, 17, 17, 17, 17] b'v'\n", "")


@pytest.mark.parametrize(
    "error",
    [
        obstore.exceptions.GenericError("timed out"),
        obstore.exceptions.JoinError("gone"),
        TimeoutError(),
        ConnectionResetError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_answer_leaves_a_swap_in_doubt(error: Exception) -> None:
    """Nothing is guessed: the outcome carries what came instead of an answer."""
    for outcome in (failing(error).create("k", b""), failing(error).replace("k", b"", "etag")):
        assert isinstance(outcome, Doubtful)
        assert isinstance(outcome.error, StoreError)
        assert outcome.error.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        obstore.exceptions.PermissionDeniedError("no"),
        obstore.exceptions.UnauthenticatedError("who"),
        NotImplementedError("never"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refused_request_is_an_error(error: Exception) -> None:
    """Where surely nothing was written, a swap raises."""
    for act in (lambda: failing(error).create("k", b""), lambda: failing(error).replace("k", b"", "etag")):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.key == "k"


@pytest.mark.parametrize(
    "error", [obstore.exceptions.AlreadyExistsError("is there"), obstore.exceptions.PreconditionError("changed")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_a_refused_condition_is_a_lost_race(error: Exception) -> None:
    """The store's own word that somebody came first is an outcome, not an error."""
    assert failing(error).create("k", b"") == failing(error).replace("k", b"", "etag") == LostRace()


def test_a_bucket_that_is_not_there_loses_no_race() -> None:
    """Creating where nothing can be is an error; replacing what is gone is a lost race."""
    store = failing(FileNotFoundError("no such bucket"))
    with pytest.raises(StoreError, match="no such bucket"):
        store.create("k", b"")
    assert store.replace("k", b"", "etag") == LostRace()


def test_errors_say_what_failed_where_and_leave_the_dump_out() -> None:
    """Messages are the store's own words without what the library prints for its makers."""
    store = failing(obstore.exceptions.GenericError("It broke.\n\nDebug source:\nGeneric { … }"))
    for verb in (store.get, store.info, lambda key: store.put(key, b""), lambda key: store.get_range(key, 0, 1)):
        with pytest.raises(StoreError, match=r"of 'k' in s3://bucket failed: It broke\.$"):
            verb("k")
    for listing in (lambda: list(store.list()), store.list_level):
        with pytest.raises(StoreError, match=r"It broke\.$"):
            listing()


def test_deleting_goes_on_after_an_absent_key() -> None:
    """Stores that stop a bulk delete at an absent key are asked key by key."""
    backend = obstore.store.MemoryStore()
    gone: list[str] = []

    class Stumbling:
        def delete(self, keys: str | list[str]) -> None:
            if isinstance(keys, list) or keys == "absent":
                raise FileNotFoundError(keys)
            gone.append(keys)

    RemoteStore("az://container", account_name="x", backend=Stumbling()).delete(["a", "absent", "b"])
    assert sorted(gone) == ["a", "b"]
    assert backend.list().collect() == []


def test_an_object_of_known_size_is_missed_at_the_first_read() -> None:
    """Opening with the size asks for nothing, so the absence shows when something is read."""
    file = RemoteStore("s3://bucket", backend=obstore.store.MemoryStore()).open_file("k", 10)
    with pytest.raises(ObjectNotFoundError):
        file.read(1)


def test_without_tags_nothing_is_replaced() -> None:
    """A store that tells no tag cannot compare one."""
    with pytest.raises(StoreError, match="no tags"):
        RemoteStore("s3://bucket", backend=obstore.store.MemoryStore()).replace("k", b"", "")


@pytest.mark.parametrize(("url", "field"), [("s3://b", "e_tag"), ("gs://b", "version"), ("az://c", "e_tag")])
def test_each_store_compares_what_it_can(url: str, field: str) -> None:
    """Google compares generations, the others tags; both are the ``etag`` of a blob here."""
    options = {"account_name": "x"} if url.startswith("az") else {}
    assert RemoteStore(url, **options)._tag == field
