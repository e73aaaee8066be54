"""How a commit of a cube call is taken back when a later one of the same call fails.

::

    nobody committed since     the dataset gets back the header that it had; one that was created is withdrawn
    others committed since     what was added goes, what was removed comes back, metadata that is still ours is reset

Nothing is taken back by guessing: files that a restored header needs must still be there, and what others have built
on a dataset that was overwritten cannot be separated from it.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.dataset.commit import Commit, commit
from kubothek.dataset.delete_scope import select_deleted
from kubothek.dataset.indices.lookup import load_postings
from kubothek.dataset.indices.read import with_index_values
from kubothek.dataset.rollback import missing_files
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.errors import CommitConflictError, CommitStateUnknownError, StoreError
from kubothek.model.header import FILE_PREFIX, CommitState, Header
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.apply import CREATION_TIME
from kubothek.plan.garbage import named_keys
from kubothek.plan.index_merge import LABELS

_TRIES = 5
_FIRST_PAUSE = 0.01


def take_back(made: Commit, change: ChangeSet) -> None:
    """Undo a commit.

    The files that it added stay, unreferenced: a reader may have pinned the dataset meanwhile.

    Raises
    ------
    KubothekError
        It could not be taken back; the dataset is as the commit left it, or that is unknown.
    """
    for attempt in range(_TRIES):
        try:
            if not _restore(made, change):
                _reverse(made, change)
        except StoreError:  # nothing was changed, and a store that has failed may be back in a moment
            if attempt == _TRIES - 1:
                raise
            made.after.store.world.pause(_FIRST_PAUSE * 2**attempt)
        else:
            return


def _restore(made: Commit, change: ChangeSet) -> bool:
    """Give the dataset the header that it had; tell whether that was possible."""
    after = made.after
    state = after.header.state
    if state is None or state.commit != change.write_id:
        return False
    content = _as_it_was(made.before, after, replace(state, cube_call=None, unique_writes=()))
    if _missing(named_keys(content), after):
        return False
    try:
        commit(after.store, after.uuid, ChangeSet(after.store.world.new_id(), _undo(change), restore=content), after)
    except CommitConflictError:
        return False
    return True


def _undo(change: ChangeSet) -> str:
    return f"undo {change.operation}"


def _as_it_was(before: Snapshot | None, after: Snapshot, state: CommitState) -> Header:
    """Return the header to go back to: withdrawn where there was none, complete where other software left it open."""
    if before is None:
        nothing, gone = after.partitions.slice(0, 0), replace(state, withdrawn=True)
        return replace(after.header, partitions=nothing, indices={}, embedded_indices={}, state=gone)
    if before.header.state is not None:
        return before.header
    state = replace(state, schema=before.schemas, conformed=False)
    return replace(before.header, partition_keys=before.partition_keys, partitions=before.partitions, state=state)


def _missing(keys: pa.Array, now: Snapshot) -> tuple[str, ...]:
    """Return which files are not in the store, where they have been garbage since the commit."""
    doubted = keys.filter(pc.invert(pc.is_in(keys, value_set=named_keys(now.header))))
    return missing_files(doubted, now.uuid, now.store)


def _reverse(made: Commit, change: ChangeSet) -> None:
    """Undo what a commit did to a dataset to which others have committed since."""
    before, after = made.before, made.after
    replaced = before is not None and not before.header.is_withdrawn
    for attempt in range(_TRIES):
        now = find_snapshot(after.uuid, after.store)
        if now is None or _made_anew(after, now):
            return
        if change.restore is not None or (change.overwrite and replaced):
            why = "others have committed to what it put there, or files of what was there are gone"
            raise _stuck(change, after, why)
        back = _removed(before, change, after) if before is not None and change.delete_scope else ()
        try:
            commit(after.store, after.uuid, with_index_values(_reversal(made, change, now, back), now), now)
        except CommitConflictError:
            if attempt == _TRIES - 1:
                raise
        else:
            return


def _made_anew(after: Snapshot, now: Snapshot) -> bool:
    """Whether others have deleted or overwritten the dataset, so that nothing of the commit is left."""
    incarnations = {one.header.state.incarnation for one in (after, now) if one.header.state is not None}
    return len(incarnations) == 2 or after.header.metadata.get(CREATION_TIME) != now.header.metadata.get(CREATION_TIME)


def _reversal(made: Commit, change: ChangeSet, now: Snapshot, back: tuple[StagedPartition, ...]) -> ChangeSet:
    """Return the change that undoes another on what the dataset is now."""
    labels = now.partitions["label"].combine_chunks()
    added = pa.array([part.label for part in change.added], pa.string())
    known = pc.is_in(pa.array([part.label for part in back], pa.string()), value_set=labels).to_pylist()
    was = {} if made.before is None else made.before.header.metadata
    entries = {} if change.create else change.metadata
    ours = [name for name, value in entries.items() if now.header.metadata.get(name) == value]
    return ChangeSet(
        write_id=now.store.world.new_id(),
        operation=_undo(change),
        remove_labels=tuple(added.filter(pc.is_in(added, value_set=labels)).to_pylist()),
        revived=tuple(part for part, there in zip(back, known, strict=True) if not there),
        metadata={name: was[name] for name in ours if name in was},
        drop_metadata=tuple(name for name in ours if name not in was),
    )


def _removed(before: Snapshot, change: ChangeSet, after: Snapshot) -> tuple[StagedPartition, ...]:
    """Return the partitions that a commit removed, with what the indices said about them."""
    labels = select_deleted(before, change.delete_scope)
    rows = before.partitions.filter(pc.is_in(before.partitions["label"], value_set=labels))
    tables = {name.removeprefix(FILE_PREFIX): name for name in rows.column_names if name.startswith(FILE_PREFIX)}
    keys = pa.concat_arrays([pa.nulls(0, pa.string()), *(c for name in tables.values() for c in rows[name].chunks)])
    missing = _missing(keys.drop_null(), after)
    if missing:
        raise _stuck(change, after, f"{len(missing)} files that it removed are gone, such as {missing[0]!r}")
    values = {column: _values_by_label(before, column, labels) for column in before.index_columns}
    return tuple(
        StagedPartition(
            label=row["label"],
            files={table: row[name] for table, name in tables.items()},
            rows=row["rows"],
            bytes=row["bytes"],
            schema={},
            index_values={column: known.get(row["label"], none) for column, (known, none) in values.items()},
        )
        for row in rows.to_pylist()
    )


def _values_by_label(before: Snapshot, column: str, labels: pa.Array) -> tuple[dict[str, pa.Array], pa.Array]:
    """Return the values that an index has for each of some labels, and the empty array for those without any."""
    index = load_postings(before, column)
    named = index[LABELS].combine_chunks()
    pairs = pa.table({"label": pc.list_flatten(named), "row": pc.list_parent_indices(named)})
    pairs = pairs.filter(pc.is_in(pairs["label"], value_set=labels)).group_by("label").aggregate([("row", "list")])
    values = index[column].combine_chunks()
    rows = zip(pairs["label"].to_pylist(), pairs["row_list"].combine_chunks(), strict=True)
    return {label: pc.take(values, of_label.values) for label, of_label in rows}, values.slice(0, 0)


def _stuck(change: ChangeSet, now: Snapshot, why: str) -> CommitStateUnknownError:
    return CommitStateUnknownError(
        f"'{change.operation}' (commit {change.write_id}) on dataset {now.uuid!r} cannot be taken back: {why}.",
        write_id=change.write_id,
    )
