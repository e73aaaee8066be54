"""Keeps what was decoded for several readers, decoded once, while there is room."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future

import pyarrow as pa


class SharedTables:
    """Tables by name, each made once; safe to use from several threads.

    Who asks for a table that another thread is making waits for it; nobody waits for any other table. Those used
    longest ago go when the tables take more than ``room`` bytes, except for the last one.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._tables: dict[Hashable, Future[pa.Table]] = {}
        self._lock = threading.Lock()

    def get(self, name: Hashable, make: Callable[[], pa.Table]) -> pa.Table:
        """Return the table of this name, made now if it is not there.

        An error of ``make`` is raised for all who wait; who asks later has it made again.

        Examples
        --------
        >>> shared = SharedTables(room=1000)
        >>> shared.get("a", lambda: pa.table({"x": [1]})) is shared.get("a", lambda: pa.table({"x": [2]}))
        True
        """
        with self._lock:
            found = self._tables.pop(name, None)
            self._tables[name] = promise = found or Future()
        if found is None:
            self._make(name, promise, make)
        table: pa.Table = promise.result()
        return table

    def _make(self, name: Hashable, promise: Future[pa.Table], make: Callable[[], pa.Table]) -> None:
        try:
            promise.set_result(make())
        except BaseException as error:
            with self._lock:
                del self._tables[name]
            promise.set_exception(error)
            raise
        with self._lock:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        made = {n: p.result().nbytes for n, p in self._tables.items() if p.done()}
        used = sum(made.values())
        for name in list(made)[:-1]:
            if used <= self._room:
                return
            used -= made[name]
            del self._tables[name]
