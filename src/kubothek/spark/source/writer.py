"""How a DataFrame is written by ``df.write.format("kubothek")``: planned, staged by tasks, committed once.

::

    beside the driver    make_writer       options, columns and types are checked; a job is planned
    in each task         Writer.write      its rows become files that nothing refers to; the message names them
    all tasks ended      Writer.commit     the files of the messages are committed, once
    else                 Writer.abort      what any task has staged is found by the names of its files, and deleted

Spark keeps one message per task, of the attempt that it accepted, so what retries and speculation leave is never
committed. These steps run in processes of their own, which share the writer as it was planned, and nothing else. What
they raise, Spark tells the user as text. Errors about the rows are told in the message, because another attempt would
find them again; ``commit`` raises them.

Spark also calls ``abort`` after a ``commit`` that failed, or was killed. Every task had ended then, so every message is
there; the files may be in use, or were deleted when it failed, and are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kubothek.cube.write import Request, plan_dataset
from kubothek.dataset.write_job import WriteJob, commit_job, discard_job, replace_job, stage_batches, update_job
from kubothek.engine.spark import check_reached, local_folder
from kubothek.engine.spark.payload import settle_worker
from kubothek.engine.spark.travel import Traveller
from kubothek.engine.spark_types import arrow_schema
from kubothek.errors import InvalidInputError, KubothekError
from kubothek.model.staged import StagedPartition
from kubothek.plan.layout import parse_layout
from kubothek.spark.source.options import WriteOptions, write_options

Mode = Literal["append", "static", "dynamic"]
"""Add rows, replace everything, or replace the physical partitions that there are rows for."""

OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
"""Setting of a session that decides what an overwrite replaces; Spark tells it to tasks."""


@dataclass(frozen=True, slots=True)
class StagedRows(WriterCommitMessage):
    """What a task has staged, or why its rows cannot be stored; ``dynamic`` says which of the writer's jobs it did."""

    staged: tuple[StagedPartition, ...]
    dynamic: bool = False
    error: InvalidInputError | None = None


def make_writer(schema: StructType, overwrite: bool, options: Mapping[str, str]) -> Writer:
    """Return what stages rows and commits them.

    Parameters
    ----------
    schema
        Columns of the rows.
    overwrite
        Whether the mode is ``overwrite``, and not ``append``.
    options
        As the user gave them; see :data:`kubothek.spark.source.options.WRITE`. With ``cube``, ``dataset`` is an id
        within it, and the write is what ``append_to_cube``, ``extend_cube`` or ``update_cube`` does.

    Raises
    ------
    InvalidInputError
        Options, columns and types do not fit each other or the dataset; nothing was written.
    """
    asked = write_options(options, overwrite=overwrite)
    rows = arrow_schema(schema)
    plan = _dataset_plan if asked.cube is None else partial(_cube_plan, asked.cube)
    if not overwrite:
        return Writer(plan(rows, asked, "append"))
    job = plan(rows, asked, asked.partition_overwrite or "static")
    if asked.partition_overwrite or not job.overwrites_existing:
        return Writer(job)
    return Writer(job, _attempted(lambda: plan(rows, asked, "dynamic")))


def _attempted(plan: Callable[[], WriteJob]) -> WriteJob | InvalidInputError:
    try:
        return plan()
    except InvalidInputError as error:
        return error


def _dataset_plan(rows: pa.Schema, asked: WriteOptions, mode: Mode) -> WriteJob:
    layout: dict[str, Any] = {
        "sort_by": asked.sort_by,
        "metadata": asked.metadata,
        "compression": asked.compression,
        "rows_per_row_group": asked.rows_per_row_group,
        "header_format": asked.header_format,
    }
    keys, indices = asked.partition_on, asked.secondary_indices
    if mode == "static":
        layout |= {"partition_on": keys or (), "secondary_indices": indices or ()}
        return replace_job(rows, asked.dataset, asked.store, **layout)
    return update_job(
        rows,
        asked.dataset,
        asked.store,
        delete_scope=() if asked.delete_scope is None else asked.delete_scope,
        replaces=mode == "dynamic",
        partition_on=keys,
        secondary_indices=indices,
        **layout,
    )


def _cube_plan(cube: str, rows: pa.Schema, asked: WriteOptions, mode: Mode) -> WriteJob:
    request = Request(
        mode="append" if mode == "append" else "update" if mode == "dynamic" else "extend",
        layout=parse_layout(compression=asked.compression),
        metadata=None if asked.metadata is None else {asked.dataset: asked.metadata},
        partition_on=None if asked.partition_on is None else {asked.dataset: asked.partition_on},
        overwrite=mode == "static",
    )
    return plan_dataset(rows, asked.dataset, cube, asked.store, request)


class Writer(Traveller, DataSourceArrowWriter):
    """Stages the rows of tasks and commits them.

    Parameters
    ----------
    job
        What to write.
    dynamic
        What to write instead where the session says that an overwrite replaces single partitions, which only tasks
        know; or why that cannot be done.
    """

    def __init__(self, job: WriteJob, dynamic: WriteJob | InvalidInputError | None = None) -> None:
        self._job = job
        self._dynamic = dynamic

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedRows:
        """Stage the rows of one task; runs in an executor."""
        settle_worker()
        chosen = self._dynamic if self._dynamic is not None and _is_dynamic_session() else self._job
        dynamic = chosen is not self._job
        try:
            if isinstance(chosen, InvalidInputError):
                raise chosen
            return StagedRows(stage_batches(chosen, iterator, folder=local_folder()), dynamic)
        except InvalidInputError as error:
            return StagedRows((), dynamic, error)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit what all tasks have staged, or raise what one of them has found; runs beside the driver."""
        told = [message for message in messages if isinstance(message, StagedRows)]
        errors: list[KubothekError] = [message.error for message in told if message.error is not None]
        if len(told) < len(messages):
            errors.append(
                KubothekError(
                    f"Spark asks for a commit of {len(messages)} tasks, but {len(messages) - len(told)} of them did "
                    "not say what they have written. Nothing was committed; write again."
                )
            )
        if errors:
            self._discard()
            raise errors[0]
        chosen = self._dynamic if any(message.dynamic for message in told) else self._job
        if isinstance(chosen, WriteJob):
            staged = [one for message in told for one in message.staged]
            check_reached(chosen.store, staged)
            commit_job(chosen, staged)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Delete what tasks have staged of a write of which others failed; runs beside the driver.

        What a task that is being killed writes after that is garbage.
        """
        if any(message is None for message in messages):
            self._discard()

    def _discard(self) -> None:
        for job in (self._job, self._dynamic):
            if isinstance(job, WriteJob):
                discard_job(job)


def _is_dynamic_session() -> bool:
    context = TaskContext.get()
    mode = None if context is None else context.getLocalProperty(OVERWRITE_MODE)
    return str(mode or "").lower() == "dynamic"
