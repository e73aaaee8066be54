"""How a change becomes the next version of a dataset: decide, prepare, keep, swap, and know the outcome.

::

    settle     a header of other software gets the state it should have    pure, but for the versions it follows
    decide     apply the change to the base                                pure
    prepare    write the merged indices under new keys                     nothing refers to them yet
    keep       make sure that the header to be replaced is kept            so that no version is ever missing
    swap       replace the header, if it is still the base's               the commit
       ├─ committed   keep our own header, copy the schema for others, tidy up
       ├─ lost race   wait a random while, pin what is there now, check for conflicts, decide again on that
       └─ unknown     CommitStateUnknownError: nothing is touched

Whatever fails or dies before the swap leaves the dataset as it was. A lost race costs new index files but never the
staged data: values for an index that others have built meanwhile are read from there. Readers never wait. How the
outcome of a swap is known is told in ``kubothek.dataset.swap``. In a directory, writers that know of each other queue
for their attempt (``Store.queue``), which spares work that would be lost; that they do is no condition for anything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kubothek.codec.header import encode_header
from kubothek.codec.keys import check_uuid, header_key, header_keys, schema_key
from kubothek.codec.labels import label_prefixes, label_texts
from kubothek.codec.schema import encode_schema
from kubothek.dataset.delete_scope import select_deleted
from kubothek.dataset.indices.files import staged_keys, write_indices
from kubothek.dataset.indices.read import with_index_values
from kubothek.dataset.outcome import Committed, Lost, contains, etag_of, may_be_deleted, unknown
from kubothek.dataset.rivals import settle_rivals
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.dataset.swap import swap
from kubothek.dataset.turns import needs_turn, request_for, wait_for_turn
from kubothek.dataset.upkeep.schema_copies import missing_schema_copies, put_schema_copies
from kubothek.dataset.versions import adopt, keep_base, keep_version, pin_version
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
from kubothek.plan.apply import NO_LABELS, Candidate, apply_change
from kubothek.plan.conflicts import find_conflict
from kubothek.plan.foreign import is_adopted
from kubothek.plan.next_state import Committer
from kubothek.store.interface import Store
from kubothek.version import __version__

_ATTEMPTS = 500
_DOUBLINGS = 4
"""Of the pause after a lost race, which begins with the time that one attempt takes."""

Rebase = Callable[[ChangeSet, Snapshot, Snapshot], ChangeSet]
"""Makes a change that was prepared for one state of a dataset one that is prepared for a later state."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit did to a dataset: how it was right ``before``, and how it is ``after`` it.

    ``after`` may be a later state that contains the change.
    """

    before: Snapshot | None
    after: Snapshot


def commit(
    store: Store, uuid: str, change: ChangeSet, base: Snapshot | None, *, rebase: Rebase | None = None
) -> Snapshot:
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
    rebase
        Called with the change, the state that it was prepared for, and what others left, after each lost race; returns
        what to do instead. Without, the change is applied again as it is.

    Returns
    -------
    Snapshot
        The dataset with the change, or a later state of it that contains the change. A batch of a streaming query that
        was recorded before is not committed again: its own write id is not among the recent ones then.

    Raises
    ------
    CommitConflictError
        Others committed something on which the change cannot be made; nothing was committed.
    ObjectNotFoundError
        Others built an index, and a staged file that should be in it is gone; nothing was committed.
    CommitStateUnknownError
        The store gave no answer, and what is there now does not tell; staged files may be in use.
    InvalidInputError, NotFoundError, AlreadyExistsError
        The change does not fit the base; nothing was committed.
    """
    return make_commit(store, uuid, change, base, rebase=rebase).after


@dataclass(frozen=True, slots=True)
class _Try:
    """A change that was prepared for ``base``, to be made on ``current``."""

    change: ChangeSet
    base: Snapshot | None
    current: Snapshot | None


@dataclass(slots=True)
class _Course:
    """What attempts have left: files that nobody will refer to, and whether one of them may have been a commit."""

    unused: list[str] = field(default_factory=list)
    may_be_made: bool = False


@dataclass(frozen=True, slots=True)
class _Done:
    """A commit that took place: what the dataset is now, and the header with its bytes that did it."""

    snapshot: Snapshot
    header: Header
    data: bytes


