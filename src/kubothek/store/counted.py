"""How much a read fetches: a view of a store that counts requests and bytes per object.

It is for reading data files alone. A directory is looked at as if it were an object store: its files are read range
by range through the view, and not opened by their paths, where nothing could be seen.
"""

from __future__ import annotations

import threading
from collections import Counter

from kubothek.store.interface import ObjectInfo, Part, Store


class CountedReads(Store):
    """Reads through another store and counts; safe to use from several threads.

    ``requests`` and ``bytes`` have an entry per key that was asked for.

    Examples
    --------
    >>> store = Store("memory://counted-reads")
    >>> etag = store.put("k", b"abcdef")
    >>> counted = CountedReads(store)
    >>> counted.open_file("k").read()
    b'abcdef'
    >>> counted.requests["k"], counted.bytes["k"]
    (2, 6)
    """

    is_remote = True

    def __init__(self, inner: Store) -> None:
        super().__init__(inner.url)
        self.world = inner.world
        self._inner = inner
        self._lock = threading.Lock()
        self.requests: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See :meth:`Store.get_range`."""
        data = self._inner.get_range(key, start, length)
        self._count(key, len(data))
        return data

    def get_part(self, key: str, start: int | None, length: int) -> Part:
        """See :meth:`Store.get_part`; one request."""
        part = self._inner.get_part(key, start, length)
        self._count(key, len(part.data))
        return part

    def info(self, key: str) -> ObjectInfo:
        """See :meth:`Store.info`."""
        found = self._inner.info(key)
        self._count(key, 0)
        return found

    def _count(self, key: str, size: int) -> None:
        with self._lock:
            self.requests[key] += 1
            self.bytes[key] += size
