"""How a change becomes the next version of a dataset: decide, prepare, swap the header, and know the outcome.

::

    decide     apply the change to the base                                    pure
    prepare    write the merged indices under new keys                         nothing refers to them yet
    swap       replace the header, if it is still the base's                   the commit
       ├─ swapped     copy the schema for other readers, tidy up               done
       ├─ lost race   pin what is there now, check for conflicts               decide again on that
       └─ doubtful    no answer: pin what is there now and look for our id
            ├─ ours         done
            ├─ unchanged    swap again, with the very same bytes
            ├─ others'      their headers list all commits since: a lost race
            └─ else         CommitStateUnknownError, never a guess

Whatever fails or dies before the swap leaves the dataset as it was. A lost race costs new index files but never the
staged data. Readers never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.header import encode_header
from kubothek.codec.keys import check_uuid, header_key, header_keys, schema_key
from kubothek.codec.labels import label_prefixes
from kubothek.codec.schema import encode_schema
from kubothek.dataset.delete_scope import select_deleted
from kubothek.dataset.indices.files import staged_keys, write_indices
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitStateUnknownError,
    CorruptDatasetError,
    InvalidInputError,
    KubothekError,
    NotFoundError,
    StoreError,
)
from kubothek.model.header import Header
from kubothek.model.staged import ChangeSet
from kubothek.plan.apply import CREATION_TIME, NO_LABELS, RECENT_COMMITS, Candidate, apply_change
from kubothek.plan.conflicts import find_conflict
from kubothek.store.interface import LostRace, Store, Swapped
from kubothek.store.world import World

T = TypeVar("T")

_ATTEMPTS = 500
_DOUBTFUL_TRIES = 5
_FIRST_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit did to a dataset: how it was right ``before``, and how it is ``after`` it.

    ``after`` may be a later state that contains the change.
    """

    before: Snapshot | None
    after: Snapshot


@dataclass(frozen=True, slots=True)
class _Committed:
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class _Lost:
    winner: Snapshot | None


def commit(store: Store, uuid: str, change: ChangeSet, base: Snapshot | None) -> Snapshot:
    """Make a change to a dataset, on top of whatever others commit meanwhile.

    Parameters
    ----------
    store
        Where the dataset is, and the staged files of the change.
    uuid
        Name of the dataset.
    change
        What to do. Its staged files are not touched, also when the commit fails.
    base
        The dataset as the change was prepared for it; ``None`` where it did not exist.

    Returns
    -------
    Snapshot
        The dataset with the change, or a later state of it that contains the change.

    Raises
    ------
    CommitConflictError
        Others committed something on which the change cannot be made; nothing was committed.
    CommitStateUnknownError
        The store gave no answer, and what is there now does not tell; staged files may be in use.
    InvalidInputError, NotFoundError, AlreadyExistsError
        The change does not fit the base; nothing was committed.
    """
    return make_commit(store, uuid, change, base).after


def make_commit(store: Store, uuid: str, change: ChangeSet, base: Snapshot | None) -> Commit:
    """Make a change as :func:`commit` does, and tell also what it was made on: others may have come before it."""
    check_uuid(uuid)
    incarnation = store.world.new_id()
    current, unused = base, list[str]()
    try:
        for attempt in range(_ATTEMPTS):
            started = store.world.clock()
            candidate = _decide(uuid, change, base, current, incarnation, started)
            written: list[str] = []
            try:
                ready = _prepare(store, candidate, written, current)
                stale = _first_schemas(store, candidate) if current is None else candidate.changed_tables
                ours = (candidate, change, current)
                outcome = ready if isinstance(ready, _Lost) else _swap(store, ready, *ours)
            except CommitStateUnknownError:
                raise
            except KubothekError:
                unused += written
                raise
            if isinstance(outcome, _Committed):
                _tidy(store, outcome.snapshot, candidate, stale, current)
                return Commit(current, outcome.snapshot)
            unused += written
            current = outcome.winner
            # About as long as one attempt: who waits longer finds that those who just won have won again.
            lost_seconds = (store.world.clock() - started).total_seconds()
            store.world.pause(lost_seconds * (1 + attempt / 8))
    finally:
        if unused:
            with suppress(StoreError):  # nothing refers to them: what is left costs space alone
                store.delete(unused)
    raise CommitConflictError(
        f"'{change.operation}' (commit {change.write_id}) on dataset {uuid!r} lost the race {_ATTEMPTS} times in a "
        "row. Nothing was committed; let fewer writers commit at once.",
        ours=change.write_id,
        theirs=None,
    )


