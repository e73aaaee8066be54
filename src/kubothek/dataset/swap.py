"""How a header is put in the place of the one it follows, and how the committer finds out whether that took place.

::

    swapped      committed, unless a header in the other format is in its way (``kubothek.dataset.rivals``)
    refused      by whom? pin what is there: ours (a client repeated the request), theirs: a lost race, or unchanged
    no answer    pin what is there: ours, theirs, or unchanged
    unchanged    swap again, with the very same bytes: a request that was sent before may yet be carried out

A store may refuse though nothing has come first: S3 does while another request for the same object is under way, which
may be our own, sent again by its client. So where a request may have been repeated, nothing but a change of the header
tells that a refused swap is lost.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kubothek.dataset.outcome import (
    FIRST_PAUSE,
    TRIES,
    Committed,
    Lost,
    contains,
    etag_of,
    lists_all_since,
    may_be_deleted,
    may_hide,
    patiently,
    read_back,
    unknown,
)
from kubothek.dataset.rivals import settle_created, settle_hidden
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.dataset.versions import kept_since
from kubothek.errors import StoreError
from kubothek.model.staged import ChangeSet
from kubothek.store.interface import Doubtful, LostRace, SwapOutcome, Swapped

_REFUSALS = 10
"""Tries while the store refuses though nothing has come first: seconds, or minutes where its client repeats each."""


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
    for attempt in range(_REFUSALS):
        # Right before the request: to create what was created and deleted would bring a header back without its files.
        if attempt and current is None and _may_be_deleted(ours, change):
            raise unknown(uuid, change, "the dataset may have been created and deleted since")
        try:
            outcome = store.create(ours.key, data) if current is None else store.replace(ours.key, data, current.etag)
        except StoreError as error:
            if attempt == 0:
                raise
            # Refused now, but an earlier request may still be carried out.
            raise unknown(uuid, change, "then refused another") from error
        settled = _settle(outcome, ours, data, change, current)
        if settled is not None:
            was_sent_once = attempt == 0 and isinstance(outcome, LostRace) and not outcome.repeated
            return Lost() if was_sent_once and isinstance(settled, Lost) else settled
        if isinstance(outcome, Doubtful) and attempt + 1 >= TRIES:
            break
        store.world.pause(FIRST_PAUSE * 2**attempt)
    raise unknown(uuid, change, f"{attempt + 1} tries did not change the header")


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
        if isinstance(outcome, LostRace) and (None if stored is None else stored.etag) == etag_of(current):
            return None
    if etag_of(found) == etag_of(current):
        return None
    if isinstance(outcome, LostRace) or lists_all_since(found, current):
        if found is None or not may_hide(found, current):
            return Lost()
        took_place = partial(_is_below, found, change, current)
        why = "what was there before cannot be read"
        below = patiently(took_place, ours.uuid, change, ours.store.world, why)
        return Committed(found) if below else Lost(surely=False)
    raise unknown(ours.uuid, change, "what is there now does not tell") from outcome.error


def _may_be_deleted(ours: Snapshot, change: ChangeSet) -> bool:
    state = ours.header.state
    return state is not None and may_be_deleted(ours.uuid, ours.store, change, state.incarnation)


def _is_below(found: Snapshot, change: ChangeSet, current: Snapshot | None) -> bool:
    """Whether a version that came after the base contains the change: others have built on it, and then removed it."""
    state = None if current is None else current.header.state
    later = kept_since(found.uuid, found.store, 0 if state is None else state.version)
    return any(contains(one, change, current) for one in later)


def _unhidden(ours: Snapshot, change: ChangeSet, current: Snapshot | None) -> Committed | Lost:
    """Look whether readers see the header that was just put."""
    if ours.header.format == "msgpack":
        found = read_back(ours.uuid, ours.store, change)
        if found is not None and found.header.format == "json":
            return settle_hidden(ours, found, change, current)
    return Committed(ours) if current is not None else settle_created(ours, change)
