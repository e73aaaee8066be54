"""Datasets, read and written at once, in this process.

Each function has Kartothek's parameters and hands over to the one of :mod:`kubothek` that its docstring names, which
says what they mean. Those that Kubothek has no use for are explained in :mod:`kubothek.compat.arguments`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import kubothek as kb
from kubothek.codec.keys import header_key
from kubothek.compat.arguments import file_settings, refuse
from kubothek.compat.core.common_metadata import unwrapped
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.core.factory import located, opened
from kubothek.compat.incoming import frames_of
from kubothek.compat.reading import read_parts, read_whole, wanted
from kubothek.compat.stores import StoreInput, as_store
from kubothek.errors import InvalidInputError

__all__ = [
    "build_dataset_indices",
    "commit_dataset",
    "copy_dataset",
    "create_empty_dataset_header",
    "delete_dataset",
    "garbage_collect_dataset",
    "read_dataset_as_dataframes",
    "read_table",
    "store_dataframes_as_dataset",
    "update_dataset_from_dataframes",
    "write_single_partition",
]

_DAY = timedelta(days=1)


def delete_dataset(dataset_uuid: str | None = None, store: StoreInput = None, factory: Any = None) -> None:
    """Delete a dataset: :func:`kubothek.delete_dataset`."""
    kb.delete_dataset(*located(dataset_uuid, store, factory))


def read_dataset_as_dataframes(
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
) -> list[dict[str, Any]]:
    """Read a dataset as a list of dictionaries of pandas frames by table: :meth:`kubothek.Scan.groups`."""
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
    return list(read_parts(dataset, tables, asked))


def read_table(
    dataset_uuid: str | None = None,
    store: StoreInput = None,
    table: str | None = "table",
    columns: Any = None,
    concat_partitions_on_primary_index: bool = False,
    predicate_pushdown_to_io: bool = True,
    categoricals: Any = None,
    label_filter: Callable[[str], bool] | None = None,
    dates_as_object: bool = False,
    predicates: Any = None,
    factory: Any = None,
) -> Any:
    """Read a table as one pandas frame: :meth:`kubothek.Scan.to_pandas`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"MONTH": [1, 2, 2], "TEMP": [0.5, -1.0, 3.0]})
    >>> dm = store_dataframes_as_dataset("memory://compat_read", "weather", [frame], partition_on="MONTH")
    >>> read_table("weather", "memory://compat_read", columns=["TEMP"], predicates=[[("MONTH", "==", 2)]])
       TEMP
    0  -1.0
    1   3.0
    """
    del predicate_pushdown_to_io, concat_partitions_on_primary_index  # rows come as one frame, whatever the order
    if not isinstance(table, str):
        raise TypeError(f"table must be the name of a table, not {table!r}.")
    dataset = opened(dataset_uuid, store, factory)
    asked = wanted(
        dataset,
        columns=columns,
        categoricals=categoricals,
        predicates=predicates,
        dates_as_object=dates_as_object,
        label_filter=label_filter,
    )
    return read_whole(dataset, table, asked)


def commit_dataset(
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    new_partitions: Any = None,
    output_dataset_uuid: str | None = None,
    delete_scope: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
    metadata_merger: Any = None,
    default_metadata_version: int = 4,
    partition_on: Any = None,
    factory: Any = None,
    secondary_indices: Any = None,
) -> DatasetMetadata:
    """Commit what :func:`write_single_partition` returned: :func:`kubothek.commit_dataset`."""
    refuse(
        output_dataset_uuid=output_dataset_uuid,
        metadata_merger=metadata_merger,
        default_metadata_version=default_metadata_version,
    )
    file_settings(df_serializer)  # files are written already
    uuid, place = located(dataset_uuid, store, factory)
    committed = kb.commit_dataset(
        uuid,
        place,
        new_partitions=new_partitions or (),
        delete_scope=delete_scope or (),
        metadata=metadata,
        partition_on=partition_on or (),
        secondary_indices=secondary_indices or (),
    )
    return DatasetMetadata(committed)


def store_dataframes_as_dataset(
    store: StoreInput,
    dataset_uuid: str,
    dfs: Any,
    metadata: Any = None,
    partition_on: Any = None,
    df_serializer: Any = None,
    overwrite: bool = False,
    secondary_indices: Any = None,
    metadata_storage_format: str = "json",
    metadata_version: int = 4,
) -> DatasetMetadata:
    """Store frames as a new dataset: :func:`kubothek.write_dataset`."""
    refuse(metadata_version=metadata_version)
    data = frames_of(dfs)
    if data is None:
        raise InvalidInputError(f"There is nothing to store as dataset {dataset_uuid!r}: give one frame at least.")
    written = kb.write_dataset(
        data,
        dataset_uuid,
        as_store(store),
        metadata=metadata,
        partition_on=partition_on or (),
        secondary_indices=secondary_indices or (),
        overwrite=overwrite,
        header_format=metadata_storage_format,  # type: ignore[arg-type]  # checked by the callee
        **file_settings(df_serializer),
    )
    return DatasetMetadata(written)


def create_empty_dataset_header(
    store: StoreInput,
    dataset_uuid: str,
    table_meta: Any,
    partition_on: Any = None,
    metadata: Any = None,
    overwrite: bool = False,
    metadata_storage_format: str = "json",
    metadata_version: int = 4,
) -> DatasetMetadata:
    """Create a dataset without partitions: :func:`kubothek.create_empty_dataset`."""
    refuse(metadata_version=metadata_version)
    created = kb.create_empty_dataset(
        {table: unwrapped(schema) for table, schema in table_meta.items()},
        dataset_uuid,
        as_store(store),
        partition_on=partition_on or (),
        metadata=metadata,
        overwrite=overwrite,
        header_format=metadata_storage_format,  # type: ignore[arg-type]  # checked by the callee
    )
    return DatasetMetadata(created)


def write_single_partition(
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    data: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
    overwrite: bool = False,
    metadata_merger: Any = None,
    metadata_version: int = 4,
    partition_on: Any = None,
    factory: Any = None,
    secondary_indices: Any = None,
) -> tuple[kb.StagedPartition, ...]:
    """Write files that :func:`commit_dataset` commits: :func:`kubothek.write_partitions`.

    Any number of processes may do so at once. What it returns takes the place of Kartothek's ``MetaPartition``.
    """
    refuse(metadata_merger=metadata_merger, metadata_version=metadata_version)
    if metadata or overwrite:
        raise InvalidInputError("Files have no metadata and replace nothing; pass metadata to commit_dataset.")
    uuid, place = located(dataset_uuid, store, factory)
    return kb.write_partitions(
        frames_of(data),
        uuid,
        place,
        partition_on=partition_on,
        secondary_indices=secondary_indices,
        **file_settings(df_serializer),
    )


def update_dataset_from_dataframes(
    df_list: Any,
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
    uuid, place = located(dataset_uuid, store, factory)
    updated = kb.update_dataset(
        frames_of(df_list),
        uuid,
        place,
        delete_scope=delete_scope or (),
        metadata=metadata,
        partition_on=partition_on,
        secondary_indices=secondary_indices,
        sort_by=sort_partitions_by or (),
        **file_settings(df_serializer),
    )
    return DatasetMetadata(updated)


def build_dataset_indices(
    store: StoreInput, dataset_uuid: str | None, columns: Any, factory: Any = None
) -> DatasetMetadata:
    """Build indices over a dataset that is there: :func:`kubothek.build_dataset_indices`."""
    return DatasetMetadata(kb.build_dataset_indices(*located(dataset_uuid, store, factory), columns))


def garbage_collect_dataset(
    dataset_uuid: str | None = None, store: StoreInput = None, factory: Any = None, *, older_than: timedelta = _DAY
) -> list[str]:
    """Delete files that nobody needs: :func:`kubothek.garbage_collect_dataset`, which keeps those of the last day."""
    return kb.garbage_collect_dataset(*located(dataset_uuid, store, factory), older_than=older_than)


def copy_dataset(
    source_dataset_uuid: str,
    store: StoreInput,
    target_dataset_uuid: str | None = None,
    target_store: StoreInput = None,
) -> dict[str, DatasetMetadata]:
    """Copy a dataset over what has the new name: :func:`kubothek.copy_dataset`. Returns it by the key of its header."""
    copied = kb.copy_dataset(
        source_dataset_uuid,
        as_store(store),
        to_uuid=target_dataset_uuid,
        to_store=None if target_store is None else as_store(target_store),
        overwrite=True,
    )
    return {header_key(copied.uuid, "json"): DatasetMetadata(copied)}
