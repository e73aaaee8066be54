"""Which of two headers holds where two writers create one dataset at the same moment, in two formats.

A header in one format does not keep one in the other out, and readers see the JSON one. So each creator puts its
header first and looks for the other's then; at least one of them finds both. The rule is that **the one that was put
first stays**, and each of these tells that a header was::

    who has put it looked and found no other          it is kept as a version
    somebody has committed on top of it               nobody builds on a header while a rival is there

The other gives way: its creator takes it back and commits on top of the first, or has died, and then whoever comes
next takes it back, after having waited for as long as a live writer may need. Where nothing tells which came first, no
creator has had an answer, and either may go.

No store deletes on a condition, so a header is taken back by a swap: one that says that its dataset was withdrawn comes
in its place if it is still the one that was looked at. Whoever has committed on it, or deleted the dataset with the
files that it named, makes that swap fail. A withdrawn JSON header is deleted then, since other software would read it
before the one that holds; nobody builds on it as long as there is a msgpack header, withdrawn or not. That one stays
for the next commit to replace, or to delete with what else is left over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.keys import header_keys
from kubothek.dataset.outcome import FIRST_PAUSE, TRIES, Committed, Lost, contains, may_be_deleted, patiently, unknown
from kubothek.dataset.snapshot import Snapshot, find_snapshot, pin_header
from kubothek.dataset.versions import is_kept
from kubothek.errors import CorruptDatasetError, StoreError
from kubothek.model.header import Header
from kubothek.model.staged import ChangeSet
from kubothek.plan.apply import CREATION_TIME
from kubothek.store.interface import Doubtful, Store, Swapped

_PATIENCE = 2 * TRIES
"""Looks, each after twice as long as the one before: longer than a creator waits for the other."""


def settle_hidden(ours: Snapshot, found: Snapshot, change: ChangeSet, current: Snapshot | None) -> Committed | Lost:
    """Settle who gives way where a JSON header hides the msgpack header that was just put.

    Ours is taken back, but for one that holds what others have committed, hidden by one of a dataset that is just being
    created.
    """
    world, why = ours.store.world, f"{ours.key!r}, which gives way to {found.key!r}, cannot be taken back"
    for attempt in range(TRIES):
        now = patiently(partial(_look, ours), ours.uuid, change, world, why)
        if now is None:
            # What hides a later version that is not there any more is another dataset's.
            return _vanished(ours, change) if current is None else Committed(ours)
        built_on = current is not None or now.etag != ours.etag
        if now.header.is_withdrawn or not built_on or not _are_rivals(found.header, ours.header):
            if patiently(partial(_take_back, now, world.new_id()), ours.uuid, change, world, why):
                return Committed(found) if contains(found, change, current) else Lost()
        elif _clears(found, ours, change):
            return Committed(ours)
        world.pause(FIRST_PAUSE * 2**attempt)
    raise unknown(ours.uuid, change, why)


def _vanished(ours: Snapshot, change: ChangeSet, rival: Snapshot | None = None) -> Lost:
    """Settle what became of a new header that is not there any more: it gave way, or was deleted with its files.

    Where it had no files, a rival tells that was seen beside it: a deletion takes both away before it is over.
    """
    state, why = ours.header.state, f"{ours.key!r} was deleted since"
    deleted = state is None or may_be_deleted(ours.uuid, ours.store, change, state.incarnation)
    if not deleted and not any(part.files for part in change.added):
        deleted = rival is None or patiently(partial(_look, rival), ours.uuid, change, ours.store.world, why) is None
    if deleted:
        raise unknown(ours.uuid, change, why, answer="another writer came in between")
    return Lost()


def _clears(found: Snapshot, ours: Snapshot, change: ChangeSet) -> bool:
    """Wait until a JSON header has given way to ours, or make it; tell whether it has."""
    try:
        if not _waited_in_vain(found, ours):
            now = _look(found)
            return now is None or now.header.is_withdrawn
        if _version(found.header) > 1:
            raise unknown(ours.uuid, change, f"{found.key!r}, on which others have committed, is in its way")
        return _take_back(found, found.store.world.new_id())
    except StoreError as error:
        raise unknown(ours.uuid, change, f"whether {found.key!r} is in its way cannot be read") from error


def settle_created(ours: Snapshot, change: ChangeSet) -> Committed | Lost:
    """Settle who gives way where a msgpack header is beside the JSON header that has just created the dataset.

    The msgpack writer takes its own back when it finds a JSON header; if its header stays, it looked before ours was
    there, or it has died.
    """
    if ours.header.format == "msgpack":
        return Committed(ours)  # it has looked
    store, other = ours.store, header_keys(ours.uuid)[1]
    why = f"whether {other!r} is in its way cannot be read"
    first: Snapshot | None = None
    for attempt in range(TRIES):
        rival = patiently(partial(_beside, ours), ours.uuid, change, store.world, why)
        if rival is None:
            return Committed(ours)
        if first is None and patiently(partial(_look, ours), ours.uuid, change, store.world, why) is None:
            return _vanished(ours, change)
        first = first or rival
        store.world.pause(FIRST_PAUSE * 2**attempt)
    now = patiently(partial(_look, ours), ours.uuid, change, store.world, why)
    if now is None:
        return _vanished(ours, change, first)
    if now.etag != ours.etag and contains(now, change, None):
        return Committed(now)  # somebody has built on it, and saw no other then
    if patiently(partial(_take_back, now, store.world.new_id()), ours.uuid, change, store.world, why):
        return Lost()
    now = patiently(partial(_look, ours), ours.uuid, change, store.world, why)
    if now is None or now.header.is_withdrawn:
        return _vanished(ours, change, first)
    if now.etag != ours.etag and contains(now, change, None):
        return Committed(now)
    raise unknown(ours.uuid, change, f"{other!r}, which another writer created, is in its way")


def settle_rivals(base: Snapshot) -> Snapshot | None:
    """Make sure that a header is not one of two that were created at once, before anybody builds on it.

    A msgpack header may hide that it is one of two: who has seen it looks for a JSON header after it.

    Returns
    -------
    Snapshot or None
        The base itself, or what is in its place once the other writer, or this one, has put it right.
    """
    found: Snapshot | None = base
    for _ in range(TRIES):
        found = found and _in_view(found)
        if found is None or not found.shadowed:
            return found
        rival = _beside(found)
        if rival is None or not _are_rivals(found.header, rival.header):
            return found
        if _waited_in_vain(found, rival):
            later = found if came_first(rival.header, found.header, base.store) else rival
            _take_back(later, base.store.world.new_id())
        found = find_snapshot(base.uuid, base.store)
    return found


def _in_view(seen: Snapshot) -> Snapshot | None:
    """Return what counts, where a JSON header was there before a msgpack one was seen, but was asked for too early.

    The two headers are asked for by two requests; what is put between them is a rival that nobody has seen.
    """
    if seen.header.format == "json" or seen.store.get_many([header_keys(seen.uuid)[0]])[0] is None:
        return seen
    return find_snapshot(seen.uuid, seen.store)


def came_first(msgpack: Header, json: Header, store: Store) -> bool:
    """Tell whether a msgpack header stays, though a JSON header that was created at the same moment hides it."""
    created = _version(json) == 1 and _are_rivals(json, msgpack)
    return created and (_version(msgpack) > 1 or is_kept(store, msgpack))


def _beside(seen: Snapshot) -> Snapshot | None:
    """Return the msgpack header beside a JSON one, if it can be read and was not withdrawn."""
    try:
        found = _look_at(header_keys(seen.uuid)[1], seen.store)
    except CorruptDatasetError:  # nobody reads it
        return None
    return None if found is None or found.header.is_withdrawn else found


def _are_rivals(json: Header, msgpack: Header) -> bool:
    """Whether both were made by this library, for two datasets; else one is a leftover, or other software's."""
    times = {header.metadata.get(CREATION_TIME) for header in (json, msgpack)}
    return json.state is not None and msgpack.state is not None and len(times) > 1


