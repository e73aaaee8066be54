"""Stores by all that Kartothek took for one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kubothek as kb
from kubothek.compat.core.utils import ensure_store, lazy_store
from kubothek.compat.stores import KeyValueStore, as_store, get_store_from_url
from kubothek.errors import InvalidInputError


@dataclass
class FileStore:
    """A store of another library, which tells where its files are."""

    root: str


S3 = {
    "hs3://key:s%2Fcret@s3.amazonaws.com/bucket?force_bucket_suffix=false": ("s3://bucket", "s/cret", None),
    "hs3://KEY:secret@127.0.0.1:9000/bucket?is_secure=false": ("s3://bucket-key", "secret", "http://127.0.0.1:9000"),
    "hs3://key:secret@store.example/bucket/a/b": ("s3://bucket-key/a/b", "secret", "https://store.example"),
    "s3://key:secret@store.example/bucket-key": ("s3://bucket-key", "secret", "https://store.example"),
}
REFUSED = {
    "hmemory://": "a new store each time",
    "hfs:///data#wrap:readonly": "wrap:readonly",
    "hs3://s3.amazonaws.com/bucket?acl=public": "acl",
    "hs3://key:hidden@s3.amazonaws.com/bucket?hidden=1": "asks for more than",
    "hs3://key:hidden@s3.amazonaws.com/bucket#hidden": "asks for more than",
    **{f"hs3://key:a{one}hidden@host/bucket": "hs3://….*percent-encode the secret" for one in "/#?[]"},
    **{f"s3://key:a{one}hidden@host/bucket": "s3://….*percent-encode the secret" for one in "/#?[]"},
    "hazure://account:a==/hidden@container": "hazure://….*percent-encode the secret",
    "hs3://key:hidden@host:9000/": "no bucket",
    "hs3://key:hidden/bucket": "cannot be taken apart",
    "hs3://key:hidden\u2100@host/bucket": "cannot be taken apart",
    "hazure://account:hidden==@": "no container",
    "hazure://account:hidden==": "cannot be taken apart",
    "hazure://account:123": "no container",
    "redis://localhost": "redis",
}


@pytest.mark.parametrize(
    "given",
    [
        "{path}",
        "hfs://{path}",
        "hfs://{path}?create_if_missing=true",
        partial(get_store_from_url, "hfs://{path}"),
        partial(str, "{path}"),
        FileStore("{path}"),
    ],
    ids=["path", "url", "query", "factory", "factory of a url", "object"],
)
def test_directories(given: Any, tmp_path: Path) -> None:
    """A directory is meant by its path, its URL, a factory, and an object that has a root."""
    path = str(tmp_path)
    if isinstance(given, partial):
        given = partial(given.func, *(argument.format(path=path) for argument in given.args))
    given = FileStore(path) if isinstance(given, FileStore) else given
    found = as_store(given.format(path=path) if isinstance(given, str) else given)
    assert found == kb.Store(tmp_path)


@pytest.mark.parametrize("url", S3)
def test_s3(url: str) -> None:
    """Keys and endpoint become options; the bucket has storefact's suffix unless it is told not to have it."""
    expected, secret, endpoint = S3[url]
    store = as_store(url)
    assert (store.url, store._options["secret_access_key"], store._options.get("endpoint")) == (
        expected,
        secret,
        endpoint,
    )


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("hazure://account:c2VjcmV0@container", {"account_key": "c2VjcmV0"}),
        ("hazure://account:sv%3D1%26sig%3Da@container?use_sas=1&max_connections=2", {"sas_key": "sv=1&sig=a"}),
    ],
    ids=["key", "signature"],
)
def test_azure(url: str, options: dict[str, str]) -> None:
    """Account and key, or shared access signature, become options."""
    store = as_store(url)
    assert (store.url, store._options) == ("az://container", {"account_name": "account", **options})


@pytest.mark.parametrize("url", REFUSED)
def test_what_has_no_equal_is_refused(url: str) -> None:
    """What a URL asks for and nobody would do is an error that says so, and shows nothing of a secret."""
    with pytest.raises(InvalidInputError, match=REFUSED[url]) as caught:
        as_store(url)
    assert ("hidden" in str(caught.value), caught.value.__cause__) == (False, None)


@pytest.mark.parametrize("url", ["s3://bucket/a:b@c", "hs3://host/bucket/a@b"])
def test_signs_in_paths(url: str) -> None:
    """An ``@`` in a path stands for itself where no secret comes before it."""
    assert as_store(url).url == f"s3://bucket/{url.rpartition('/')[2]}"


def test_objects_without_a_place_are_refused() -> None:
    """An object that tells neither path nor URL cannot be opened."""
    with pytest.raises(InvalidInputError, match="Pass its URL instead"):
        as_store({"a": b"1"})


def test_verbs_of_simplekv() -> None:
    """Code that looks into a store finds its verbs."""
    store = ensure_store("memory://compat_verbs")
    store.put("a/x", b"1")
    store.put("b", b"2")
    assert (store.keys(), list(store.iter_prefixes("/")), store.open("b").read()) == (["a/x", "b"], ["a/", "b"], b"2")
    store.delete("b")
    assert ("b" in store, list(store), lazy_store(store)() == KeyValueStore("memory://compat_verbs")) == (
        False,
        ["a/x"],
        True,
    )
