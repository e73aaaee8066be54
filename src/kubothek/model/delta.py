"""What a Delta log says, and what an export makes of it; the wire shape is in ``kubothek.codec.delta_log``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DeltaExport:
    """What an export of a dataset has made.

    Attributes
    ----------
    url
        Root of the Delta table, for readers of Delta Lake: a path where the store is a directory.
    version
        Version of the Delta table that holds what was exported.
    added, removed
        Number of files by which it differs from the one before; both 0 where nothing had to be written.
    dataset_version
        Version of the dataset, ``None`` where other software made it.
    """

    url: str
    version: int
    added: int
    removed: int
    dataset_version: int | None


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """What a Delta table is besides its files.

    ``schema`` is the JSON text of its columns, ``features`` those that a reader must know, ``source`` which dataset
    and table it is the export of, as its configuration says.
    """

    schema: str
    partition_columns: tuple[str, ...]
    features: frozenset[str]
    source: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """What the commits of a Delta log amount to.

    ``version`` is that of the last commit, -1 where there is none. ``id`` and ``created`` (milliseconds since 1970) are
    those of the table. ``files`` maps the key of each file below the table's root to the path by which the log names
    it.
    """

    version: int = -1
    id: str = ""
    created: int = 0
    table: DeltaTable | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class DeltaChange:
    """The next commit of a Delta log.

    ``added`` are the files that come, with the columns ``key``, ``rows``, ``bytes`` and ``partition/<name>``;
    ``removed`` the paths of those that go. ``has_new_table`` and ``has_new_features`` tell what the log says anew.
    """

    table: DeltaTable
    added: pa.Table
    removed: tuple[str, ...]
    has_new_table: bool
    has_new_features: bool

    @property
    def is_empty(self) -> bool:
        """Whether the log says all of it already."""
        return not (self.added.num_rows or self.removed or self.has_new_table)


@dataclass(frozen=True, slots=True)
class DeltaFile:
    """What the footer of a data file says: its rows, how its columns differ from those of record, and bounds.

    ``statistics`` are those of Delta: ``minValues``, ``maxValues`` and ``nullCount`` by column.
    """

    rows: int
    differences: tuple[str, ...]
    statistics: Mapping[str, Mapping[str, Any]]
