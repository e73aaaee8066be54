"""What a directory promises beyond the verbs: safe from its keys, its links, its rivals and sudden ends."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubothek.errors import InvalidInputError, ObjectNotFoundError, StoreError
from kubothek.store.directory import DirectoryStore
from kubothek.store.interface import Doubtful, LostRace, Store, Swapped


def keys(store: Store) -> list[str]:
    """List all keys."""
    return [info.key for info in store.list()]


def mode_mask() -> int:
    """Give the process's mask for new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_lock_file_that_was_tidied_away_protects_still(tmp_path: Path) -> None:
    """Locks are compared with their names, so removing lock files between swaps lets none of them be lost."""
    store = Store(tmp_path)
    etag = store.put("k", b"1")
    for number in range(3):
        outcome = store.replace("k", b"%d" % number, etag)
        assert isinstance(outcome, Swapped)
        etag = outcome.etag
        for lock in (tmp_path / "_kubothek" / ".locks").iterdir():
            lock.unlink()


def test_a_foreign_write_with_the_same_size_and_time_is_noticed(tmp_path: Path) -> None:
    """The tag is the content's, so that nothing else about the file can deceive."""
    store = Store(tmp_path)
    etag = store.put("k", b"ours")
    status = (tmp_path / "k").stat()
    (tmp_path / "k").write_bytes(b"them")
    os.utime(tmp_path / "k", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert store.replace("k", b"next", etag) == LostRace()


@pytest.mark.parametrize("verb", ["get", "put", "create", "open_file", "info", "local_path", "create_file", "delete"])
def test_links_below_the_root_are_not_followed(tmp_path: Path, verb: str) -> None:
    """A link in the directory leads no key out of it, and what lies behind stays as it was."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "k").write_bytes(b"secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    store = Store(tmp_path / "root")
    acts: dict[str, Callable[[], object]] = {
        "put": lambda: store.put("link/k", b""),
        "create": lambda: store.create("link/new", b""),
        "create_file": lambda: store.create_file("link/k").__enter__(),
        "delete": lambda: store.delete(["link/k"]),
    }
    with pytest.raises(StoreError, match="symbolic link"):
        acts.get(verb, lambda: getattr(store, verb)("link/k"))()
    assert (keys(store), [path.name for path in (tmp_path / "outside").iterdir()]) == ([], ["k"])


def test_a_link_may_lead_to_the_root(tmp_path: Path) -> None:
    """The root itself is the user's word, link or not."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    Store(tmp_path / "link").put("a/k", b"v")
    assert (tmp_path / "real" / "a" / "k").read_bytes() == b"v"
    assert keys(Store(tmp_path / "link")) == ["a/k"]


@pytest.mark.parametrize("key", ["_kubothek/.tmp/x", "_kubothek/.locks", "_kubothek/.locks/x"])
def test_temporaries_and_locks_are_no_objects(tmp_path: Path, key: str) -> None:
    """Nothing can be read, written or deleted where the store keeps its own."""
    with pytest.raises(InvalidInputError):
        Store(tmp_path).put(key, b"")


def test_a_long_name_is_refused_with_its_length(tmp_path: Path) -> None:
    """Bytes count, not characters, and the limit is a segment's."""
    store = Store(tmp_path)
    store.put("/".join(["x" * 255] * 3), b"")
    with pytest.raises(InvalidInputError, match="256 bytes"):
        store.put("p=1/" + "ü" * 128, b"")


def test_a_root_that_is_not_there_reads_as_empty(tmp_path: Path) -> None:
    """Reading makes no directory; writing does."""
    store = Store(tmp_path / "a" / "b")
    assert (keys(store), store.list_level("x"), store.get_many(["k"])) == ([], ([], []), [None])
    store.delete(["k"])
    assert not (tmp_path / "a").exists()
    store.put("k", b"")
    assert keys(store) == ["k"]


def test_folders_are_no_objects(tmp_path: Path) -> None:
    """A folder cannot be read, sized, opened, replaced or deleted, and a file is none."""
    store = Store(tmp_path)
    store.put("a/k", b"v")
    for act in (store.get, store.info, store.open_file):
        for key in ("a", "a/k/x"):
            with pytest.raises(ObjectNotFoundError):
                act(key)
    for key in ("a", "a/k/x"):
        with pytest.raises(StoreError):
            store.put(key, b"")
        store.delete([key])
    assert keys(store) == ["a/k"]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a disk that is full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("verb", ["put", "create", "replace", "create_file", "copy"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, verb: str) -> None:
    """Whatever was half written is gone, and what was there stays."""
    store, big = Store(tmp_path), bytes(300_000)
    store.put("big", big)
    etag = store.put("k", b"1")

    def stream() -> None:
        with store.create_file("new") as file:
            file.write(big)

    acts: dict[str, Callable[[], object]] = {
        "put": lambda: store.put("k", big),
        "create": lambda: store.create("new", big),
        "replace": lambda: store.replace("k", big, etag),
        "create_file": stream,
        "copy": lambda: store.copy("big", "new"),
    }
    with largest_file(100_000), pytest.raises(StoreError, match="File too large"):
        acts[verb]()
    assert (keys(store), store.get("k").data) == (["big", "k"], b"1")
    assert list((tmp_path / "_kubothek" / ".tmp").iterdir()) == []


def test_a_body_fails_with_its_own_error(tmp_path: Path) -> None:
    """What the caller's own code raises while it streams is not about the store."""
    with pytest.raises(FileNotFoundError), Store(tmp_path).create_file("k"):
        (tmp_path / "nothing").read_bytes()


def test_a_file_cannot_be_a_root(tmp_path: Path) -> None:
    """Writing says so; it reads as empty."""
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file")
    with pytest.raises(StoreError, match="Not a directory"):
        store.create("k", b"")
    assert (keys(store), store.get_many(["k"])) == ([], [None])


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    """Writing says so, and reading works."""
    (tmp_path / "k").write_bytes(b"v")
    tmp_path.chmod(0o555)
    with pytest.raises(StoreError, match="Permission denied"):
        Store(tmp_path).put("new", b"")
    with pytest.raises(StoreError, match="left 1 of 1 objects where they are: 'k'"):
        Store(tmp_path).delete(["k"])
    assert Store(tmp_path).get("k").data == b"v"


def test_deleting_goes_on_where_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file that cannot be removed keeps no other, and is named."""
    store = DirectoryStore(tmp_path)
    for key in "abc":
        store.put(key, b"")
    unlink = os.unlink

    def refuse(path: str) -> None:
        if path == str(tmp_path / "b"):
            raise PermissionError(13, "Permission denied")
        unlink(path)

    monkeypatch.setattr("kubothek.store.durable.os.unlink", refuse)
    with pytest.raises(StoreError, match="left 1 of 4 objects") as caught:
        store.delete(["a", "b", "nothing", "c"])
    assert (caught.value.keys, keys(store)) == (("b",), ["b"])


def test_emptied_folders_go(tmp_path: Path) -> None:
    """Deleting the last object of a folder removes it and its parents, never the root."""
    store = Store(tmp_path)
    for key in ("a/b/c/1", "a/b/2"):
        store.put(key, b"")
    store.delete(["a/b/c/1"])
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["2"]
    store.delete(["a/b/2"])
    assert not (tmp_path / "a").exists()
    assert tmp_path.exists()


def test_what_cannot_be_a_key_is_not_listed(tmp_path: Path) -> None:
    """Odd names, links and pipes in the directory do not disturb a listing."""
    (tmp_path / "line\nbreak").touch()
    (tmp_path / os.fsdecode(b"\xff")).touch()
    (tmp_path / "link").symlink_to(tmp_path / "line\nbreak")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "k").touch()
    assert keys(Store(tmp_path)) == ["k"]


def test_listings_are_sorted_by_key(tmp_path: Path) -> None:
    """The order is that of the whole key's text, though folders are walked one by one."""
    store = Store(tmp_path, fsync=False)
    names = ["a", "a-b/c", "a.b", "aa/b", "a b/c/d", "a0", "b/c", "b/d/e", "b.c"]
    for name in names:
        store.put(name, b"")
    assert keys(store) == sorted(names)


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    """Others may read what the process's mask lets them read."""
    (tmp_path / "usual").touch()
    store = Store(tmp_path)
    store.put("put", b"")
    with store.create_file("streamed"):
        pass
    assert {(tmp_path / name).stat().st_mode for name in ("usual", "put", "streamed")} == {0o100666 & ~mode_mask()}


def test_what_need_not_be_durable_has_its_bytes_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for its name, but under its name there is never half of it."""
    store, flushed = DirectoryStore(tmp_path), list[str]()
    store.put("a/first", b"")
    monkeypatch.setattr(store._files, "flush", flushed.append)
    assert isinstance(store.create("a/k", b"v", durable=False), Swapped)
    assert [Path(path).parent.name for path in flushed] == [".tmp"]
    assert isinstance(store.create("a/k", b"w", durable=False), LostRace)


def test_an_error_after_the_swap_is_doubtful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that cannot be brought to the disk leaves open whether the swap will hold."""
    store = DirectoryStore(tmp_path)
    etag = store.put("k", b"old")
    flush = store._files.flush_folder

    def fail(folder: str) -> None:
        if folder == str(tmp_path):
            raise OSError(5, "broken disk")
        flush(folder)

    monkeypatch.setattr(store._files, "flush_folder", fail)
    assert isinstance(store.replace("k", b"new", etag), Doubtful)
    assert isinstance(store.create("k2", b"new"), Doubtful)


def test_an_error_before_the_swap_is_certain(tmp_path: Path) -> None:
    """What cannot be put in place raises, and leaves neither object nor temporary file."""
    store = Store(tmp_path)
    store.put("a", b"a file")
    with pytest.raises(StoreError) as caught:
        store.create("a/b", b"in a file")
    assert (caught.value.key, caught.value.operation) == ("a/b", "create")
    assert list((tmp_path / "_kubothek" / ".tmp").iterdir()) == []


@pytest.mark.parametrize(
    "url", ["file://host/data", "", "a\0b", Path("s3://bucket/x")], ids=["host", "nothing", "nul", "a URL as a path"]
)
def test_what_names_no_directory_is_refused(url: str | Path) -> None:
    """The message comes before anything is made."""
    with pytest.raises(InvalidInputError):
        Store(url)


def test_deleting_waits_for_a_swap(tmp_path: Path) -> None:
    """A delete comes before or after a replacement, so threads that do both never bring an object back."""
    store = Store(tmp_path, fsync=False)
    store.replace("k", b"2", store.put("k", b"1"))
    with ThreadPoolExecutor(2) as pool:
        for _ in range(50):
            etag = store.put("k", b"1")
            swap = pool.submit(store.replace, "k", b"2", etag)
            pool.submit(store.delete, ["k"]).result()
            swap.result()
            assert store.get_many(["k"]) == [None]


def test_folders_may_go_while_files_come(tmp_path: Path) -> None:
    """Writing into a folder that others empty and remove at the same time loses nothing."""
    store = Store(tmp_path, fsync=False)

    def churn(number: int) -> None:
        store.put(f"a/b/{number}", b"")
        with store.create_file(f"a/b/{number}+"):
            pass
        assert isinstance(store.create(f"a/b/{number}-", b""), Swapped)
        store.delete([f"a/b/{number}", f"a/b/{number}+", f"a/b/{number}-"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(churn, range(100)))
    assert keys(store) == []
