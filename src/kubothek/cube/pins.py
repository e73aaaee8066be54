"""Which versions of its datasets make a cube what it was: those of a pin, or those that were current at some time.

The headers that are current are fetched at once, those of older versions in parallel. Nothing else of what is current
counts: what the cube is, and which datasets it has, follows from the versions that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kubothek.dataset.at import snapshot_at, snapshot_of_commit
from kubothek.dataset.snapshot import Snapshot, find_snapshots
from kubothek.engine.local import map_in_threads
from kubothek.errors import CubeNotFoundError, InvalidInputError, NotFoundError, SnapshotExpiredError, combined_error
from kubothek.model.cube import member_uuid
from kubothek.model.header import CommitState
from kubothek.model.pin import Pin, PinnedDataset
from kubothek.store.interface import Store

_PARALLEL = 8


def parse_moment(at: Any, uuid_prefix: str) -> Pin | datetime | None:
    """Return the pin of this cube, or the time, that is meant; ``None`` stands for now.

    Raises
    ------
    InvalidInputError
        It is neither, or the pin is that of another cube.
    """
    if not isinstance(at, (Pin, str)):
        if at is not None and (not isinstance(at, datetime) or at != at):  # as pandas' NaT is
            raise InvalidInputError(f"at is a Pin, the text of one, or a datetime, and not {at!r}.")
        return at
    pin = Pin.parse(at) if isinstance(at, str) else at
    if pin.uuid_prefix != uuid_prefix:
        raise InvalidInputError(f"The pin is of cube {pin.uuid_prefix!r}, but cube {uuid_prefix!r} is queried with it.")
    return pin


def pin_states(uuid_prefix: str, states: Mapping[str, CommitState | None]) -> Pin:
    """Return the pin of these versions of a cube's datasets, by id.

    Raises
    ------
    InvalidInputError
        Other software made the last commit of some of them, whose version has no number yet; ``datasets`` lists them.
    """
    foreign = tuple(dataset_id for dataset_id, state in states.items() if state is None)
    if foreign:
        raise InvalidInputError(
            f"The query of cube {uuid_prefix!r} cannot be pinned: other software made the last commit of "
            f"{', '.join(map(repr, foreign))}, which gets a version with the next commit of Kubothek. Any will do, "
            f"such as update_dataset(None, {member_uuid(uuid_prefix, foreign[0])!r}, store, metadata={{...}}).",
            datasets=foreign,
        )
    pinned = (PinnedDataset(name, one.version, one.commit) for name, one in states.items() if one is not None)
    return Pin(uuid_prefix, tuple(pinned))


def load_pinned(pin: Pin, store: Store) -> dict[str, Snapshot]:
    """Return the snapshots of a pin's datasets, by id, sorted.

    Raises
    ------
    SnapshotExpiredError
        Versions are not there any more, or were made by other commits than those that were pinned; all are named.
    """
    uuids = [member_uuid(pin.uuid_prefix, one.dataset_id) for one in pin.datasets]
    found = zip(uuids, pin.datasets, find_snapshots(uuids, store), strict=True)
    loaded = list(map_in_threads(lambda one: _load_pinned(*one), found, _PARALLEL))
    gone = [one for one in loaded if isinstance(one, SnapshotExpiredError)]
    if gone:
        raise combined_error(f"The pin of cube {pin.uuid_prefix!r} cannot be read any more", gone)
    return {
        one.dataset_id: snapshot
        for one, snapshot in zip(pin.datasets, loaded, strict=True)
        if isinstance(snapshot, Snapshot)
    }


def _load_pinned(uuid: str, pinned: PinnedDataset, current: Snapshot | None) -> Snapshot | SnapshotExpiredError:
    if current is None:
        return SnapshotExpiredError(f"Dataset {uuid!r}, pinned at version {pinned.version}, was deleted.", uuid=uuid)
    try:
        return snapshot_of_commit(current, pinned.version, pinned.commit)
    except SnapshotExpiredError as error:
        return error


def snapshots_by(uuid_prefix: str, snapshots: Mapping[str, Snapshot], when: datetime) -> dict[str, Snapshot]:
    """Return what the datasets of a cube were at a time; those that were not there yet are left out.

    Raises
    ------
    SnapshotExpiredError
        The version of that time is not there any more.
    CubeNotFoundError
        None of them was there.
    """

    def load(dataset_id: str) -> Snapshot | None:
        try:
            return snapshot_at(snapshots[dataset_id], when)
        except SnapshotExpiredError:
            raise
        except NotFoundError:
            return None

    loaded = zip(snapshots, map_in_threads(load, snapshots, _PARALLEL), strict=True)
    there = {
        dataset_id: snapshot
        for dataset_id, snapshot in loaded
        if snapshot is not None and not snapshot.header.is_withdrawn
    }
    if not there:
        raise CubeNotFoundError(f"There was no dataset of cube {uuid_prefix!r} yet at {when}.")
    return there
