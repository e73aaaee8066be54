"""How rows become staged files: the schema is checked, tasks write, and the caller learns of each file.

Nothing here is visible to readers: files get fresh names that no header refers to. A Spark DataFrame is written by
Spark's tasks, anything else by the same tasks in threads of this process, frame by frame (all frames at once where
equal values are to share a file). Tables are written one by one; :mod:`kubothek.dataset.staging.pairing` makes
partitions of their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kubothek.codec.keys import staged_prefix
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.discard import discard_by_listing
from kubothek.dataset.staging.incoming import ArrowTables, SparkTables, Tables
from kubothek.dataset.staging.pairing import pair_tables
from kubothek.engine import spark as on_spark
from kubothek.engine.join import sort_rows
from kubothek.engine.local import map_in_threads
from kubothek.engine.spark_types import arrow_schema, as_recorded
from kubothek.engine.writing import (
    BUCKET,
    WriteTask,
    bucket_numbers,
    check_cells,
    conform_rows,
    cut_runs,
    same_cells,
    write_files,
)
from kubothek.errors import InvalidInputError, SchemaError
from kubothek.model.schema import merge_schemas
from kubothek.model.staged import StagedPartition
from kubothek.plan.layout import Layout, record_schemas, share_types
from kubothek.store.interface import Store

_PIECES_PER_FRAME = 8

Written = MutableSequence[StagedPartition]
"""Receives each file as soon as it is there, so that the caller knows them after an error too."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Where and how one write stages its files; ``subject`` names the dataset in messages.

    ``expected`` is the schema of record per table of the dataset as it is, which the data must fit.
    """

    store: Store
    uuid: str
    write_id: str
    incarnation: str
    layout: Layout
    expected: Mapping[str, pa.Schema] | None = None

    @property
    def subject(self) -> str:
        """The dataset, for messages."""
        return f"dataset {self.uuid!r}"

    def tasks(self, schemas: Mapping[str, pa.Schema]) -> dict[str, WriteTask]:
        """Return for each table the task that writes data of this schema.

        Raises
        ------
        UnknownColumnError, SchemaError
            The data lacks tables or columns, or its types do not fit the format, each other or the dataset.
        """
        self._check_tables(schemas)
        records = record_schemas(schemas, self.layout, self.subject)
        if self.expected is not None:
            stored = {t: merge_schemas(self.expected[t], record, what=self.subject) for t, record in records.items()}
            records = share_types(stored, self.subject)
        return {table: self._task(table, record) for table, record in records.items()}

    def _check_tables(self, schemas: Mapping[str, pa.Schema]) -> None:
        if self.expected is not None and set(schemas) != set(self.expected):
            raise SchemaError(
                f"The data for {self.subject} is for the table(s) {', '.join(schemas)}, but the dataset has "
                f"{', '.join(self.expected)}, and each partition has every table. Give a mapping from table to rows."
            )

    def _task(self, table: str, record: pa.Schema) -> WriteTask:
        layout = self.layout
        return WriteTask(
            uuid=self.uuid,
            table=table,
            write_id=self.write_id,
            staged=staged_prefix(self.uuid, self.incarnation, self.write_id),
            schema=record,
            partition_on=layout.partition_on,
            index_columns=tuple(name for name in layout.secondary_indices if name in record.names),
            unique=layout.unique,
            apart=layout.apart,
            compression=layout.compression,
            rows_per_row_group=layout.rows_per_row_group,
        )


@dataclass(frozen=True, slots=True)
class Staged:
    """What a write staged, and the schema of record that all its rows have, per table."""

    partitions: tuple[StagedPartition, ...]
    schemas: Mapping[str, pa.Schema]


def incarnation(base: Snapshot | None, write_id: str) -> str:
    """Return under which incarnation a write stages index values; that of a new dataset is not known yet."""
    return write_id if base is None or base.header.state is None else base.header.state.incarnation


def stage_rows(rows: Tables, staging: Staging, written: Written) -> Staged:
    """Stage all rows as files.

    Raises
    ------
    InvalidInputError
        The rows cannot be stored: types, nulls, cells given twice.
    StoreError
        Nothing was written, because what is staged could not be committed to this store, or not safely.
    """
    staging.store.check_swap()
    return (
        _stage_spark(rows, staging, written) if isinstance(rows, SparkTables) else stage_parts(rows, staging, written)
    )


def _stage_spark(rows: SparkTables, staging: Staging, written: Written) -> Staged:
    tasks = staging.tasks({table: _offered(frame, table, staging) for table, frame in rows.frames.items()})
    if len(tasks) > 1 and not staging.layout.shuffle:
        raise InvalidInputError(
            f"The data for {staging.subject} has the tables {', '.join(tasks)} as Spark DataFrames, which takes "
            "shuffle=True: without it nothing says which of their files belong together."
        )
    staged = {table: _stage_frame(frame, tasks[table], staging, written) for table, frame in rows.frames.items()}
    partitions = pair_tables(staging.store, tasks, staged, written)
    return Staged(tuple(partitions), {table: task.schema for table, task in tasks.items()})


def _offered(frame: Any, table: str, staging: Staging) -> pa.Schema:
    """Return the types of a DataFrame, as the dataset has them where Spark showed them so."""
    schema = arrow_schema(frame.schema)
    record = (staging.expected or {}).get(table)
    return schema if record is None else as_recorded(schema, record)


def _stage_frame(frame: Any, task: WriteTask, staging: Staging, written: Written) -> Sequence[StagedPartition]:
    """Have Spark write the rows of one table."""
    layout, store = staging.layout, staging.store
    try:
        staged = on_spark.write_rows(
            frame,
            store,
            task,
            sort_by=[name for name in layout.sort_by if name in task.schema.names],
            shuffle=layout.shuffle,
            bucket_by=layout.bucket_by or tuple(task.schema.names),
            num_buckets=layout.num_buckets,
        )
    except BaseException:
        discard_by_listing(store, task.uuid, task.table, task.write_id, task.staged)
        raise
    written.extend(staged)
    if task.unique and not (layout.shuffle and task.apart == task.partition_on):
        groups = [group for group in same_cells(staged, task).values() if len(group) > 1]
        on_spark.check_partitions(frame.sparkSession, store, task, groups)
    return staged


def stage_parts(rows: ArrowTables, staging: Staging, written: Written) -> Staged:
    """Stage rows that are in this process, which may be a task's; raises as :func:`stage_rows` does.

    Whether the store can be committed to was looked at where the write began.
    """
    parts = rows.parts
    if staging.layout.shuffle:
        parts = iter([_together(rows, staging)])
    schemas, tasks = staging.expected, dict[str, WriteTask]()
    partitions: list[StagedPartition] = []
    while (part := next(parts, None)) is not None:
        tasks = staging.tasks({table: frame.schema for table, frame in part.items()})
        schemas = _merged(schemas, tasks, staging)
        partitions += _stage_part(part, tasks, staging, written)
        del part  # the next one is made when this one is gone
    for task in tasks.values():
        if task.unique:
            for group in same_cells(partitions, task).values():
                if len(group) > 1:
                    check_cells(staging.store, task, group)
    return Staged(tuple(partitions), _known(schemas, rows, staging))


def _together(rows: ArrowTables, staging: Staging) -> dict[str, pa.Table]:
    """Put all parts into one, with the types of record."""
    schemas = staging.expected
    conformed: list[dict[str, pa.Table]] = []
    while (part := next(rows.parts, None)) is not None:
        tasks = staging.tasks({table: frame.schema for table, frame in part.items()})
        schemas = _merged(schemas, tasks, staging)
        conformed.append({table: conform_rows(part[table], task) for table, task in tasks.items()})
        del part
    return {
        table: pa.concat_tables([schema.empty_table(), *(part[table].cast(schema) for part in conformed)])
        for table, schema in _known(schemas, rows, staging).items()
    }


def _merged(
    schemas: Mapping[str, pa.Schema] | None, tasks: Mapping[str, WriteTask], staging: Staging
) -> dict[str, pa.Schema]:
    """Return the schemas of record that hold for what came before and for this part."""
    found = {table: task.schema for table, task in tasks.items()}
    if schemas is None:
        return found
    what = f"a later frame of the data for {staging.subject}"
    merged = {table: merge_schemas(schemas[table], new, what=what, stored=False) for table, new in found.items()}
    return share_types(merged, staging.subject)


def _known(schemas: Mapping[str, pa.Schema] | None, rows: ArrowTables, staging: Staging) -> Mapping[str, pa.Schema]:
    """Return the schemas; without any part only the dataset has some, and without a dataset that is an error."""
    if schemas is not None:
        return schemas
    return {table: task.schema for table, task in staging.tasks(dict.fromkeys(rows.tables, pa.schema([]))).items()}


def _stage_part(
    part: Mapping[str, pa.Table], tasks: Mapping[str, WriteTask], staging: Staging, written: Written
) -> Sequence[StagedPartition]:
    """Write the rows that each table has in one part."""
    layout, store = staging.layout, staging.store
    rows = {table: conform_rows(part[table], task) for table, task in tasks.items()}
    cut_at = [*layout.partition_on]
    if layout.shuffle and layout.num_buckets:
        by = layout.bucket_by or next(task.schema.names for task in tasks.values())
        numbers = bucket_numbers(list(rows.values()), by, layout.partition_on, layout.num_buckets)
        rows = {t: r.append_column(BUCKET, n) for (t, r), n in zip(rows.items(), numbers, strict=True)}
        cut_at.append(BUCKET)
    staged = {}
    for table, found in rows.items():
        order = [name for name in (*cut_at, *layout.sort_by) if name in found.column_names]
        staged[table] = _stage_table(sort_rows(found, order), cut_at, tasks[table], store, written)
    return pair_tables(store, tasks, staged, written)


def _stage_table(
    rows: pa.Table, cut_at: Sequence[str], task: WriteTask, store: Store, written: Written
) -> list[StagedPartition]:
    """Write the sorted rows of one table, several partitions at a time."""
    if rows.num_rows == 0:
        return []

    def write(piece: pa.Table) -> list[StagedPartition]:
        staged = []
        for one in write_files(store, task, piece.to_batches()):
            written.append(one)
            staged.append(one)
        return staged

    return [one for staged in map_in_threads(write, _pieces(rows, cut_at)) for one in staged]


def _pieces(rows: pa.Table, cut_at: Sequence[str]) -> Iterator[pa.Table]:
    """Cut rows into a few pieces, only where a file ends."""
    starts = cut_runs(rows, cut_at)
    chosen = starts[np.linspace(0, len(starts), min(len(starts), _PIECES_PER_FRAME), endpoint=False).astype(int)]
    for start, stop in zip(chosen, np.append(chosen[1:], rows.num_rows), strict=True):
        yield rows.slice(start, stop - start)
