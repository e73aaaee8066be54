"""Cubes by bags: each element is a frame of the seed, or a dictionary of frames by dataset; all in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import kubothek as kb
from kubothek.compat.arguments import cube_file_settings, names_of
from kubothek.compat.core.cube.conditions import as_where
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.incoming import cube_data
from kubothek.compat.io.eager_cube import (
    as_metadata,
    cleanup_cube,
    collect_stats,
    copy_cube,
    delete_cube,
    query_frames,
)
from kubothek.compat.lazily import Bag, elements, one_in_a_bag
from kubothek.compat.stores import StoreInput, as_store
from kubothek.errors import InvalidInputError

__all__ = [
    "append_to_cube_from_bag",
    "build_cube_from_bag",
    "cleanup_cube_bag",
    "collect_stats_bag",
    "copy_cube_bag",
    "delete_cube_bag",
    "extend_cube_from_bag",
    "query_cube_bag",
    "update_cube_from_bag",
]

Written = Bag[dict[str, DatasetMetadata]]


def build_cube_from_bag(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    ktk_cube_dataset_ids: Iterable[str] | None = None,
    metadata: Any = None,
    overwrite: bool = False,
    partition_on: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Write a cube from a bag, when it is computed: :func:`kubothek.build_cube`."""
    arguments = {"metadata": metadata, "overwrite": overwrite, "partition_on": partition_on}
    return _written(kb.build_cube, data, cube, store, ktk_cube_dataset_ids, df_serializer, arguments)


def extend_cube_from_bag(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    ktk_cube_dataset_ids: Iterable[str] | None,
    metadata: Any = None,
    overwrite: bool = False,
    partition_on: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Add datasets to a cube from a bag, when it is computed: :func:`kubothek.extend_cube`."""
    arguments = {"metadata": metadata, "overwrite": overwrite, "partition_on": partition_on}
    return _written(kb.extend_cube, data, cube, store, ktk_cube_dataset_ids, df_serializer, arguments)


def append_to_cube_from_bag(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    ktk_cube_dataset_ids: Iterable[str] | None,
    metadata: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Add rows to a cube from a bag, when it is computed: :func:`kubothek.append_to_cube`."""
    arguments = {"metadata": metadata}
    return _written(kb.append_to_cube, data, cube, store, ktk_cube_dataset_ids, df_serializer, arguments)


def update_cube_from_bag(
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    remove_conditions: Any,
    ktk_cube_dataset_ids: Iterable[str] | None,
    metadata: Any = None,
    df_serializer: Any = None,
) -> Written:
    """Replace partitions of a cube from a bag, when it is computed: :func:`kubothek.update_cube`.

    Without ``remove_conditions`` exactly the partitions go that there are rows for.
    """
    arguments = {"remove": as_where(remove_conditions), "metadata": metadata}
    return _written(kb.update_cube, data, cube, store, ktk_cube_dataset_ids, df_serializer, arguments)


def query_cube_bag(
    cube: kb.Cube | str,
    store: StoreInput,
    conditions: Any = None,
    datasets: Any = None,
    dimension_columns: Any = None,
    partition_by: Any = None,
    payload_columns: Any = None,
    blocksize: int = 1,
) -> Bag[Any]:
    """Return a bag of pandas frames, one for each combination of ``partition_by``: :meth:`kubothek.Query.groups`."""
    del blocksize
    return Bag(
        lambda: query_frames(cube, store, conditions, datasets, dimension_columns, partition_by, payload_columns)
    )


def delete_cube_bag(cube: kb.Cube, store: StoreInput, blocksize: int = 100, datasets: Any = None) -> Bag[Any]:
    """Delete a cube or datasets of it, when it is computed: :func:`kubothek.delete_cube`."""
    del blocksize
    return one_in_a_bag(lambda: delete_cube(cube, store, datasets))


def copy_cube_bag(
    cube: kb.Cube | str,
    src_store: StoreInput,
    tgt_store: StoreInput,
    blocksize: int = 100,
    overwrite: bool = False,
    datasets: Any = None,
) -> Bag[Any]:
    """Copy a cube to another store, when it is computed: :func:`kubothek.copy_cube`."""
    del blocksize
    return one_in_a_bag(lambda: copy_cube(cube, src_store, tgt_store, overwrite, names_of(datasets)))


def collect_stats_bag(
    cube: kb.Cube, store: StoreInput, datasets: Any = None, blocksize: int = 100
) -> Bag[dict[str, dict[str, int]]]:
    """Count partitions, files, rows and bytes of a cube, when it is computed: :func:`kubothek.collect_stats`."""
    del blocksize
    return one_in_a_bag(lambda: collect_stats(cube, store, datasets))


def cleanup_cube_bag(cube: kb.Cube, store: StoreInput, blocksize: int = 100) -> Bag[Any]:
    """Delete what nobody needs of a cube, when it is computed: :func:`kubothek.cleanup_cube`."""
    del blocksize
    return one_in_a_bag(lambda: cleanup_cube(cube, store))


def _written(
    write: Callable[..., dict[str, kb.Dataset]],
    data: Any,
    cube: kb.Cube,
    store: StoreInput,
    dataset_ids: Iterable[str] | None,
    df_serializer: Any,
    arguments: dict[str, Any],
) -> Written:
    """Return the bag that writes the elements of another one, each into files of its own, when it is computed."""
    known = {cube.seed_dataset} if dataset_ids is None else set(dataset_ids)
    settings = cube_file_settings(df_serializer)

    def make() -> dict[str, DatasetMetadata]:
        together = cube_data(elements(data), cube)
        unknown = sorted(set(together) - known)
        if unknown:
            raise InvalidInputError(
                f"The bag has rows of {', '.join(unknown)}, and ktk_cube_dataset_ids names {', '.join(sorted(known))}.",
                datasets=tuple(unknown),
            )
        return as_metadata(write(together, cube, as_store(store), shuffle=False, **arguments, **settings))

    return one_in_a_bag(make)
