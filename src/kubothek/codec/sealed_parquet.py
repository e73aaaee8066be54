"""How Parquet files are written such that damage shows: with a checksum per page, and a seal in the footer."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.footer import seal_end, seal_entry

_HELD = 3


class SealedWriter:
    """Writes one Parquet file to an open sink, which stays open.

    Parameters
    ----------
    sink
        Where the bytes go: a writable file.
    schema
        Of the file.
    name
        What the seal calls the file; whoever reads it gives the same.
    options
        Of ``pyarrow.parquet.ParquetWriter``.

    Examples
    --------
    >>> sink = pa.BufferOutputStream()
    >>> with SealedWriter(sink, pa.schema({"x": pa.int64()}), "a") as writer:
    ...     writer.write_table(pa.table({"x": [1, 2]}))
    >>> pq.read_table(pa.BufferReader(sink.getvalue())).to_pydict()
    {'x': [1, 2]}
    """

    def __init__(self, sink: Any, schema: pa.Schema, name: str, **options: Any) -> None:
        self._end = _HeldEnd(sink)
        file = pa.PythonFile(self._end, mode="w")
        self._writer = pq.ParquetWriter(file, schema, write_page_checksum=True, **options)
        self._writer.add_key_value_metadata(seal_entry(name))

    def write_table(self, table: pa.Table, row_group_size: int | None = None) -> None:
        """Write rows, as at least one row group."""
        self._writer.write_table(table, row_group_size=row_group_size)

    def close(self) -> int:
        """Write the footer and return the size of the file in bytes."""
        self._writer.close()
        return self._end.seal()

    def __enter__(self) -> SealedWriter:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Close, after an error too, so that the buffers are free."""
        if kind is None:
            self.close()
        else:
            self._writer.close()


class _HeldEnd(io.RawIOBase):
    """Passes on what is written, but for the end, which is sealed first.

    Arrow writes the footer, its length and the magic number last, each at once, so three pieces are held back.
    """

    def __init__(self, sink: Any) -> None:
        super().__init__()
        self._sink = sink
        self._held: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        piece = memoryview(data).cast("B").tobytes()
        self._held.append(piece)
        self._position += len(piece)
        if len(self._held) > _HELD:
            self._sink.write(self._held.pop(0))
        return len(piece)

    def seal(self) -> int:
        if self._held:
            self._sink.write(seal_end(b"".join(self._held)))
            self._held = []
        return self._position
