"""How rows become staged files: the schema is checked, tasks write, and a failure leaves nothing behind.

Nothing here is visible to readers: files get fresh names that no header refers to. A Spark DataFrame is written by
Spark's tasks, anything else by the same tasks in threads of this process, frame by frame (all frames at once where
equal values are to share a file).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import private_prefix
from kubothek.codec.labels import label_prefixes, write_prefix
from kubothek.dataset.incoming import ArrowRows, Rows, SparkRows
from kubothek.engine import spark as on_spark
from kubothek.engine.join import sort_rows
from kubothek.engine.local import map_in_threads
from kubothek.engine.spark_types import arrow_schema
from kubothek.engine.writing import (
    BUCKET,
    WriteTask,
    bucket_numbers,
    check_cells,
    conform_rows,
    cut_runs,
    same_partition,
    write_empty_file,
    write_files,
)
from kubothek.errors import CommitStateUnknownError, KubothekError, StoreError
from kubothek.model.schema import merge_schemas
from kubothek.model.staged import StagedPartition
from kubothek.plan.layout import Layout, record_schema
from kubothek.store.interface import Store

_PIECES_PER_FRAME = 8


@dataclass(frozen=True, slots=True)
class Staging:
    """Where and how one write stages its files; ``subject`` names the dataset in messages.

    ``expected`` is the schema of record of the dataset as it is, which the data must fit.
    """

    store: Store
    uuid: str
    table: str
    write_id: str
    incarnation: str
    layout: Layout
    expected: pa.Schema | None = None

    @property
    def subject(self) -> str:
        """The dataset, for messages."""
        return f"dataset {self.uuid!r}"

    def task(self, schema: pa.Schema) -> WriteTask:
        """Return the task that writes data of this schema.

        Raises
        ------
        UnknownColumnError, SchemaError
            The data lacks columns, or its types do not fit the format or the dataset.
        """
        record = record_schema(schema, self.layout, self.subject)
        if self.expected is not None:
            record = merge_schemas(self.expected, record, what=self.subject)
        layout = self.layout
        return WriteTask(
            uuid=self.uuid,
            table=self.table,
            write_id=self.write_id,
            private=private_prefix(self.uuid, self.incarnation),
            schema=record,
            partition_on=layout.partition_on,
            index_columns=layout.secondary_indices,
            unique=layout.unique,
            compression=layout.compression,
            rows_per_row_group=layout.rows_per_row_group,
        )


@dataclass(frozen=True, slots=True)
class Staged:
    """What a write staged, and the schema of record that all its rows have."""

    partitions: tuple[StagedPartition, ...]
    schema: pa.Schema


def stage_rows(rows: Rows, staging: Staging) -> Staged:
    """Stage all rows as files.

    Raises
    ------
    InvalidInputError
        The rows cannot be stored: types, nulls, cells given twice.
    """
    return _stage_spark(rows, staging) if isinstance(rows, SparkRows) else _stage_frames(rows, staging)


def _stage_spark(rows: SparkRows, staging: Staging) -> Staged:
    layout, store = staging.layout, staging.store
    task = staging.task(arrow_schema(rows.frame.schema))
    partitions = on_spark.write_rows(
        rows.frame,
        store,
        task,
        sort_by=layout.sort_by,
        shuffle=layout.shuffle,
        bucket_by=layout.bucket_by or tuple(task.schema.names),
        num_buckets=layout.num_buckets,
    )
    if task.unique and not layout.shuffle:
        groups = [group for group in same_partition(partitions).values() if len(group) > 1]
        on_spark.check_partitions(rows.frame.sparkSession, store, task, groups)
    if not partitions and not task.partition_on:
        partitions = (write_empty_file(store, task),)
    return Staged(partitions, task.schema)


def _stage_frames(rows: ArrowRows, staging: Staging) -> Staged:
    frames = iter([_concatenated(rows.frames, staging)]) if staging.layout.shuffle else rows.frames
    partitions: list[StagedPartition] = []
    schema = staging.expected
    task = None
    for number, frame in enumerate(frames):
        task = staging.task(frame.schema)
        what = f"frame {number} of the data for {staging.subject}"
        schema = task.schema if schema is None else merge_schemas(schema, task.schema, what=what)
        partitions += _stage_frame(frame, task, staging)
    if task is not None and task.unique:
        for group in same_partition(partitions).values():
            if len(group) > 1:
                check_cells(staging.store, task, group)
    if schema is None:
        schema = staging.task(pa.schema([])).schema
    return Staged(tuple(partitions), schema)


def _concatenated(frames: Iterator[pa.Table], staging: Staging) -> pa.Table:
    """Put all frames into one table, with the types of record."""
    conformed: list[pa.Table] = []
    schema = staging.expected
    for frame in frames:
        task = staging.task(frame.schema)
        schema = task.schema if schema is None else merge_schemas(schema, task.schema, what=staging.subject)
        conformed.append(conform_rows(frame, task))
    if schema is None:
        schema = staging.task(pa.schema([])).schema
    return pa.concat_tables([schema.empty_table(), *(frame.cast(schema) for frame in conformed)])


def _stage_frame(frame: pa.Table, task: WriteTask, staging: Staging) -> list[StagedPartition]:
    store, layout = staging.store, staging.layout
    if frame.num_rows == 0:
        return [] if task.partition_on else [write_empty_file(store, task)]
    rows = conform_rows(frame, task)
    cut_at = [*task.partition_on]
    if layout.shuffle and layout.num_buckets:
        by = layout.bucket_by or tuple(task.schema.names)
        rows = rows.append_column(BUCKET, bucket_numbers(rows, by, layout.num_buckets))
        cut_at.append(BUCKET)
    rows = sort_rows(rows, [*cut_at, *layout.sort_by])
    starts = cut_runs(rows, cut_at)
    chosen = starts[np.linspace(0, len(starts), min(len(starts), _PIECES_PER_FRAME), endpoint=False).astype(int)]
    pieces = [
        rows.slice(start, stop - start)
        for start, stop in zip(chosen, np.append(chosen[1:], rows.num_rows), strict=True)
    ]
    staged = map_in_threads(lambda piece: list(write_files(store, task, piece.to_batches())), pieces)
    return [one for part in staged for one in part]


@contextmanager
def discard_on_error(store: Store, uuid: str, table: str, write_id: str, *, committing: bool = False) -> Iterator[None]:
    """Delete what a write has staged when it fails; what cannot be deleted stays, unreferenced.

    Once the write is ``committing``, only errors that say that nothing was committed delete: an interrupt, or memory
    that runs out, may come when the header is already there.
    """
    try:
        yield
    except BaseException as error:
        if not committing or (isinstance(error, KubothekError) and not isinstance(error, CommitStateUnknownError)):
            discard_staged(store, uuid, table, write_id)
        raise


def discard_staged(store: Store, uuid: str, table: str, write_id: str) -> None:
    """Delete what a write has staged and no header ever named; what cannot be deleted stays."""
    with suppress(StoreError):
        found = [info.key for info in store.list(f"{uuid}/{table}/") if info.key.endswith(".parquet")]
        keys = pa.array(found, pa.string())
        ours = pc.equal(label_prefixes(pc.replace_substring(keys, ".parquet", "")), write_prefix(write_id))
        store.delete(keys.filter(ours).to_pylist())
        store.delete([info.key for info in store.list(f"_kubothek/{uuid}/") if f"/staged/{write_id}/" in info.key])
