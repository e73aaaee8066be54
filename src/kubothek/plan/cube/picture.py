"""A cube as a picture, before it is drawn: what each dataset holds, how its files are cut, indexed and committed.

All of it are facts that headers, footers of indices and a plan tell; whoever draws them decides nothing. Sizes are
counted in steps of 1, 2, 5, …, so that the same step is at the same place for every dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.cube import Cube
from kubothek.model.history import History, HistoryEntry
from kubothek.model.problem import Problem
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.coverage import Coverage, bin_edges, sorted_order
from kubothek.plan.explanation import Explanation
from kubothek.plan.keys import row_ids
from kubothek.plan.small_files import SMALL_BYTES

Role = Literal["seed", "enrichment", "computed"]

SIZE_EDGES = (*(digit * 10**power for power in range(3, 9) for digit in (1, 2, 5)), 10**9)
"""Bytes at which one step of sizes ends and the next begins; below and above them are steps, too."""
_BARS = 120
"""Bars of the picture of rows per partition."""


@dataclass(frozen=True, slots=True)
class FileSizes:
    """How large files are: how many there are in each step of :data:`SIZE_EDGES`, and their median in bytes.

    ``small`` counts those of less than :data:`~kubothek.plan.small_files.SMALL_BYTES`, ``unknown`` those whose size is
    not recorded.
    """

    counts: tuple[int, ...]
    median: int
    small: int
    unknown: int


@dataclass(frozen=True, slots=True)
class RowsPerPartition:
    """How rows are spread over the partitions of a dataset.

    ``bars`` are the rows of the largest partition in each of up to 120 groups of neighbours, in the order of their
    values; ``largest`` are the columns and values of the largest one.
    """

    bars: tuple[int, ...]
    median: int
    most: int
    largest: tuple[tuple[str, object], ...]

    @property
    def skew(self) -> float:
        """How many times the rows of the middle partition the largest one has."""
        return self.most / max(self.median, 1)


@dataclass(frozen=True, slots=True)
class IndexPicture:
    """A secondary index: its column and type, distinct values, entries (a file for a value) and stored bytes.

    ``None`` stands for what its file does not tell, or for a file that cannot be read.
    """

    column: str
    type: str
    values: int | None
    entries: int | None
    bytes: int | None

    def share(self, files: int) -> float | None:
        """Return which part of the files a lookup of one value leads to, on average."""
        if not self.values or self.entries is None or not files:
            return None
        return min(1.0, self.entries / self.values / files)


@dataclass(frozen=True, slots=True, eq=False)
class DatasetPicture:
    """One dataset of a cube.

    ``partitions`` are those by its own partition columns, ``files`` those in them. Rows, bytes and how they are spread
    are ``None`` where headers do not record them, which those of other software do not.
    """

    dataset_id: str
    uuid: str
    role: Role
    version: int | None
    partition_keys: tuple[str, ...]
    dimensions: tuple[str, ...]
    payload: tuple[str, ...]
    partitions: int
    files: int
    rows: int | None
    bytes: int | None
    sizes: FileSizes | None
    spread: RowsPerPartition | None
    indices: tuple[IndexPicture, ...]
    history: History


@dataclass(frozen=True, slots=True, eq=False)
class CubePicture:
    """A cube at one moment, seed first. ``query`` is the plan of the query that is shown."""

    cube: Cube
    store: str
    time: datetime
    datasets: tuple[DatasetPicture, ...]
    coverage: Coverage
    query: Explanation
    problems: tuple[Problem, ...]

    @property
    def files(self) -> int:
        """Data files of all datasets."""
        return sum(dataset.files for dataset in self.datasets)

    @property
    def bytes(self) -> int | None:
        """Their stored bytes, ``None`` where some are not recorded."""
        return sum_known(dataset.bytes for dataset in self.datasets)

    @property
    def last_commit(self) -> tuple[DatasetPicture, HistoryEntry] | None:
        """Return the commit with the latest time, and the dataset that it was made to."""
        found = [(dataset, entry) for dataset in self.datasets for entry in dataset.history]
        return max(found, key=lambda pair: pair[1].time, default=None)


def sum_known(numbers: Iterable[int | None]) -> int | None:
    """Return a sum, or ``None`` where one of the numbers is not known."""
    found = list(numbers)
    return None if None in found else sum(number for number in found if number is not None)


def sum_recorded(column: pa.ChunkedArray) -> int | None:
    """Return the sum of a column of files, or ``None`` where it is not known of all."""
    return None if column.null_count else int(pc.sum(column, min_count=0).as_py())


def count_partitions(files: pa.Table, partition_keys: Sequence[str]) -> int:
    """Return how many combinations of partition values files have; all are one partition without such columns."""
    [ids] = row_ids([files], [PARTITION_PREFIX + name for name in partition_keys])
    return int(ids.max(initial=-1)) + 1


def count_sizes(sizes: pa.ChunkedArray) -> FileSizes | None:
    """Count files by size; ``None`` where no size is known.

    Examples
    --------
    >>> found = count_sizes(pa.chunked_array([[500, 1_500_000, None]]))
    >>> found.counts[0], found.small, found.unknown, sum(found.counts)
    (1, 1, 1, 2)
    """
    known = sizes.drop_null().to_numpy()
    if not len(known):
        return None
    steps = np.bincount(np.searchsorted(SIZE_EDGES, known, "right"), minlength=len(SIZE_EDGES) + 1)
    median, small = int(np.median(known)), int((known < SMALL_BYTES).sum())
    return FileSizes(tuple(steps.tolist()), median, small, sizes.null_count)


def count_rows(files: pa.Table, partition_keys: Sequence[str]) -> RowsPerPartition | None:
    """Sum up the rows of each partition; ``None`` where they are not known of all files, or there are none.

    Parameters
    ----------
    files
        ``rows``, and ``partition/<name>`` for each partition column.
    partition_keys
        The partition columns.
    """
    if not files.num_rows or files["rows"].null_count:
        return None
    keys = [PARTITION_PREFIX + name for name in partition_keys]
    [ids] = row_ids([files], keys)
    sums = np.zeros(int(ids.max()) + 1, np.int64)
    np.add.at(sums, ids, files["rows"].to_numpy())
    places = np.unique(ids, return_index=True)[1]
    first = int(places[sums.argmax()])
    largest = tuple((name, files[key][first].as_py()) for name, key in zip(partition_keys, keys, strict=True))
    ordered = sums[sorted_order(files.select(keys).take(pa.array(places)))] if keys else sums
    bars = np.maximum.reduceat(ordered, bin_edges(len(sums), _BARS)[:-1])
    return RowsPerPartition(tuple(bars.tolist()), int(np.median(sums)), int(sums.max()), largest)
