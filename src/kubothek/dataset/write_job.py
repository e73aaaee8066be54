"""A write whose rows other processes stage: planned in one, staged in many at once, committed or given up in another.

::

    plan      update_job, replace_job     options, columns and types checked against the dataset as it is
    stage     stage_batches               in each task: rows in any order, one file per partition
    commit    commit_job                  everything that the accepted tasks have staged, in one commit
    abort     discard_job                 or all that any of them has, known or not

A :class:`WriteJob` is what they share. It travels to every task, so it is small: of the dataset it was planned for it
holds what a later state is checked against, without the partitions. Spark's data source writes in this way; where our
own call runs the tasks, :mod:`kubothek.dataset.write` does it in one go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kubothek.codec.keys import check_uuid
from kubothek.codec.labels import write_prefix
from kubothek.dataset.at import with_state
from kubothek.dataset.commit import commit
from kubothek.dataset.delete_scope import select_deleted
from kubothek.dataset.indices.read import with_index_values
from kubothek.dataset.outcome import etag_of
from kubothek.dataset.snapshot import Snapshot, find_dataset
from kubothek.dataset.staging.arguments import check_header_format, parse_metadata, parse_scope, stored_layout
from kubothek.dataset.staging.discard import discard_by_listing, discard_on_error
from kubothek.dataset.staging.pairing import pair_tables
from kubothek.dataset.staging.stage import Staging, incarnation
from kubothek.dataset.staging.staged_files import staged_values
from kubothek.engine.local import map_in_threads
from kubothek.engine.sorted_files import sort_and_write
from kubothek.engine.spark_types import as_recorded
from kubothek.engine.writing import WriteTask, check_cells, same_cells
from kubothek.errors import CommitConflictError, InvalidInputError
from kubothek.model.header import SINGLE_TABLE, HeaderFormat, StreamBatch
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.conflicts import find_conflict
from kubothek.plan.cube.removal import same_partitions
from kubothek.plan.dataset_layout import Base
from kubothek.plan.layout import Layout, parse_layout
from kubothek.store.interface import Store

_PARALLEL = 16


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The dataset that a job was planned for: the tag of its header, and what the job counts on; no partitions."""

    etag: str
    base: Base


@dataclass(frozen=True, slots=True, eq=False)
class WriteJob:
    """What tasks and commit of one write have in common.

    ``change`` is the commit but for what is staged. With ``replaces`` it removes what the dataset holds in the physical
    partitions that the rows are in. ``may_be_empty`` allows that there are no rows.
    """

    store: Store
    task: WriteTask
    sort_by: tuple[str, ...]
    change: ChangeSet
    seen: Seen | None
    replaces: bool = False
    may_be_empty: bool = True

    @property
    def overwrites_existing(self) -> bool:
        """Whether a dataset that is there is replaced as a whole."""
        return self.change.overwrite and self.seen is not None


def update_job(
    schema: pa.Schema,
    uuid: str,
    store: Store,
    *,
    delete_scope: Any = (),
    replaces: bool = False,
    partition_on: Sequence[str] | None = None,
    secondary_indices: Sequence[str] | None = None,
    sort_by: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    compression: str = "zstd",
    rows_per_row_group: int | None = None,
    header_format: HeaderFormat = "json",
) -> WriteJob:
    """Plan to add rows to a dataset, which is created where there is none.

    Parameters
    ----------
    schema
        Columns of the rows, with Spark's types as Arrow has them.
    replaces
        Remove what the dataset holds in the physical partitions that the rows are in.
    uuid, store, delete_scope, partition_on, secondary_indices, sort_by, metadata, compression, rows_per_row_group,
    header_format
        As for :func:`kubothek.update_dataset`.

    Raises
    ------
    InvalidInputError
        Parameters, columns or types do not fit each other or the dataset, or the delete scope selects what it cannot.
    StoreError
        The store cannot commit safely.
    """
    check_header_format(header_format)
    check_uuid(uuid)
    base = find_dataset(uuid, store)
    keys, indices = stored_layout(base, partition_on, secondary_indices, uuid)
    layout = parse_layout(
        partition_on=keys,
        secondary_indices=indices,
        sort_by=sort_by,
        compression=compression,
        rows_per_row_group=rows_per_row_group,
    )
    change = ChangeSet(
        write_id=store.world.new_id(),
        operation="update_dataset",
        partition_keys=None if partition_on is None and base is not None else layout.partition_on,
        index_columns=None if secondary_indices is None and base is not None else layout.secondary_indices,
        delete_scope=parse_scope(delete_scope),
        metadata=parse_metadata(metadata),
        create=True,
        header_format=header_format,
    )
    if base is not None:
        select_deleted(base, change.delete_scope)  # a scope that cannot be carried out is an error before the rows
    return plan_job(schema, store, uuid, layout, change, base, replaces=replaces)


