"""How to follow a dataset: up to where it can be read now, and what came and went since one has looked last.

::

    newest_position     the version that is there now, made sure that it is found again     ─┐ an offset
    next_position       the same, or one of the versions before it, a few at a time         ─┘
    load_changes        the headers of two positions, compared                              what is between two offsets

What is read is what is between two versions whose headers are kept, so that it is the same whenever it is asked for.
A header of other software counts as a version once a copy of it is kept: it is kept by whoever commits on top of it,
and also by who follows the dataset, since two such headers in a row would otherwise have one number.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from kubothek.dataset.at import expired, snapshot_at, with_state
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.dataset.versions import keep_base, list_kept, list_versions, load_kept, pin_version
from kubothek.errors import CommitConflictError, InvalidInputError, NotFoundError, SchemaError, StoreError
from kubothek.model.header import CommitState
from kubothek.model.history import KeptVersion
from kubothek.model.position import Beginning, Position
from kubothek.model.schema import merge_schemas
from kubothek.plan.changes import compare_files
from kubothek.plan.foreign import is_adopted
from kubothek.store.interface import Store

_TRIES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What happened to a table of a dataset between two positions.

    ``added`` is the dataset at the end, with nothing but the partitions that came. ``removed`` are the labels of those
    that went, and ``version`` is the number of the version at the end.
    """

    added: Snapshot
    removed: pa.ChunkedArray
    version: int


def newest_position(uuid: str, store: Store) -> Position:
    """Return the newest version of a dataset that will be found again, whatever others commit.

    Nearly always that is what is there now. Where its header is not kept yet it is kept now. A store that cannot be
    written to is left alone: then a header of other software is not seen before somebody has committed on top of it.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset.
    StoreError
        The only header is one of other software, and cannot be kept.
    """
    for _ in range(_TRIES):
        current, state = with_state(load_snapshot(uuid, store))
        try:
            if keep_base(store, current):
                return _position(state)
        except StoreError:
            if not is_adopted(state):  # whoever replaces it keeps it
                return _position(state)
            versions = list_versions(uuid, store, state.incarnation)
            if not versions:
                raise
            return _at(versions[-1], state.incarnation)
    raise CommitConflictError(
        f"Dataset {uuid!r} was replaced {_TRIES} times while its header was read. Let fewer writers commit at once.",
        ours=None,
        theirs=None,
    )


def next_position(
    start: Position | Beginning, newest: Position, uuid: str, store: Store, *, versions: int | None = None
) -> Position:
    """Return the version up to which to read next.

    Parameters
    ----------
    start
        What has been read. From the beginning, one step leads to the newest version.
    newest
        The newest version that may be read.
    uuid, store
        The dataset.
    versions
        How many versions to go on at most, ``None`` for all. Where so many are not kept any more, it goes on to the
        first that is.

    Raises
    ------
    InvalidInputError
        The dataset was deleted and created again since ``start``.
    NotFoundError
        There are fewer versions than are to be left out.
    """
    if isinstance(start, Beginning):
        if start.after is not None and start.after > newest.version:
            raise NotFoundError(
                f"Dataset {uuid!r} cannot be read from version {start.after + 1} on: its newest version is "
                f"{newest.version}. Begin with one from 1 to {newest.version + 1}, or with 'latest'."
            )
        return newest
    _check_incarnation(start, newest.incarnation, uuid)
    if versions is None or newest.version - start.version <= versions:
        return newest
    kept = [one for one in list_versions(uuid, store, newest.incarnation) if one.version < newest.version]
    near = [one for one in kept if start.version < one.version <= start.version + versions]
    later = [one for one in kept if one.version > start.version + versions]
    found = near[-1] if near else later[0] if later else None
    return newest if found is None else _at(found, newest.incarnation)


def load_changes(
    uuid: str, store: Store, start: Position | Beginning, end: Position, table: str | None = None
) -> Changes:
    """Compare two versions of a dataset.

    Parameters
    ----------
    uuid, store
        The dataset.
    start, end
        The versions.
    table
        Which table's files; ``None`` for the only one.

    Raises
    ------
    DatasetNotFoundError
        The dataset is not there any more.
    InvalidInputError
        It was deleted and created again, or has no such table.
    SnapshotExpiredError
        One of the versions is not kept any more; ``version`` is its number.
    CorruptDatasetError
        A kept header is damaged.
    """
    current, state = with_state(load_snapshot(uuid, store))
    for position in (start, end):
        if isinstance(position, Position):
            _check_incarnation(position, state.incarnation, uuid)
    kept = list_kept(uuid, store, state.incarnation)
    after = _load(end, current, state, kept)
    name = after.table_name(table)
    before = _partitions_before(start, after, current, state, kept)
    changes = compare_files(before, after.partitions, name)
    added = replace(after, partitions=changes.added, schemas=_schemas(after, current), _file_tables={})
    return Changes(added, changes.removed["label"], end.version)


def _partitions_before(
    start: Position | Beginning,
    after: Snapshot,
    current: Snapshot,
    state: CommitState,
    kept: tuple[KeptVersion, ...],
) -> pa.Table | None:
    """Return what the reader had: nothing, all there is now, or what a version has."""
    if isinstance(start, Position):
        return _load(start, current, state, kept, may_be_given_up=True).partitions
    if start.after is None:
        return after.partitions
    return None if start.after == 0 else snapshot_at(current, start.after).partitions


def _load(
    position: Position,
    current: Snapshot,
    state: CommitState,
    kept: tuple[KeptVersion, ...],
    *,
    may_be_given_up: bool = False,
) -> Snapshot:
    """Return the version at a position; of one that was given up, only the header may still be there."""
    if (position.version, position.commit) == (state.version, state.commit):
        return current
    found = next((one for one in kept if (one.version, one.commit) == (position.version, position.commit)), None)
    if found is None or (position.version < state.oldest and not may_be_given_up):
        raise expired(
            current.uuid,
            position.version,
            f"it was given up when garbage was collected, and the dataset is at version {state.version} now. What was "
            "added since then is not known: begin anew, with a new checkpoint. Read at shorter intervals, or let "
            "garbage collection keep more versions (`keep`).",
        )
    return pin_version(load_kept(found, current.uuid, current.store), current.store)


def _schemas(after: Snapshot, current: Snapshot) -> dict[str, pa.Schema]:
    """Return the types of today, where they fit: what was null then may have got a type since."""
    schemas = dict(after.schemas)
    for table in schemas.keys() & current.schemas.keys():
        with suppress(SchemaError):  # the dataset was overwritten since
            schemas[table] = merge_schemas(schemas[table], current.schemas[table], what=f"dataset {after.uuid!r}")
    return schemas


def _check_incarnation(position: Position, incarnation: str, uuid: str) -> None:
    if position.incarnation != incarnation:
        raise InvalidInputError(
            f"Dataset {uuid!r} was deleted and created again since its version {position.version} was read, so that "
            "nothing says what is new in it. Begin anew, with a new checkpoint."
        )


def _position(state: CommitState) -> Position:
    return Position(state.incarnation, state.version, state.commit)


def _at(version: KeptVersion, incarnation: str) -> Position:
    return Position(incarnation, version.version, version.commit)
