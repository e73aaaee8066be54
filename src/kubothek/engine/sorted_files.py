"""How rows that come in any order become sorted files: the body of write tasks on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from kubothek.engine.sort_stream import sort_stream
from kubothek.engine.writing import WriteTask, conform_rows, write_files
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store


def sort_and_write(
    store: Store,
    task: WriteTask,
    batches: Iterable[pa.RecordBatch],
    order: Sequence[str],
    *,
    whole: bool = False,
    folder: str | None = None,
) -> Iterator[StagedPartition]:
    """Write batches that come in any order; raises as :func:`write_files` does, when the rows are taken.

    Parameters
    ----------
    store, task, batches
        As for :func:`write_files`.
    order
        Columns to sort by: those at which files are cut, then those within a file.
    whole, folder
        As for :func:`~kubothek.engine.sort_stream.sort_stream`: whether each run of equal partition values surely is
        one file, even if the first rows were in order, and where rows are spilled.
    """
    rows = (conform_rows(batch, task) for batch in batches if batch.num_rows)
    ordered = sort_stream(rows, order, whole=whole, folder=folder)
    yield from write_files(store, task, (batch for table in ordered for batch in table.to_batches()))
