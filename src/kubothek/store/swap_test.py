"""Does a store keep its word on conditional writes: a rehearsal of what commits do, on an object of its own.

Some servers that speak the language of an object store take the condition and ignore it, so that the last writer wins
and commits vanish; others refuse every update, however right its tag. Both are found out before anything is written:

::

    create            must write, and reading must give the same tag twice
    create again      must not
    replace           with the tag of now must write, and change the tag
    replace again     with the tag of before must not
    delete, replace   must not

An answer that does not come is asked for again; what counts is what is there then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import suppress

from kubothek.errors import StoreError
from kubothek.store.interface import Blob, Doubtful, Store, SwapOutcome, Swapped

PREFIX = "_kubothek/.swap-test/"
"""Where the objects are; the dot keeps them apart from ``_kubothek/<uuid>/``: a dataset's name holds none."""

_TRIES = 3
_PAUSE = 0.1

_IGNORED = "it ignores the condition of a write"
_REFUSED = "it refuses every conditional write"
_UNRELIABLE = "its tags (ETag) cannot be relied on"
_UNSEEN = "it does not show what it said it had written"

_GUARD = threading.Lock()
_LOCKS: dict[Hashable, threading.Lock] = {}
_SOUND: set[Hashable] = set()


def check_once(store: Store, identity: Hashable) -> None:
    """Try out conditional writes unless that was done in this process; others who ask meanwhile wait.

    Raises
    ------
    StoreError
        They do not work, or no clear answer came.
    """
    if identity in _SOUND:
        return
    with _GUARD:
        lock = _LOCKS.setdefault(identity, threading.Lock())
    with lock:
        if identity in _SOUND:
            return
        fault = find_fault(store)
        if fault is not None:
            raise _error(f"{store.url} was tried out before the first commit: {fault}. Commits could be lost there.")
        _SOUND.add(identity)


def find_fault(store: Store) -> str | None:
    """Return what is wrong with a store's conditional writes, ``None`` where nothing is.

    Raises
    ------
    StoreError
        The store refuses writes as such, or gave no clear answer.
    """
    key = PREFIX + store.world.new_id()
    try:
        return _fault(store, key)
    except StoreError as error:
        if isinstance(error.__cause__, NotImplementedError):
            return f"{_REFUSED}: {error}"
        raise
    finally:
        with suppress(StoreError):
            store.delete([key])


def _fault(store: Store, key: str) -> str | None:
    first, outcome = _write(store, key, b"1", lambda: store.create(key, b"1"))
    if first is None:
        return _nothing(outcome, "nothing was there, and yet nothing could be created")
    if not first.etag or store.get(key).etag != first.etag or not _agrees(outcome, first):
        return f"{_UNRELIABLE}: reading an object twice does not give the one that writing gave"
    if _wrote(*_write(store, key, b"2", lambda: store.create(key, b"2"))):
        return f"{_IGNORED}: an object was created where one was"
    second, outcome = _write(store, key, b"3", lambda: store.replace(key, b"3", first.etag))
    if second is None:
        return _nothing(outcome, "an object could not be replaced though its tag was right")
    if second.etag == first.etag or not _agrees(outcome, second):
        return f"{_UNRELIABLE}: an object that was replaced has its old tag, or not the one that writing gave"
    if _wrote(*_write(store, key, b"4", lambda: store.replace(key, b"4", first.etag))):
        return f"{_IGNORED}: an object was replaced by way of a tag that it no longer had"
    store.delete([key])
    if _wrote(*_write(store, key, b"5", lambda: store.replace(key, b"5", second.etag))):
        return f"{_IGNORED}: an object was replaced that had been deleted"
    return None


def _write(store: Store, key: str, data: bytes, act: Callable[[], SwapOutcome]) -> tuple[Blob | None, SwapOutcome]:
    """Write on a condition; return the object if it is there now, and the outcome, which is not in doubt."""
    last: Exception | None = None
    for attempt in range(_TRIES):
        outcome = act()
        (found,) = store.get_many([key])
        if found is not None and found.data == data:
            return found, outcome
        if not isinstance(outcome, Doubtful):
            return None, outcome
        last = outcome.error
        store.world.pause(_PAUSE * 2**attempt)
    raise _error(
        f"Whether commits to {store.url} could be lost was tried out before the first, and {_TRIES} times no clear "
        f"answer came. The last was: {last}"
    )


def _wrote(found: Blob | None, outcome: SwapOutcome) -> bool:
    return found is not None or isinstance(outcome, Swapped)


def _agrees(outcome: SwapOutcome, found: Blob) -> bool:
    return not isinstance(outcome, Swapped) or outcome.etag == found.etag


def _nothing(outcome: SwapOutcome, what: str) -> str:
    return _UNSEEN if isinstance(outcome, Swapped) else f"{_REFUSED}: {what}"


def _error(why: str) -> StoreError:
    return StoreError(
        f"{why} Nothing else was written. Use another store or, if there is never a second writer, "
        "Store(url, unsafe_single_writer=True).",
        key=PREFIX,
        operation="check_swap",
    )
