"""What really happened: every header that was ever put, decoded, with what it replaced, who put it, and its rows.

The headers under one key form lines: each replaced the one before it, until the key was deleted. A line is the linear
history of a dataset's states, also of those of which nobody was told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.header import decode_header
from kubothek.codec.kept_header import decode_kept_state
from kubothek.codec.keys import header_keys, history_prefix, parse_version_key
from kubothek.model.header import FILE_PREFIX, SINGLE_TABLE, CommitState, Header
from kubothek.plan.apply import CREATION_TIME
from kubothek.plan.index_merge import LABELS
from kubothek.testing.simulation.cube_operations import CubeOperation
from kubothek.testing.simulation.foreign import ForeignUpdate
from kubothek.testing.simulation.objects import Life, Objects
from kubothek.testing.simulation.rows import rows_of_file
from kubothek.testing.simulation.runs import Row, Rows, Run

_FILE = FILE_PREFIX + SINGLE_TABLE


@dataclass(eq=False)
class Entry:
    """One header: ``parent`` is what it replaced and ``child`` what replaced it, if anything did.

    ``is_undo`` says that it takes back what the same call has committed before.
    """

    objects: Objects
    life: Life
    header: Header
    parent: Entry | None
    is_undo: bool = False
    child: Entry | None = field(default=None, repr=False)

    @property
    def uuid(self) -> str:
        """Name of the dataset."""
        return self.header.uuid

    @property
    def run(self) -> Run | None:
        """Who put it."""
        return self.life.by

    @property
    def state(self) -> CommitState | None:
        """Our own part of the header."""
        return self.header.state

    @property
    def version(self) -> int | None:
        """Its number, also of one that other software put and others have counted."""
        if self.state is not None:
            return self.state.version
        child = self.child
        return None if child is None or child.state is None else child.state.version - 1

    @property
    def is_foreign(self) -> bool:
        """Whether other software put it."""
        return self.header.state is None

    @property
    def created(self) -> object:
        """When the dataset was created, or overwritten."""
        return self.header.metadata.get(CREATION_TIME)

    @property
    def gives_way(self) -> bool:
        """Whether it only says that the header in whose place it stands was taken back."""
        return _gives_way(self.header)

    @property
    def is_request(self) -> bool:
        """Whether it only asks others to hold back."""
        return self.state is not None and self.state.hold > 0

    @cached_property
    def files(self) -> dict[str, str]:
        """Label and key of each data file."""
        table = self.header.partitions
        if table is None or _FILE not in table.column_names:
            return {}
        return dict(zip(table["label"].to_pylist(), table[_FILE].to_pylist(), strict=True))

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all data and index files."""
        return (*self.files.values(), *self.header.indices.values())

    @cached_property
    def rows_by_label(self) -> dict[str, Rows]:
        """The rows of each file that was there at some time; a file never changes."""
        found = {label: self.objects.lives.get(key) for label, key in self.files.items()}
        return {label: rows_of_file(lives[-1].key, lives[-1].data) for label, lives in found.items() if lives}

    @cached_property
    def rows(self) -> Rows:
        """All rows."""
        return sum_rows(self.rows_by_label.values())

    @property
    def adds_only(self) -> bool:
        """Whether it has all the files of what it replaced, and others."""
        return self.parent is not None and self.parent.files.keys() < self.files.keys()

    def back(self) -> Iterator[Entry]:
        """Yield this and all before it in its line, newest first."""
        entry: Entry | None = self
        while entry is not None:
            yield entry
            entry = entry.parent

    def after(self) -> Iterator[Entry]:
        """Yield all that came after it in its line, in order."""
        entry = self.child
        while entry is not None:
            yield entry
            entry = entry.child

    @property
    def is_taken_back(self) -> bool:
        """Whether a writer deleted it before anybody committed on it, since another had created the dataset."""
        by = self.life.ended_by
        return self.parent is None and self.child is None and by is not None and by.operation.commits

    @property
    def tip(self) -> Entry:
        """The last of its line."""
        return [self, *self.after()][-1]

    def index(self, column: str) -> dict[object, set[str]] | None:
        """Return what the index on a column says: its values with their labels; ``None`` if there is no file."""
        lives = self.objects.lives.get(self.header.indices[column])
        if not lives:
            return None
        table = pq.read_table(pa.BufferReader(lives[-1].data), use_threads=False)
        values, labels = table[column].to_pylist(), table[LABELS].to_pylist()
        return {value: set(named) for value, named in zip(values, labels, strict=True) if named}

    def postings(self, column: str) -> dict[object, set[str]]:
        """Return what an index on a column has to say, by the rows."""
        found: dict[object, set[str]] = {}
        for label, rows in self.rows_by_label.items():
            for row in rows:
                found.setdefault(_value(row, column), set()).add(label)
        return found


