"""Which row groups of a Parquet file are decoded together, so that memory stays bounded whatever the file's size.

Consecutive row groups make a *run* as long as they are small enough together. Other software writes files whose only
row group has all rows; such a group is a run of its own and is decoded a batch at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

_ROWS = 262_144
_BYTES = 64 * 2**20
_LARGEST = 4
"""How many times the rows or bytes of a run a row group may have and still be decoded at once."""


@dataclass(frozen=True, slots=True)
class GroupRun:
    """Row groups that are decoded together: all at once, or ``batch_rows`` rows at a time where that is not zero."""

    groups: tuple[int, ...]
    batch_rows: int = 0


def cut_runs(metadata: pq.FileMetaData, groups: Sequence[int], columns: Collection[str]) -> tuple[GroupRun, ...]:
    """Cut row groups into runs of about 262,144 rows or 64 MiB, whichever is less.

    Parameters
    ----------
    metadata
        The file's footer.
    groups
        Numbers of the row groups, ascending.
    columns
        The columns that will be decoded; their unpacked bytes count.

    Returns
    -------
    tuple of GroupRun
        In order. None has twice as much unless a single row group is larger; those of more than four times as much
        are decoded in batches.
    """
    if not groups:
        return ()
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    wanted = [i for i, path in enumerate(paths) if path in columns or path.partition(".")[0] in columns]
    chunks = [metadata.row_group(group) for group in groups]
    rows = np.array([chunk.num_rows for chunk in chunks], np.int64)
    sizes = np.array([sum(chunk.column(i).total_uncompressed_size for i in wanted) for chunk in chunks], np.int64)
    loads = np.maximum(rows / _ROWS, sizes / _BYTES)
    starts = np.flatnonzero(np.diff(np.floor(np.cumsum(loads) - loads), prepend=-1))
    runs = []
    for start, stop in zip(starts, np.append(starts[1:], len(rows)), strict=True):
        piece = slice(int(start), int(stop))
        large = loads[piece].max() > _LARGEST
        batch = max(int(rows[piece].sum() / loads[piece].sum()), 1) if large else 0
        runs.append(GroupRun(tuple(groups[piece]), batch))
    return tuple(runs)
