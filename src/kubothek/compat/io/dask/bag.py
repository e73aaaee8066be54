"""Datasets as bags, whose elements are made one by one in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.io.dask.delayed import store_delayed_as_dataset
from kubothek.compat.io.eager import build_dataset_indices
from kubothek.compat.io.iter import read_dataset_as_dataframes__iterator
from kubothek.compat.lazily import Bag, Delayed
from kubothek.compat.stores import StoreInput

__all__ = ["build_dataset_indices__bag", "read_dataset_as_dataframe_bag", "store_bag_as_dataset"]


def read_dataset_as_dataframe_bag(
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
    partition_size: int | None = None,
) -> Bag[dict[str, Any]]:
    """Return a bag of dictionaries of pandas frames by table: :meth:`kubothek.Scan.groups`."""
    del partition_size
    return Bag(
        lambda: read_dataset_as_dataframes__iterator(
            dataset_uuid,
            store,
            tables,
            columns,
            concat_partitions_on_primary_index,
            predicate_pushdown_to_io,
            categoricals,
            label_filter,
            dates_as_object,
            predicates,
            factory,
            dispatch_by,
        )
    )


def store_bag_as_dataset(
    bag: Any,
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
    """Store the elements of a bag as a new dataset, when it is computed: :func:`kubothek.write_dataset`."""
    return store_delayed_as_dataset(
        bag,
        store,
        dataset_uuid,
        metadata,
        df_serializer,
        overwrite,
        metadata_merger,
        metadata_version,
        partition_on,
        metadata_storage_format,
        secondary_indices,
    )


def build_dataset_indices__bag(
    store: StoreInput,
    dataset_uuid: str | None,
    columns: Any,
    partition_size: int | None = None,
    factory: Any = None,
) -> Delayed[DatasetMetadata]:
    """Build indices over a dataset when it is computed: :func:`kubothek.build_dataset_indices`."""
    del partition_size
    return Delayed(partial(build_dataset_indices, store, dataset_uuid, columns, factory))