def make_commit(
    store: Store, uuid: str, change: ChangeSet, base: Snapshot | None, *, rebase: Rebase | None = None
) -> Commit:
    """Make a change as :func:`commit` does, and tell also what it was made on: others may have come before it."""
    check_uuid(uuid)
    store.check_swap()
    current = _settled(base, None)
    tried = _Try(change, current if etag_of(current) == etag_of(base) else base, current)
    course = _Course()
    try:
        return _until_settled(store, uuid, tried, rebase, course)
    except CommitStateUnknownError:
        raise
    except KubothekError as error:
        if not course.may_be_made:
            raise
        made = "one attempt may have been a commit that other software replaced"
        raise unknown(uuid, change, f"the next one failed with {type(error).__name__}", answer=made) from error
    finally:
        if course.unused:
            with suppress(StoreError):  # nothing refers to them: what is left costs space alone
                store.delete(course.unused)


def _until_settled(store: Store, uuid: str, tried: _Try, rebase: Rebase | None, course: _Course) -> Commit:
    """Try until the change is made, or cannot be made any more."""
    change, world, incarnation = tried.change, store.world, store.world.new_id()
    for losses in range(_ATTEMPTS):
        with store.queue(header_key(uuid, "json")) as waited:
            if waited:
                tried = _next_try(store, uuid, tried, None, rebase)
            if tried.current is not None and _is_recorded(tried.change, tried.current):
                return Commit(tried.current, tried.current)
            started = world.clock()
            tried = _fitted(uuid, tried)
            candidate = _decide(uuid, tried, Committer(started, world.author(), library(), incarnation))
            outcome = _attempt(store, candidate, tried, course)
        if isinstance(outcome, _Done):
            _finish(outcome, candidate, tried.current)
            return Commit(tried.current, outcome.snapshot)
        seconds = (world.clock() - started).total_seconds()
        world.pause(seconds * 2 ** min(losses, _DOUBLINGS))
        request = request_for(change, seconds, world) if needs_turn(change, losses + 1, seconds) else None
        lost, tried = tried, _next_try(store, uuid, tried, request, rebase)
        # What we have put may have been there, and have given way or been deleted; with what was staged, if deleted.
        if _is_another(lost.current, tried.current) and may_be_deleted(uuid, store, change, incarnation):
            raise CommitConflictError(
                f"'{change.operation}' (commit {change.write_id}) on dataset {uuid!r} met others who deleted the "
                "dataset, maybe with files of this commit. Nothing of it is there; do it again.",
                ours=change.write_id,
                theirs=None,
            )
        # What other software has put names no commits, but is given the names of those that it followed. It may be made
        # of what we have put, though another header of theirs had taken that away when we looked.
        if tried.current is not None and contains(tried.current, lost.change, lost.current):
            return Commit(lost.current, tried.current)
    raise CommitConflictError(
        f"'{change.operation}' (commit {change.write_id}) on dataset {uuid!r} lost the race {_ATTEMPTS} times in a "
        "row. Nothing was committed; let fewer writers commit at once.",
        ours=change.write_id,
        theirs=None,
    )


def _is_another(before: Snapshot | None, now: Snapshot | None) -> bool:
    """Tell whether a dataset was not there at one of two looks, or deleted and created again between them."""
    if before is None or now is None:
        return True
    old, new = before.header.state, now.header.state
    return old is not None and new is not None and old.incarnation != new.incarnation


def library() -> str:
    """Return the name and release of this program, as commits note it."""
    return f"kubothek {__version__}"


def _next_try(store: Store, uuid: str, lost: _Try, request: ChangeSet | None, rebase: Rebase | None) -> _Try:
    """Pin what is there now, since others have come first, and say what is to be done on top of it.

    ``request`` is a commit that makes others wait for us, where that is needed.
    """
    found = find_snapshot(uuid, store)
    if request is None and etag_of(found) == etag_of(lost.current):
        return lost
    winner = _settled(found, lost.current)
    if winner is None or (request is None and rebase is None) or _is_recorded(lost.change, winner):
        return replace(lost, current=winner)
    change = lost.change if rebase is None else replace(lost.change, build_indices={})
    _check_conflict(uuid, _Try(change, lost.base, winner))
    if request is not None:
        winner = commit(store, uuid, request, winner)
    if rebase is None or lost.current is None:
        return replace(lost, current=winner)
    return _Try(rebase(lost.change, lost.current, winner), winner, winner)


def _is_recorded(change: ChangeSet, current: Snapshot) -> bool:
    """Tell whether a change is a batch of a streaming query that the dataset has: it was repeated, or raced itself."""
    state, batch = current.header.state, change.batch
    return batch is not None and state is not None and not state.withdrawn and batch.is_recorded(state.streams)


