"""A store in this process's memory, for tests and examples: ``memory://name``.

All stores of one name share their objects for the life of the process. Other processes, Spark's included, could only
find an empty store under the name, so sending one there is an error at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from kubothek.errors import InvalidInputError, ObjectNotFoundError, StoreError
from kubothek.store.content_tag import content_tag
from kubothek.store.interface import Blob, Level, LostRace, ObjectInfo, Part, Store, SwapOutcome, Swapped, whole_range
from kubothek.store.key import check_key, check_prefix

_SCHEME = "memory://"


@dataclass(frozen=True, slots=True)
class _Object:
    blob: Blob
    modified: datetime


@dataclass(frozen=True, slots=True)
class _Objects:
    by_key: dict[str, _Object] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_NAMED: dict[str, _Objects] = {}


class MemoryStore(Store, schemes=("memory",)):
    """The objects of this process under a name.

    Examples
    --------
    >>> MemoryStore("memory://a").put("k", b"v") == MemoryStore("memory://a").get("k").etag
    True
    """

    def __init__(self, url: str | os.PathLike[str], **unknown: Any) -> None:
        text = os.fspath(url).rstrip("/")
        if unknown or not text.startswith(_SCHEME) or len(text) == len(_SCHEME):
            raise InvalidInputError(f"A store in memory is 'memory://name' without options, not {url!r}.", url=url)
        super().__init__(text)
        self._objects = _NAMED.setdefault(self.url, _Objects())

    def get(self, key: str) -> Blob:
        """See :meth:`Store.get`."""
        return self._object("get", key).blob

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        data = self._object("get_range", key).blob.data[start : start + length]
        return whole_range(data, key, start, length)

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """See :meth:`Store.get_part`."""
        blob = self._object("get_part", key).blob
        first = max(len(blob.data) - length, 0) if start is None else start
        return Part(blob.data[first : first + length], len(blob.data), blob.etag)

    def info(self, key: str) -> ObjectInfo:
        """See :meth:`Store.info`."""
        return _info(key, self._object("info", key))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """See :meth:`Store.list`; sorted, as it is now."""
        check_prefix(prefix)
        with self._objects.lock:
            found = sorted((key, item) for key, item in self._objects.by_key.items() if key.startswith(prefix))
        return (_info(key, item) for key, item in found)

    def list_level(self, prefix: str = "") -> Level:
        """See :meth:`Store.list_level`."""
        start = len(check_prefix(prefix))
        infos = list(self.list(prefix))
        deeper = {info.key[: info.key.index("/", start) + 1] for info in infos if "/" in info.key[start:]}
        return [info for info in infos if "/" not in info.key[start:]], sorted(deeper)

    def open_file(self, key: str, size: int | None = None) -> Any:
        """See :meth:`Store.open_file`."""
        return pa.BufferReader(self._object("open_file", key).blob.data)

    def put(self, key: str, data: bytes) -> str:
        """See :meth:`Store.put`."""
        blob = _blob(data)
        self._swap(key, blob, lambda _: True)
        return blob.etag

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """See :meth:`Store.create`."""
        return self._swap(key, _blob(data), lambda found: found is None)

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See :meth:`Store.replace`."""
        return self._swap(key, _blob(data), lambda found: found is not None and found.blob.etag == etag)

    @contextmanager
    def create_file(self, key: str) -> Iterator[Any]:
        """See :meth:`Store.create_file`."""
        check_key(key)
        sink = pa.BufferOutputStream()
        yield sink
        self.put(key, sink.getvalue().to_pybytes())

    def delete(self, keys: Iterable[str]) -> None:
        """See :meth:`Store.delete`."""
        doomed = [check_key(key) for key in keys]
        with self._objects.lock:
            for key in doomed:
                self._objects.by_key.pop(key, None)

    def copy(self, source: str, target: str) -> None:
        """See :meth:`Store.copy`."""
        check_key(target)
        self.put(target, self._object("copy", source).blob.data)

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to pickle."""
        raise StoreError(
            f"{self.url} lives in this process, and pickling would take it to another, where it is empty. "
            "Use a directory or an object store with Spark and with worker processes.",
            key="",
            operation="pickle",
        )

    def _object(self, operation: str, key: str) -> _Object:
        found = self._objects.by_key.get(check_key(key))
        if found is None:
            raise ObjectNotFoundError(f"{operation}: there is no object {key!r} in {self.url}.", key=key)
        return found

    def _swap(self, key: str, blob: Blob, allowed: Callable[[_Object | None], bool]) -> SwapOutcome:
        check_key(key)
        with self._objects.lock:
            if not allowed(self._objects.by_key.get(key)):
                return LostRace()
            self._objects.by_key[key] = _Object(blob, self.world.clock())
        return Swapped(blob.etag)


def _blob(data: bytes) -> Blob:
    return Blob(bytes(data), content_tag(data))


def _info(key: str, item: _Object) -> ObjectInfo:
    return ObjectInfo(key, len(item.blob.data), item.modified)