def _version(header: Header) -> int:
    return 0 if header.state is None else header.state.version


def _waited_in_vain(*seen: Snapshot) -> bool:
    """Wait until one of two headers is not what it was; tell whether both are still the same."""
    store = seen[0].store
    for attempt in range(_PATIENCE):
        blobs = store.get_many([one.key for one in seen])
        if any(blob is None or blob.etag != one.etag for blob, one in zip(blobs, seen, strict=True)):
            return False
        store.world.sleep(FIRST_PAUSE * 2**attempt)
    return True


def _look(seen: Snapshot) -> Snapshot | None:
    """Return what is in the place of a header now, ``None`` where its dataset is not there any more."""
    now = _look_at(seen.key, seen.store)
    states = [one.header.state for one in (seen, now) if one is not None and one.header.state is not None]
    return None if now is None or len({state.incarnation for state in states}) > 1 else now


def _look_at(key: str, store: Store) -> Snapshot | None:
    blob = store.get_many([key])[0]
    return None if blob is None else pin_header(decode_header(blob.data, key), blob.etag, store)


def _take_back(seen: Snapshot, write_id: str) -> bool:
    """Withdraw a header if it is still the one that was looked at; tell whether that was so.

    It may be done again with the same id where the store gave no answer.
    """
    store, state = seen.store, seen.header.state
    if state is None:  # other software's
        return False
    if not seen.header.is_withdrawn:
        nothing = seen.partitions.slice(0, 0)
        gone = replace(state, commit=write_id, recent=(write_id,), unique_writes=(), cube_call=None, withdrawn=True)
        header = replace(seen.header, partitions=nothing, indices={}, embedded_indices={}, state=gone)
        data = encode_header(header)
        outcome = store.replace(seen.key, data, seen.etag)
        if not isinstance(outcome, Swapped):
            blob = store.get_many([seen.key])[0]
            if isinstance(outcome, Doubtful) and blob is not None and blob.etag == seen.etag:
                raise outcome.error
            if blob is None or blob.data != data:
                return False
    if seen.header.format == "json":
        with suppress(StoreError):  # garbage then
            store.delete([seen.key])
    return True
