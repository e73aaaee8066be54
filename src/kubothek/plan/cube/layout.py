"""How the files of a cube's datasets are laid out: which columns separate, sort, index and identify their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubothek.errors import InvalidInputError
from kubothek.model.cube import Cube
from kubothek.model.names import column_names
from kubothek.plan.layout import Layout


def parse_partition_on(partition_on: Any) -> dict[str, tuple[str, ...]]:
    """Parse the partition columns per dataset id; ``None`` for those of the cube everywhere."""
    if partition_on is None:
        return {}
    if not isinstance(partition_on, Mapping):
        raise InvalidInputError(
            f"partition_on of a cube maps dataset ids to partition columns, but is {partition_on!r}; write "
            "{'weather': ['MONTH']}."
        )
    wrong = [name for name in partition_on if not isinstance(name, str)]
    if wrong:
        raise InvalidInputError(f"partition_on of a cube maps dataset ids to partition columns, but has {wrong[0]!r}.")
    return {name: column_names(columns, f"partition_on[{name!r}]") for name, columns in partition_on.items()}


def cube_layout(
    layout: Layout,
    cube: Cube,
    dataset_id: str,
    columns: Sequence[str],
    partition_on: Sequence[str],
    indices: Sequence[str] | None = None,
) -> Layout:
    """Return the layout of one dataset of a cube.

    Rows are sorted by the dimensions that the dataset has, which also identify its cells, and buckets are cut by them,
    so that versions of a cell can only meet in one file.

    Parameters
    ----------
    layout
        What the caller of the write asked for.
    cube, dataset_id
        The dataset.
    columns
        Names of its columns.
    partition_on
        Its partition columns.
    indices
        Its secondary indices where it exists already; ``None`` for those that the cube's specification wants.
    """
    dimensions = tuple(name for name in cube.dimension_columns if name in columns)
    foreign = [name for name in layout.bucket_by if name not in cube.dimension_columns]
    if foreign:
        raise InvalidInputError(
            f"bucket_by of a cube may only name dimension columns ({', '.join(cube.dimension_columns)}), but names "
            f"{', '.join(foreign)}: all versions of a cell must fall into one bucket.",
            columns=tuple(foreign),
        )
    if indices is None:
        seeded = set(dimensions) - set(cube.suppress_index_on) if dataset_id == cube.seed_dataset else set()
        wanted = seeded | (set(cube.index_columns) & set(columns))
        indices = [name for name in (*cube.dimension_columns, *cube.index_columns) if name in wanted]
    buckets = tuple(name for name in layout.bucket_by or dimensions if name in dimensions)
    bucketed = layout.num_buckets is not None and bool(buckets)
    return replace(
        layout,
        partition_on=tuple(partition_on),
        secondary_indices=tuple(name for name in indices if name not in partition_on),
        sort_by=dimensions,
        bucket_by=buckets if bucketed else (),
        num_buckets=layout.num_buckets if bucketed else None,
        unique=dimensions,
        apart=tuple(name for name in partition_on if name in (*cube.dimension_columns, *cube.partition_columns)),
    )
