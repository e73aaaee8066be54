"""S3, Google Cloud Storage and Azure as stores, through the ``obstore`` library.

The conditional writes are the store's own (``If-None-Match``, ``If-Match``, generations). When no answer comes, or an
answer that says nothing (a time-out, a lost connection, a server error), the outcome is *doubtful*: whoever asked must
read again. Only an answer that refuses the condition is a lost race, and only one that refuses the request (no
permission, no such bucket) is an error.

Keys go over the wire as the literal text that they are, so objects have the names that others gave them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from kubothek.errors import InvalidInputError, StoreError
from kubothek.store.interface import (
    Blob,
    Doubtful,
    Level,
    LostRace,
    ObjectInfo,
    Store,
    SwapOutcome,
    Swapped,
    whole_range,
)
from kubothek.store.key import check_key, check_prefix
from kubothek.store.obstore_runtime import FORK_GUARD, first_part, load_obstore, obstore_errors, store_error
from kubothek.store.range_file import Sink

T = TypeVar("T")

_THREADS = 16
_LIST_CHUNK = 1000
_PART_BYTES = 8 * 1024 * 1024


class RemoteStore(Store, schemes=("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")):
    """An object store behind a network.

    Parameters
    ----------
    url
        ``s3://bucket/prefix``, ``gs://bucket/prefix``, ``az://container/prefix`` and their variants.
    backend
        An ``obstore`` store to use in place of the one that the URL names.
    options
        As obstore's ``from_url`` takes them: ``region``, ``endpoint``, ``access_key_id``, ``client_options``, ….
        What is not given comes from the environment. What is given, secrets included, is pickled with the store.

    Raises
    ------
    InvalidInputError
        The URL or an option is not one that obstore knows.
    """

    def __init__(self, url: str | os.PathLike[str], *, backend: Any = None, **options: Any) -> None:
        text = _checked(os.fspath(url))
        self._obstore = load_obstore()
        super().__init__(text, **options, **({} if backend is None else {"backend": backend}))
        self._made = backend or self._make(text, options)
        # Google compares generations, which the library calls versions.
        self._tag = "version" if isinstance(self._made, self._obstore.store.GCSStore) else "e_tag"

    def get(self, key: str) -> Blob:
        """See :meth:`Store.get`."""
        with self._calling("get", key) as backend:
            found = backend.get(key)
            return Blob(bytes(found.bytes()), self._etag(found.meta))

    def get_many(self, keys: Iterable[str]) -> list[Blob | None]:
        """See :meth:`Store.get_many`; in parallel."""
        return _in_parallel(self._get_or_none, keys)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        if length == 0:
            return b""
        with self._calling("get_range", key) as backend:
            data = bytes(backend.get_range(key, start=start, length=length))
        return whole_range(data, key, start, length)

    def info(self, key: str) -> ObjectInfo:
        """See :meth:`Store.info`."""
        with self._calling("info", key) as backend:
            return self._info(backend.head(key))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """See :meth:`Store.list`; what begins with the prefix is picked from its folder."""
        return self._walk(check_prefix(prefix), prefix)

    def list_level(self, prefix: str = "") -> Level:
        """See :meth:`Store.list_level`."""
        folder = check_prefix(prefix)
        with self._entering("list_level", prefix) as backend:
            found = backend.list_with_delimiter(folder or None)
        infos = [self._info(meta) for meta in found["objects"] if meta["path"].startswith(prefix)]
        deeper = [f"{path}/" for path in found["common_prefixes"] if path.startswith(prefix)]
        return sorted(infos, key=lambda info: info.key), sorted(deeper)

    def put(self, key: str, data: bytes) -> str:
        """See :meth:`Store.put`."""
        with self._calling("put", key) as backend:
            return self._etag(backend.put(key, data))

    def create(self, key: str, data: bytes) -> SwapOutcome:
        """See :meth:`Store.create`."""
        return self._swap("create", key, data, "create")

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See :meth:`Store.replace`."""
        if not etag:
            raise StoreError(f"{self.url} gives no tags, so it cannot replace {key!r}.", key=key, operation="replace")
        return self._swap("replace", key, data, {self._tag: etag})

    @contextmanager
    def create_file(self, key: str) -> Iterator[Any]:
        """See :meth:`Store.create_file`; large objects go up in parts, and an error takes these back."""
        with self._calling("create_file", key) as backend:
            writer = self._obstore.open_writer(backend, key, buffer_size=_PART_BYTES)
        try:
            yield pa.PythonFile(Sink(lambda data: self._write(writer, key, data)), mode="w")
        except BaseException as error:
            with suppress(StoreError), obstore_errors("create_file", key, self.url):
                writer.__exit__(type(error), error, None)
            raise
        with self._calling("create_file", key):
            writer.close()

    def delete(self, keys: Iterable[str]) -> None:
        """See :meth:`Store.delete`; in bulk, and one by one where a store stumbles over an absent key."""
        doomed = [check_key(key) for key in keys]
        if not doomed:
            return
        with self._calling("delete", doomed[0]) as backend:
            try:
                backend.delete(doomed)
            except FileNotFoundError:
                _in_parallel(self._delete, doomed)

    def copy(self, source: str, target: str) -> None:
        """See :meth:`Store.copy`; inside the object store."""
        check_key(target)
        with self._calling("copy", source) as backend:
            backend.copy(source, target)

    def _make(self, url: str, options: dict[str, Any]) -> Any:
        try:
            return self._obstore.store.from_url(url, **options)
        except (self._obstore.exceptions.BaseError, ValueError, TypeError) as error:
            named = ", ".join(options) or "none"
            raise InvalidInputError(
                f"{url!r} cannot be opened with the options given ({named}): {first_part(error)}", url=url
            ) from error

    @contextmanager
    def _calling(self, operation: str, key: str) -> Iterator[Any]:
        check_key(key)
        with self._entering(operation, key) as backend:
            yield backend

    @contextmanager
    def _entering(self, operation: str, key: str) -> Iterator[Any]:
        FORK_GUARD.enter()
        with obstore_errors(operation, key, self.url):
            yield self._made

    def _swap(self, operation: str, key: str, data: bytes, mode: Any) -> SwapOutcome:
        failures = self._obstore.exceptions
        with self._calling(operation, key) as backend:
            try:
                return Swapped(self._etag(backend.put(key, data, mode=mode)))
            except (failures.AlreadyExistsError, failures.PreconditionError):
                return LostRace()
            except FileNotFoundError as error:
                if operation == "replace":
                    return LostRace()
                raise store_error(operation, key, self.url, error) from error
            except (failures.GenericError, failures.JoinError, TimeoutError, ConnectionError) as error:
                return Doubtful(store_error(operation, key, self.url, error))

    def _walk(self, folder: str, prefix: str) -> Iterator[ObjectInfo]:
        with self._entering("list", prefix) as backend:
            for chunk in backend.list(folder or None, chunk_size=_LIST_CHUNK):
                yield from (self._info(meta) for meta in chunk if meta["path"].startswith(prefix))

    def _write(self, writer: Any, key: str, data: Any) -> None:
        with self._calling("create_file", key):
            writer.write(data)

    def _delete(self, key: str) -> None:
        with self._calling("delete", key) as backend, suppress(FileNotFoundError):
            backend.delete(key)

    def _info(self, meta: Any) -> ObjectInfo:
        return ObjectInfo(meta["path"], meta["size"], meta["last_modified"], meta[self._tag])

    def _etag(self, meta: Any) -> str:
        return meta[self._tag] or ""


def _in_parallel(act: Callable[[str], T], keys: Iterable[str]) -> list[T]:
    wanted = list(keys)
    if len(wanted) < 2:
        return [act(key) for key in wanted]
    with ThreadPoolExecutor(min(_THREADS, len(wanted))) as pool:
        return list(pool.map(act, wanted))


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is not None:
        raise InvalidInputError("A store's URL holds no password; give secrets as options or in the environment.")
    if parts.query or parts.fragment:
        raise InvalidInputError(
            f"{url!r} has a part after '?' or '#'. Options go to Store(url, **options); in a prefix write %3F or %23.",
            url=url,
        )
    return url.rstrip("/")
