"""Datasets, read and written frame by frame, so that one of them is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import kubothek as kb
from kubothek.compat.arguments import refuse
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.core.factory import opened
from kubothek.compat.io.eager import store_dataframes_as_dataset, update_dataset_from_dataframes
from kubothek.compat.reading import read_parts, wanted
from kubothek.compat.stores import StoreInput, as_store

__all__ = [
    "read_dataset_as_dataframes__iterator",
    "store_dataframes_as_dataset__iter",
    "update_dataset_from_dataframes__iter",
]


def read_dataset_as_dataframes__iterator(
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
) -> Iterator[dict[str, Any]]:
    """Yield dictionaries of pandas frames by table: :meth:`kubothek.Scan.groups`."""
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
    return read_parts(dataset, tables, asked)


def update_dataset_from_dataframes__iter(
    df_generator: Any,
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    delete_scope: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
    metadata_merger: Any = None,
    central_partition_metadata: bool = True,
    default_metadata_version: int = 4,
    partition_on: Any = None,
    load_dynamic_metadata: bool = True,
    sort_partitions_by: Any = None,
    secondary_indices: Any = None,
    factory: Any = None,
) -> DatasetMetadata:
    """Add frames and delete partitions in one commit: :func:`kubothek.update_dataset`."""
    refuse(
        metadata_merger=metadata_merger,
        central_partition_metadata=central_partition_metadata,
        default_metadata_version=default_metadata_version,
        load_dynamic_metadata=load_dynamic_metadata,
    )
    return update_dataset_from_dataframes(
        df_generator,
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


def store_dataframes_as_dataset__iter(
    df_generator: Any,
    store: StoreInput,
    dataset_uuid: str | None = None,
    metadata: Any = None,
    partition_on: Any = None,
    df_serializer: Any = None,
    overwrite: bool = False,
    metadata_storage_format: str = "json",
    metadata_version: int = 4,
    secondary_indices: Any = None,
) -> DatasetMetadata:
    """Store frames as a new dataset, with a name of its own where none is given: :func:`kubothek.write_dataset`."""
    place = as_store(store)
    return store_dataframes_as_dataset(
        place,
        named(dataset_uuid, place),
        df_generator,
        metadata,
        partition_on,
        df_serializer,
        overwrite,
        secondary_indices,
        metadata_storage_format,
        metadata_version,
    )


def named(dataset_uuid: str | None, store: kb.Store) -> str:
    """Return the name of a dataset that is stored, a new one where none is given."""
    return store.world.new_id() if dataset_uuid is None else dataset_uuid
