"""How do processes that replace the same file of a directory take turns: a lock file and ``flock``.

The kernel gives a lock up when its holder dies, so no lock is ever stale. The lock files stay; but someone may tidy
them away, and then two processes could each hold a lock on "the" file: hence, once locked, the file is compared with
what its name now stands for, and on a difference everything begins anew.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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


def _is_still(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
