"""A directory as a store: what object stores promise, on a file system.

Writing is atomic and durable as ``kubothek.store.durable`` says. A file system has no conditional write, so

* ``create`` links a finished temporary file to its name, which the kernel refuses where the name exists;
* ``replace`` takes the key's lock, compares the file's content with the expected tag, and renames. The tag is a digest
  of the content, because times and inode numbers repeat and writers who know nothing of locks replace the file too:
  what they put between our reading and our lock is detected, whatever it looks like from outside.

``put`` and ``delete`` take the lock of a key that was ever replaced, so that they come before or after a swap and
never between its two halves. Symbolic links below the root are not followed: a key never leads out of it.
"""

from __future__ import annotations

import builtins
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from kubothek.errors import InvalidInputError, ObjectNotFoundError, StoreError
from kubothek.store.bulk_delete import delete_all
from kubothek.store.content_tag import content_tag
from kubothek.store.directory_listing import level, object_info, walk
from kubothek.store.directory_lock import locked, queued
from kubothek.store.durable import LOCKS, TEMPORARIES, DurableFiles
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
from kubothek.store.single_writer import look_and_create, look_and_replace

_FILE_URL = re.compile(r"file:(?://([^/]*))?(/.*)", re.IGNORECASE | re.DOTALL)
_OTHER_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NAME_BYTES = 255
_QUEUE_SECONDS = 1.0
"""How long a writer waits for one that prepares a commit; it may have been stopped."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class DirectoryStore(Store, schemes=("file",)):
    """A local directory, given as a path or a ``file://`` URL; made by the first write.

    Parameters
    ----------
    url
        The root. A symbolic link may lead to it.
    fsync
        Whether a write waits for the disk. Without, what was written survives the process but not a power failure.
    unsafe_single_writer
        See :class:`~kubothek.store.interface.Store`; for file systems without hard links or locks.

    Examples
    --------
    >>> DirectoryStore("/data/flights 2013")
    DirectoryStore('file:///data/flights%202013')
    """

    def __init__(
        self, url: str | os.PathLike[str], *, fsync: bool = True, unsafe_single_writer: bool = False, **unknown: Any
    ) -> None:
        if unknown:
            named = ", ".join(unknown)
            raise InvalidInputError(
                f"A directory has the options 'fsync' and 'unsafe_single_writer' only, not {named}.", url=url
            )
        self.root = _root(url)
        path = quote(self.root, errors="surrogateescape", safe="/+=,@:")
        unsafe = {"unsafe_single_writer": True} if unsafe_single_writer else {}
        super().__init__(f"file://{path}", **({} if fsync else {"fsync": False}), **unsafe)
        self.can_swap, self.unsafe_single_writer = not unsafe_single_writer, unsafe_single_writer
        self._files = DurableFiles(self.root, fsync)

    def get(self, key: str) -> Blob:
        """See :meth:`Store.get`."""
        with _read_errors("get", key), open(self._path(key), "rb") as file:
            data = file.read()
        return Blob(data, content_tag(data))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        with _read_errors("get_range", key), open(self._path(key), "rb") as file:
            file.seek(start)
            data = file.read(length)
        return whole_range(data, key, start, length)

    def info(self, key: str) -> ObjectInfo:
        """See :meth:`Store.info`."""
        with _read_errors("info", key):
            status = os.stat(self._path(key), follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise IsADirectoryError(key)
        return object_info(key, status)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """See :meth:`Store.list`; sorted."""
        return self._walk(check_prefix(prefix), prefix)

    def list_level(self, prefix: str = "") -> Level:
        """See :meth:`Store.list_level`; a folder counts though it be empty."""
        folder = check_prefix(prefix)
        with _store_errors("list_level", prefix):
            self._refuse_links(folder)
            return level(self.root, folder, prefix[len(folder) :])

    def open_file(self, key: str, size: int | None = None) -> Any:
        """See :meth:`Store.open_file`."""
        path = self._path(key)
        with _read_errors("open_file", key):
            if os.path.isdir(path):
                raise IsADirectoryError(key)
            return pa.OSFile(path, mode="rb")

    def local_path(self, key: str) -> str | None:
        """See :meth:`Store.local_path`."""
        return self._path(key)

    def put(self, key: str, data: bytes) -> str:
        """See :meth:`Store.put`."""
        path = self._path(key)
        with _store_errors("put", key), self._files.holding(data) as temporary:
            self._publish(key, temporary, path)
            self._files.flush_folder(os.path.dirname(path))
        return content_tag(data)

    def create(self, key: str, data: bytes, *, durable: bool = True) -> SwapOutcome:
        """See :meth:`Store.create`."""
        path = self._path(key)
        if self.unsafe_single_writer:
            return look_and_create(self, key, data)
        with _store_errors("create", key), self._files.holding(data, settled=durable) as temporary:
            try:
                self._files.link(temporary, path)
            except FileExistsError:
                return LostRace()
            if durable:
                return self._settled(key, path, data)
            self._files.owe(os.path.dirname(path))
            return Swapped(content_tag(data))

    def replace(self, key: str, data: bytes, etag: str) -> SwapOutcome:
        """See :meth:`Store.replace`."""
        path = self._path(key)
        if self.unsafe_single_writer:
            return look_and_replace(self, key, data, etag)
        with _store_errors("replace", key):
            if not self._has_tag(key, etag):
                return LostRace()  # without bringing anything to the disk first
            with self._files.holding(data) as temporary:
                with self._lock(key):
                    if not self._has_tag(key, etag):
                        return LostRace()
                    self._files.rename(temporary, path)
                # Others need not wait for the disk: what they put on top of this is not there before this is.
                return self._settled(key, path, data)

    def queue(self, key: str) -> AbstractContextManager[bool]:
        """See :meth:`Store.queue`."""
        return queued(f"{self._lock_file(key)}.queue", self._files.open_lock, _QUEUE_SECONDS)

    @contextmanager
    def create_file(self, key: str) -> Iterator[Any]:
        """See :meth:`Store.create_file`."""
        path = self._path(key)
        with ExitStack() as stack:
            with _store_errors("create_file", key):
                temporary = stack.enter_context(self._files.temporary())
                file = stack.enter_context(pa.OSFile(temporary, mode="wb"))
            with _full_disk("create_file", key):
                yield file
            with _store_errors("create_file", key):
                file.close()
                self._publish(key, temporary, path)
                self._files.owe(path, os.path.dirname(path))

    def flush(self) -> None:
        """See :meth:`Store.flush`."""
        with _store_errors("flush", ""):
            self._files.settle()

    def delete(self, keys: Iterable[str]) -> None:
        """See :meth:`Store.delete`; removes the folders that this empties."""
        paths = {key: self._path(key) for key in keys}

        def delete_some(some: Sequence[str]) -> None:
            with _store_errors("delete", some[0]):
                replaced = set(filter(self._was_replaced, some))
                for key in replaced:
                    with self._lock(key):
                        self._files.remove([paths[key]])
                self._files.remove(paths[key] for key in some if key not in replaced)

        delete_all(list(paths), delete_some, lambda key: delete_some([key]))

    def copy(self, source: str, target: str) -> None:
        """See :meth:`Store.copy`."""
        origin, path = self._path(source), self._path(target)
        with _store_errors("copy", target), self._files.temporary() as temporary:
            with _read_errors("copy", source):
                shutil.copyfile(origin, temporary)
            self._publish(target, temporary, path)
            self._files.owe(path, os.path.dirname(path))

    def remove_leftovers(self, before: datetime, *, dry_run: bool = False) -> builtins.list[str]:
        """See :meth:`Store.remove_leftovers`: temporary files."""
        with _store_errors("remove_leftovers", TEMPORARIES):
            names = [info.key for info in walk(self._files.temporaries, "", "") if info.modified < before]
            if not dry_run:
                self._files.remove(os.path.join(self._files.temporaries, name) for name in names)
        return [TEMPORARIES + name for name in names]

    def _path(self, key: str) -> str:
        check_key(key)
        if f"{key}/".startswith((TEMPORARIES, LOCKS)):
            raise InvalidInputError(f"{key!r} lies where this store keeps its temporaries and locks.", key=key)
        # Most keys are short: one look at all of a key then spares a look at each part.
        for name in () if key.isascii() and len(key) <= _NAME_BYTES else key.split("/"):
            if len(name) > _NAME_BYTES or len(name.encode()) > _NAME_BYTES:
                raise InvalidInputError(
                    f"The part {name!r} of a key has {len(name.encode())} bytes, and a file name at most "
                    f"{_NAME_BYTES}. Shorten it (a partition value, most likely), or use an object store.",
                    key=key,
                )
        self._refuse_links(key)
        return os.path.join(self.root, key)

    def _refuse_links(self, key: str) -> None:
        """Look at each folder of a key and at the key itself.

        Each data file that is read comes by here. Where a folder is not there, nothing below it is a link.
        """
        path = self.root
        for name in key.split("/"):
            path = f"{path}/{name}"
            try:
                linked = stat.S_ISLNK(os.lstat(path).st_mode)
            except (OSError, ValueError):
                return
            if linked:
                raise StoreError(
                    f"{path!r} is a symbolic link, and none is followed below the root {self.root!r}. "
                    "Name its target as a store of its own.",
                    key=key,
                    operation="resolve",
                )

    def _walk(self, folder: str, prefix: str) -> Iterator[ObjectInfo]:
        with _store_errors("list", prefix):
            self._refuse_links(folder)
            yield from walk(self.root, folder, prefix[len(folder) :])

    def _publish(self, key: str, temporary: str, path: str) -> None:
        with self._lock(key) if self._was_replaced(key) else nullcontext():
            self._files.rename(temporary, path)

    def _has_tag(self, key: str, etag: str) -> bool:
        found = self._get_or_none(key)
        return found is not None and found.etag == etag

    def _settled(self, key: str, path: str, data: bytes) -> SwapOutcome:
        try:
            self._files.flush_folder(os.path.dirname(path))
        except OSError as error:
            return Doubtful(_store_error("fsync", key, error))
        return Swapped(content_tag(data))

    def _lock(self, key: str) -> AbstractContextManager[None]:
        return locked(self._lock_file(key), self._files.open_lock)

    def _was_replaced(self, key: str) -> bool:
        return os.path.exists(self._lock_file(key))

    def _lock_file(self, key: str) -> str:
        return os.path.join(self.root, LOCKS, content_tag(key.encode()))


def _root(url: str | os.PathLike[str]) -> str:
    path = os.fsdecode(os.fspath(url))
    if found := _FILE_URL.fullmatch(path):
        if found[1] not in (None, "", "localhost"):
            raise InvalidInputError(f"{path!r} names the host {found[1]!r}; directories are local: file:///…", url=path)
        path = unquote(found[2], errors="surrogateescape")
    elif _OTHER_URL.match(path):
        raise InvalidInputError(f"{path!r} is no directory; give the URL of another store as text, whole.", url=path)
    if not path or re.search("[\0\ud800-\udc7f\udd00-\udfff]", path):  # other surrogates stand for single bytes
        raise InvalidInputError(f"{path!r} is no path of a directory; '.' is the current one.", url=path)
    return os.path.abspath(path)


@contextmanager
def _store_errors(operation: str, key: str) -> Iterator[None]:
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise _store_error(operation, key, error) from error


@contextmanager
def _read_errors(operation: str, key: str) -> Iterator[None]:
    with _store_errors(operation, key):
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise ObjectNotFoundError(f"{operation}: there is no object {key!r}.", key=key) from error


@contextmanager
def _full_disk(operation: str, key: str) -> Iterator[None]:
    """Turn what Arrow raises where a file can grow no more; other errors are the caller's own."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StoreError) or error.errno not in _FULL:
            raise
        raise _store_error(operation, key, error) from error


def _store_error(operation: str, key: str, error: OSError) -> StoreError:
    made = StoreError(f"{operation} of {key!r} failed: {error}", key=key, operation=operation)
    made.__cause__ = error
    return made
