"""What a read of the data source looks at, pinned: a dataset or a cube, with one face for both.

Opening reads headers. What was pinned can be written down, so that others open the same versions later: a DataFrame or
a view shows what was current when it was loaded, whatever is committed until it is queried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from kubothek.cube.members import OpenCube, open_cube
from kubothek.cube.pins import parse_moment, pin_states
from kubothek.cube.query import query_opened
from kubothek.dataset.at import load_snapshot_at, snapshot_of_commit
from kubothek.dataset.scan import open_scan
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.engine.lazy import LazyRows
from kubothek.errors import InvalidInputError
from kubothek.model.condition import Condition
from kubothek.plan.cube.members import merge_columns
from kubothek.spark.source.options import ReadOptions
from kubothek.store.interface import Store


@dataclass(frozen=True, slots=True)
class PinnedVersion:
    """A version of a dataset, and the commit that made it."""

    version: int
    commit: str


Pinned = PinnedVersion | str
"""What was opened: a version of a dataset, or the text of a cube's pin."""


class Opened(Protocol):
    """A dataset or a cube, pinned."""

    @property
    def record(self) -> pa.Schema:
        """Columns that conditions may look at, with the types of record."""

    @property
    def joined(self) -> frozenset[str]:
        """Columns that are null where the dataset that they come from does not have a cell."""

    @property
    def pinned(self) -> Pinned | None:
        """What it takes to open it again; ``None`` where other software made the last commit."""

    def rows(self, columns: tuple[str, ...] | None, where: Condition) -> LazyRows:
        """Plan to read the rows that match; there may be more columns than these, in another order."""


@dataclass(frozen=True, slots=True)
class OpenedDataset:
    """A table of a dataset, pinned."""

    snapshot: Snapshot
    table: str | None

    @property
    def record(self) -> pa.Schema:
        """See :attr:`Opened.record`; columns that only an index has are not among them."""
        return self.snapshot.schema(self.table)

    @property
    def joined(self) -> frozenset[str]:
        """See :attr:`Opened.joined`."""
        return frozenset()

    @property
    def pinned(self) -> Pinned | None:
        """See :attr:`Opened.pinned`."""
        state = self.snapshot.header.state
        return None if state is None else PinnedVersion(state.version, state.commit)

    def rows(self, columns: tuple[str, ...] | None, where: Condition) -> LazyRows:
        """See :meth:`Opened.rows`."""
        return open_scan(self.snapshot, columns=columns, where=where, table=self.table)


@dataclass(frozen=True, slots=True)
class OpenedCube:
    """A cube, pinned."""

    cube: OpenCube
    store: Store

    @property
    def record(self) -> pa.Schema:
        """See :attr:`Opened.record`."""
        return merge_columns(self.cube.members)

    @property
    def joined(self) -> frozenset[str]:
        """See :attr:`Opened.joined`."""
        spec = self.cube.cube
        others = (member for member in self.cube.members if member.dataset_id != spec.seed_dataset)
        return frozenset().union(*(member.payload(spec) for member in others))

    @property
    def pinned(self) -> Pinned | None:
        """See :attr:`Opened.pinned`."""
        states = {name: snapshot.header.state for name, snapshot in self.cube.snapshots.items()}
        if None in states.values():
            return None
        return str(pin_states(self.cube.cube.uuid_prefix, states))

    def rows(self, columns: tuple[str, ...] | None, where: Condition) -> LazyRows:
        """See :meth:`Opened.rows`."""
        return query_opened(self.cube, self.store, columns=columns, where=where)


def open_source(asked: ReadOptions, pinned: Pinned | None = None) -> Opened:
    """Pin what the options name: as it was when it was loaded, where that is known, or as ``at`` says.

    Raises
    ------
    NotFoundError
        There is no such dataset, cube or version.
    SnapshotExpiredError
        The version was given up when garbage was collected.
    """
    if asked.cube is not None:
        at = parse_moment(asked.at if pinned is None else pinned, asked.cube)
        return OpenedCube(open_cube(asked.cube, asked.store, at), asked.store)
    uuid = asked.dataset
    if uuid is None or isinstance(asked.at, str):
        raise InvalidInputError("A read names a dataset or a cube, and a dataset's version by number or time.")
    if isinstance(pinned, PinnedVersion):
        snapshot = snapshot_of_commit(load_snapshot(uuid, asked.store), pinned.version, pinned.commit)
    else:
        snapshot = load_snapshot_at(uuid, asked.store, asked.at)
    return OpenedDataset(snapshot, asked.table)
