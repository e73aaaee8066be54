"""Which version of a dataset is meant, by its number, its time or its commit, and the snapshot of it.

The header says what is current, which incarnation of the dataset that belongs to, and from which version on files are
still there; versions before the current one are read from the copies of their headers (``kubothek.dataset.versions``).
A snapshot of an old version can be read like any other. No commit can be made on it, since it has no tag.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.dataset.versions import adopt, list_versions, load_kept, pin_version, stored_at
from kubothek.errors import InvalidInputError, NotFoundError, SnapshotExpiredError
from kubothek.model.header import CommitState
from kubothek.model.history import UNKNOWN_TIME, KeptVersion
from kubothek.store.interface import Store


def load_snapshot_at(uuid: str, store: Store, at: int | datetime | None) -> Snapshot:
    """Pin a dataset as it is now, or as it was.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset.
    InvalidInputError, NotFoundError, SnapshotExpiredError
        As :func:`snapshot_at`.
    """
    check_at(at, "at", optional=True)
    current = load_snapshot(uuid, store)
    return current if at is None else snapshot_at(current, at)


def check_at(at: Any, what: str, *, optional: bool = False) -> None:
    """Raise ``InvalidInputError`` unless a value says which version is meant; pandas' NaT, a datetime, does not."""
    known = isinstance(at, (int, datetime)) or (optional and at is None)
    if not known or isinstance(at, bool) or at != at:
        raise InvalidInputError(f"{what} is the number of a version or a datetime, and not {at!r}.")


def snapshot_at(current: Snapshot, at: int | datetime) -> Snapshot:
    """Return a version of a dataset, given what is in the store now.

    Parameters
    ----------
    current
        The dataset as it is now.
    at
        The number of a version, or a time (UTC where it has no zone), which stands for the newest version that was
        committed by then, as the clocks of those who committed tell.

    Raises
    ------
    NotFoundError
        There never was such a version, or the dataset was not there then.
    SnapshotExpiredError
        It has been given up, or its header is not there any more.
    CorruptDatasetError
        Its header is damaged.
    """
    known, state = with_state(current)
    version = at if isinstance(at, int) else _version_by(known, state, at)
    if version == state.version:
        return known
    uuid = known.uuid
    if not 1 <= version < state.version:
        raise NotFoundError(f"Dataset {uuid!r} has no version {version}: they count from 1 to {state.version}.")
    if version < state.oldest:
        raise expired(uuid, version, f"versions before {state.oldest} were given up when garbage was collected.")
    kept = next((one for one in _kept(known, state) if one.version == version), None)
    if kept is None:
        raise expired(uuid, version, "no copy of its header was kept.")
    found = load_kept(kept, uuid, known.store)
    if found.is_withdrawn:
        raise NotFoundError(f"Dataset {uuid!r} was not there at version {version}: its creation had been taken back.")
    return pin_version(found, known.store)


def snapshot_of_commit(current: Snapshot, version: int, commit: str) -> Snapshot:
    """Return the version of a dataset that a certain commit made.

    Raises
    ------
    SnapshotExpiredError
        It is not there any more, or another commit has this number: the dataset was deleted and written again.
    """
    known, state = with_state(current)
    if version == state.version and commit == state.commit:
        return known
    if version >= state.oldest and any((one.version, one.commit) == (version, commit) for one in _kept(known, state)):
        return snapshot_at(known, version)
    why = f"commit {commit} did not make it, or it was given up when garbage was collected."
    raise expired(known.uuid, version, f"{why} There are versions {state.oldest} to {state.version}.")


def with_state(current: Snapshot) -> tuple[Snapshot, CommitState]:
    """Return a snapshot with its state, which it is given where other software has made the last commit."""
    known = current if current.header.state is not None else adopt(current)
    state = known.header.state
    if state is None:
        raise AssertionError("what is adopted has a state")
    return known, state


def expired(uuid: str, version: int, why: str, **details: Any) -> SnapshotExpiredError:
    """Return the error that a version of a dataset cannot be read any more."""
    message = f"Version {version} of dataset {uuid!r} cannot be read any more: {why}"
    return SnapshotExpiredError(message, uuid=uuid, version=version, **details)


def _kept(known: Snapshot, state: CommitState) -> tuple[KeptVersion, ...]:
    return list_versions(known.uuid, known.store, state.incarnation)


def _version_by(known: Snapshot, state: CommitState, when: datetime) -> int:
    """Return the newest version that was committed by a time."""
    by = when.replace(tzinfo=UTC) if when.utcoffset() is None else when  # which may be no date in UTC
    last = stored_at(known) if state.info is None else state.info.time
    if last <= by:
        return state.version
    kept = [one for one in _kept(known, state) if state.oldest <= one.version < state.version]
    times = [(one.version, one.modified if one.time == UNKNOWN_TIME else one.time) for one in kept]
    found = max((version for version, time in times if time <= by), default=None)
    if found is not None:
        if found + 1 < state.version and found + 1 not in dict(times):
            why = f"no copy of its header was kept, so that it is not known whether it was current at {when}."
            raise expired(known.uuid, found + 1, why)
        return found
    first = min(times, default=(state.version, last))
    said = f"the oldest version that can be read, {first[0]}, was committed at {first[1]:%Y-%m-%d %H:%M:%S} UTC."
    if first[0] > 1:
        message = f"Dataset {known.uuid!r} as of {when} cannot be read any more: {said}"
        raise SnapshotExpiredError(message, uuid=known.uuid, version=first[0])
    raise NotFoundError(f"Dataset {known.uuid!r} was not there yet at {when}: {said}")
