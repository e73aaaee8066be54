"""How does a store without conditional writes create and replace: it looks first, and writes then.

What another writer puts between the two is overwritten, and nobody learns of it. So this is only for a store that the
user has opened with ``unsafe_single_writer=True``. A write without an answer is as doubtful as anywhere.
"""

from __future__ import annotations

from kubothek.errors import StoreError
from kubothek.store.interface import Doubtful, LostRace, Store, SwapOutcome, Swapped


def look_and_create(store: Store, key: str, data: bytes) -> SwapOutcome:
    """Write an object if nothing is there."""
    return LostRace() if store.get_many([key])[0] is not None else _put(store, key, data)


def look_and_replace(store: Store, key: str, data: bytes, etag: str) -> SwapOutcome:
    """Write an object if the one there has this tag."""
    (found,) = store.get_many([key])
    return LostRace() if found is None or found.etag != etag else _put(store, key, data)


def _put(store: Store, key: str, data: bytes) -> SwapOutcome:
    try:
        return Swapped(store.put(key, data))
    except StoreError as error:
        return Doubtful(error)
