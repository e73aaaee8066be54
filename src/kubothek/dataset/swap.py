"""How a header is put in the place of the one it follows, and how the committer finds out whether that took place.

::

    swapped      committed, unless a header in the other format is in its way (``kubothek.dataset.rivals``)
    refused      by whom? pin what is there: ours (a client repeated the request), or a lost race
    no answer    pin what is there: ours, theirs, or unchanged: then swap again, with the very same bytes
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kubothek.codec.keys import deletion_key, is_deletion_key, private_root
from kubothek.dataset.outcome import (
    FIRST_PAUSE,
    TRIES,
    Committed,
    Lost,
    contains,
    etag_of,
    lists_all_since,
    patiently,
    read_back,
    unknown,
)
from kubothek.dataset.rivals import settle_created, settle_hidden
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.errors import ObjectNotFoundError, StoreError
from kubothek.model.staged import ChangeSet
from kubothek.store.interface import LostRace, Store, SwapOutcome, Swapped


def swap(ours: Snapshot, data: bytes, change: ChangeSet, current: Snapshot | None) -> Committed | Lost:
    """Put a header in the place of the current one, and find out whether that took place.

    Parameters
    ----------
    ours
        The dataset as it is to be; it has no tag yet.
    data
        The bytes of its header.
    change
        What it was made by.
    current
        What it was made of, ``None`` where the dataset is to be created.

    Raises
    ------
    StoreError
        The store refused; nothing was committed.
    CommitStateUnknownError
        The store gave no answer, and what is there now does not tell.
    """
    uuid, store = ours.uuid, ours.store
    # Rows may have been staged for hours, and a header in one format does not keep one in the other out.
    if current is None and find_snapshot(uuid, store) is not None:
        return Lost()
    for attempt in range(TRIES):
        try:
            outcome = store.create(ours.key, data) if current is None else store.replace(ours.key, data, current.etag)
        except StoreError as error:
            if attempt == 0:
                raise
            # Refused now, but the request without an answer may still be carried out.
            raise unknown(uuid, change, "then refused another") from error
        settled = _settle(outcome, ours, data, change, current)
        if settled is not None:
            return settled
        store.world.pause(FIRST_PAUSE * 2**attempt)
    raise unknown(uuid, change, f"{TRIES} tries got no answer")


def _settle(
    outcome: SwapOutcome, ours: Snapshot, data: bytes, change: ChangeSet, current: Snapshot | None
) -> Committed | Lost | None:
    """Find out what an answer means, ``None`` where nothing has happened yet."""
    if isinstance(outcome, Swapped):
        return _unhidden(replace(ours, etag=outcome.etag), change, current)
    found = read_back(ours.uuid, ours.store, change)
    if found is not None and contains(found, change, current):
        return Committed(found) if current is not None else settle_created(found, change)
    if found is not None and found.header.format != ours.header.format:
        # Our own first request may have put ours, which readers do not see.
        stored = patiently(
            lambda: ours.store.get_many([ours.key])[0], ours.uuid, change, ours.store.world, "it cannot be read now"
        )
        if stored is not None and stored.data == data:
            return _unhidden(replace(ours, etag=stored.etag), change, current)
    if isinstance(outcome, LostRace) or lists_all_since(found, current):
        return Lost()
    if current is None and found is None and _may_be_deleted(ours, change):
        raise unknown(ours.uuid, change, "the dataset may have been created and deleted since") from outcome.error
    if etag_of(found) != etag_of(current):
        raise unknown(ours.uuid, change, "what is there now does not tell") from outcome.error
    return None


def _unhidden(ours: Snapshot, change: ChangeSet, current: Snapshot | None) -> Committed | Lost:
    """Look whether readers see the header that was just put."""
    if ours.header.format == "msgpack":
        found = read_back(ours.uuid, ours.store, change)
        if found is not None and found.header.format == "json":
            return settle_hidden(ours, found, change, current)
    return Committed(ours) if current is not None else settle_created(ours, change)


def _may_be_deleted(ours: Snapshot, change: ChangeSet) -> bool:
    """Whether a header that is not there may have been, and been deleted with the files that it named.

    A deletion begins with a note and takes it away last. So where there is no note, it is over or has not begun, and
    one of the files tells which.
    """
    store, state, files = ours.store, ours.header.state, [key for part in change.added for key in part.files.values()]

    def look() -> bool:
        notes = [info.key for info in store.list(private_root(ours.uuid)) if is_deletion_key(info.key)]
        notes += [] if state is None else [deletion_key(ours.uuid, state.incarnation)]
        return any(store.get_many(notes)) or not all(map(partial(_is_there, store), files[:1]))

    return patiently(look, ours.uuid, change, store.world, "whether it was deleted cannot be read")


def _is_there(store: Store, key: str) -> bool:
    try:
        store.info(key)
    except ObjectNotFoundError:
        return False
    return True
