"""How more rows than memory should hold are brought into ranges of one column: sorted runs in a temporary directory.

::

    rows ──add──> held ──full──> sorted ──> run 1, run 2, …          a run keeps the first value of each of its batches
    ranges:  from these first values some are chosen as cuts; each range is what all runs have between two cuts

As long as everything fits in memory nothing is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

_HELD_BYTES = 24 * 2**20
_ROWS_PER_BATCH = 32_768
_BATCHES_PER_RANGE = 16


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A sorted run: its file, and the first value of each batch."""

    file: pa.ipc.RecordBatchFileReader
    firsts: pa.Array

    def between(self, key: str, low: pa.Scalar | None, high: pa.Scalar | None) -> pa.Table:
        """Return the rows with ``low <= key < high``; ``None`` is no bound."""
        start = 0 if low is None else max(pc.sum(pc.less(self.firsts, low)).as_py() - 1, 0)
        stop = len(self.firsts) if high is None else pc.sum(pc.less(self.firsts, high)).as_py()
        rows = pa.Table.from_batches([self.file.get_batch(n) for n in range(start, stop)], self.file.schema)
        if low is not None:
            rows = rows.filter(pc.greater_equal(rows.column(key), low))
        return rows if high is None else rows.filter(pc.less(rows.column(key), high))


class RangeSort:
    """Takes rows in any order and gives them back range by range of one column; a context that owns its files.

    Parameters
    ----------
    schema
        Of all rows.
    key
        The column; it holds no nulls, and its type has an order.
    held_bytes
        Of rows that are kept in memory before a run is written.

    Examples
    --------
    >>> with RangeSort(pa.schema([("x", pa.int64())]), "x") as rows:
    ...     rows.add(pa.table({"x": [2, 1]}))
    ...     [found.to_pydict() for found in rows.ranges()]
    [{'x': [2, 1]}]
    """

    def __init__(self, schema: pa.Schema, key: str, held_bytes: int = _HELD_BYTES) -> None:
        self._schema = schema
        self._key = key
        self._most = held_bytes
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._runs: list[_Run] = []
        self._stack = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the files."""
        self._stack.close()

    def add(self, rows: pa.Table) -> None:
        """Take in rows."""
        self._held.append(rows)
        self._bytes += rows.nbytes
        if self._bytes > self._most:
            self._write_run()

    def ranges(self) -> Iterator[pa.Table]:
        """Yield all rows, those of smaller values in earlier tables, those of one value in one; unsorted in themselves.

        Each table but the last has about half a million rows, more only where one value has.
        """
        if not self._runs:
            yield pa.concat_tables([self._schema.empty_table(), *self._held])
            return
        if self._held:
            self._write_run()
        firsts: Any = pa.concat_arrays([run.firsts for run in self._runs])
        firsts = firsts.take(pc.sort_indices(firsts))
        bounds = [None, *pc.unique(firsts[_BATCHES_PER_RANGE::_BATCHES_PER_RANGE]), None]
        for number, low in enumerate(bounds[:-1]):
            yield pa.concat_tables([run.between(self._key, low, bounds[number + 1]) for run in self._runs])

    def _write_run(self) -> None:
        rows = pa.concat_tables(self._held)
        self._held, self._bytes = [], 0
        rows = rows.take(pc.sort_indices(rows.column(self._key)))
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kubothek-")))
        path = str(self._folder / f"{len(self._runs)}.arrow")
        with pa.OSFile(path, mode="wb") as sink, pa.ipc.new_file(sink, self._schema) as writer:
            writer.write_table(rows.combine_chunks(), max_chunksize=_ROWS_PER_BATCH)
        file = self._stack.enter_context(pa.ipc.open_file(self._stack.enter_context(pa.memory_map(path))))
        places = pa.array(range(0, rows.num_rows, _ROWS_PER_BATCH), pa.int64())
        self._runs.append(_Run(file, pa.chunked_array(rows.column(self._key)).take(places).combine_chunks()))
