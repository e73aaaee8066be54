"""Cubes as Spark DataFrames, under the names that Kartothek has for Dask's, as ``dataframe`` has datasets."""

from __future__ import annotations

from typing import Any

import kubothek as kb
from kubothek.compat.arguments import bucket_settings, cube_file_settings, names_of
from kubothek.compat.core.cube.conditions import as_where
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.io.dask.dataframe import check_frame
from kubothek.compat.io.eager_cube import as_metadata
from kubothek.compat.lazily import Delayed
from kubothek.compat.stores import StoreInput, as_store
from kubothek.spark.session import active_session

__all__ = [
    "append_to_cube_from_dataframe",
    "build_cube_from_dataframe",
    "extend_cube_from_dataframe",
    "query_cube_dataframe",
    "update_cube_from_dataframe",
]

Written = Delayed[dict[str, DatasetMetadata]]


def build_cube_from_dataframe(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    metadata: Any = None,
    overwrite: bool = False,
    partition_on: Any = None,
    shuffle: bool = False,
    num_buckets: int = 1,
    bucket_by: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Write a cube of Spark DataFrames, when it is computed: :func:`kubothek.build_cube`."""
    arguments = {
        "metadata": metadata,
        "overwrite": overwrite,
        "partition_on": partition_on,
        **bucket_settings(shuffle, num_buckets, bucket_by),
        **cube_file_settings(df_serializer),
    }
    _check(data)
    return Delayed(lambda: as_metadata(kb.build_cube(data, cube, as_store(store), **arguments)))


def extend_cube_from_dataframe(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    metadata: Any = None,
    overwrite: bool = False,
    partition_on: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Add datasets of Spark DataFrames to a cube, when it is computed: :func:`kubothek.extend_cube`."""
    settings = cube_file_settings(df_serializer)
    _check(data)
    return Delayed(
        lambda: as_metadata(
            kb.extend_cube(
                data,
                cube,
                as_store(store),
                metadata=metadata,
                overwrite=overwrite,
                partition_on=partition_on,
                shuffle=False,
                **settings,
            )
        )
    )


def query_cube_dataframe(
    cube: kb.Cube | str,
    store: StoreInput,
    conditions: Any = None,
    datasets: Any = None,
    dimension_columns: Any = None,
    partition_by: Any = None,
    payload_columns: Any = None,
    *,
    spark: Any = None,
) -> Any:
    """Return the cells of a cube as a lazy Spark DataFrame: :meth:`kubothek.Query.to_spark`."""
    query = kb.query_cube(
        cube,
        as_store(store),
        where=as_where(conditions),
        datasets=names_of(datasets),
        dimension_columns=dimension_columns,
        partition_by=partition_by or (),
        columns=names_of(payload_columns),
    )
    return query.to_spark(active_session(spark))


def append_to_cube_from_dataframe(
    data: Any, cube: kb.Cube, store: StoreInput, metadata: Any = None, df_serializer: Any = None
) -> Written:
    """Add rows of Spark DataFrames to a cube, when it is computed: :func:`kubothek.append_to_cube`."""
    settings = cube_file_settings(df_serializer)
    _check(data)
    return Delayed(
        lambda: as_metadata(
            kb.append_to_cube(data, cube, as_store(store), metadata=metadata, shuffle=False, **settings)
        )
    )


def update_cube_from_dataframe(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    remove_conditions: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Replace partitions of a cube by rows of Spark DataFrames, when it is computed: :func:`kubothek.update_cube`.

    Kartothek has it for bags only. Without ``remove_conditions`` exactly the partitions go that there are rows for.
    """
    settings = cube_file_settings(df_serializer)
    _check(data)
    where = as_where(remove_conditions)
    return Delayed(
        lambda: as_metadata(
            kb.update_cube(data, cube, as_store(store), remove=where, metadata=metadata, shuffle=False, **settings)
        )
    )


def _check(data: Any) -> None:
    for frame in data.values() if isinstance(data, dict) else (data,):
        check_frame(frame)
