"""What is particular about a store behind a network: no answers, other processes, and the library between."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import obstore.exceptions
import obstore.store
import pytest
from tests.store.s3_double import s3_double

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


PROCESSES = """
import multiprocessing, sys
from kubothek.errors import StoreError
from kubothek.store.interface import Store
def read(store, queue):
    try:
        queue.put(store.get("k").data)
    except StoreError as error:
        queue.put(error.operation)
def read_in(method, store):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=read, args=(store, queue))
    process.start()
    found = queue.get(timeout=50)
    process.join()
    return found
if __name__ == "__main__":
    store = Store("s3://bucket", endpoint=sys.argv[1], allow_http=True, access_key_id="me", secret_access_key="mine")
    store.put("k", b"v")
    print([read_in(method, store) for method in ("fork", "spawn", "forkserver")], store.get("k").data)
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


def test_processes_that_start_anew_read(tmp_path: Path) -> None:
    """A store that was used goes to other processes but for those that are forked, and the parent goes on."""
    script = tmp_path / "processes.py"
    script.write_text(PROCESSES)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    with s3_double() as server:
        command = [sys.executable, str(script), server.url]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, check=False)
    assert (ran.stdout, ran.stderr) == ("['fork', b'v', b'v'] b'v'\n", "")


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
    """The store's own word that somebody came first is an outcome, not an error; if it says no more it may be us."""
    outcomes = [failing(error).create("k", b""), failing(error).replace("k", b"", "etag")]
    assert outcomes == [LostRace(repeated=True)] * 2


def test_a_bucket_that_is_not_there_loses_no_race() -> None:
    """Creating where nothing can be is an error; replacing what is gone is a lost race."""
    store = failing(FileNotFoundError("no such bucket"))
    with pytest.raises(StoreError, match="no such bucket"):
        store.create("k", b"")
    assert isinstance(store.replace("k", b"", "etag"), LostRace)


def test_errors_say_what_failed_where_and_leave_the_dump_out() -> None:
    """Messages are the store's own words without what the library prints for its makers."""
    store = failing(obstore.exceptions.GenericError("It broke.\n\nDebug source:\nGeneric { … }"))
    for verb in (store.get, store.info, lambda key: store.put(key, b""), lambda key: store.get_range(key, 0, 1)):
        with pytest.raises(StoreError, match=r"of 'k' in s3://bucket failed: It broke\.$"):
            verb("k")
    for listing in (lambda: list(store.list()), store.list_level):
        with pytest.raises(StoreError, match=r"It broke\.$"):
            listing()


@pytest.mark.parametrize(("length", "requests"), [(4, 3), (99, 2)], ids=["a part", "all"])
def test_the_end_where_a_store_cannot_count_from_it(length: int, requests: int) -> None:
    """The beginning tells how long an object is, and is all of a small one."""
    backend = obstore.store.MemoryStore()
    asked: list[Any] = []

    class Forwards:
        def get(self, key: str, options: Any) -> Any:
            asked.append(options["range"])
            if isinstance(asked[-1], dict):
                raise obstore.exceptions.NotSupportedError("no suffixes")
            return backend.get(key, options=options)

    backend.put("k", b"0123456789")
    part = RemoteStore("s3://bucket", backend=Forwards()).get_part("k", None, length)
    assert (part.data, part.size, len(asked)) == (b"0123456789"[-length:], 10, requests)


def test_a_long_answer_is_cut() -> None:
    """A proxy's whole page is no message."""
    with pytest.raises(StoreError) as caught:
        failing(obstore.exceptions.GenericError("x" * 100_000)).get("k")
    assert len(str(caught.value)) < 3000


def test_deleting_goes_on_after_an_absent_key() -> None:
    """Stores that stop a bulk delete at an absent key are asked key by key."""
    backend = obstore.store.MemoryStore()
    gone: list[str] = []

    class Stumbling:
        def delete(self, keys: str | list[str]) -> None:
            if isinstance(keys, list) or keys == "absent":
                raise FileNotFoundError(keys)
            gone.append(keys)

    RemoteStore("az://container", backend=Stumbling()).delete(["a", "absent", "b"])
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
