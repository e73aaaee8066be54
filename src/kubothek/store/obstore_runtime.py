"""How is the ``obstore`` library entered: late, never after a fork, and with errors that are ours.

obstore runs on threads of its own. A process forked after these have started has none of them and would wait for an
answer for ever, so the first use leaves a hook that runs in forked children, and every later call in one is an error
that says so. Processes that are spawned, and Spark's workers, which are forked before, are not concerned.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubothek.errors import KubothekError, ObjectNotFoundError, StoreError


class ForkGuard:
    """Remembers whether threads were started, and whether this process was forked after."""

    def __init__(self) -> None:
        self._started = False
        self._forked = False

    def enter(self) -> None:
        """Take note that threads are started now; ``StoreError`` if this process was forked after they were."""
        if self._forked:
            raise StoreError(
                "An object store was used in the parent of this process before the fork, and would hang here. "
                "Start processes with the method 'spawn' or 'forkserver', or fork before the first use.",
                key="",
                operation="fork",
            )
        if not self._started:
            self._started = True
            os.register_at_fork(after_in_child=self._note_fork)

    def _note_fork(self) -> None:
        self._forked = True


FORK_GUARD = ForkGuard()


def load_obstore() -> Any:
    """Import the library, which takes a while and which a directory does not need."""
    import obstore
    import obstore.store

    return obstore


@contextmanager
def obstore_errors(operation: str, key: str, url: str) -> Iterator[None]:
    """Turn what obstore raises into ``ObjectNotFoundError`` and ``StoreError``."""
    try:
        yield
    except KubothekError:
        raise
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"{operation}: there is no object {key!r} in {url}.", key=key) from error
    except (load_obstore().exceptions.BaseError, OSError, ValueError, NotImplementedError) as error:
        raise store_error(operation, key, url, error) from error


def store_error(operation: str, key: str, url: str, error: Exception) -> StoreError:
    """Make the error that says what failed where."""
    made = StoreError(f"{operation} of {key!r} in {url} failed: {first_part(error)}", key=key, operation=operation)
    made.__cause__ = error
    return made


def first_part(error: Exception) -> str:
    """Give an error's message without the dump of the library's internals that follows it."""
    return str(error).partition("\n\nDebug source")[0]
