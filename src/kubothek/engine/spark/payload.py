"""What travels between the driver and Spark's tasks: pickled inputs there, and back one row per result or error.

Results pass the driver, so they are small: descriptors of files, counts.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import zstandard

from kubothek.errors import InvalidInputError, KubothekError

Batches = Iterator[pa.RecordBatch]


def descriptors(results: Iterable[object], attempts: int) -> Batches:
    """Yield results of a task as rows of one binary column; an error of ours becomes a row too, to keep its type.

    What another attempt may mend, such as an answer of the storage, is raised as long as Spark will make one.
    """
    from pyspark import TaskContext

    found: list[bytes] = []
    try:
        found.extend(map(pickled, results))
    except KubothekError as error:
        context = TaskContext.get()
        last = context is None or context.attemptNumber() + 1 >= attempts
        if not last and not isinstance(error, InvalidInputError):
            raise
        found.append(pickled(error))
    yield pa.RecordBatch.from_arrays([pa.array(found, pa.binary())], names=["descriptor"])


def pickled(value: object) -> bytes:
    """Return a value as it travels, as small as it gets, because every task and every message of Connect holds all.

    A plan may name a million files; little more than the random part of their names is left.
    """
    return zstandard.ZstdCompressor(level=1).compress(pickle.dumps(value))


def unpickled(data: bytes) -> Any:
    """Return what the driver pickled for its tasks, or they for it."""
    content = zstandard.ZstdDecompressor().decompress(data)
    return pickle.loads(content)  # noqa: S301  both are this program; nothing from a store comes here


def task_numbers(batches: Batches) -> Iterator[int]:
    """Yield the numbers in the rows of a ``spark.range``: which tasks to do."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


@cache
def settle_worker() -> None:
    """Prepare a worker process once for all of its tasks.

    Arrow gets one thread, because Spark runs a task per core already. What has been imported is taken out of the
    garbage collector's sight: Spark has it look through everything after each task, which is most of a task's cost.
    """
    pa.set_cpu_count(1)
    gc.freeze()
