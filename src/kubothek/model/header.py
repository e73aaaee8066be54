"""What a dataset is at one moment: the content of its metadata header, as a frozen value.

A header lists the partitions of a dataset (which files each has), its indices and its user metadata. Replacing it is
the commit, so everything a reader must agree on hangs on this one value. It keeps its partitions as an Arrow table,
one row per partition, because a dataset may have a million of them. The wire shape and its codec are elsewhere
(``kubothek.codec.header``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from kubothek.errors import InvalidInputError

HeaderFormat = Literal["json", "msgpack"]

METADATA_VERSION = 4
SINGLE_TABLE = "table"
FILE_PREFIX = "file/"
"""Columns ``file/<table>`` of :attr:`Header.partitions` hold the storage key of that table's data file."""
STREAMS_AT_MOST = 1024
"""Streaming queries of which a header knows the last batch."""
STREAM_QUERY = r"^[!-~]{1,256}\Z"
"""What the id of a streaming query looks like: visible ASCII."""
BATCH_AT_MOST = 2**63 - 1


def partitions_schema(tables: tuple[str, ...]) -> pa.Schema:
    """Columns of :attr:`Header.partitions` for a dataset with these tables."""
    return pa.schema(
        [("label", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
        + [(FILE_PREFIX + table, pa.string()) for table in tables]
    )


@dataclass(frozen=True, slots=True)
class CubeCall:
    """A call that commits to several datasets of a cube, as each of its commits records it.

    ``id`` is the write id of all its commits, ``operation`` the name of the function that was called, ``datasets`` the
    ids of its datasets in the order of their commits.
    """

    id: str
    operation: str
    datasets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """Who made a commit, when, and what it did.

    ``time`` is that of the committer's clock (UTC), ``library`` the program and its release. ``added`` and ``removed``
    count partitions, ``rows`` is the number of rows in the added ones, ``None`` where unknown. ``overwrote`` holds the
    ids of commits whose effect is gone because other software replaced the header without looking, newest first.
    """

    time: datetime
    operation: str
    author: str
    library: str
    added: int
    removed: int
    rows: int | None
    overwrote: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """One batch of a streaming query: the query's id, and the batch's number, which counts up from 0.

    A commit of the batch takes effect once, however often it is repeated.

    Raises
    ------
    InvalidInputError
        The id is no text of 1 to 256 visible ASCII characters, or the number is none, or negative.

    Examples
    --------
    >>> StreamBatch("5f2c", 3).is_recorded({"5f2c": 3}), StreamBatch("5f2c", 4).is_recorded({"5f2c": 3})
    (True, False)
    """

    query: str
    number: int

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not re.match(STREAM_QUERY, self.query):
            raise InvalidInputError(
                f"The id of a streaming query is a text of 1 to 256 visible ASCII characters, and not {self.query!r}."
            )
        number = self.number
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= BATCH_AT_MOST:
            raise InvalidInputError(f"The number of a batch is an integer from 0 to 2**63 - 1, and not {number!r}.")

    def is_recorded(self, streams: Mapping[str, int]) -> bool:
        """Tell whether the batch, or a later one of its query, is among the last ones of some queries."""
        return self.number <= streams.get(self.query, -1)


@dataclass(frozen=True, slots=True)
class CommitState:
    """Our own part of the header: what the commit protocol and the planner know beyond version 4 of the format.

    ``version`` counts commits from 1. ``commit`` is the write id of the commit that made this header and ``recent``
    the ids of the last 64, newest last. ``incarnation`` distinguishes a dataset from one of the same name that was
    deleted before. ``schema`` is the schema of record per table. ``unique_writes`` holds the prefixes of file names
    (see ``kubothek.codec.labels``) whose write was checked to hold each cell once. ``conformed`` says that every data
    file holds exactly the types of the schema of record. ``cube_call`` is the call that made this header, where that
    commits to several datasets. ``withdrawn`` says that the creation of the dataset was taken back, so that it counts
    as absent. ``info`` tells about the commit, where its writer noted that. Versions before ``oldest`` have been given
    up: their files may be gone. For ``hold`` seconds others are asked not to commit. ``streams`` has the number of the
    last committed batch of each streaming query, the query that committed last being the last. ``lineage`` says of a
    dataset that was computed from others of its cube which partitions of these it holds the result of: their labels, by
    the id of the dataset, the seed first. ``extra`` keeps entries that a later version wrote.
    """

    version: int
    commit: str
    recent: tuple[str, ...]
    incarnation: str
    schema: Mapping[str, pa.Schema]
    unique_writes: tuple[str, ...] = ()
    conformed: bool = False
    cube_call: CubeCall | None = None
    withdrawn: bool = False
    info: CommitInfo | None = None
    oldest: int = 1
    hold: float = 0.0
    streams: Mapping[str, int] = field(default_factory=dict)
    lineage: Mapping[str, pa.Array] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """The content of one metadata header.

    ``partition_keys`` is ``None`` where the header does not record them (they follow from the first file's key);
    ``partitions`` is ``None`` where the header does not list its partitions (they follow from listing the store), and
    otherwise a table with :func:`partitions_schema`, whose ``rows`` and ``bytes`` are null where unknown.
    ``embedded_indices`` are those of old datasets, kept in the header itself: column to value to labels.
    ``extra`` keeps unknown entries of the wire.
    """

    uuid: str
    partition_keys: tuple[str, ...] | None
    partitions: pa.Table | None
    indices: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: HeaderFormat = "json"
    state: CommitState | None = None
    embedded_indices: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_withdrawn(self) -> bool:
        """Whether the creation of the dataset was taken back, so that it counts as absent."""
        return self.state is not None and self.state.withdrawn

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables, as the listed partitions tell."""
        if self.partitions is None:
            return ()
        names = self.partitions.column_names
        return tuple(n.removeprefix(FILE_PREFIX) for n in names if n.startswith(FILE_PREFIX))
