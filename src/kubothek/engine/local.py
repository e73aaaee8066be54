"""Runs read and write tasks in this process, in threads; the task bodies are those that Spark runs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa

from kubothek.engine.reading import UnitReader
from kubothek.model.read_plan import ReadPlan
from kubothek.store.interface import Store

In = TypeVar("In")
Out = TypeVar("Out")

ROWS_PER_BATCH = 262_144


def map_in_threads(task: Callable[[In], Out], inputs: Iterable[In], threads: int | None = None) -> Iterator[Out]:
    """Apply a task to each input, several at a time, and yield the results in order.

    At most twice as many results as threads are ahead of the consumer, so that memory stays bounded.
    """
    count = threads or os.cpu_count() or 1
    waiting = iter(inputs)
    first = list(islice(waiting, 2))
    if len(first) < 2:  # a thread costs more than most single tasks
        yield from map(task, first)
        return
    with ThreadPoolExecutor(count) as pool:
        running: deque[Future[Out]] = deque()
        try:
            for one in chain(first, waiting):
                running.append(pool.submit(task, one))
                if len(running) >= 2 * count:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def read_units(store: Store, plan: ReadPlan) -> Iterator[pa.Table]:
    """Yield the rows of each unit of a plan, in order, with the promised schema."""
    reader = UnitReader(store, plan)
    return map_in_threads(reader.read, range(plan.units.num_rows))


def read_batches(store: Store, plan: ReadPlan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan as record batches, in order."""
    for table in read_units(store, plan):
        yield from table.to_batches(max_chunksize=ROWS_PER_BATCH)
