"""How is the ``obstore`` library entered: late, never after a fork, and with errors that are ours.

obstore runs on threads of its own. A process forked after these have started has none of them and would wait for an
answer for ever, so the first use leaves a hook that runs in forked children, and every later call in one is an error
that says so. Processes that are spawned, and Spark's workers, which are forked before, are not concerned.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kubothek.errors import KubothekError, ObjectNotFoundError, StoreError
from kubothek.store.redaction import redacted
from kubothek.store.refusal import no_bucket

_LONGEST = 2000
"""What stands between may answer with whole pages."""

_READING = {"get", "get_range", "get_part", "info", "copy"}
"""Where that nothing is found is about an object; else about what objects are in."""


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
def obstore_errors(operation: str, key: str, url: str, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Turn what obstore raises into ``ObjectNotFoundError`` (of reading) and ``StoreError``, without these secrets."""
    try:
        yield
    except KubothekError:
        raise
    except (load_obstore().exceptions.BaseError, OSError, ValueError, TypeError, NotImplementedError) as error:
        if isinstance(error, FileNotFoundError) and operation in _READING and not no_bucket(error):
            hide(error, secrets)
            raise ObjectNotFoundError(f"{operation}: there is no object {key!r} in {url}.", key=key) from error
        raise store_error(operation, key, url, error, secrets) from error


def store_error(operation: str, key: str, url: str, error: Exception, secrets: Sequence[str] = ()) -> StoreError:
    """Make the error that says what failed where."""
    text = hide(error, secrets)
    made = StoreError(f"{operation} of {key!r} in {url} failed: {text}", key=key, operation=operation)
    made.__cause__ = error
    return made


def first_part(error: Exception, secrets: Sequence[str] = ()) -> str:
    """Give an error's message without secrets, and without the dump of the library's internals that follows it."""
    text = redacted(str(error).partition("\n\nDebug source")[0], secrets)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def hide(error: Exception, secrets: Sequence[str]) -> str:
    """Take from an error what nobody may see, as tracebacks print the cause of ours too; return its message."""
    error.args = (first_part(error, secrets),)
    return str(error.args[0])