def replace_job(
    schema: pa.Schema,
    uuid: str,
    store: Store,
    *,
    partition_on: Sequence[str] = (),
    secondary_indices: Sequence[str] = (),
    sort_by: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    compression: str = "zstd",
    rows_per_row_group: int | None = None,
    header_format: HeaderFormat = "json",
) -> WriteJob:
    """Plan to write a dataset in place of what there may be of this name, schema and layout included.

    Parameters
    ----------
    schema
        As for :func:`update_job`.
    uuid, store, partition_on, secondary_indices, sort_by, metadata, compression, rows_per_row_group, header_format
        As for :func:`kubothek.write_dataset`.
    """
    check_header_format(header_format)
    check_uuid(uuid)
    layout = parse_layout(
        partition_on=partition_on,
        secondary_indices=secondary_indices,
        sort_by=sort_by,
        compression=compression,
        rows_per_row_group=rows_per_row_group,
    )
    change = ChangeSet(
        write_id=store.world.new_id(),
        operation="write_dataset",
        partition_keys=layout.partition_on,
        index_columns=layout.secondary_indices,
        metadata=parse_metadata(metadata),
        create=True,
        overwrite=True,
        header_format=header_format,
    )
    return plan_job(schema, store, uuid, layout, change, find_dataset(uuid, store))


def plan_job(
    schema: pa.Schema,
    store: Store,
    uuid: str,
    layout: Layout,
    change: ChangeSet,
    base: Snapshot | None,
    *,
    replaces: bool = False,
    may_be_empty: bool = True,
) -> WriteJob:
    """Return the job of a write whose layout and commit are known.

    Parameters
    ----------
    schema, store, uuid
        Columns of the rows, and where they go: the only table of the dataset.
    layout, change
        How the rows are laid out, and the commit but for what is staged.
    base
        The dataset as it is, ``None`` where there is none.
    replaces, may_be_empty
        See :class:`WriteJob`.
    """
    store.check_swap()
    kept = None if change.overwrite else base
    table = SINGLE_TABLE if kept is None else kept.table_name()
    expected = None if kept is None else kept.schemas
    staging = Staging(store, uuid, change.write_id, incarnation(base, change.write_id), layout, expected)
    offered = schema if expected is None else as_recorded(schema, expected[table])
    task = staging.tasks({table: offered})[table]
    order = tuple(name for name in layout.sort_by if name in task.schema.names)
    return WriteJob(store, task, order, change, None if base is None else _seen(base), replaces, may_be_empty)


def _seen(base: Snapshot) -> Seen:
    """Return what a job keeps of a dataset, which may have a million partitions."""
    state = base.header.state
    kept = None if state is None else replace(state, lineage={}, streams={})
    header = replace(base.header, partitions=None, embedded_indices={}, state=kept)
    return Seen(base.etag, replace(base.base, header=header, partitions=base.partitions.schema.empty_table()))


