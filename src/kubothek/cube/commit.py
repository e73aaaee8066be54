"""How the datasets of one cube write become visible: one commit after the other, the seed's last.

If a commit fails, those before it are taken back: what they added is removed, what they replaced is restored. A commit
of unknown outcome takes nothing back, because if it took place the write is complete.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from kubothek.codec.labels import write_prefix
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.discard import discard
from kubothek.dataset.staging.incoming import Rows
from kubothek.dataset.staging.stage import Staged
from kubothek.errors import CommitStateUnknownError, KubothekError
from kubothek.model.cube import Cube
from kubothek.model.header import Header
from kubothek.model.staged import ChangeSet
from kubothek.plan.layout import Layout
from kubothek.store.interface import Store


@dataclass(frozen=True, slots=True)
class CubeWrite:
    """One dataset of a cube on its way: its rows, and the commit that will make them visible."""

    dataset_id: str
    rows: Rows
    layout: Layout
    base: Snapshot | None
    expected: pa.Schema | None
    change: ChangeSet


def commit_writes(
    writes: Sequence[CubeWrite], staged: Mapping[str, Staged], cube: Cube, store: Store
) -> dict[str, Snapshot]:
    """Commit one dataset after the other; when one fails, take back those before it.

    The files of what was taken back stay, unreferenced: a reader may have pinned the dataset meanwhile.

    Raises
    ------
    CommitStateUnknownError
        A commit may have taken place, or one that did could not be taken back: what was staged must stay.
    """
    committed: dict[str, Snapshot] = {}
    try:
        for write in writes:
            done = staged[write.dataset_id]
            change = replace(
                write.change,
                added=done.partitions,
                tables=done.schemas,
                unique_write=write_prefix(write.change.write_id),
            )
            committed[write.dataset_id] = commit(store, cube.dataset_uuid(write.dataset_id), change, write.base)
    except CommitStateUnknownError:
        # Perhaps it took place, and then the call is complete; what came before it is consistent either way.
        raise
    except KubothekError as error:
        # Of any other, such as an interrupt, nobody knows whether it came before or after the header was put.
        before = [write for write in writes if write.dataset_id in committed]
        for write in writes[len(before) :]:
            discard(store, staged[write.dataset_id].partitions)
        stuck = [w for w in before if not _take_back(w, staged[w.dataset_id], committed[w.dataset_id], store)]
        if stuck:
            names = ", ".join(repr(write.dataset_id) for write in stuck)
            raise CommitStateUnknownError(
                f"'{stuck[0].change.operation}' of {cube.uuid_prefix!r} failed after {names} had been committed, and "
                f"that could not be taken back. Look at these datasets before you repeat it. The cause: {error}",
                write_id=stuck[0].change.write_id,
                datasets=tuple(write.dataset_id for write in stuck),
            ) from error
        raise
    return committed


def _take_back(write: CubeWrite, staged: Staged, now: Snapshot, store: Store) -> bool:
    """Undo a commit of this call: restore what it replaced, or remove the labels that it added; tell whether it did."""
    replaced = _as_it_was(write.base, now) if write.base is not None and write.change.overwrite else None
    change = ChangeSet(
        write_id=uuids.uuid4().hex,
        operation=f"undo {write.change.operation}",
        remove_labels=() if replaced else tuple(part.label for part in staged.partitions),
        restore=replaced,
    )
    try:
        commit(store, now.uuid, change, now)
    except KubothekError:  # the cause of the undoing matters more
        return False
    return True


def _as_it_was(base: Snapshot, now: Snapshot) -> Header:
    """Return the header to go back to; one of other software gets what it leaves open."""
    if base.header.state is not None or now.header.state is None:
        return base.header
    state = replace(now.header.state, schema=base.schemas, unique_writes=(), conformed=False)
    return replace(base.header, partition_keys=base.partition_keys, partitions=base.partitions, state=state)
