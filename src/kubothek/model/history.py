"""What is known of the versions of a dataset: copies of headers in the store, and the commits that they tell of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kubothek.model.display import printable
from kubothek.model.markup import notebook_table

HEADINGS = ("version", "time", "operation", "author", "added", "removed", "rows", "")
"""What :attr:`HistoryEntry.cells` are."""

NUMERIC = (True, False, False, False, True, True, True, False)
"""Which of them are numbers, and stand right."""


UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)
"""When a version was committed of which nobody noted that: before all others."""


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """The copy of a committed header, as a listing tells of it.

    ``time`` is when it was committed (UTC, or :data:`UNKNOWN_TIME`), ``modified`` when the copy was stored, ``size``
    its bytes.
    """

    version: int
    time: datetime
    commit: str
    key: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One commit of a dataset, and the version that it made.

    Attributes
    ----------
    version, commit
        Its number, from 1, and its id; both are what the library gives it where other software made it.
    time
        When (UTC), by the clock of who committed; where that is not recorded, when its header was stored.
    operation
        The function that was called; ``"foreign commit"`` for other software, empty where it is not recorded.
    author, library
        Who committed, and with which version of this library; empty for other software.
    added, removed, rows
        Partitions that came and went, and rows of those that came; ``None`` where that is not known.
    is_foreign
        Whether other software made it.
    overwrote
        The ids of commits of which nothing is left in it, since other software did not look for them; newest first.
    is_current
        Whether the dataset is now as this commit left it.
    """

    version: int
    commit: str
    time: datetime
    operation: str
    author: str
    library: str
    added: int | None
    removed: int | None
    rows: int | None
    is_foreign: bool
    overwrote: tuple[str, ...]
    is_current: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """The entry in words, for the columns of :data:`HEADINGS`."""
        numbers = ("-" if number is None else f"{number:,}" for number in (self.added, self.removed, self.rows))
        notes = ["current"] if self.is_current else []
        notes += [f"overwrote {', '.join(self.overwrote)}"] if self.overwrote else []
        words = (f"{self.time:%Y-%m-%d %H:%M:%S}", self.operation or "-", self.author or "-")
        return (str(self.version), *words, *numbers, "; ".join(notes))


class History(tuple[HistoryEntry, ...]):
    """The commits of a dataset, newest first: a tuple of :class:`HistoryEntry` that prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show a line for each commit; times are UTC."""
        lines = [HEADINGS, *(tuple(map(printable, entry.cells)) for entry in self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(_padded, line, widths, NUMERIC)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        """Show a table in a notebook."""
        return notebook_table("", HEADINGS, (entry.cells for entry in self), NUMERIC)


def _padded(cell: str, width: int, numeric: bool) -> str:
    return cell.rjust(width) if numeric else cell.ljust(width)
