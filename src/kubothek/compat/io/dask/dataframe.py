"""Datasets as Spark DataFrames, under the names that Kartothek has for Dask's.

What is stored is a Spark DataFrame, which brings its session along; a pandas frame or anything in Arrow's format is
taken too, and written in this process. What is read is a Spark DataFrame of the session that is passed as ``spark``, or
else of the active one. Functions that returned a delayed result still do: nothing is written before ``compute()``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kubothek as kb
from kubothek.compat.arguments import bucket_settings, file_settings, refuse
from kubothek.compat.core.dataset import DatasetMetadata
from kubothek.compat.core.factory import located, opened
from kubothek.compat.lazily import Delayed
from kubothek.compat.reading import to_pandas
from kubothek.compat.stores import StoreInput, as_store
from kubothek.errors import InvalidInputError
from kubothek.spark.session import active_session

__all__ = [
    "collect_dataset_metadata",
    "hash_dataset",
    "read_dataset_as_ddf",
    "store_dataset_from_ddf",
    "update_dataset_from_ddf",
]


def read_dataset_as_ddf(
    dataset_uuid: str | None = None,
    store: StoreInput = None,
    table: str = "table",
    columns: Any = None,
    concat_partitions_on_primary_index: bool = False,
    predicate_pushdown_to_io: bool = True,
    categoricals: Any = None,
    label_filter: Callable[[str], bool] | None = None,
    dates_as_object: bool = False,
    predicates: Any = None,
    factory: Any = None,
    dask_index_on: str | None = None,
    dispatch_by: Any = None,
    *,
    spark: Any = None,
) -> Any:
    """Return a dataset as a lazy Spark DataFrame: :meth:`kubothek.Scan.to_spark`. Dates are Spark's dates."""
    del predicate_pushdown_to_io, dates_as_object
    refuse(
        concat_partitions_on_primary_index=concat_partitions_on_primary_index,
        categoricals=categoricals,
        label_filter=label_filter,
        dask_index_on=dask_index_on,
        dispatch_by=dispatch_by,
    )
    wanted = columns.get(table) if isinstance(columns, dict) else columns
    return opened(dataset_uuid, store, factory).scan(wanted, predicates, table).to_spark(active_session(spark))


def store_dataset_from_ddf(
    ddf: Any,
    store: StoreInput,
    dataset_uuid: str,
    table: str = "table",
    secondary_indices: Any = None,
    shuffle: bool = False,
    repartition_ratio: Any = None,
    num_buckets: int = 1,
    sort_partitions_by: Any = None,
    delete_scope: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
    metadata_merger: Any = None,
    metadata_version: int = 4,
    partition_on: Any = None,
    bucket_by: Any = None,
    overwrite: bool = False,
) -> Delayed[DatasetMetadata]:
    """Store a Spark DataFrame as a new dataset when it is computed: :func:`kubothek.write_dataset`."""
    refuse(
        repartition_ratio=repartition_ratio,
        delete_scope=delete_scope,
        metadata_merger=metadata_merger,
        metadata_version=metadata_version,
    )
    check_frame(ddf)
    arguments = {
        "secondary_indices": secondary_indices or (),
        "sort_by": sort_partitions_by or (),
        "partition_on": partition_on or (),
        "metadata": metadata,
        "overwrite": overwrite,
        "table": table,
        **bucket_settings(shuffle, num_buckets, bucket_by),
        **file_settings(df_serializer),
    }
    place = as_store(store)
    return Delayed(lambda: DatasetMetadata(kb.write_dataset(ddf, dataset_uuid, place, **arguments)))


def update_dataset_from_ddf(
    ddf: Any,
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    table: str = "table",
    secondary_indices: Any = None,
    shuffle: bool = False,
    repartition_ratio: Any = None,
    num_buckets: int = 1,
    sort_partitions_by: Any = None,
    delete_scope: Any = None,
    metadata: Any = None,
    df_serializer: Any = None,
    metadata_merger: Any = None,
    default_metadata_version: int = 4,
    partition_on: Any = None,
    factory: Any = None,
    bucket_by: Any = None,
) -> Delayed[DatasetMetadata]:
    """Add a Spark DataFrame and delete partitions in one commit, when it is computed: :func:`kubothek.update_dataset`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"A": [0, 1, 0], "B": [1, 2, 3]})
    >>> task = update_dataset_from_ddf(
    ...     frame, "memory://compat_ddf", "bucketed", partition_on="A", shuffle=True, bucket_by="B", num_buckets=4
    ... )
    >>> sorted(label[:3] for label in task.compute().partitions)
    ['A=0', 'A=0', 'A=1']
    """
    refuse(
        repartition_ratio=repartition_ratio,
        metadata_merger=metadata_merger,
        default_metadata_version=default_metadata_version,
    )
    check_frame(ddf)
    arguments = {
        "delete_scope": delete_scope or (),
        "secondary_indices": secondary_indices,
        "sort_by": sort_partitions_by or (),
        "partition_on": partition_on,
        "metadata": metadata,
        "table": table if ddf is not None else None,
        **bucket_settings(shuffle, num_buckets, bucket_by),
        **file_settings(df_serializer),
    }
    uuid, place = located(dataset_uuid, store, factory)
    return Delayed(lambda: DatasetMetadata(kb.update_dataset(ddf, uuid, place, **arguments)))


def collect_dataset_metadata(
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    table_name: str = "table",
    predicates: Any = None,
    frac: float = 1.0,
    factory: Any = None,
    *,
    spark: Any = None,
) -> Delayed[Any]:
    """Return what the footers of files say, computed as a pandas frame: :func:`kubothek.collect_dataset_metadata`.

    Spark's tasks read the footers where a session is passed.
    """
    refuse(frac=frac)
    uuid, place = located(dataset_uuid, store, factory)
    return Delayed(
        lambda: to_pandas(kb.collect_dataset_metadata(uuid, place, where=predicates, table=table_name, spark=spark))
    )


def hash_dataset(
    store: StoreInput = None,
    dataset_uuid: str | None = None,
    subset: Any = None,
    group_key: Any = None,
    table: str = "table",
    predicates: Any = None,
    factory: Any = None,
    *,
    spark: Any = None,
) -> Delayed[Any]:
    """Return the hash of a dataset's rows, computed as a pandas series: :func:`kubothek.hash_dataset`.

    With ``group_key`` there is one for each combination of values, else one for all rows, where Kartothek gives one for
    each file. The hashes are not those of Kartothek.
    """
    refuse(predicates=predicates)
    uuid, place = located(dataset_uuid, store, factory)
    keys = [group_key] if isinstance(group_key, str) else list(group_key or ())

    def compute() -> Any:
        hashes = kb.hash_dataset(uuid, place, columns=subset, group_by=keys, table=table, spark=spark)
        frame = to_pandas(hashes)
        return (frame.set_index(keys) if keys else frame)["hash"]

    return Delayed(compute)


def check_frame(ddf: Any) -> None:
    """Refuse a frame of Dask, which nothing here can read."""
    if type(ddf).__module__.split(".")[0] in ("dask", "dask_expr"):
        raise InvalidInputError(
            "Frames of Dask are not written: pass a Spark DataFrame (spark.read.parquet(…) or "
            "spark.createDataFrame(pandas_frame)), or what ddf.compute() gives."
        )
