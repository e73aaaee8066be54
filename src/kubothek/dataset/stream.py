"""How the batches of a streaming query are committed to a dataset, each once, however often it comes.

A query numbers its batches. It goes on with the next one when it knows that the one before was committed; whenever it
does not know, it comes with the same number again, and with the same rows in new files. So each commit notes the
number, and of what comes then::

    number    2      last batch of this query in the dataset: 2     repeated: nothing is committed, its files go
              3                                                     new: committed
              1                                                     an error: the query has lost its memory

The last one is what happens where a checkpoint was lost, or put back to an older state: what the batch holds may never
have been written under its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from kubothek.dataset.at import with_state
from kubothek.dataset.snapshot import Snapshot, find_dataset
from kubothek.dataset.staging.arguments import stored_layout
from kubothek.dataset.staging.discard import discard
from kubothek.dataset.write_job import WriteJob, commit_job, replace_job, update_job
from kubothek.errors import InvalidInputError
from kubothek.model.header import StreamBatch
from kubothek.model.staged import StagedPartition
from kubothek.plan.apply import CREATION_TIME
from kubothek.store.interface import Store

WRITE_STREAM = "write_stream"
"""The operation of a commit of a batch."""


def batch_job(schema: pa.Schema, uuid: str, store: Store, *, replaces: bool = False, **settings: Any) -> WriteJob:
    """Plan to write a batch.

    Parameters
    ----------
    schema
        Columns of the rows, with Spark's types as Arrow has them.
    uuid, store
        The dataset; the first batch creates it.
    replaces
        The batch is the whole content from then on. Layout, indices and metadata stay, but for what is given.
    settings
        As for :func:`kubothek.dataset.write_job.update_job`.

    Raises
    ------
    InvalidInputError
        Parameters, columns or types do not fit each other or the dataset.
    StoreError
        The store cannot commit safely.
    """
    if replaces:
        base = find_dataset(uuid, store)
        job = replace_job(schema, uuid, store, **settings if base is None else _kept(base, settings))
    else:
        job = update_job(schema, uuid, store, **settings)
    return replace(job, change=replace(job.change, operation=WRITE_STREAM))


def _kept(base: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a write that replaces the content of a dataset and nothing else."""
    metadata = {name: value for name, value in base.header.metadata.items() if name != CREATION_TIME}
    layout = dict(zip(("partition_on", "secondary_indices"), stored_layout(base, None, None, base.uuid), strict=True))
    chosen = {name: value for name, value in given.items() if value is not None}
    return {**layout, **chosen, "metadata": {**metadata, **(given.get("metadata") or {})}}


def commit_batch(job: WriteJob, staged: Sequence[StagedPartition], batch: StreamBatch) -> bool:
    """Commit a batch of a streaming query, unless it was committed before.

    A batch without rows that adds nothing to an existing dataset makes no commit.

    Parameters
    ----------
    job, staged
        How the batch was to be written, and what its tasks have staged.
    batch
        Whose it is, and its number.

    Returns
    -------
    bool
        Whether there was a commit. Where there was none, its rows are there already, or there are none.

    Raises
    ------
    InvalidInputError
        A later batch of the query was committed already, or the rows do not fit the dataset; nothing was committed.
    CommitConflictError
        Others changed the dataset meanwhile such that both cannot hold; nothing was committed.
    CommitStateUnknownError
        The store gave no answer. To come with the batch again is safe, and settles it.
    """
    base = find_dataset(job.task.uuid, job.store)
    if base is not None:
        state = with_state(base)[1]
        if batch.is_recorded(state.streams):
            if job.change.write_id not in state.recent:
                discard(job.store, staged)
            _check_last(batch, state.streams[batch.query], job.task.uuid)
            return False
        if not staged and not job.change.overwrite:
            return False
    after = commit_job(job, staged, batch=batch).header.state
    return after is not None and job.change.write_id in after.recent


def _check_last(batch: StreamBatch, last: int, uuid: str) -> None:
    """Refuse a batch that comes after a later one of its query was committed."""
    if batch.number < last:
        raise InvalidInputError(
            f"Batch {batch.number} of the streaming query {batch.query!r} comes to dataset {uuid!r}, which has "
            f"batches up to {last} of this query. Its checkpoint was lost or is an old one, so that nobody knows "
            "whether the rows were written. Put the newest checkpoint back, or start a query with a new checkpoint, "
            "and with another name where it has the option 'query'; nothing was committed.",
            query=batch.query,
            batch=batch.number,
            last=last,
        )
