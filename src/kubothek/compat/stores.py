"""Which store is meant by what Kartothek took for one: a URL of storefact, a factory, a store object, or one of ours.

storefact and minimalkv name stores by URLs of their own (``hfs://``, ``hs3://``, ``hazure://``); they are translated
into the URL and the options of a :class:`kubothek.Store`. Neither library is needed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

import kubothek as kb
from kubothek.errors import InvalidInputError, ObjectNotFoundError
from kubothek.store.open import open_store

StoreInput = Any
"""A URL, a path, a store of any of the libraries, or a function without arguments that returns one of these."""
StoreFactory = Callable[[], Any]
"""A function without arguments that returns a store."""

_ALWAYS = frozenset({"create_if_missing"})  # a bucket or container must be there, a directory is made when written to
_TUNING = frozenset({"max_connections", "socket_timeout", "max_block_size", "max_single_put_size", "verify"})
_FILES = ("fs", "hfs")
_END_OF_AUTHORITY = re.compile(r"[/?#]")


class KeyValueStore:
    """A store with the verbs of ``simplekv`` that code around Kartothek uses.

    Parameters
    ----------
    store
        Anything that names a store.

    Examples
    --------
    >>> store = KeyValueStore("memory://key_value_store")
    >>> store.put("a/b", b"some bytes")
    'a/b'
    >>> "a/b" in store, store.keys(), store.get("a/b")
    (True, ['a/b'], b'some bytes')
    """

    def __init__(self, store: StoreInput) -> None:
        self.store = as_store(store)

    @property
    def url(self) -> str:
        """Where it is."""
        return self.store.url

    def get(self, key: str) -> bytes:
        """Read an object; ``KeyError`` where there is none."""
        return self.store.get(key).data

    def put(self, key: str, data: bytes) -> str:
        """Write an object and return its key."""
        self.store.put(key, data)
        return key

    def delete(self, key: str) -> None:
        """Delete an object; that there is none is no error."""
        self.store.delete([key])

    def open(self, key: str) -> io.BytesIO:
        """Read an object as a file."""
        return io.BytesIO(self.get(key))

    def iter_keys(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin so."""
        return (info.key for info in self.store.list(prefix))

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys that begin so."""
        return list(self.iter_keys(prefix))

    def iter_prefixes(self, delimiter: str, prefix: str = "") -> Iterator[str]:
        """Yield keys, and beginnings of keys up to the next ``/``."""
        if delimiter != "/":
            raise InvalidInputError(f"Keys can only be listed up to the next '/', not to {delimiter!r}.")
        objects, prefixes = self.store.list_level(prefix)
        yield from sorted([*(info.key for info in objects), *prefixes])

    def __contains__(self, key: str) -> bool:
        try:
            self.store.info(key)
        except ObjectNotFoundError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return self.iter_keys()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyValueStore) and self.store == other.store

    def __hash__(self) -> int:
        return hash(self.store)

    def __repr__(self) -> str:
        return f"KeyValueStore({self.url!r})"


def get_store_from_url(url: str) -> KeyValueStore:
    """Return the store that a URL of storefact names, as ``storefact.get_store_from_url`` does.

    Examples
    --------
    >>> get_store_from_url("hfs:///data/cubes")
    KeyValueStore('file:///data/cubes')
    """
    return KeyValueStore(url)


def ensure_store(store: StoreInput) -> KeyValueStore:
    """Return the store that is meant."""
    return KeyValueStore(store)


def lazy_store(store: StoreInput) -> StoreFactory:
    """Return a function without arguments that returns the store."""
    return store if callable(store) else partial(ensure_store, store)


def as_store(store: StoreInput) -> kb.Store:
    """Return the store of Kubothek that is meant.

    Parameters
    ----------
    store
        A URL of Kubothek or of storefact, a path, a :class:`kubothek.Store`, a function without arguments that returns
        one of these, or an object with a path (``root``, as simplekv's file stores have it) or a ``url``.

    Raises
    ------
    InvalidInputError
        It is none of these, or its URL asks for something that has no equal here.

    Examples
    --------
    >>> as_store(lambda: "hfs:///data/cubes").url, as_store("memory://cubes").url
    ('file:///data/cubes', 'memory://cubes')
    """
    if isinstance(store, KeyValueStore):
        return store.store
    if isinstance(store, str):
        return _from_url(store)
    if isinstance(store, (kb.Store, os.PathLike)):
        return open_store(store)
    if callable(store):
        return as_store(store())
    for attribute in ("root", "url"):
        found = getattr(store, attribute, None)
        if isinstance(found, (str, os.PathLike)):
            return as_store(os.fspath(found))
    raise InvalidInputError(
        f"A store is given as a URL, a path, a Store, or a function that returns one, and this is a "
        f"{type(store).__qualname__}, which tells neither a path (root) nor a url. Pass its URL instead."
    )


def _from_url(url: str) -> kb.Store:
    scheme, _, rest = url.partition("://") if "://" in url else ("", "", "")
    scheme = scheme.lower()
    authority = _END_OF_AUTHORITY.split(rest, maxsplit=1)[0]
    if scheme in _FILES:
        parts = _split(url)
        _check_query(parts, {})
        return kb.Store(unquote(parts.netloc + parts.path))
    if scheme in ("hs3", "hboto", "hs3fs") or (scheme == "s3" and ("@" in authority or ":" in authority)):
        return _s3(_split(url))
    if scheme in ("hazure", "azure"):
        return _azure(_split(url))
    if scheme == "hmemory":
        if not rest:
            raise InvalidInputError("hmemory:// is a new store each time; name one: memory://name.")
        return kb.Store(f"memory://{rest}")
    return open_store(url)


def _split(url: str) -> SplitResult:
    """Return the parts of a URL that may have a secret in it, of which no error shows more than the scheme.

    Raises
    ------
    InvalidInputError
        A secret is not percent-encoded, so that parts of it would be taken for a host, a path or a query.
    """
    scheme, _, rest = url.partition("://")
    user_info = rest.rpartition("@")[0]
    is_file = scheme.lower() in _FILES
    if not is_file and ":" in user_info and any(one in user_info for one in "/#?[]"):
        raise InvalidInputError(
            f"The URL {scheme}://… has one of the characters / # ? [ ] before its last @: percent-encode the secret "
            "(urllib.parse.quote(secret, safe='')), and an @ that comes later as %40."
        )
    try:
        parts = urlsplit(url)
        if not is_file:
            _ = parts.port  # which is checked by being asked for
    except ValueError:
        # Neither the error nor its cause may be shown: both quote the URL.
        raise InvalidInputError(
            f"The URL {scheme}://… cannot be taken apart. It has the form {scheme}://key:secret@host:port/…, with key "
            "and secret percent-encoded."
        ) from None
    return parts


def _s3(parts: SplitResult) -> kb.Store:
    query = _check_query(parts, {"force_bucket_suffix", "region_name", "is_secure"})
    bucket, _, prefix = parts.path.lstrip("/").partition("/")
    if not bucket:
        raise InvalidInputError(
            f"The URL {parts.scheme}://… names no bucket: it has the form {parts.scheme}://key:secret@host:port/bucket."
        )
    key = unquote(parts.username or "")
    if query.get("force_bucket_suffix", "true").lower() == "true" and key:
        suffix = f"-{key.lower()}"  # storefact names buckets after the access key unless it is told not to
        bucket = bucket if bucket.lower().endswith(suffix) else bucket + suffix
    options: dict[str, Any] = {}
    if key:
        options = {"access_key_id": key, "secret_access_key": unquote(parts.password or "")}
    if "region_name" in query:
        options["region"] = query["region_name"]
    host = parts.hostname or ""
    if host and not host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        plain = query.get("is_secure", "").lower() == "false" or parts.port not in (None, 443)
        port = f":{parts.port}" if parts.port else ""
        options |= {"endpoint": f"{'http' if plain else 'https'}://{host}{port}", "allow_http": plain}
    return kb.Store(f"s3://{bucket}/{prefix}".rstrip("/"), **options)


def _azure(parts: SplitResult) -> kb.Store:
    query = _check_query(parts, {"use_sas", "blob_endpoint", "default_endpoints_protocol"})
    container = parts.netloc.rpartition("@")[2]
    if not container or ":" in container:  # with a colon it is an account and its key
        raise InvalidInputError(
            f"The URL {parts.scheme}://… names no container: it has the form {parts.scheme}://account:key@container."
        )
    options: dict[str, Any] = {}
    if parts.username:
        secret = "sas_key" if "use_sas" in query else "account_key"
        options = {"account_name": unquote(parts.username), secret: unquote(parts.password or "")}
    if "blob_endpoint" in query:
        plain = query["blob_endpoint"].startswith("http://")
        options |= {"endpoint": query["blob_endpoint"], **({"allow_http": True} if plain else {})}
    return kb.Store(f"az://{quote(container)}{parts.path}", **options)


def _check_query(parts: SplitResult, known: Iterable[str]) -> dict[str, str]:
    """Return the parameters of a URL; those that only tune the other library's client are left out."""
    query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    unknown = sorted(query.keys() - set(known) - _ALWAYS - _TUNING)
    if unknown or parts.fragment:
        named = ", ".join([*unknown, *([f"#{parts.fragment}"] if parts.fragment else [])])
        if "@" in parts.netloc or ":" in parts.netloc:  # what follows may be the rest of a secret
            named = f"more than {', '.join(sorted({*known, *_ALWAYS}))}"
        raise InvalidInputError(
            f"The URL of the store asks for {named}, which has no equal here. Leave it out, or pass a kubothek.Store "
            "with the options that you need."
        )
    return {name: value for name, value in query.items() if name in known}