def _decide(
    uuid: str,
    change: ChangeSet,
    base: Snapshot | None,
    current: Snapshot | None,
    incarnation: str,
    time: datetime,
) -> Candidate:
    """Apply the change to the current state; after a lost race every objection is a conflict."""
    now = None if current is None else current.base
    if current is not base:
        conflict = find_conflict(change, None if base is None else base.base, now, uuid)
        if conflict is not None:
            raise CommitConflictError(str(conflict), ours=conflict.ours, theirs=conflict.theirs)
    try:
        return apply_change(
            now,
            change,
            uuid=uuid,
            incarnation=incarnation,
            now=time,
            label_prefixes=label_prefixes,
            deleted=NO_LABELS if current is None or change.overwrite else select_deleted(current, change.delete_scope),
        )
    except (InvalidInputError, NotFoundError, AlreadyExistsError) as error:
        if current is base:
            raise
        theirs = None if current is None or current.header.state is None else current.header.state.commit
        raise CommitConflictError(
            f"'{change.operation}' (commit {change.write_id}) on dataset {uuid!r} lost the race against commit "
            f"{theirs}, and does not fit what that left: {error}",
            ours=change.write_id,
            theirs=theirs,
        ) from error


def _prepare(store: Store, candidate: Candidate, written: list[str], current: Snapshot | None) -> Header | _Lost:
    """Write the new index files and return the header that refers to them."""
    header = candidate.header
    if not candidate.merges:
        return header
    try:
        new = write_indices(store, header.uuid, candidate.merges, store.world.clock(), written)
    except CorruptDatasetError:  # of a base that others have replaced or deleted meanwhile, the files may be gone
        now = find_snapshot(header.uuid, store)
        if _etag(now) == _etag(current):
            raise
        return _Lost(now)
    keys = {**header.indices, **new}
    return replace(header, indices={column: keys[column] for column in candidate.indices})


def _first_schemas(store: Store, candidate: Candidate) -> tuple[str, ...]:
    """Put the schemas of a dataset that is to be created; return the tables for which others did."""
    uuid = candidate.header.uuid
    return tuple(
        table
        for table, schema in candidate.schemas.items()
        if not isinstance(store.create(schema_key(uuid, table), encode_schema(schema)), Swapped)
    )


def _swap(
    store: Store,
    header: Header,
    candidate: Candidate,
    change: ChangeSet,
    current: Snapshot | None,
) -> _Committed | _Lost:
    """Put the header in the place of the current one, and find out whether that took place."""
    key, data = header_key(header.uuid, header.format), encode_header(header)
    if current is None:
        # Rows may have been staged for hours, and a header in one format does not keep one in the other out.
        earlier = find_snapshot(header.uuid, store)
        if earlier is not None:
            return _Lost(earlier)
    for attempt in range(_DOUBTFUL_TRIES):
        try:
            outcome = store.create(key, data) if current is None else store.replace(key, data, current.etag)
        except StoreError as error:
            if attempt == 0:
                raise
            # Refused now, but the request without an answer may still be carried out.
            raise _unknown(header.uuid, change, "then refused another") from error
        if isinstance(outcome, Swapped):
            keys, partitions = header.partition_keys or (), header.partitions
            ours = Snapshot(store, header, outcome.etag, keys, partitions, candidate.schemas)
            if header.format == "msgpack":
                found = _read_back(header.uuid, store, change)
                if found is not None and found.header.format == "json":  # readers do not see ours
                    return _hidden(ours, found, change, current)
            return _Committed(ours) if current is not None else _created(ours, change)
        found = _read_back(header.uuid, store, change)
        if found is not None and _contains(found, change, current):
            return _Committed(found) if current is not None else _created(found, change)
        if isinstance(outcome, LostRace) or _lists_all_since(found, current):
            return _Lost(found)
        if _etag(found) != _etag(current):
            raise _unknown(header.uuid, change, "what is there now does not tell") from outcome.error
        store.world.pause(_FIRST_PAUSE * 2**attempt)
    raise _unknown(header.uuid, change, f"{_DOUBTFUL_TRIES} tries got no answer")


def _hidden(ours: Snapshot, found: Snapshot, change: ChangeSet, current: Snapshot | None) -> _Committed | _Lost:
    """Settle who gives way where a JSON header hides the msgpack header that was just put.

    Ours is taken back, but for one that holds what others have committed, hidden by one of a dataset that is just being
    created: its writer gives way, as :func:`_created` says.
    """
    store, state = ours.store, found.header.state
    times = {one.header.metadata.get(CREATION_TIME) for one in (ours, found)}
    try:
        stored = store.get_many([ours.key])[0]
        built_on = current is not None or (stored is not None and stored.etag != ours.etag)
        if not built_on or state is None or len(times) == 1:
            with suppress(StoreError):
                store.delete([ours.key])
            return _Committed(found) if _contains(found, change, current) else _Lost(found)
        for attempt in range(2 * _DOUBTFUL_TRIES):  # for longer than the other waits for us
            if store.get_many([found.key])[0] is None:
                return _Committed(ours)
            store.world.sleep(_FIRST_PAUSE * 2**attempt)
    except StoreError as error:
        raise _unknown(ours.uuid, change, f"whether {found.key!r} is in its way cannot be read") from error
    raise _unknown(ours.uuid, change, f"{found.key!r}, which another writer created at the same time, is in its way")


