"""The door: what names a store, and what a store is called."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kubothek.errors import InvalidInputError, StoreError
from kubothek.store.directory import DirectoryStore
from kubothek.store.interface import Store
from kubothek.store.memory import MemoryStore
from kubothek.store.open import open_store
from kubothek.store.remote import RemoteStore


@pytest.mark.parametrize(
    ("given", "kind", "url"),
    [
        ("/data", DirectoryStore, "file:///data"),
        ("/data/", DirectoryStore, "file:///data"),
        (Path("/data"), DirectoryStore, "file:///data"),
        ("file:///data", DirectoryStore, "file:///data"),
        ("file:/data", DirectoryStore, "file:///data"),
        ("file://localhost/data", DirectoryStore, "file:///data"),
        ("file:///da%20ta", DirectoryStore, "file:///da%20ta"),
        ("/da ta/50%", DirectoryStore, "file:///da%20ta/50%25"),
        ("/data/p=1", DirectoryStore, "file:///data/p=1"),
        ("memory://x", MemoryStore, "memory://x"),
        ("s3://bucket/prefix/", RemoteStore, "s3://bucket/prefix"),
        ("gs://bucket", RemoteStore, "gs://bucket"),
    ],
)
def test_a_url_gives_the_store_of_its_scheme(given: str | Path, kind: type[Store], url: str) -> None:
    """Texts and paths for the same place give equal stores."""
    store = open_store(given)
    assert (type(store), store.url, repr(store)) == (kind, url, f"{kind.__name__}({url!r})")
    assert store == Store(given)
    assert hash(store) == hash(Store(given))
    assert open_store(store) is store


def test_a_relative_path_is_fixed_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changing the directory later, or in another process, does not move the store."""
    monkeypatch.chdir(tmp_path)
    assert open_store("data") == open_store(tmp_path / "data") != open_store(tmp_path)


@pytest.mark.parametrize("given", ["hdfs://host/data", "ftp://x", 5, None, b"/data"])
def test_what_names_no_store_is_refused(given: object) -> None:
    """An unknown scheme or type is an error that says what would do."""
    with pytest.raises(InvalidInputError, match="s3://"):
        open_store(given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "options"),
    [("/data", {"region": "x"}), ("memory://x", {"region": "x"}), ("s3://b", {"colour": "x"}), ("memory://", {}),
     ("s3://b?region=x", {}), ("s3://id:hunter2@b", {})],
)  # fmt: skip
def test_options_that_nobody_knows_are_refused(url: str, options: dict[str, str]) -> None:
    """An option is never ignored, and neither is one hidden in the URL."""
    with pytest.raises(InvalidInputError) as caught:
        Store(url, **options)
    assert "hunter2" not in str(caught.value)


def test_a_directory_pickles(tmp_path: Path) -> None:
    """A pickled store is the same store, options included."""
    store = pickle.loads(pickle.dumps(Store(tmp_path, fsync=False)))
    store.put("k", b"v")
    assert (store, store._files._fsync) == (Store(tmp_path), False)


def test_secrets_are_pickled_only_if_they_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment holds stays there; nothing secret is ever shown."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "from-environment")
    assert b"from-environment" not in pickle.dumps(Store("s3://bucket"))
    given = Store("s3://bucket", secret_access_key="given")  # noqa: S106 - here to be looked for
    assert b"given" in pickle.dumps(given)
    assert pickle.loads(pickle.dumps(given)) == given
    assert "given" not in repr(given)


def test_memory_does_not_pickle() -> None:
    """Another process would find the store empty, so the error comes where it is sent off."""
    with pytest.raises(StoreError, match="memory://x lives in this process"):
        pickle.dumps(Store("memory://x"))


def test_memory_is_shared_by_name() -> None:
    """Two stores of one name hold the same objects, two names do not."""
    Store("memory://shared").put("k", b"v")
    assert Store("memory://shared").get("k").data == b"v"
    assert Store("memory://other").get_many(["k"]) == [None]
