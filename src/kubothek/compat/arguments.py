"""What becomes of Kartothek's arguments: which are translated, which have no effect, and which are refused.

Three kinds have no parameter of their own in Kubothek. The settings of a serializer become compression and row group
size. What only decides how Kartothek does its work (``predicate_pushdown_to_io``, ``blocksize``, …) has no effect on
any answer, and none here. What would change an answer or what is stored, and cannot be done, is in :data:`REFUSED`: it
is accepted with Kartothek's default, and any other value is an error that says what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubothek.errors import InvalidInputError

REFUSED: Mapping[str, tuple[Any, str]] = {
    "metadata_version": (4, "there is no other version of the format"),
    "default_metadata_version": (4, "there is no other version of the format"),
    "metadata_merger": (None, "merge the metadata beforehand; entries of metadata= replace those of the same name"),
    "central_partition_metadata": (True, "partitions have no metadata of their own"),
    "load_dynamic_metadata": (True, "there is no other way to load metadata"),
    "output_dataset_uuid": (None, "copy the dataset first, with copy_dataset"),
    "repartition_ratio": (None, "give the frame fewer partitions before: frame.coalesce(n)"),
    "dask_index_on": (None, "Spark DataFrames have no index; use frame.repartition(column) or frame.orderBy(column)"),
    "dispatch_by": (None, "use frame.repartition(columns) on the Spark DataFrame"),
    "concat_partitions_on_primary_index": (False, "use frame.repartition(columns) on the Spark DataFrame"),
    "categoricals": (None, "Spark has no categorical columns; leave it out"),
    "label_filter": (None, "say with predicates which partitions to read"),
    "frac": (1.0, "take a sample of the result: frame.sample(frac=…)"),
    "predicates": (None, "hash the columns that you compare, with subset, and read what differs"),
    "delete_scope": (None, "a dataset that is stored anew has nothing to delete; use update_dataset_from_ddf"),
}
"""Kartothek's default of each parameter that is refused with another value, and what to do instead."""


def refuse(**given: Any) -> None:
    """Refuse values of parameters that would be ignored, all at once.

    Raises
    ------
    InvalidInputError
        Some are not Kartothek's default; ``parameters`` names them.

    Examples
    --------
    >>> refuse(metadata_version=4, frac=0.5)
    Traceback (most recent call last):
    ...
    kubothek.errors.InvalidInputError: This cannot be done here:
    - frac=0.5: take a sample of the result: frame.sample(frac=…)
    """
    wrong = {name: value for name, value in given.items() if not _is_default(value, REFUSED[name][0])}
    if wrong:
        lines = [f"- {name}={value!r}: {REFUSED[name][1]}" for name, value in wrong.items()]
        raise InvalidInputError("This cannot be done here:\n" + "\n".join(lines), parameters=tuple(wrong))


def _is_default(value: Any, default: Any) -> bool:
    nothing = default is None and isinstance(value, (Sequence, Mapping)) and not value
    return value is default or nothing or (default is not None and type(value) is type(default) and value == default)


def file_settings(df_serializer: Any) -> dict[str, Any]:
    """Return what a serializer of Kartothek's says about data files, as arguments of ``write_dataset``.

    Raises
    ------
    InvalidInputError
        It writes something else than Parquet.
    """
    if df_serializer is None:
        return {}
    compression = getattr(df_serializer, "compression", None)
    if compression is None:
        raise InvalidInputError(
            f"Data files are written as Parquet, not by a {type(df_serializer).__name__}: pass a ParquetSerializer, or "
            "leave df_serializer out. CSV files of old datasets can be read."
        )
    return {"compression": compression.lower(), "rows_per_row_group": getattr(df_serializer, "chunk_size", None)}


def cube_file_settings(df_serializer: Any) -> dict[str, Any]:
    """Return what a serializer says about data files, as arguments of ``build_cube``."""
    settings = file_settings(df_serializer)
    if settings.pop("rows_per_row_group", None) is not None:
        raise InvalidInputError("Row groups of cubes have a fixed size: pass a ParquetSerializer without chunk_size.")
    return settings


def bucket_settings(shuffle: bool, num_buckets: int | None, bucket_by: Any) -> dict[str, Any]:
    """Return how rows are brought together, as arguments of ``write_dataset`` and ``build_cube``.

    Raises
    ------
    InvalidInputError
        Buckets are asked for without ``shuffle``, where Kartothek ignores them, or their number is missing.
    """
    if not shuffle:
        if bucket_by or num_buckets not in (None, 1):
            raise InvalidInputError("Rows are only brought into buckets with shuffle=True; pass it, or leave them out.")
        return {"shuffle": False}
    if num_buckets is None:
        raise InvalidInputError("shuffle=True needs num_buckets: the number of files per partition, 1 by default.")
    if num_buckets == 1:
        return {"shuffle": True}
    return {"shuffle": True, "num_buckets": num_buckets, "bucket_by": bucket_by or ()}


def names_of(datasets: Any) -> Any:
    """Return the ids of datasets that are given as Kartothek takes them: none, some, or a dictionary by id."""
    return sorted(datasets) if isinstance(datasets, (Mapping, set, frozenset)) else datasets
