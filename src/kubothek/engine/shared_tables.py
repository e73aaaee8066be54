"""Keeps what was decoded for several readers, decoded once, while there is room.

Readers go through the units of a plan in their order, and ask for the same tables again and again. So what counts is
not when a table was used last but whether it will be used again: a table that no later unit wants goes, and where there
is no room for a new one, those that are there stay. (If the oldest went instead, tables that together take too much
room would push each other out in a circle, and each would be decoded anew for each unit.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """A table that is there or being made, and the last unit that wants it."""

    last: int
    table: Future[pa.Table] = field(default_factory=Future)


class SharedTables:
    """Tables by name; safe to use from several threads.

    Who asks for a table that another thread is making waits for it; nobody waits for any other table. Tables are kept
    up to ``room`` bytes; a single one is kept however large it is.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._tables: dict[Hashable, _Kept] = {}
        self._under_way: list[int] = []
        self._lock = threading.Lock()

    @contextmanager
    def under_way(self, unit: int) -> Iterator[None]:
        """Keep what this unit may want while it is read, though faster threads have gone on to later ones."""
        with self._lock:
            self._under_way.append(unit)
        try:
            yield
        finally:
            with self._lock:
                self._under_way.remove(unit)

    def get(self, name: Hashable, make: Callable[[], pa.Table], *, unit: int, last: int) -> pa.Table:
        """Return the table of this name, made now if it is not there.

        Parameters
        ----------
        name
            Of the table.
        make
            Makes it. An error is raised for all who wait; who asks later has the table made again.
        unit
            For which unit it is wanted. Tables that are wanted alone for units before this one, and before all that are
            under way, may go.
        last
            The last unit that will want it.

        Examples
        --------
        >>> shared = SharedTables(room=1000)
        >>> first = shared.get("a", lambda: pa.table({"x": [1]}), unit=0, last=7)
        >>> shared.get("a", lambda: pa.table({"x": [2]}), unit=3, last=7) is first
        True
        """
        with self._lock:
            found = self._tables.get(name)
            wanted = found or self._tables.setdefault(name, _Kept(last))
        if found is None:
            self._make(name, wanted, make, unit)
        table: pa.Table = wanted.table.result()
        return table

    def _make(self, name: Hashable, wanted: _Kept, make: Callable[[], pa.Table], unit: int) -> None:
        try:
            wanted.table.set_result(make())
        except BaseException as error:
            with self._lock:
                del self._tables[name]
            wanted.table.set_exception(error)
            raise
        with self._lock:
            self._make_room(name, unit)

    def _make_room(self, new: Hashable, unit: int) -> None:
        """Let go of tables that nobody wants any more, and of the new one if there is still too little room."""
        made = {name: kept for name, kept in self._tables.items() if kept.table.done()}
        first = min([unit, *self._under_way])
        for name in [name for name, kept in made.items() if kept.last < first]:
            del self._tables[name], made[name]
        used = sum(kept.table.result().nbytes for kept in made.values())
        if used > self._room and made.keys() - {new}:
            self._tables.pop(new, None)