def _created(ours: Snapshot, change: ChangeSet) -> _Committed | _Lost:
    """Settle who gives way where another writer created the dataset in the other format at the same moment.

    Each puts its header first and looks for the other's then. The msgpack writer takes its own back when it finds a
    JSON header; if its header stays, it looked before ours was there, and is committed.
    """
    if ours.header.format == "msgpack":
        return _Committed(ours)  # it has looked
    store, other = ours.store, header_keys(ours.uuid)[1]
    why = f"whether {other!r} is in its way cannot be read"
    try:
        for attempt in range(_DOUBTFUL_TRIES):
            if _patiently(lambda: store.get_many([other])[0], ours.uuid, change, store.world, why) is None:
                return _Committed(ours)
            store.world.pause(_FIRST_PAUSE * 2**attempt)
        if _etag(find_snapshot(ours.uuid, store)) == ours.etag:  # nobody has built on it
            store.delete([ours.key])
            return _Lost(find_snapshot(ours.uuid, store))
    except (StoreError, CorruptDatasetError) as error:
        raise _unknown(ours.uuid, change, why) from error
    raise _unknown(ours.uuid, change, f"{other!r}, which another writer created at the same time, is in its way")


def _etag(snapshot: Snapshot | None) -> str | None:
    return None if snapshot is None else snapshot.etag


def _read_back(uuid: str, store: Store, change: ChangeSet) -> Snapshot | None:
    """Pin what is there now; other software does not always write atomically, so a torn header gets another look."""
    return _patiently(lambda: find_snapshot(uuid, store), uuid, change, store.world, "the header cannot be read now")


def _patiently(look: Callable[[], T], uuid: str, change: ChangeSet, world: World, else_: str) -> T:
    """Look at the store after the swap; one request that fails does not make the outcome unknown."""
    for attempt in range(_DOUBTFUL_TRIES):
        try:
            return look()
        except (StoreError, CorruptDatasetError) as error:
            last = error
            world.pause(_FIRST_PAUSE * 2**attempt)
    raise _unknown(uuid, change, else_) from last


def _contains(found: Snapshot, change: ChangeSet, current: Snapshot | None) -> bool:
    """Whether a state contains the change: its id is there or, where ids are not complete, all its partitions.

    Another commit may have brought partitions that were staged by a call of their own, but nothing else of the change.
    """
    state = found.header.state
    if state is not None and change.write_id in state.recent:
        return True
    labels = pa.array([part.label for part in change.added], pa.string())
    if not len(labels) or _lists_all_since(found, current):
        return False
    known = found.partitions["label"].combine_chunks()
    own = pc.equal(label_prefixes(labels), label_prefixes(pa.array([change.write_id]))[0])
    adds_only = not (change.delete_scope or change.remove_labels or change.metadata)
    return bool(pc.all(pc.is_in(labels, value_set=known)).as_py() and (adds_only or pc.all(own).as_py()))


def _lists_all_since(found: Snapshot | None, current: Snapshot | None) -> bool:
    """Whether the ids in a header go back to the base, so that an id that is not among them was not committed."""
    new = None if found is None else found.header.state
    old = None if current is None else current.header.state
    if new is None or old is None or new.incarnation != old.incarnation:
        return False
    return 0 < new.version - old.version <= RECENT_COMMITS


def _unknown(uuid: str, change: ChangeSet, why: str) -> CommitStateUnknownError:
    return CommitStateUnknownError(
        f"Whether '{change.operation}' on dataset {uuid!r} was committed is unknown: the store did not answer the "
        f"request, and {why}. Open the dataset and look whether it has the change (commit {change.write_id}) before "
        "you repeat it; its staged files were left alone.",
        write_id=change.write_id,
    )


def _tidy(
    store: Store, snapshot: Snapshot, candidate: Candidate, stale: Sequence[str], before: Snapshot | None
) -> None:
    """Do what may be done after the commit took place; none of it makes the commit fail."""
    with suppress(StoreError):
        for table in stale:
            store.put(schema_key(snapshot.uuid, table), encode_schema(snapshot.schemas[table]))
        leftovers = staged_keys(candidate.merges)
        if before is not None and before.shadowed:
            leftovers.append(header_keys(snapshot.uuid)[1])
        if leftovers:
            store.delete(leftovers)
