"""Runs read and write tasks in this process, in threads; the task bodies are those that Spark runs.

Reading a directory keeps the cores busy, and has as many threads as there are cores. Threads that read an object store
spend their time waiting, so there are more of them as long as the units that they read are small together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from kubothek.codec.conform import concat_rows
from kubothek.engine.join import sorted_order, take
from kubothek.engine.reading import UnitReader
from kubothek.engine.steps import in_threads, once
from kubothek.engine.writing import cut_runs
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.plan.tasks import units_at_once
from kubothek.store.interface import Store

In = TypeVar("In")
Out = TypeVar("Out")

ROWS_PER_BATCH = 262_144

_WAITING = 16
"""Threads that read units from an object store, at most, if there are fewer cores."""

_FILES = 64
"""Files that they read at once, at most, since those of one unit are read side by side."""

_UNDER_WAY = 64 * 2**20
"""Stored bytes of the units that more threads than there are cores read at once."""


def map_in_threads(
    task: Callable[[In], Out], inputs: Iterable[In], threads: int | None = None
) -> Generator[Out, None, None]:
    """Apply a task to each input, several at a time, and yield the results in order.

    At most twice as many results as threads are ahead of the consumer, so that memory stays bounded.
    """
    return in_threads((partial(once, task, one) for one in inputs), threads)


def read_units(store: Store, plan: ReadPlan) -> Generator[pa.Table, None, None]:
    """Yield the rows of each unit of a plan, in order, with the promised schema."""
    reader = UnitReader(store, plan)
    return map_in_threads(reader.read, range(plan.units.num_rows), count_threads(store, plan))


def read_table(store: Store, plan: ReadPlan) -> pa.Table:
    """Return all rows of a plan, in order."""
    reader = UnitReader(store, plan)
    tables = map_in_threads(lambda run: reader.read_run(*run), reader.runs(), count_threads(store, plan))
    return concat_rows(tables, plan.schema)


def read_groups(
    store: Store, plan: ReadPlan, threads: int | None = None
) -> Generator[tuple[tuple[Any, ...], pa.Table], None, None]:
    """Yield the rows of each group of a plan, after the values of its ``group_by`` columns, in order.

    Rows are sorted in the plan's order; a group without rows is left out. ``threads`` read units ahead, as many as
    :func:`count_threads` finds with ``None``.
    """
    if plan.units.num_rows == 0:
        return
    columns = [PARTITION_PREFIX + name for name in plan.group_by]
    starts = cut_runs(plan.units, columns)
    reader = UnitReader(store, plan)
    ahead = count_threads(store, plan) if threads is None else threads
    with closing(map_in_threads(reader.read, range(plan.units.num_rows), ahead)) as tables:
        for start, stop in zip(starts, np.append(starts[1:], plan.units.num_rows), strict=True):
            rows = pa.concat_tables([next(tables) for _ in range(start, stop)])
            if rows.num_rows:
                key = tuple(plan.units.column(name)[int(start)].as_py() for name in columns)
                yield key, _sorted(rows, plan.order)


def _sorted(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Sort a group by columns; those of a large group are taken several at a time, which Arrow does not by itself."""
    order = sorted_order(rows, columns)
    if order is None or rows.num_rows <= ROWS_PER_BATCH:
        return take(rows, order)
    numbers = pa.array(order)
    taken = list(map_in_threads(lambda column: column.take(numbers), rows.columns))
    return pa.Table.from_arrays(taken, schema=rows.schema)


def read_batches(store: Store, plan: ReadPlan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan as record batches, in order.

    In memory are a few row groups per file that is being read, of which there are no more than threads; where rows are
    joined, overlaid or sorted, a few whole units per thread. There are no more threads than cores unless the files that
    are read are small: those of an object store, up to 64 MiB of them. A consumer that closes the iterator, or drops
    it, leaves no thread and no open file.
    """
    with closing(read_steps(UnitReader(store, plan), store, plan)) as tables:
        for table in tables:
            yield from table.to_batches(max_chunksize=ROWS_PER_BATCH)


def read_steps(reader: UnitReader, store: Store, plan: ReadPlan) -> Generator[pa.Table, None, None]:
    """Yield the rows of a plan's units in order, in tables of some row groups where they can be read so."""
    units = plan.units.num_rows
    steps = (partial(reader.run_step, *run) for run in reader.runs())
    threads = count_threads(store, plan)
    return in_threads(steps, threads, lead=max(min(threads, units), 2 if store.is_remote else 1))


def count_threads(store: Store, plan: ReadPlan, least: int | None = None) -> int:
    """Return how many threads read the units of a plan: ``least`` (``None``: one per core), or more from afar."""
    cores = least or os.cpu_count() or 1
    if not store.is_remote or not plan.units.num_rows:
        return cores
    files = sum(table.num_rows for table in plan.files)
    most = min(_WAITING, _FILES * plan.units.num_rows // max(files, 1))
    return max(cores, units_at_once(plan, most, _UNDER_WAY))