def _settled(found: Snapshot | None, before: Snapshot | None) -> Snapshot | None:
    """Return what can be committed on: a header that stays, that nobody else has asked for, and that has a state.

    ``before`` is the state on which we lost the race. Where other software won it, a header of ours is kept first: it
    may be the one by which the foreign header is recognised.
    """
    if found is not None:
        found = settle_rivals(found)
    if found is not None:
        found = wait_for_turn(found)
    if found is None or found.header.state is not None:
        return found
    if before is not None and before.header.state is not None and not is_adopted(before.header.state):
        keep_version(before.store, before.header, encode_header(before.header))
    return adopt(found)


def _fitted(uuid: str, tried: _Try) -> _Try:
    """After a lost race, check that the change can be made on what others left, and complete it for their indices."""
    if tried.current is tried.base:
        return tried
    _check_conflict(uuid, tried)
    if tried.current is None:
        return tried
    return replace(tried, change=with_index_values(tried.change, tried.current))


def _decide(uuid: str, tried: _Try, by: Committer) -> Candidate:
    """Apply the change to the current state; after a lost race every objection is a conflict."""
    change, current = tried.change, tried.current
    try:
        return apply_change(
            None if current is None else current.base,
            change,
            uuid=uuid,
            by=by,
            label_prefixes=label_prefixes,
            label_texts=label_texts,
            deleted=NO_LABELS if current is None or change.overwrite else select_deleted(current, change.delete_scope),
        )
    except (InvalidInputError, NotFoundError, AlreadyExistsError) as error:
        if current is tried.base:
            raise
        theirs = None if current is None or current.header.state is None else current.header.state.commit
        raise CommitConflictError(
            f"'{change.operation}' (commit {change.write_id}) on dataset {uuid!r} lost the race against commit "
            f"{theirs}, and does not fit what that left: {error}",
            ours=change.write_id,
            theirs=theirs,
        ) from error


def _check_conflict(uuid: str, tried: _Try) -> None:
    old, new = (None if one is None else one.base for one in (tried.base, tried.current))
    conflict = find_conflict(tried.change, old, new, uuid)
    if conflict is not None:
        raise CommitConflictError(str(conflict), ours=conflict.ours, theirs=conflict.theirs)


def _attempt(store: Store, candidate: Candidate, tried: _Try, course: _Course) -> _Done | Lost:
    """Write what a candidate needs, and swap its header in."""
    written: list[str] = []
    try:
        outcome = _write_and_swap(store, candidate, tried, written)
    except CommitStateUnknownError:
        raise
    except KubothekError:
        course.unused += written
        raise
    if isinstance(outcome, Lost) and outcome.surely:
        course.unused += written
    course.may_be_made |= isinstance(outcome, Lost) and not outcome.surely
    return outcome


def _write_and_swap(store: Store, candidate: Candidate, tried: _Try, written: list[str]) -> _Done | Lost:
    current = tried.current
    header = _prepare(store, candidate, written, current)
    if isinstance(header, Lost):
        return header
    if current is None:
        for table, schema in candidate.schemas.items():
            store.create(schema_key(header.uuid, table), encode_schema(schema))
    elif not keep_base(store, current):
        return Lost()
    data = encode_header(header)
    ours = pin_version(header, store)
    outcome = swap(ours, data, tried.change, current)
    return _Done(outcome.snapshot, header, data) if isinstance(outcome, Committed) else outcome


def _prepare(store: Store, candidate: Candidate, written: list[str], current: Snapshot | None) -> Header | Lost:
    """Write the new index files and return the header that refers to them."""
    header = candidate.header
    if not candidate.merges:
        return header
    try:
        new = write_indices(store, header.uuid, candidate.merges, store.world.clock(), written)
    except CorruptDatasetError:  # of a base that others have replaced or deleted meanwhile, the files may be gone
        now = find_snapshot(header.uuid, store)
        if etag_of(now) == etag_of(current):
            raise
        return Lost()
    keys = {**header.indices, **new}
    return replace(header, indices={column: keys[column] for column in candidate.indices})


def _finish(done: _Done, candidate: Candidate, before: Snapshot | None) -> None:
    """Do what may be done after the commit took place; none of it makes the commit fail."""
    committed, header, data = done.snapshot, done.header, done.data
    store, ours, now = committed.store, header.state, committed.header.state
    with suppress(KubothekError):  # else who replaces it keeps it
        if ours is not None and now is not None and ours.commit in now.recent and ours.incarnation == now.incarnation:
            keep_version(store, header, data)
    with suppress(KubothekError):
        put_schema_copies(
            committed, candidate.changed_tables if before is not None else missing_schema_copies(committed)
        )
    leftovers = staged_keys(candidate.merges)
    if before is not None and before.shadowed:
        leftovers.append(header_keys(committed.uuid)[1])
    if leftovers:
        with suppress(StoreError):
            store.delete(leftovers)
