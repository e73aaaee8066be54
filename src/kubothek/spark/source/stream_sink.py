"""How a streaming query writes to a dataset: each micro-batch is one commit, made exactly once.

::

    each batch is planned    make_stream_writer     options, columns and types are checked; a job is planned
    each task                StreamWriter.write     its rows become files; the message names them, the job and the query
    all tasks have ended     StreamWriter.commit    the files are committed with the query's id and the batch's number
    else                     StreamWriter.abort     what any task has staged is found and deleted, as far as is known

These run in processes of their own. Who commits has a writer that was made anew, and knows what was planned from the
messages alone. Which query it is, the tasks are told by Spark: its id is kept in the checkpoint, so that it is the same
after a restart. A batch whose commit is not known to have taken place comes again, and is recognised
(:mod:`kubothek.dataset.stream`).

Spark calls ``abort`` after a ``commit`` that failed, too, or was killed. Then every task had ended, and the files may
belong to a commit, so that they are left alone; those that do not are garbage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kubothek.dataset.stream import batch_job, commit_batch
from kubothek.dataset.write_job import WriteJob, discard_job, stage_batches
from kubothek.engine.spark import check_reached, local_folder
from kubothek.engine.spark.payload import settle_worker
from kubothek.engine.spark.travel import Traveller
from kubothek.engine.spark_types import arrow_schema
from kubothek.errors import InvalidInputError
from kubothek.model.header import StreamBatch
from kubothek.model.staged import StagedPartition
from kubothek.spark.source.stream_options import stream_write_options

QUERY_ID = "sql.streaming.queryId"
"""Local property of a task in which Spark tells the id of the streaming query."""


@dataclass(frozen=True, slots=True)
class StagedBatch(WriterCommitMessage):
    """What a task has staged of a micro-batch: of which query, by which job, and the files."""

    query: str
    job: WriteJob
    staged: tuple[StagedPartition, ...]


def make_stream_writer(schema: StructType, overwrite: bool, options: Mapping[str, str]) -> StreamWriter:
    """Return what stages the rows of micro-batches and commits each of them once.

    Parameters
    ----------
    schema
        Columns of the rows.
    overwrite
        Whether each batch replaces the whole content, as output mode ``complete`` asks for.
    options
        As the user gave them; see :mod:`kubothek.spark.source.stream_options`.

    Raises
    ------
    InvalidInputError
        Options, columns and types do not fit each other or the dataset; nothing was written.
    """
    asked, query = stream_write_options(options)
    job = batch_job(
        arrow_schema(schema),
        asked.dataset,
        asked.store,
        replaces=overwrite,
        partition_on=asked.partition_on,
        secondary_indices=asked.secondary_indices,
        sort_by=asked.sort_by,
        metadata=asked.metadata,
        compression=asked.compression,
        rows_per_row_group=asked.rows_per_row_group,
        header_format=asked.header_format,
    )
    return StreamWriter(job, query)


class StreamWriter(Traveller, DataSourceStreamArrowWriter):
    """Writes the micro-batches of one query; made anew, in some process, for each step of each batch.

    Parameters
    ----------
    job
        How a batch is written now.
    query
        What the user calls the query; ``None`` for the id that Spark gives it.
    """

    def __init__(self, job: WriteJob, query: str | None) -> None:
        self._job = job
        self._query = query

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedBatch:
        """Stage the rows of one task; runs in an executor."""
        settle_worker()
        query = _query_id() if self._query is None else self._query
        return StagedBatch(query, self._job, stage_batches(self._job, iterator, folder=local_folder()))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Commit what all tasks have staged, unless the batch was committed before; runs beside the driver."""
        told = [message for message in messages if isinstance(message, StagedBatch)]
        if not told or len(told) < len(messages):
            raise InvalidInputError(
                f"Spark asks for a commit of batch {batchId} of {len(messages)} tasks, of which {len(told)} said what "
                "they have written. Nothing was committed."
            )
        staged = [part for message in told for part in message.staged]
        check_reached(told[0].job.store, staged)
        commit_batch(told[0].job, staged, StreamBatch(told[0].query, batchId))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Delete what was staged of a batch of which tasks failed, where one has told by which job."""
        del batchId
        told = [message for message in messages if isinstance(message, StagedBatch)]
        if told and len(told) < len(messages):
            discard_job(told[0].job)


def _query_id() -> str:
    """Return the id of the query that the task belongs to."""
    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty(QUERY_ID)
    if not found:
        raise InvalidInputError(
            "Spark does not tell which streaming query this is, so that a batch that comes again could not be "
            "recognised. Name it with the option 'query'; nothing was written."
        )
    return str(found)
