"""How cubes come about and get further datasets: the calls that create datasets.

What they have in common with those that change datasets is in :mod:`kubothek.cube.write`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubothek.cube.write import Request, write_cube
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.staging.arguments import check_flag
from kubothek.model.cube import Cube
from kubothek.plan.layout import parse_layout
from kubothek.store.open import StoreLike, open_store


def build_cube(
    data: Any,
    cube: Cube,
    store: StoreLike,
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    overwrite: bool = False,
    partition_on: Mapping[str, str | Sequence[str]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Write a new cube: its seed, and any number of enrichments.

    If this fails, the cube is as it was. If the process dies half-way, the same call again completes the cube, without
    ``overwrite`` where it was called without.

    Parameters
    ----------
    data
        Rows of the seed, or a mapping from dataset id to rows. Rows are given as for
        :func:`~kubothek.write_dataset`: Spark, Arrow, Polars or pandas.
    cube
        The specification.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    metadata
        User metadata per dataset id; entries ``ktk_cube_…`` are the cube's own.
    overwrite
        Replace a cube that exists; all its datasets must be given.
    partition_on
        Partition columns per dataset id, where an enrichment's are not those of the cube. Those that are neither
        dimension nor partition columns of the cube tell no cells apart: the last row of a cell counts in all of them.
    shuffle
        Give each partition one file (or ``num_buckets``); without it every Spark task and every frame cuts its own.
    bucket_by, num_buckets
        Spread each partition over files by the values of these dimension columns (all if not given).
    compression
        Of the data files.

    Returns
    -------
    dict
        The datasets that were written, by id.

    Raises
    ------
    AlreadyExistsError
        A dataset exists and ``overwrite`` is not set.
    CommitConflictError
        Others have changed the cube meanwhile such that both cannot hold.
    CommitStateUnknownError
        The store did not answer, so that datasets may or may not have been committed, or what had been committed when
        another dataset failed could not be taken back; ``datasets`` then names these.
    NullValueError, DuplicateCellsError
        A dimension or partition column has no value, or a cell is given twice.
    InvalidInputError, SchemaError
        Columns or types do not fit the cube, or a dataset is given without rows; all problems are listed. Nothing was
        committed in this and all cases but that of an unknown state.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://build_cube").keys()
    dict_keys(['seed'])
    """
    layout = parse_layout(shuffle=shuffle, bucket_by=bucket_by, num_buckets=num_buckets, compression=compression)
    check_flag(overwrite, "overwrite")
    return write_cube(data, cube, open_store(store), Request("build", layout, metadata, partition_on, overwrite))


def extend_cube(
    data: Any,
    cube: Cube | str,
    store: StoreLike,
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    overwrite: bool = False,
    partition_on: Mapping[str, str | Sequence[str]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Add enrichments to a cube; nothing that it has is rewritten.

    Parameters
    ----------
    data
        A mapping from dataset id to rows, as for :func:`build_cube`; the seed is not among them.
    cube
        The specification, or the cube's name.
    store, metadata, partition_on, shuffle, bucket_by, num_buckets, compression
        As for :func:`build_cube`.
    overwrite
        Replace enrichments that exist.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    AlreadyExistsError, NullValueError, DuplicateCellsError, InvalidInputError, SchemaError
        As for :func:`build_cube`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, extend_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> seed = pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]})
    >>> datasets = build_cube(seed, cube, "memory://extend_cube")
    >>> late = pa.table({"FLIGHT": [1], "MONTH": [1], "LATE": [True]})
    >>> extend_cube({"late": late}, cube, "memory://extend_cube").keys()
    dict_keys(['late'])
    """
    layout = parse_layout(shuffle=shuffle, bucket_by=bucket_by, num_buckets=num_buckets, compression=compression)
    check_flag(overwrite, "overwrite")
    return write_cube(data, cube, open_store(store), Request("extend", layout, metadata, partition_on, overwrite))
