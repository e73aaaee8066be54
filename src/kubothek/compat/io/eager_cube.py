"""Cubes, written and queried at once, in this process: Kartothek's parameters, and pandas frames.

Each function hands over to the one of :mod:`kubothek` that its docstring names, which says what the parameters mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import kubothek as kb
from kubothek.compat.arguments import cube_file_settings, names_of
from kubothek.compat.core.cube.conditions import as_where
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.incoming import cube_data
from kubothek.compat.reading import to_pandas
from kubothek.compat.stores import StoreInput, as_store
from kubothek.errors import InvalidInputError

__all__ = [
    "append_to_cube",
    "build_cube",
    "cleanup_cube",
    "collect_stats",
    "copy_cube",
    "delete_cube",
    "extend_cube",
    "query_cube",
    "remove_partitions",
]

_DAY = timedelta(days=1)


def build_cube(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    metadata: Any = None,
    overwrite: bool = False,
    partition_on: Any = None,
    df_serializer: Any = None,
) -> dict[str, DatasetMetadata]:
    """Write a new cube: :func:`kubothek.build_cube`."""
    return as_metadata(
        kb.build_cube(
            cube_data(data, cube),
            cube,
            as_store(store),
            metadata=metadata,
            overwrite=overwrite,
            partition_on=partition_on,
            **cube_file_settings(df_serializer),
        )
    )


def extend_cube(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    metadata: Any = None,
    overwrite: bool = False,
    partition_on: Any = None,
    df_serializer: Any = None,
) -> dict[str, DatasetMetadata]:
    """Add datasets to a cube: :func:`kubothek.extend_cube`."""
    return as_metadata(
        kb.extend_cube(
            cube_data(data, cube),
            cube,
            as_store(store),
            metadata=metadata,
            overwrite=overwrite,
            partition_on=partition_on,
            **cube_file_settings(df_serializer),
        )
    )


def append_to_cube(
    data: Any, cube: kb.Cube, store: StoreInput, metadata: Any = None, df_serializer: Any = None
) -> dict[str, DatasetMetadata]:
    """Add rows to datasets of a cube: :func:`kubothek.append_to_cube`."""
    settings = cube_file_settings(df_serializer)
    return as_metadata(kb.append_to_cube(cube_data(data, cube), cube, as_store(store), metadata=metadata, **settings))


def query_cube(
    cube: kb.Cube | str,
    store: StoreInput,
    conditions: Any = None,
    datasets: Any = None,
    dimension_columns: Any = None,
    partition_by: Any = None,
    payload_columns: Any = None,
) -> list[Any]:
    """Return a list of pandas frames, one for each combination of ``partition_by``: :meth:`kubothek.Query.groups`.

    Examples
    --------
    >>> import pandas as pd
    >>> from kubothek.compat.core.cube import C, Cube
    >>> cube = Cube(dimension_columns=["city"], partition_columns=["country"], uuid_prefix="geodata")
    >>> frame = pd.DataFrame({"city": ["Hamburg", "London"], "country": ["DE", "UK"], "temp": [6, 8]})
    >>> datasets = build_cube(frame, cube, "memory://compat_query_cube")
    >>> query_cube(cube, "memory://compat_query_cube", conditions=C("country") == "UK")[0]
         city country  temp
    0  London      UK     8
    """
    return list(query_frames(cube, store, conditions, datasets, dimension_columns, partition_by, payload_columns))


def query_frames(
    cube: kb.Cube | str,
    store: StoreInput,
    conditions: Any,
    datasets: Any,
    dimension_columns: Any,
    partition_by: Any,
    payload_columns: Any,
) -> Iterator[Any]:
    """Yield what :func:`query_cube` returns, frame by frame."""
    query = kb.query_cube(
        cube,
        as_store(store),
        where=as_where(conditions),
        datasets=names_of(datasets),
        dimension_columns=dimension_columns,
        partition_by=partition_by or (),
        columns=names_of(payload_columns),
    )
    for _, rows in query.groups():
        yield to_pandas(rows)


def delete_cube(cube: kb.Cube | str, store: StoreInput, datasets: Any = None) -> None:
    """Delete a cube or datasets of it: :func:`kubothek.delete_cube`."""
    kb.delete_cube(cube, as_store(store), datasets=names_of(datasets))


def copy_cube(
    cube: kb.Cube | str,
    src_store: StoreInput,
    tgt_store: StoreInput,
    overwrite: bool = False,
    datasets: Any = None,
    renamed_cube_prefix: str | None = None,
    renamed_datasets: Mapping[str, str] | None = None,
) -> None:
    """Copy a cube to another store, or under another name: :func:`kubothek.copy_cube`."""
    kb.copy_cube(
        cube,
        as_store(src_store),
        to_store=as_store(tgt_store),
        overwrite=overwrite,
        datasets=names_of(datasets),
        renamed_cube_prefix=renamed_cube_prefix,
        renamed_datasets=renamed_datasets,
    )


def collect_stats(cube: kb.Cube | str, store: StoreInput, datasets: Any = None) -> dict[str, dict[str, int]]:
    """Count ``partitions``, ``files``, ``rows`` and ``blobsize`` of each dataset: :func:`kubothek.collect_stats`."""
    stats = kb.collect_stats(cube, as_store(store), datasets=names_of(datasets))
    return {
        dataset_id: {"blobsize": one.bytes, "files": one.files, "partitions": one.partitions, "rows": one.rows}
        for dataset_id, one in stats.items()
    }


def cleanup_cube(cube: kb.Cube | str, store: StoreInput, *, older_than: timedelta = _DAY) -> None:
    """Delete what nobody needs of a cube, older than a day unless told otherwise: :func:`kubothek.cleanup_cube`."""
    kb.cleanup_cube(cube, as_store(store), older_than=older_than)


def remove_partitions(
    cube: kb.Cube | str,
    store: StoreInput,
    conditions: Any = None,
    ktk_cube_dataset_ids: Any = None,
    metadata: Any = None,
) -> dict[str, DatasetMetadata]:
    """Remove partitions from datasets of a cube and return all its datasets: :func:`kubothek.remove_partitions`.

    Raises
    ------
    InvalidInputError
        There is no condition, with which Kartothek removes everything, or metadata is given.
    """
    if metadata:
        raise InvalidInputError(
            "Removing changes no metadata: pass it to commit_dataset of the dataset that it is for."
        )
    where, place = as_where(conditions), as_store(store)
    if where is None:
        raise InvalidInputError("Say with conditions which partitions to remove; delete_cube removes all of them.")
    kb.remove_partitions(cube, place, where, datasets=names_of(ktk_cube_dataset_ids))
    prefix = cube if isinstance(cube, str) else cube.uuid_prefix
    return as_metadata(kb.discover_cube(prefix, place)[1])


def as_metadata(datasets: Mapping[str, kb.Dataset]) -> dict[str, DatasetMetadata]:
    """Return datasets by id as Kartothek shows them."""
    return {dataset_id: DatasetMetadata(dataset) for dataset_id, dataset in datasets.items()}
