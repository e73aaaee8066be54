"""How are objects read and written as files: the file objects that Arrow wraps where a store knows only requests.

Reading turns each read into one ranged request of exactly the bytes asked for: Parquet knows what it needs and asks
for whole column chunks, so a buffer of our own would only fetch bytes twice. Writing passes bytes on and leaves the
end to the store, because closing must not publish what an error cut short.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any


class SeekableFile(io.RawIOBase):
    """A file that is read from any place; subclasses know its size in bytes and give pieces of it."""

    _size: int

    def __init__(self) -> None:
        super().__init__()
        self._position = 0

    def _piece(self, start: int, length: int) -> bytes | memoryview:
        """Give bytes that lie within the file."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Say yes."""
        return True

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def tell(self) -> int:
        """Give the position in bytes."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move without any request."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def read(self, size: int | None = -1) -> bytes | memoryview:
        """Read with one request at most, and with none at the end."""
        left = max(self._size - self._position, 0)
        length = left if size is None or size < 0 else min(size, left)
        data = self._piece(self._position, length) if length else b""
        self._position += length
        return data


class RangeFile(SeekableFile):
    """A seekable file over ``read_range(start, length)`` and a size in bytes known beforehand."""

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._read_range, self._size = read_range, size

    def _piece(self, start: int, length: int) -> bytes:
        return self._read_range(start, length)


class Sink(io.RawIOBase):
    """A writable file that hands each piece on; closing it tells nobody."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        super().__init__()
        self._write = write

    def writable(self) -> bool:
        """Say yes."""
        return True

    def write(self, data: Any) -> int:
        """Hand the bytes on."""
        # Arrow's own buffers say that they hold signed bytes, which obstore does not take.
        view = memoryview(data).cast("B")
        self._write(view)
        return len(view)
