"""How do processes that replace the same file of a directory take turns: a lock file and ``flock``.

The kernel gives a lock up when its holder dies, so no lock is ever stale. The lock files stay; but someone may tidy
them away, and then two processes could each hold a lock on "the" file: hence, once locked, the file is compared with
what its name now stands for, and on a difference everything begins anew.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_POLL = 0.001
"""Seconds between two looks at a lock that is not waited for without end."""


@contextmanager
def locked(path: str, open_lock: Callable[[str], int]) -> Iterator[None]:
    """Hold the lock of this path for the length of the context; waits for others, threads included."""
    while True:
        descriptor = open_lock(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                if _is_still(path, descriptor):
                    yield
                    return
            finally:
                # Not by closing alone: a child that was forked meanwhile has a copy of the descriptor.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)


@contextmanager
def queued(path: str, open_lock: Callable[[str], int], seconds: float) -> Iterator[bool]:
    """Hold the lock of this path, but wait no longer than so many seconds for it; give whether there was a wait."""
    descriptor = open_lock(path)
    try:
        ends, waited = time.monotonic() + seconds, False
        while not _try_lock(descriptor) and time.monotonic() < ends:
            waited = True
            time.sleep(_POLL)
        try:
            yield waited
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
