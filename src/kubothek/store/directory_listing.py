"""What lies in a directory, seen as an object store: keys in the order of their text, and no folders.

Others write and delete while this walks, so whatever vanishes between two steps is left out. Symbolic links, our own
temporaries and locks, and names that cannot be part of a key are left out as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime

from kubothek.store.durable import LOCKS, TEMPORARIES
from kubothek.store.interface import Level, ObjectInfo
from kubothek.store.key import is_key

_HIDDEN = {TEMPORARIES, LOCKS}
_PRIVATE = "_kubothek/"
"""The folder of both; it is not shown where it holds nothing else."""


def walk(root: str, folder: str, start: str) -> Iterator[ObjectInfo]:
    """List the files below ``folder`` (``""`` or ending in ``/``) whose next name begins with ``start``, by key."""
    for key, entry in _entries(root, folder, start):
        if key.endswith("/"):
            yield from walk(root, key, "")
        else:
            yield from describe(key, entry)


def level(root: str, folder: str, start: str) -> Level:
    """List the files and the folders in ``folder`` whose name begins with ``start``; an empty folder counts."""
    entries = _entries(root, folder, start)
    objects = [info for key, entry in entries if not key.endswith("/") for info in describe(key, entry)]
    folders = [key for key, _ in entries if key.endswith("/")]
    return objects, [key for key in folders if key != _PRIVATE or _entries(root, key, "")]


def describe(key: str, entry: os.DirEntry[str]) -> Iterator[ObjectInfo]:
    """Give what is known about a file, or nothing if it has vanished."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    yield object_info(key, status)


def object_info(key: str, status: os.stat_result) -> ObjectInfo:
    """Give what a file's status says."""
    return ObjectInfo(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _entries(root: str, folder: str, start: str) -> list[tuple[str, os.DirEntry[str]]]:
    """Files and folders by key; a folder's key ends in ``/``, which puts it where its content belongs in the order."""
    try:
        with os.scandir(os.path.join(root, folder)) as found:
            named = [(_key(folder, entry), entry) for entry in found if entry.name.startswith(start)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(((key, entry) for key, entry in named if key and key not in _HIDDEN), key=lambda pair: pair[0])


def _key(folder: str, entry: os.DirEntry[str]) -> str:
    if not is_key(entry.name):
        return ""
    if entry.is_dir(follow_symlinks=False):
        return f"{folder}{entry.name}/"
    return folder + entry.name if entry.is_file(follow_symlinks=False) else ""
