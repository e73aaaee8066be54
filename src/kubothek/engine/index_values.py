"""Which distinct values a file holds in an indexed column, found while it is written, in bounded memory.

Values are made distinct row group by row group. Where they grow beyond what may be held, they are sorted and spilled as
one more run of a staged file::

    row groups  -> distinct values held -> run 1 | run 2 | …        each sorted, a value perhaps in several
                                        -> few at the end: inline, in the descriptor of the file

The commit merges runs and inline values alike, so nothing has to be made distinct across runs here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.data import unique_values
from kubothek.codec.sealed_parquet import SealedWriter
from kubothek.codec.staged_table import SUFFIX, read_staged, staged_writer
from kubothek.errors import StoreError
from kubothek.store.interface import Store

_HELD_BYTES = 8 * 2**20
_ROWS_AT_ONCE = 65_536
"""Hash tables of so many values are small and quick; what they leave is made distinct by sorting."""
_VALUES_PER_BATCH = 65_536
_INLINE_VALUES = 4096
_INLINE_BYTES = 256 * 2**10
"""Up to both, values travel in the descriptor of their file."""


class IndexValues:
    """Gathers the distinct values of one column of one file, neither null nor NaN.

    Parameters
    ----------
    store, prefix
        Where values are staged that are too many for a descriptor.
    kind
        Their type of record.
    held_bytes
        Beyond so many, values are made distinct; if more than half of that is left, they are spilled.
    """

    def __init__(self, store: Store, prefix: str, kind: pa.DataType, held_bytes: int = _HELD_BYTES) -> None:
        self._store = store
        self._kind = kind
        self._key = f"{prefix}{store.world.new_id()}{SUFFIX}"
        self._held: list[pa.Array] = []
        self._most = held_bytes
        self._bytes = 0
        self._stack = ExitStack()
        self._runs: SealedWriter | None = None

    def add(self, column: pa.ChunkedArray) -> None:
        """Take in the values of some rows."""
        for start in range(0, len(column), _ROWS_AT_ONCE):
            self._hold(unique_values(column.slice(start, _ROWS_AT_ONCE)))
        if self._bytes > self._most:
            values = self._distinct()
            if values.nbytes > self._most // 2:
                self._spill(values)
            else:
                self._hold(values)

    def close(self) -> pa.Array | str:
        """Return the values, sorted, or the key of the staged file that holds them."""
        values = self._distinct()
        if self._runs is None and len(values) <= _INLINE_VALUES and values.nbytes <= _INLINE_BYTES:
            return values
        self._spill(values).close()
        self._stack.close()
        return self._key

    def abandon(self) -> None:
        """Leave nothing in the store."""
        if self._runs is None:
            return
        with suppress(OSError, pa.ArrowException):
            self._runs.close()
        self._stack.__exit__(InterruptedError, InterruptedError("the write was abandoned"), None)
        with suppress(StoreError):
            self._store.delete([self._key])

    def _hold(self, values: pa.Array) -> None:
        self._held.append(values)
        self._bytes += values.nbytes

    def _distinct(self) -> pa.Array:
        """Give out what is held, distinct and sorted; without a hash table, which takes several times the memory."""
        values = pa.concat_arrays(self._held or [pa.array([], self._kind)])
        self._held, self._bytes = [], 0
        if len(values) < 2:
            return values
        values = values.take(pc.sort_indices(values))
        return values.filter(pa.concat_arrays([pa.array([True]), pc.not_equal(values[1:], values[:-1])]))

    def _spill(self, values: pa.Array) -> SealedWriter:
        table = pa.table({"value": values})
        if self._runs is None:
            sink = self._stack.enter_context(self._store.create_file(self._key))
            self._runs = staged_writer(sink, self._key, table.schema)
        self._runs.write_table(table, row_group_size=_VALUES_PER_BATCH)
        return self._runs


def union_values(store: Store, prefix: str, kind: pa.DataType, parts: Iterable[pa.Array | str]) -> pa.Array | str:
    """Return the values of several files as those of one, inline or staged anew; staged parts are deleted."""
    union = IndexValues(store, prefix, kind)
    try:
        for part in parts:
            for values in _batches(store, part):
                union.add(pa.chunked_array([values.cast(kind)]))
            if isinstance(part, str):
                with suppress(StoreError):
                    store.delete([part])
        return union.close()
    except BaseException:
        union.abandon()
        raise


def _batches(store: Store, values: pa.Array | str) -> Iterator[pa.Array]:
    if not isinstance(values, str):
        yield values
        return
    with store.open_file(values) as file:
        for part in read_staged(file, values):
            yield from part.column(0).chunks
