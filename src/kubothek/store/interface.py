"""What is a store: the verbs that everything above needs of a directory or an object store, and their outcomes.

A store maps keys (see ``kubothek.store.key``) to bytes. Writing is atomic: an object is there whole or not at all.
Two verbs are conditional, because the commit protocol hangs on them: :meth:`Store.create` and :meth:`Store.replace`
write only if nobody came first, and say what happened as a value: :class:`Swapped`, :class:`LostRace` or
:class:`Doubtful`. There are no folders: a prefix is the beginning of a text, as in object stores.

``Store(url)`` gives the subclass for the URL's scheme, as ``pathlib.Path`` gives the one for the system.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import pyarrow as pa

from kubothek.errors import InvalidInputError, ObjectNotFoundError, StoreError
from kubothek.store.range_file import RangeFile
from kubothek.store.world import WORLD, World

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://|(file):/")
_CLASSES: dict[str, type[Store]] = {}


@dataclass(frozen=True, slots=True)
class Blob:
    """An object's bytes and the tag that they had when read; equal tags mean equal bytes."""

    data: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What a listing tells about an object: its size in bytes, and the time of its last change (UTC).

    Not its tag: what a listing tells of one is not always what reading gives.
    """

    key: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of an object, and the size and the tag that the whole of it had then (``""`` for no tag)."""

    data: bytes
    size: int
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Swapped:
    """The conditional write took place; ``etag`` is the tag of what was written."""

    etag: str


@dataclass(frozen=True, slots=True)
class LostRace:
    """The store refused: the condition did not hold, or another request for the same object was under way.

    A client that repeats a request whose answer got lost is refused by its own first try, which may yet be carried out.
    ``repeated`` says that this may be so; then the outcome alone proves neither that the bytes are not ours nor that
    anything has changed. Proxies may repeat a request unseen.
    """

    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Doubtful:
    """No answer: the write took place, did not, or still will. ``error`` is what came instead."""

    error: Exception


SwapOutcome = Swapped | LostRace | Doubtful

Level = tuple[list[ObjectInfo], list[str]]
"""One level of a listing: the objects, and the common prefixes of what lies deeper, each ending in ``/``."""


