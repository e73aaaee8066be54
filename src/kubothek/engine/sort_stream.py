"""How rows that come in any order get into that of some columns without all being in memory.

::

    rows ──> a run ──in order, and after the one before──> passed on as it is
              │
              └──else──> sorted ──> run 1, run 2, … on disk ──> merged

A run is what may be held at once. As long as runs are in order they are passed on, so that rows which were sorted
before cost no disk. From the first that is not, runs are sorted and spilled, and merged when all rows are there: of
each run the next batches are held, and what comes no later than the first of their ends is sorted and given out. What
fits in one run is never written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from kubothek.engine.join import sort_rows
from kubothek.engine.key_codes import key_codes, stable_order

_HELD_BYTES = 64 * 2**20
_HELD_ROWS = 2**20
_BATCH_ROWS = 4_096
_BATCH_BYTES = 2**20
"""What a batch of a spilled run has, so that one of each run is little."""

_MOST_RUNS = 64
"""So many are merged into one before there are more, since each has a file open and batches in memory."""


def sort_stream(
    tables: Iterable[pa.Table],
    columns: Sequence[str],
    *,
    whole: bool = False,
    folder: str | None = None,
    held_bytes: int = _HELD_BYTES,
    held_rows: int = _HELD_ROWS,
) -> Iterator[pa.Table]:
    """Yield rows in the order of some columns; of those that tie, in any.

    Where the first runs are in order and a later one is not, what was given out is followed by all others, in order
    among themselves, unless the ``whole`` is to be in order.

    Parameters
    ----------
    tables
        The rows, all of one schema.
    columns
        By which they are sorted; nulls come last. Without any, rows are passed on as they come.
    whole
        Whether no rows are given out before all are there.
    folder
        Where runs are spilled; ``None`` for the system's place for temporary files.
    held_bytes, held_rows
        What a run has at most.

    Examples
    --------
    >>> halves = [pa.table({"x": [3, 1]}), pa.table({"x": [2]})]
    >>> [found["x"].to_pylist() for found in sort_stream(halves, ["x"])]
    [[1, 2, 3]]
    """
    if not columns:
        yield from tables
        return
    with ExitStack() as stack:
        spilled: list[_Run] = []
        held: pa.Table | None = None
        last: pa.Table | None = None
        for run in _runs(tables, held_bytes, held_rows):
            if held is not None:
                spilled.append(_spilled([held], folder, stack))
                held = None
            if len(spilled) == _MOST_RUNS:
                spilled = [_spilled(_merged(spilled, columns), folder, stack)]
            ordered = sort_rows(run, columns)
            if not whole and not spilled and ordered is run and (last is None or _follows(run, last, columns)):
                yield run
                last = run.slice(run.num_rows - 1)
            else:
                held = ordered
            del run, ordered  # what is passed on or sorted makes room for the next
        if held is not None and spilled:
            spilled.append(_spilled([held], folder, stack))
            held = None
        yield from _merged(spilled, columns) if held is None else [held]


def _runs(tables: Iterable[pa.Table], held_bytes: int, held_rows: int) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    size = rows = 0
    for table in tables:
        held.append(table)
        size += table.nbytes
        rows += table.num_rows
        if size >= held_bytes or rows >= held_rows:
            yield pa.concat_tables(held)
            held, size, rows = [], 0, 0
    if rows:
        yield pa.concat_tables(held)


def _follows(run: pa.Table, last: pa.Table, columns: Sequence[str]) -> bool:
    """Tell whether a sorted run does not begin before the last row given out."""
    pair = pa.concat_tables([last, run.slice(0, 1)])
    return sort_rows(pair, columns) is pair


@dataclass(slots=True, eq=False)
class _Run:
    """A sorted run on disk: its file, how many batches were read, and the rows of them that were not given out."""

    file: pa.ipc.RecordBatchFileReader
    rest: pa.Table
    read: int = 0

    def is_read(self) -> bool:
        return bool(self.read == self.file.num_record_batches)

    def fill(self) -> None:
        """Read on where little is left, so that runs are not sorted again for a few rows each."""
        while not self.is_read() and max(self.rest.num_rows / _BATCH_ROWS, self.rest.nbytes / _BATCH_BYTES) < 1 / 2:
            batch = pa.Table.from_batches([self.file.get_batch(self.read)])
            self.rest = pa.concat_tables([self.rest, batch])
            self.read += 1

    def take(self, count: int) -> pa.Table:
        taken, self.rest = self.rest.slice(0, count), self.rest.slice(count)
        return taken


def _spilled(tables: Iterable[pa.Table], folder: str | None, stack: ExitStack) -> _Run:
    """Write sorted rows to a file without a name, which the system removes when it is closed, or the process dies."""
    rows = iter(tables)
    first = next(rows)
    place = folder if folder is not None and Path(folder).is_dir() else None
    file = stack.enter_context(tempfile.TemporaryFile(prefix="kubothek-", dir=place))  # noqa: SIM115  the stack closes it
    with pa.ipc.new_file(pa.PythonFile(file, mode="w"), first.schema) as writer:
        for table in chain([first], rows):
            fitting = _BATCH_BYTES * table.num_rows // max(table.nbytes, 1)
            writer.write_table(table.combine_chunks(), max_chunksize=min(max(fitting, 1), _BATCH_ROWS))
    file.flush()
    return _Run(pa.ipc.open_file(pa.PythonFile(file, mode="r")), first.schema.empty_table())


def _merged(runs: Sequence[_Run], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of sorted runs in order.

    All that a run will still give comes after what is held of it, so rows up to the earliest end of a run are complete.
    """
    left = list(runs)
    while left:
        for run in left:
            run.fill()
        held = pa.concat_tables([run.rest.select(columns) for run in left])
        (codes,), size = key_codes([held.columns])
        parts = np.split(codes, np.cumsum([run.rest.num_rows for run in left])[:-1])
        ends = [part[-1] for part, run in zip(parts, left, strict=True) if not run.is_read()]
        counts = [int(np.searchsorted(part, min(ends), "right")) if ends else len(part) for part in parts]
        rows = pa.concat_tables([run.take(count) for run, count in zip(left, counts, strict=True)])
        order = np.concatenate([part[:count] for part, count in zip(parts, counts, strict=True)])
        yield rows.take(pa.array(stable_order(order, size)))
        left = [run for run in left if run.rest.num_rows or not run.is_read()]
