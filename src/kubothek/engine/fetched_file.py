"""A file of an object store as Arrow reads it: the parts that will be needed are fetched before, side by side.

Arrow asks a Python file for one piece after the other, whatever it is told about buffering, so over a network it would
wait for each. So whoever knows what will be read says so first (:meth:`FetchedFile.fetch`); the parts are fetched at
once and kept as long as the file object, and Arrow gets views of them. What nobody foresaw is fetched when it is read.

All parts are of one and the same object. Data files are never changed, so another size than the recorded one means a
file that was cut short or put in the place of the first, and so does another tag than that of the parts before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import partial
from typing import Any

from kubothek.engine.steps import in_threads, once
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError, StoreError
from kubothek.plan.ranges import FOOTER_BYTES, Range, join_ranges
from kubothek.store.interface import Part, Store, whole_range
from kubothek.store.range_file import SeekableFile

AT_ONCE = 16
"""Requests for parts of one file that are under way at once."""


class FetchedFile(SeekableFile):
    """A seekable file; used by one thread at a time.

    Parameters
    ----------
    store, key
        Where it is.
    size
        Its bytes as recorded; ``None`` where unknown: then the first request is for the end of the file and tells.
    etag
        The tag that it has to have; ``""`` for that of the first part.

    Raises
    ------
    CorruptDatasetError
        It has another size or tag; here and wherever parts are fetched.
    ObjectNotFoundError, StoreError
        It is not there, or cannot be read; likewise.
    """

    def __init__(self, store: Store, key: str, size: int | None, etag: str = "") -> None:
        super().__init__()
        self._store, self._key, self.etag = store, key, etag
        self._starts: list[int] = []
        self._parts: list[memoryview] = []
        self._size = self._fetch_unknown() if size is None else size

    def size(self) -> int:
        """Give its bytes."""
        return self._size

    def fetch_end(self, length: int = FOOTER_BYTES) -> None:
        """Fetch so many bytes at the end, or all where there are fewer."""
        self.fetch([(max(self._size - length, 0), min(length, self._size))])

    def fetch(self, ranges: Iterable[Range]) -> None:
        """Fetch what is not there yet of these ranges, neighbours together."""
        wanted = join_ranges([one for one in ranges if self._held(*one) is None])
        parts = in_threads((partial(once, self._request, one) for one in wanted), AT_ONCE)
        for (start, _), part in zip(wanted, parts, strict=True):
            self._keep(start, part)

    def again(self) -> FetchedFile:
        """Return another file of the same object, for another thread, with nothing there but what was fetched whole."""
        other = FetchedFile(self._store, self._key, self._size, self.etag)
        for start, part in zip(self._starts, self._parts, strict=True):
            if len(part) == self._size:
                other._starts, other._parts = [start], [part]
        return other

    def _piece(self, start: int, length: int) -> bytes | memoryview:
        """Give the bytes from what is there, else with one request."""
        data = self._held(start, length)
        return self._same(self._request((start, length))).data if data is None else data

    def _held(self, start: int, length: int) -> bytes | memoryview | None:
        """Return bytes that are there: a view, or put together where they are in several parts."""
        pieces: list[memoryview] = []
        number = bisect_right(self._starts, start) - 1
        while length and 0 <= number < len(self._parts):
            offset = start - self._starts[number]
            piece = self._parts[number][offset : offset + length]
            if not piece:
                break
            pieces.append(piece)
            start, length, number = start + len(piece), length - len(piece), number + 1
        if length:
            return None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _fetch_unknown(self) -> int:
        """Fetch the end of a file of unknown size, and return its size."""
        part = self._store.get_part(self._key, None, FOOTER_BYTES)
        self._keep(part.size - len(part.data), part)
        return part.size

    def _request(self, wanted: Range) -> Part:
        start, length = wanted
        try:
            part = self._store.get_part(self._key, start, length)
        except ObjectNotFoundError:
            raise
        except StoreError as error:  # some stores refuse to read beyond the end
            self._check_size(self._store.info(self._key).size, error)
            raise
        self._check_size(part.size)
        whole_range(part.data, self._key, start, length)
        return part

    def _keep(self, start: int, part: Part) -> None:
        data, number = memoryview(self._same(part).data), bisect_right(self._starts, start)
        self._starts.insert(number, start)
        self._parts.insert(number, data)

    def _same(self, part: Part) -> Part:
        """Return a part if it is of the same object as those before."""
        self.etag = self.etag or part.etag
        if part.etag != self.etag:
            raise CorruptDatasetError(
                f"The file {self._key!r} was replaced while it was read: its tag was {self.etag} and is {part.etag}. "
                "Files of a dataset are never changed; who else writes to this store?",
                key=self._key,
            )
        return part

    def _check_size(self, found: int, cause: Exception | None = None) -> None:
        if found != self._size:
            raise CorruptDatasetError(
                f"The file {self._key!r} has {found} bytes, not {self._size} as recorded: it was cut or replaced.",
                key=self._key,
            ) from cause


def open_fetched(store: Store, key: str) -> Any:
    """Open a file of unknown size: where the store is remote with its end fetched, which is one request.

    Raises
    ------
    ObjectNotFoundError
        There is none.
    """
    return FetchedFile(store, key, None) if store.is_remote else store.open_file(key)
