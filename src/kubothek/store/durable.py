"""How a file in a directory appears whole and for good, or not at all.

1. Its bytes go to a temporary file of a fresh name under ``_kubothek/.tmp/`` of the same root, hence of the same file
   system. 2. The temporary is fsynced, so that the bytes are on the disk before the name is. 3. It is renamed over its
target (or linked to it, which fails where something is). 4. The target's directory is fsynced, so that the name is on
the disk too: what refers to a file may be written once this has returned. A process that is killed in between leaves
a temporary file, which no listing shows.

Files to which nothing refers yet need not wait for the disk one after the other. They are renamed at once and noted
(:meth:`DurableFiles.owe`); before anything refers to them, all that is owed is brought to the disk side by side
(:meth:`DurableFiles.settle`), which takes a file system about as long as one file.

Directories are made when a rename finds them missing, and again if another process removes them meanwhile because
they were empty.
"""

from __future__ import annotations

import errno
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")

TEMPORARIES = "_kubothek/.tmp/"
LOCKS = "_kubothek/.locks/"
"""The dots keep both apart from ``_kubothek/<uuid>/``: a dataset's name holds none."""

_ATTEMPTS = 20
_THREADS = 16


class DurableFiles:
    """Atomic and durable writes below one root; ``fsync=False`` gives up the durability alone."""

    def __init__(self, root: str, fsync: bool) -> None:
        self.root = root
        self.temporaries = os.path.join(root, TEMPORARIES.rstrip("/"))
        self._fsync = fsync
        self._owed: set[str] = set()
        self._noting, self._settling = threading.Lock(), threading.Lock()

    @contextmanager
    def temporary(self) -> Iterator[str]:
        """Give the path of a new empty file, which is removed at the end unless it was renamed."""
        path = os.path.join(self.temporaries, uuid.uuid4().hex)
        self._with_folder(path, lambda: open(path, "xb").close())
        try:
            yield path
        finally:
            # Not there after a rename. And where it cannot be removed, what was done holds all the same.
            with suppress(OSError):
                os.unlink(path)

    @contextmanager
    def holding(self, data: bytes, *, settled: bool = True) -> Iterator[str]:
        """Give the path of a new temporary file that holds these bytes, on the disk like all that is owed, if asked."""
        with self.temporary() as path:
            with open(path, "wb") as file:
                file.write(data)
            if settled:
                self.settle([path])
            else:
                self.flush(path)
            yield path

    def owe(self, *paths: str) -> None:
        """Note files and folders that are not on the disk yet."""
        if self._fsync:
            with self._noting:
                self._owed.update(paths)

    def settle(self, paths: Iterable[str] = ()) -> None:
        """Bring these files to the disk, and all that is owed; some may have been deleted meanwhile."""
        with self._settling:  # what another thread has begun to bring there must have arrived, too
            with self._noting:
                owed, self._owed = self._owed, set()
            wanted = [*paths, *owed]
            try:
                if len(wanted) < 2:
                    list(map(self._flush_any, wanted))
                else:
                    with ThreadPoolExecutor(min(_THREADS, len(wanted))) as pool:
                        list(pool.map(self._flush_any, wanted))
            except BaseException:
                self.owe(*owed)
                raise

    def rename(self, temporary: str, path: str) -> None:
        """Put a temporary file in its place, whatever is there."""
        self._with_folder(path, lambda: os.replace(temporary, path))

    def link(self, temporary: str, path: str) -> None:
        """Put a temporary file in its place; ``FileExistsError`` where something is."""
        self._with_folder(path, lambda: os.link(temporary, path))

    def open_lock(self, path: str) -> int:
        """Open or make a lock file and return its descriptor."""
        return self._with_folder(path, lambda: os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))

    def flush(self, path: str) -> None:
        """Bring a file to the disk."""
        if self._fsync:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _flush_any(self, path: str) -> None:
        if os.path.isdir(path):
            self.flush_folder(path)
        else:
            with suppress(FileNotFoundError):
                self.flush(path)

    def flush_folder(self, folder: str) -> None:
        """Bring a directory's names to the disk, if it is still there and where its file system can do that."""
        try:
            self.flush(folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that may be absent, then the directories that this emptied, below the root."""
        folders = set()
        for path in paths:
            with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                os.unlink(path)
                folders.add(os.path.dirname(path))
        for folder in {self._remove_empty(folder) for folder in folders}:
            self.flush_folder(folder)

    def _remove_empty(self, folder: str) -> str:
        """Remove a directory and its parents as far as they are empty; return the first that stays."""
        while folder != self.root:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                break
            folder = os.path.dirname(folder)
        return folder

    def _with_folder(self, path: str, act: Callable[[], T]) -> T:
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):
                return act()
            self._make_folder(os.path.dirname(path))
        return act()

    def _make_folder(self, folder: str) -> None:
        if os.path.isdir(folder):
            return
        parent = os.path.dirname(folder)
        self._make_folder(parent)
        with suppress(FileExistsError, FileNotFoundError):
            os.mkdir(folder)
            self.flush_folder(parent)
