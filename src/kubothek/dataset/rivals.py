"""Which of two headers holds where two writers create one dataset at the same moment, in two formats.

A header in one format does not keep one in the other out, and readers see the JSON one. So each creator puts its
header first and looks for the other's then; at least one of them finds both. The rule is that **the one that was put
first stays**, and each of these tells that a header was::

    who has put it looked and found no other          it is kept as a version
    somebody has committed on top of it               nobody builds on a header while a rival is there

The other gives way: its creator takes it back and commits on top of the first, or has died, and then whoever comes
next takes it back, after having waited for as long as a live writer may need. Where nothing tells which came first, no
creator has had an answer, and either may go.
"""

from __future__ import annotations

from kubothek.codec.header import decode_header
from kubothek.codec.keys import header_keys
from kubothek.dataset.outcome import FIRST_PAUSE, TRIES, Committed, Lost, contains, patiently, read_back, unknown
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.dataset.versions import is_kept
from kubothek.errors import CorruptDatasetError, StoreError
from kubothek.model.header import Header
from kubothek.model.staged import ChangeSet
from kubothek.plan.apply import CREATION_TIME

_PATIENCE = 2 * TRIES
"""Looks, each after twice as long as the one before: longer than a creator waits for the other."""


def settle_hidden(ours: Snapshot, found: Snapshot, change: ChangeSet, current: Snapshot | None) -> Committed | Lost:
    """Settle who gives way where a JSON header hides the msgpack header that was just put.

    Ours is taken back, but for one that holds what others have committed, hidden by one of a dataset that is just being
    created.
    """
    store = ours.store
    try:
        stored = store.get_many([ours.key])[0]
        if stored is None:
            return _deleted(ours, change, current)
        built_on = current is not None or stored.etag != ours.etag
        if not built_on or not _are_rivals(found.header, ours.header):
            why = f"{ours.key!r}, which gives way to {found.key!r}, cannot be deleted"
            patiently(lambda: store.delete([ours.key]), ours.uuid, change, store.world, why)
            return Committed(found) if contains(found, change, current) else Lost()
        if _waited_in_vain(found, ours.key):
            if _version(found.header) > 1:
                raise unknown(ours.uuid, change, f"{found.key!r}, on which others have committed, is in its way")
            store.delete([found.key])
    except StoreError as error:
        raise unknown(ours.uuid, change, f"whether {found.key!r} is in its way cannot be read") from error
    return Committed(ours)


def _deleted(ours: Snapshot, change: ChangeSet, current: Snapshot | None) -> Committed:
    """Settle what became of a header that was put and is not there any more: what hides it is another dataset's."""
    if current is None:
        raise unknown(ours.uuid, change, f"{ours.key!r} was deleted since")
    return Committed(ours)


def settle_created(ours: Snapshot, change: ChangeSet) -> Committed | Lost:
    """Settle who gives way where a msgpack header is beside the JSON header that has just created the dataset.

    The msgpack writer takes its own back when it finds a JSON header; if its header stays, it looked before ours was
    there, or it has died.
    """
    if ours.header.format == "msgpack":
        return Committed(ours)  # it has looked
    store, other = ours.store, header_keys(ours.uuid)[1]
    why = f"whether {other!r} is in its way cannot be read"
    for attempt in range(TRIES):
        if patiently(lambda: store.get_many([other])[0], ours.uuid, change, store.world, why) is None:
            return Committed(ours)
        store.world.pause(FIRST_PAUSE * 2**attempt)
    found = read_back(ours.uuid, store, change)
    if found is None or not contains(found, change, None):
        return Lost()
    if found.etag != ours.etag:
        return Committed(found)  # somebody has built on it, and saw no other then
    try:
        store.delete([ours.key])
    except StoreError as error:
        raise unknown(ours.uuid, change, f"{other!r}, which another writer created, is in its way") from error
    return Lost()


def settle_rivals(base: Snapshot) -> Snapshot | None:
    """Make sure that a header is not one of two that were created at once, before anybody builds on it.

    Returns
    -------
    Snapshot or None
        The base itself, or what is in its place once the other writer, or this one, has put it right.
    """
    store, key = base.store, header_keys(base.uuid)[1]
    if not base.shadowed or base.header.state is None or (other := _rival(base, key)) is None:
        return base
    if _waited_in_vain(base, key):
        first = base.header.state.version == 1 and (_version(other) > 1 or is_kept(store, other))
        store.delete([base.key if first else key])
    return find_snapshot(base.uuid, store)


def _rival(base: Snapshot, key: str) -> Header | None:
    """Return the header that the base hides, if its dataset is another one."""
    blob = base.store.get_many([key])[0]
    try:
        header = None if blob is None else decode_header(blob.data, key)
    except CorruptDatasetError:  # nobody reads it
        return None
    return header if header is not None and _are_rivals(base.header, header) else None


def _are_rivals(json: Header, msgpack: Header) -> bool:
    """Whether both were made by this library, for two datasets; else one is a leftover, or other software's."""
    times = {header.metadata.get(CREATION_TIME) for header in (json, msgpack)}
    return json.state is not None and msgpack.state is not None and len(times) > 1


def _version(header: Header) -> int:
    return 0 if header.state is None else header.state.version


def _waited_in_vain(seen: Snapshot, key: str) -> bool:
    """Wait until a writer has taken back one of two headers; tell whether nobody did."""
    store = seen.store
    for attempt in range(_PATIENCE):
        if any(blob is None for blob in store.get_many([seen.key, key])):
            return False
        store.world.sleep(FIRST_PAUSE * 2**attempt)
    return True
