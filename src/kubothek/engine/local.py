"""Runs read and write tasks in this process, in threads; the task bodies are those that Spark runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TypeVar

import pyarrow as pa

from kubothek.engine.reading import UnitReader
from kubothek.engine.steps import Made, in_threads
from kubothek.model.read_plan import ReadPlan
from kubothek.store.interface import Store

In = TypeVar("In")
Out = TypeVar("Out")

ROWS_PER_BATCH = 262_144


def map_in_threads(
    task: Callable[[In], Out], inputs: Iterable[In], threads: int | None = None
) -> Generator[Out, None, None]:
    """Apply a task to each input, several at a time, and yield the results in order.

    At most twice as many results as threads are ahead of the consumer, so that memory stays bounded.
    """
    return in_threads((partial(_made, task, one) for one in inputs), threads)


def _made(task: Callable[[In], Out], one: In) -> Made[Out]:
    return Made((task(one),))


def read_units(store: Store, plan: ReadPlan) -> Generator[pa.Table, None, None]:
    """Yield the rows of each unit of a plan, in order, with the promised schema."""
    reader = UnitReader(store, plan)
    return map_in_threads(reader.read, range(plan.units.num_rows))


def read_batches(store: Store, plan: ReadPlan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan as record batches, in order.

    In memory are a few row groups per file that is being read, of which there are no more than threads; where rows are
    joined, overlaid or sorted, a few whole units per thread. A consumer that closes the iterator, or drops it, leaves
    no thread and no open file.
    """
    with closing(read_steps(UnitReader(store, plan), plan.units.num_rows)) as tables:
        for table in tables:
            yield from table.to_batches(max_chunksize=ROWS_PER_BATCH)


def read_steps(reader: UnitReader, units: int) -> Generator[pa.Table, None, None]:
    """Yield the rows of so many units in order, in tables of some row groups where they can be read so."""
    steps = (partial(reader.step, position) for position in range(units))
    threads = os.cpu_count() or 1
    return in_threads(steps, threads, lead=max(min(threads, units), 1))