class Store:
    """A directory or an object store.

    A store is cheap to make, safe to share between threads, equal to another of the same URL, and pickles with
    the options that were given. Credentials from the environment stay there.

    Parameters
    ----------
    url
        Where: ``/data``, ``data``, ``file:///data``, ``memory://name``, ``s3://bucket/prefix``, ``gs://…``, ``az://…``.
        What follows a scheme is percent-decoded, a plain path is taken as it is.
    **options
        Of the subclass; for object stores the names of the ``obstore`` library (``region``, ``endpoint``, …). With
        ``unsafe_single_writer=True``, for a store that cannot write on a condition, :meth:`create` and :meth:`replace`
        look first and write then: between the two another writer's commit is lost unseen, so nobody else may write. Not
        for ``memory://``.

    Examples
    --------
    >>> store = Store("memory://examples")
    >>> etag = store.put("a/b=1", b"old")
    >>> store.replace("a/b=1", b"new", etag) == store.replace("a/b=1", b"newer", etag)
    False
    >>> store.get("a/b=1").data
    b'new'
    """

    url: str
    world: World = WORLD
    """Clock, chance and patience of the process that uses the store."""
    can_swap: bool = True
    """Whether :meth:`create` and :meth:`replace` are safe against other writers."""
    unsafe_single_writer: bool = False
    """Whether the user has promised that there are none."""

    is_remote: bool = False
    """Whether a request costs a round trip, so that it pays to make few of them, and several at once."""

    def __init_subclass__(cls, schemes: Sequence[str] = (), **rest: Any) -> None:
        """Make a subclass the one for these URL schemes."""
        super().__init_subclass__(**rest)
        _CLASSES.update(dict.fromkeys(schemes, cls))

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Make an instance of the class that the URL in ``args`` asks for."""
        kind: Any = _class_for(args[0]) if cls is Store else cls
        made: Self = object.__new__(kind)
        return made

    def __init__(self, url: str | os.PathLike[str], **options: Any) -> None:
        self.url = os.fspath(url)
        self._options = options

    def get(self, key: str) -> Blob:
        """Read a whole object; ``ObjectNotFoundError`` if it is not there."""
        raise NotImplementedError

    def get_many(self, keys: Iterable[str]) -> builtins.list[Blob | None]:
        """Read whole objects, in parallel where that helps; ``None`` for each that is not there."""
        return [self._get_or_none(key) for key in keys]

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read exactly these bytes; ``StoreError`` if it ends before, ``ObjectNotFoundError`` if it is not there."""
        raise NotImplementedError

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """Read so many bytes from ``start``, or the last ones where that is ``None``, and tell about the whole.

        One request where the store can do so. Where the object ends before, there are fewer bytes; where it ends before
        ``start``, a store may raise ``StoreError``. ``ObjectNotFoundError`` if it is not there.
        """
        size = self.info(key).size
        first = max(size - length, 0) if start is None else start
        return Part(self.get_range(key, first, min(length, max(size - first, 0))), size)

    def info(self, key: str) -> ObjectInfo:
        """Tell about an object without reading it; ``ObjectNotFoundError`` if it is not there."""
        raise NotImplementedError

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """List all objects whose key begins with this text; sorted by key where the store does, as it goes along."""
        raise NotImplementedError

    def list_level(self, prefix: str = "") -> Level:
        """List one level: the objects, and what begins further keys up to their next ``/`` (that included); sorted."""
        raise NotImplementedError

    def open_file(self, key: str, size: int | None = None) -> Any:
        """Open for random access, as a ``pyarrow.NativeFile``; with the size known, one request less.

        Where nothing is there, ``ObjectNotFoundError`` comes now, or at the first read if the size was given.
        """
        known = self.info(key).size if size is None else size
        return pa.PythonFile(RangeFile(lambda start, length: self.get_range(key, start, length), known), mode="r")

    def local_path(self, key: str) -> str | None:
        """Give the absolute path where the object is a plain file of this machine, else ``None``."""
        return None

    def put(self, key: str, data: bytes) -> str:
        """Write an object whatever was there, atomically and durably; return its tag."""
        raise NotImplementedError

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """Write an object only if nothing is there. Raises ``StoreError`` only where it surely was not written.

        One that is not ``durable`` may be gone after a power failure, whole, as long as :meth:`flush` has not ended.
        """
        raise NotImplementedError

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """Write an object only if the one there still has this tag. Raises ``StoreError`` as :meth:`create` does."""
        raise NotImplementedError

    def check_swap(self) -> None:
        """Make sure, before anything is written, that no other writer's commit can be lost.

        Where conditional writes are not known to be sound, they are tried out on an object of their own under
        ``_kubothek/.swap-test/``, once per process and store. Reading never asks for this.

        Raises
        ------
        StoreError
            The store cannot write on a condition, or does not keep its word; nothing was written.
        """
        if not self.can_swap and not self.unsafe_single_writer:
            raise StoreError(
                f"{self.url} cannot write on a condition, so commits of two writers could overwrite each other and it "
                "is not written to. Use another store, or, if there is never a second writer, "
                "Store(url, unsafe_single_writer=True).",
                key="",
                operation="check_swap",
            )

    def queue(self, key: str) -> AbstractContextManager[bool]:
        """Wait for other writers that prepare to replace this object, where that is known, and not for long.

        The context gives whether there was a wait, after which the object may be another one. It spares work that
        would lose the race; who does not wait is refused by :meth:`replace`, so nothing else hangs on it.
        """
        return nullcontext(False)

    def create_file(self, key: str) -> AbstractContextManager[Any]:
        """Open for writing as a stream, for large objects: a context that gives a writable ``pyarrow.NativeFile``.

        The object becomes visible when the context ends without an error; after an error nothing of it is left. It
        survives a power failure once :meth:`flush` has ended.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Make what this process has written last for good; :meth:`put`, :meth:`create` and :meth:`replace` do it too.

        Who stages files for a commit of another process calls it at the end. An object store has nothing to do.
        """

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are no error."""
        raise NotImplementedError

    def copy(self, source: str, target: str) -> None:
        """Write the object of one key under another, whatever was there; ``ObjectNotFoundError`` without a source.

        It lasts as one of :meth:`create_file` does.
        """
        raise NotImplementedError

    def remove_leftovers(self, before: datetime, *, dry_run: bool = False) -> builtins.list[str]:
        """Remove what writers that were killed before this time left behind invisibly; return the names."""
        return []

    def _get_or_none(self, key: str) -> Blob | None:
        try:
            return self.get(key)
        except ObjectNotFoundError:
            return None

    def __repr__(self) -> str:
        """Show the URL alone: options may be secrets."""
        return f"{type(self).__name__}({self.url!r})"

    def __eq__(self, other: object) -> bool:
        """Compare by kind and URL."""
        return type(self) is type(other) and self.url == other.url

    def __hash__(self) -> int:
        """Hash the URL."""
        return hash(self.url)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as URL and given options; locks, clients and what the environment said are not part of it."""
        return _rebuild, (type(self), self.url, self._options)


def whole_range(data: bytes, key: str, start: int, length: int) -> bytes:
    """Return what was read as a range of an object; ``StoreError`` if the object ends before the range does."""
    if len(data) != length:
        raise StoreError(
            f"Asked for {length} bytes from {start} of {key!r}, which ends after {len(data)} of them.",
            key=key,
            operation="get_range",
        )
    return data


def _rebuild(kind: type[Store], url: str, options: dict[str, Any]) -> Store:
    return kind(url, **options)


def _class_for(url: str | os.PathLike[str]) -> type[Store]:
    found = _SCHEME.match(url) if isinstance(url, str) else None
    scheme = (found[1] or found[2]).lower() if found else "file"
    if scheme not in _CLASSES:
        known = ", ".join(f"{name}://" for name in sorted(_CLASSES))
        raise InvalidInputError(f"No store for {scheme}:// URLs. Known are {known}, and plain paths.", scheme=scheme)
    return _CLASSES[scheme]
