"""Datasets as delayed results, each of which is computed in this process when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kubothek.compat.arguments import refuse
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.core.factory import opened
from kubothek.compat.io.eager import (
    delete_dataset,
    garbage_collect_dataset,
    update_dataset_from_dataframes,
)
from kubothek.compat.io.iter import store_dataframes_as_dataset__iter
from kubothek.compat.lazily import Delayed, elements
from kubothek.compat.reading import read_parts, wanted
from kubothek.compat.stores import StoreInput

__all__ = [
    "delete_dataset__delayed",
    "garbage_collect_dataset__delayed",
    "read_dataset_as_delayed",
    "store_delayed_as_dataset",
    "update_dataset_from_delayed",
]


def delete_dataset__delayed(
    dataset_uuid: str | None = None, store: StoreInput = None, factory: Any = None
) -> Delayed[None]:
    """Delete a dataset when it is computed: :func:`kubothek.delete_dataset`."""
    return Delayed(partial(delete_dataset, dataset_uuid, store, factory))


def garbage_collect_dataset__delayed(
    dataset_uuid: str | None = None, store: StoreInput = None, chunk_size: int = 100, factory: Any = None
) -> list[Delayed[list[str]]]:
    """Delete files that nobody needs when it is computed: :func:`kubothek.garbage_collect_dataset`."""
    del chunk_size
    return [Delayed(partial(garbage_collect_dataset, dataset_uuid, store, factory))]


def read_dataset_as_delayed(
    dataset_uuid: str | None = None,
    store: StoreInput = None,
    tables: Any = None,
    columns: Any = None,
    concat_partitions_on_primary_index: bool = False,
    predicate_pushdown_to_io: bool = True,
    categoricals: Any = None,
    label_filter: Callable[[str], bool] | None = None,
    dates_as_object: bool = False,
    predicates: Any = None,
    factory: Any = None,
    dispatch_by: Any = None,
) -> list[Delayed[dict[str, Any]]]:
    """Return one delayed dictionary of pandas frames by table for each file, or for each combination of values.

    The rows are read by this call already, and all in memory: for more of them there are the iterator and Spark.
    """
    del predicate_pushdown_to_io
    dataset = opened(dataset_uuid, store, factory)
    asked = wanted(
        dataset,
        columns=columns,
        categoricals=categoricals,
        predicates=predicates,
        dates_as_object=dates_as_object,
        dispatch_by=dispatch_by,
        concat_partitions_on_primary_index=concat_partitions_on_primary_index,
        label_filter=label_filter,
    )
    return [Delayed(partial(dict, part)) for part in read_parts(dataset, tables, asked)]


def update_dataset_from_delayed(
    delayed_tasks: Any,
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    delete_scope: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
    metadata_merger: Any = None,
    default_metadata_version: int = 4,
    partition_on: Any = None,
    sort_partitions_by: Any = None,
    secondary_indices: Any = None,
    factory: Any = None,
) -> Delayed[DatasetMetadata]:
    """Add what delayed results give, in one commit, when it is computed: :func:`kubothek.update_dataset`."""
    refuse(metadata_merger=metadata_merger, default_metadata_version=default_metadata_version)
    return Delayed(
        lambda: update_dataset_from_dataframes(
            elements(delayed_tasks),
            store,
            dataset_uuid,
            delete_scope=delete_scope,
            metadata=metadata,
            df_serializer=df_serializer,
            partition_on=partition_on,
            sort_partitions_by=sort_partitions_by,
            secondary_indices=secondary_indices,
            factory=factory,
        )
    )


def store_delayed_as_dataset(
    delayed_tasks: Any,
    store: StoreInput,
    dataset_uuid: str | None = None,
    metadata: Any = None,
    df_serializer: Any = None,
    overwrite: bool = False,
    metadata_merger: Any = None,
    metadata_version: int = 4,
    partition_on: Any = None,
    metadata_storage_format: str = "json",
    secondary_indices: Any = None,
) -> Delayed[DatasetMetadata]:
    """Store what delayed results give as a new dataset, when it is computed: :func:`kubothek.write_dataset`."""
    refuse(metadata_merger=metadata_merger, metadata_version=metadata_version)
    return Delayed(
        lambda: store_dataframes_as_dataset__iter(
            elements(delayed_tasks),
            store,
            dataset_uuid,
            metadata=metadata,
            partition_on=partition_on,
            df_serializer=df_serializer,
            overwrite=overwrite,
            metadata_storage_format=metadata_storage_format,
            secondary_indices=secondary_indices,
        )
    )