def stage_batches(
    job: WriteJob, batches: Iterable[pa.RecordBatch], *, folder: str | None = None
) -> tuple[StagedPartition, ...]:
    """Stage the rows of one task, which come in any order, in bounded memory; on an error nothing of them is left.

    Parameters
    ----------
    job
        What is written.
    batches
        The rows. Where they come sorted by partition columns and ``sort_by``, they are not sorted again.
    folder
        Where rows are spilled; ``None`` for the system's place for temporary files.

    Raises
    ------
    NullValueError, DuplicateCellsError, SchemaError
        The rows cannot be stored.
    """
    written: list[StagedPartition] = []
    task = job.task
    with discard_on_error(job.store, written):
        written.extend(sort_and_write(job.store, task, batches, (*task.partition_on, *job.sort_by), folder=folder))
        job.store.flush()
    return tuple(written)


def commit_job(job: WriteJob, staged: Sequence[StagedPartition], *, batch: StreamBatch | None = None) -> Snapshot:
    """Commit what tasks have staged, in one commit; where that fails, their files are removed.

    A job that was committed before is not committed again, and its files, which are in use, stay.

    Parameters
    ----------
    job
        What is written.
    staged
        Of all tasks that count.
    batch
        The batch of a streaming query that this is; one that the dataset has already is not committed again.

    Raises
    ------
    CommitConflictError
        Others changed the dataset since the job was planned such that both cannot hold; nothing was committed.
    DuplicateCellsError, InvalidInputError
        A cell is in the files of two tasks, or there are no rows where some must be; nothing was committed.
    CommitStateUnknownError
        The store gave no answer; what was staged is left alone.
    """
    written = list(staged)
    current = find_dataset(job.task.uuid, job.store)
    if current is not None and job.change.write_id in with_state(current)[1].recent:
        return current
    with discard_on_error(job.store, written):
        _check_rows(job, staged)
        change = replace(_completed(job, staged, written), batch=batch)
        if etag_of(current) != (None if job.seen is None else job.seen.etag):
            change = _moved(job, change, current)
    with discard_on_error(job.store, written, committing=True):
        return commit(job.store, job.task.uuid, change, current)


def discard_job(job: WriteJob) -> None:
    """Delete whatever the tasks of a job have staged, found by the names of its files; what cannot be stays."""
    task = job.task
    discard_by_listing(job.store, task.uuid, task.table, task.write_id, task.staged)


def _check_rows(job: WriteJob, staged: Sequence[StagedPartition]) -> None:
    task = job.task
    if not staged and not job.may_be_empty:
        raise InvalidInputError(
            f"The data for dataset {task.uuid!r} has no rows. Leave out what gets no rows; nothing was committed."
        )
    if task.unique:
        groups = [group for group in same_cells(staged, task).values() if len(group) > 1]
        for _ in map_in_threads(lambda group: check_cells(job.store, task, group), groups, _PARALLEL):
            pass


def _completed(job: WriteJob, staged: Sequence[StagedPartition], written: list[StagedPartition]) -> ChangeSet:
    """Complete a change with what was staged, which may also tell what it replaces."""
    task = job.task
    partitions = pair_tables(job.store, {task.table: task}, {task.table: staged}, written)
    change = replace(
        job.change,
        added=tuple(partitions),
        tables={task.table: task.schema},
        unique_write=write_prefix(task.write_id) if task.unique else None,
    )
    if not job.replaces or not partitions:
        return change
    values = staged_values(partitions, task.uuid, task.table, task.partition_on, task.schema)
    return replace(change, delete_scope=(same_partitions(values),))


def _moved(job: WriteJob, change: ChangeSet, current: Snapshot | None) -> ChangeSet:
    """Return the change for what others have left since the job was planned.

    Raises
    ------
    CommitConflictError
        It cannot be made on that.
    """
    old = None if job.seen is None else job.seen.base
    conflict = find_conflict(change, old, None if current is None else current.base, job.task.uuid)
    if conflict is not None:
        raise CommitConflictError(str(conflict), ours=conflict.ours, theirs=conflict.theirs)
    return change if current is None else with_index_values(change, current)
