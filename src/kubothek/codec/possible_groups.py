"""Which row groups of a Parquet file can hold a matching row, by the statistics of its footer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.model.condition import Condition
from kubothek.plan.statistics import ColumnStatistics, keep_by_statistics

SMALL_FILE_ROWS = 16_384
"""Rows up to which a file is decoded at once: to look first what of it is needed takes longer."""


def possible_groups(
    metadata: pq.FileMetaData, condition: Condition, constants: Mapping[str, pa.Scalar]
) -> Sequence[int]:
    """Return the row groups that are left when statistics have proved for others that no row matches."""
    groups = range(metadata.num_row_groups)
    if len(groups) == 1 and metadata.num_rows <= SMALL_FILE_ROWS:
        return groups
    tested = condition.columns - constants.keys()
    statistics = group_statistics(metadata, tested) if tested else {}
    if not statistics:
        return groups
    kept: list[int] = np.flatnonzero(keep_by_statistics(condition, statistics, len(groups))).tolist()
    return kept


def group_statistics(metadata: pq.FileMetaData, columns: frozenset[str]) -> dict[str, ColumnStatistics]:
    """Return the footer's statistics of some columns, one entry per row group; columns without any are left out."""
    if metadata.num_row_groups == 0:
        return {}
    leaves = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    # The field b of a struct a has the path of a column "a.b", and another name.
    positions = {leaf.path: i for i, leaf in enumerate(leaves) if leaf.name == leaf.path}
    found = {}
    rows = pa.array([metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)], pa.int64())
    for name in columns & positions.keys():
        chunks = [metadata.row_group(g).column(positions[name]).statistics for g in range(metadata.num_row_groups)]
        bounds = [s if s is not None and s.has_min_max else None for s in chunks]
        counted = [s if s is not None and s.has_null_count else None for s in chunks]
        try:
            lowest = _bounds_array([s.min if s else None for s in bounds])
            highest = _bounds_array([s.max if s else None for s in bounds])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError, AttributeError):
            continue  # bounds that Python cannot hold (far dates, INT96) prove nothing
        found[name] = ColumnStatistics(
            min=lowest,
            max=highest,
            nulls=pa.array([s.null_count if s else None for s in counted], pa.int64()),
            rows=rows,
        )
    return found


def _bounds_array(bounds: list[Any]) -> pa.Array:
    """Return bounds as Arrow has them, which takes whole numbers for signed ones unless told otherwise."""
    try:
        return pa.array(bounds)
    except OverflowError:
        return pa.array(bounds, pa.uint64())
