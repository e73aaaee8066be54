"""How rows are added to datasets that a cube has, and how partitions of theirs are replaced.

What these calls have in common with those that create datasets is in :mod:`kubothek.cube.write`; removing without
adding is :mod:`kubothek.cube.remove`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubothek.cube.write import Request, write_cube
from kubothek.dataset.dataset import Dataset
from kubothek.model.cube import Cube
from kubothek.plan.layout import parse_layout
from kubothek.store.open import StoreLike, open_store


def append_to_cube(
    data: Any,
    cube: Cube | str,
    store: StoreLike,
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Add rows to datasets that a cube has, the seed among them.

    A cell that the same partition holds already gets a new version: the last one written is what queries see.

    Parameters
    ----------
    data
        Rows of the seed, or a mapping from dataset id to rows, as for :func:`build_cube`.
    cube
        The specification, or the cube's name.
    store, metadata, shuffle, bucket_by, num_buckets, compression
        As for :func:`build_cube`.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    NullValueError, DuplicateCellsError, InvalidInputError, SchemaError
        As for :func:`build_cube`; a dataset that the cube does not have is an error too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, append_to_cube, build_cube, query_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> datasets = build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://append")
    >>> datasets = append_to_cube(
    ...     pa.table({"FLIGHT": [1, 2], "MONTH": [1, 1], "DELAY": [7, 0]}), cube, "memory://append"
    ... )
    >>> query_cube(cube, "memory://append").to_arrow()["DELAY"].to_pylist()
    [7, 0]
    """
    layout = parse_layout(shuffle=shuffle, bucket_by=bucket_by, num_buckets=num_buckets, compression=compression)
    return write_cube(data, cube, open_store(store), Request("append", layout, metadata))


def update_cube(
    data: Any,
    cube: Cube | str,
    store: StoreLike,
    *,
    remove: Any = None,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Replace partitions of datasets that a cube has, the seed among them; each dataset in one commit.

    Whole physical partitions are removed, by each dataset's own partition columns: a dataset without any is replaced as
    a whole. What other writers have committed meanwhile is removed too where it lies in these partitions.

    Parameters
    ----------
    data
        Rows of the seed, or a mapping from dataset id to rows, as for :func:`build_cube`.
    cube
        The specification, or the cube's name.
    store, metadata, shuffle, bucket_by, num_buckets, compression
        As for :func:`build_cube`.
    remove
        Which partitions to remove from the datasets in ``data``: a condition on partition columns of the cube, as for
        :func:`remove_partitions`. ``None`` for exactly those that the data has rows for. In a partition that has new
        rows and is not removed, the last version of a cell is what queries see, as after :func:`append_to_cube`. With a
        condition, data may have no rows, which only removes.

    Returns
    -------
    dict
        The datasets that were written, by id.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    NullValueError, DuplicateCellsError, InvalidInputError, SchemaError
        As for :func:`append_to_cube`; ``remove`` looks at other columns than partition columns of the cube, or at none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, query_cube, update_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> rows = pa.table({"FLIGHT": [1, 2, 3], "MONTH": [1, 1, 2], "DELAY": [5, 0, 9]})
    >>> datasets = build_cube(rows, cube, "memory://update_cube")
    >>> datasets = update_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [7]}), cube, "memory://update_cube")
    >>> query_cube(cube, "memory://update_cube").to_arrow()["DELAY"].to_pylist()
    [7, 9]
    """
    layout = parse_layout(shuffle=shuffle, bucket_by=bucket_by, num_buckets=num_buckets, compression=compression)
    return write_cube(data, cube, open_store(store), Request("update", layout, metadata, remove=remove))