def _value(row: Row, column: str) -> object:
    return row[0] if column.startswith("v") else row[1] if column == "p" else row[2]


@lru_cache(maxsize=1024)
def _decoded(data: bytes, key: str) -> Header:
    return decode_header(data, key)


def sum_rows(parts: Iterable[Rows]) -> Rows:
    """Return the rows of all parts."""
    total: Rows = Counter()
    for part in parts:
        total.update(part)
    return total


def _gives_way(header: Header) -> bool:
    """Whether a header stands in the place of one that its writer took back, and ends its line as a deletion does."""
    state = header.state
    return state is not None and state.withdrawn and state.recent == (state.commit,)


class Ledger:
    """All headers of a simulation, in the order in which they were put."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.entries: list[Entry] = []
        known: dict[int, Entry] = {}
        first: dict[tuple[int, str], str] = {}
        for life in objects.headers:
            header = _decoded(life.data, life.key)
            replaced = None if life.before is None else known[id(life.before)]
            entry = Entry(objects, life, header, None if _gives_way(header) else replaced)
            run, state = life.by, header.state
            cube_call = run is not None and isinstance(run.operation, CubeOperation) and not entry.is_request
            if run is not None and state is not None and cube_call:
                entry.is_undo = first.setdefault((id(run), "c"), state.commit) != state.commit
            if entry.parent is not None:
                entry.parent.child = entry
            known[id(life)] = entry
            self.entries.append(entry)

    def of_run(self, run: Run, uuid: str) -> list[Entry]:
        """Return what a run has committed to a dataset, but for what was taken back, what takes back, and requests."""
        own = [entry for entry in self.entries if entry.run is run and entry.uuid == uuid]
        counted = [one for one in own if not (one.is_undo or one.is_foreign or one.is_request)]
        return [one for one in counted if not (one.is_taken_back or one.gives_way)]

    def current(self, uuid: str) -> Entry | None:
        """Return the header that counts at the end."""
        lives = [self.objects.now.get(key) for key in header_keys(uuid)]
        return _counting([entry for entry in self.entries if entry.life in lives])

    def between(self, uuid: str, start: int, end: int) -> list[Entry | None]:
        """Return the headers that were there at some moment between two, and ``None`` if there was a moment of none."""
        lived = [e for e in self.entries if e.uuid == uuid]
        found: list[Entry | None] = [
            e for e in lived if e.life.born <= end and (e.life.died is None or e.life.died > start)
        ]
        for moment in {start, *(e.life.died for e in lived if e.life.died is not None and start <= e.life.died <= end)}:
            if not any(_is_there(e, moment) for e in lived):
                return [*found, None]
        return found

    def base(self, run: Run, uuid: str) -> Entry | None:
        """Return the header that a run saw when it first looked."""
        looks = {key: moment for key in header_keys(uuid) if (moment := run.looks.get(key)) is not None}
        return _counting([e for e in self.entries if e.life.key in looks and _is_there(e, looks[e.life.key])])

    def kept(self, uuid: str, incarnation: str, version: int) -> list[CommitState]:
        """Return the states in all copies that were ever kept of a version."""
        return [decode_kept_state(life.data, life.key, uuid) for life in self._copies(uuid, incarnation, version)]

    def keepers(self, uuid: str, incarnation: str, version: int, before: int) -> list[Run | None]:
        """Return who had kept a copy of a version before a moment."""
        return [life.by for life in self._copies(uuid, incarnation, version) if life.born < before]

    def _copies(self, uuid: str, incarnation: str, version: int) -> list[Life]:
        keys = [key for key in self.objects.lives if key.startswith(history_prefix(uuid, incarnation))]
        named = [key for key in keys if (found := parse_version_key(key)) is not None and found[0] == version]
        return [life for key in named for life in self.objects.lives[key]]

    def seen_by(self, entry: Entry) -> Entry | None:
        """Return the header that other software had seen when it put this one."""
        operation = None if entry.run is None else entry.run.operation
        seen = operation.seen if isinstance(operation, ForeignUpdate) else None
        return next((one for one in entry.back() if one.life.data == seen), None)


def _is_there(entry: Entry, moment: int) -> bool:
    return entry.life.born <= moment and (entry.life.died is None or entry.life.died > moment)


def _counting(entries: Iterable[Entry]) -> Entry | None:
    """Return the one of two headers that holds: the JSON one, if it was not taken back."""
    found = {entry.header.format: entry for entry in entries}
    first, second = found.get("json"), found.get("msgpack")
    return second if first is None or (second is not None and first.header.is_withdrawn) else first
