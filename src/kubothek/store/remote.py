"""S3, Google Cloud Storage and Azure as stores, through the ``obstore`` library.

The conditional writes are the store's own (``If-None-Match``, ``If-Match``, generations). When no answer comes, or an
answer that says nothing (a time-out, a lost connection, a server error), the outcome is *doubtful*: whoever asked must
read again. Only an answer that refuses the condition is a lost race, and only one that refuses the request (no
permission, no such bucket) is an error; :mod:`kubothek.store.refusal` tells them apart.

Keys go over the wire as the literal text that they are, so objects have the names that others gave them.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from kubothek.errors import InvalidInputError, StoreError
from kubothek.store.bulk_delete import delete_all
from kubothek.store.interface import (
    Blob,
    Doubtful,
    Level,
    LostRace,
    ObjectInfo,
    Part,
    Store,
    SwapOutcome,
    Swapped,
    whole_range,
)
from kubothek.store.key import check_key, check_prefix
from kubothek.store.obstore_runtime import FORK_GUARD, hide, load_obstore, obstore_errors, store_error
from kubothek.store.parallel import in_parallel
from kubothek.store.range_file import Sink
from kubothek.store.redaction import redacted, secret_values
from kubothek.store.refusal import is_repeated, no_bucket, verdict
from kubothek.store.remote_options import arranged, option_problems
from kubothek.store.remote_services import Service, all_settings, endpoint, is_providers_own, service_of
from kubothek.store.single_writer import look_and_create, look_and_replace
from kubothek.store.swap_test import PREFIX, check_once

_LIST_CHUNK = 1000
_PART_BYTES = 8 * 1024 * 1024


class RemoteStore(Store, schemes=("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")):
    """An object store behind a network.

    Parameters
    ----------
    url
        ``s3://bucket/prefix``, ``gs://bucket/prefix``, ``az://container/prefix`` and their variants.
    backend
        An ``obstore`` store to use in place of the one that the URL names; takes no options.
    unsafe_single_writer
        See :class:`~kubothek.store.interface.Store`.
    options
        As obstore's ``from_url`` takes them: ``region``, ``endpoint``, ``access_key_id``, ``retry_config``, …; those of
        ``client_options`` (``allow_http``, ``timeout``, …) may also stand beside the others. What is not given comes
        from the environment. What is given, secrets included, is pickled with the store.

    Raises
    ------
    InvalidInputError
        The URL or an option is not one that obstore knows, or options contradict each other.

    Examples
    --------
    >>> RemoteStore("s3://bucket/prefix", region="eu-west-1", timeout="30s")
    RemoteStore('s3://bucket/prefix')
    """

    is_remote = True

    def __init__(
        self, url: str | os.PathLike[str], *, backend: Any = None, unsafe_single_writer: bool = False, **options: Any
    ) -> None:
        text = _checked(os.fspath(url))
        service = service_of(text)
        given = {**options, **({} if backend is None else {"backend": backend})}
        unsafe = {"unsafe_single_writer": True} if unsafe_single_writer else {}
        super().__init__(text, **given, **unsafe)
        self.can_swap, self.unsafe_single_writer = not unsafe_single_writer, unsafe_single_writer
        self._obstore = load_obstore()
        kinds = self._obstore.store
        is_service = backend is None or isinstance(backend, kinds.S3Store | kinds.GCSStore | kinds.AzureStore)
        said = all_settings(backend.config if backend is not None and is_service else options, service, os.environ)
        self._secrets = secret_values(said)
        self._made = self._make(text, given, service) if backend is None else _alone(backend, options)
        # Google compares generations, which the library calls versions.
        self._tag = "version" if isinstance(self._made, kinds.GCSStore) else "e_tag"
        self._is_known = is_service and is_providers_own(said, service)
        self._identity: Hashable = (text, endpoint(said, service)) if backend is None else object()

    def get(self, key: str) -> Blob:
        """See :meth:`Store.get`."""
        with self._calling("get", key) as backend:
            found = backend.get(key)
            return Blob(bytes(found.bytes()), self._etag(found.meta))

    def get_many(self, keys: Iterable[str]) -> list[Blob | None]:
        """See :meth:`Store.get_many`; in parallel."""
        return in_parallel(self._get_or_none, keys)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        if length == 0:
            return b""
        with self._calling("get_range", key) as backend:
            data = bytes(backend.get_range(key, start=start, length=length))
        return whole_range(data, key, start, length)

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """See :meth:`Store.get_part`; where a store cannot count from the end (Azure), the beginning tells the size."""
        wanted = {"suffix": length} if start is None else (start, start + length)
        with self._calling("get_part", key) as backend:
            try:
                found = backend.get(key, options={"range": wanted})
            except self._obstore.exceptions.NotSupportedError:
                found = backend.get(key, options={"range": (0, length)})
                size = found.meta["size"]
                if size > length:
                    found = backend.get(key, options={"range": (size - length, size)})
            return Part(bytes(found.bytes()), found.meta["size"], self._etag(found.meta))

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

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """See :meth:`Store.create`."""
        if self.unsafe_single_writer:
            return look_and_create(self, key, data)
        return self._swap("create", key, data, "create")

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See :meth:`Store.replace`."""
        if self.unsafe_single_writer:
            return look_and_replace(self, key, data, etag)
        if not etag:
            raise StoreError(f"{self.url} gives no tags, so it cannot replace {key!r}.", key=key, operation="replace")
        return self._swap("replace", key, data, {self._tag: etag})

    def check_swap(self) -> None:
        """See :meth:`Store.check_swap`; the providers' own addresses are known to be sound, all others are tried."""
        if not (self.unsafe_single_writer or self._is_known):
            check_once(self, self._identity)

    @contextmanager
    def create_file(self, key: str) -> Iterator[Any]:
        """See :meth:`Store.create_file`; large objects go up in parts, and an error takes these back."""
        with self._calling("create_file", key) as backend:
            writer = self._obstore.open_writer(backend, key, buffer_size=_PART_BYTES)
        try:
            yield pa.PythonFile(Sink(lambda data: self._write(writer, key, data)), mode="w")
        except BaseException as error:
            with suppress(StoreError), obstore_errors("create_file", key, self.url, self._secrets):
                writer.__exit__(type(error), error, None)
            raise
        with self._calling("create_file", key):
            writer.close()

    def delete(self, keys: Iterable[str]) -> None:
        """See :meth:`Store.delete`; in bulk, and one by one where a store stumbles over one of them.

        Raises
        ------
        StoreError
            Some could not be deleted, all others were; ``keys`` names them.
        """
        doomed = [check_key(key) for key in keys]
        FORK_GUARD.enter()
        delete_all(doomed, self._delete_many, self._delete)

    def copy(self, source: str, target: str) -> None:
        """See :meth:`Store.copy`; inside the object store."""
        check_key(target)
        with self._calling("copy", source) as backend:
            backend.copy(source, target)

    def remove_leftovers(self, before: datetime, *, dry_run: bool = False) -> builtins.list[str]:
        """See :meth:`Store.remove_leftovers`: objects on which conditional writes were tried out."""
        found = [info.key for info in self.list(PREFIX) if info.modified < before]
        if not dry_run:
            self.delete(found)
        return found

    def _make(self, url: str, options: dict[str, Any], service: Service) -> Any:
        found = option_problems(url, options, service, os.environ)
        try:
            if not found:
                return self._obstore.store.from_url(url, **arranged(options, service, os.environ))
        except (self._obstore.exceptions.BaseError, ValueError, TypeError, OverflowError) as error:
            found = [hide(error, self._secrets)]
        named = ", ".join(options) or "none"
        text = redacted("; ".join(found), self._secrets)
        raise InvalidInputError(f"{url!r} cannot be opened with the options given ({named}): {text}", url=url)

    @contextmanager
    def _calling(self, operation: str, key: str) -> Iterator[Any]:
        check_key(key)
        with self._entering(operation, key) as backend:
            yield backend

    @contextmanager
    def _entering(self, operation: str, key: str) -> Iterator[Any]:
        FORK_GUARD.enter()
        with obstore_errors(operation, key, self.url, self._secrets):
            yield self._made

    def _swap(self, operation: str, key: str, data: bytes, mode: Any) -> SwapOutcome:
        with self._calling(operation, key) as backend:
            try:
                return Swapped(self._etag(backend.put(key, data, mode=mode)))
            except (self._obstore.exceptions.BaseError, OSError) as error:
                said = verdict(error, self._obstore.exceptions, replacing=operation == "replace")
                if said == "lost":
                    return LostRace(repeated=is_repeated(error))
                failed = store_error(operation, key, self.url, error, self._secrets)
                if said == "doubtful":
                    return Doubtful(failed)
                raise failed from error

    def _walk(self, folder: str, prefix: str) -> Iterator[ObjectInfo]:
        with self._entering("list", prefix) as backend:
            for chunk in backend.list(folder or None, chunk_size=_LIST_CHUNK):
                yield from (self._info(meta) for meta in chunk if meta["path"].startswith(prefix))

    def _write(self, writer: Any, key: str, data: Any) -> None:
        with self._calling("create_file", key):
            writer.write(data)

    def _delete_many(self, keys: Sequence[str]) -> None:
        with self._entering("delete", keys[0]) as backend:
            backend.delete(keys)

    def _delete(self, key: str) -> None:
        with self._calling("delete", key) as backend:
            try:
                backend.delete(key)
            except FileNotFoundError as error:
                if no_bucket(error):
                    raise

    def _info(self, meta: Any) -> ObjectInfo:
        return ObjectInfo(meta["path"], meta["size"], meta["last_modified"])

    def _etag(self, meta: Any) -> str:
        return meta[self._tag] or ""


def _alone(backend: Any, options: dict[str, Any]) -> Any:
    if options:
        raise InvalidInputError(f"A backend has its options already, so {', '.join(options)} would do nothing.")
    return backend


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:  # half of an address in brackets; the URL is not shown, it may hold a password
        raise InvalidInputError(f"This is no URL of a store: {error}.") from error
    if parts.password is not None:
        raise InvalidInputError("A store's URL holds no password; give secrets as options or in the environment.")
    if parts.username is not None and not parts.scheme.startswith("abfs"):
        raise InvalidInputError("A store's URL holds no user; give credentials as options or in the environment.")
    if parts.query or parts.fragment:
        shown = re.split("[?#]", url)[0]
        raise InvalidInputError(
            f"{shown!r} is followed by a part after '?' or '#'. Options go to Store(url, **options); in a prefix write "
            "%3F or %23.",
            url=shown,
        )
    return url.rstrip("/")
