"""How datasets are written and added to: check, stage, commit.

Parameters and schemas are checked against each other and against the dataset before any row is written; rows are
staged as files that nothing refers to; one commit makes them visible. What fails before the commit leaves the dataset
as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubothek.codec.keys import check_table, check_uuid
from kubothek.dataset.commit import commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot, find_dataset
from kubothek.dataset.staging.arguments import (
    check_flag,
    check_header_format,
    parse_metadata,
    parse_scope,
    stored_layout,
)
from kubothek.dataset.staging.discard import discard_on_error
from kubothek.dataset.staging.incoming import Rows, as_tables, parse_data
from kubothek.dataset.staging.stage import Staged, Staging, Written, incarnation, stage_rows
from kubothek.errors import AlreadyExistsError, InvalidInputError
from kubothek.model.header import SINGLE_TABLE, HeaderFormat
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.layout import Layout, parse_layout
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def write_dataset(
    data: Any,
    uuid: str,
    store: StoreLike,
    *,
    partition_on: str | Sequence[str] = (),
    secondary_indices: str | Sequence[str] = (),
    sort_by: str | Sequence[str] = (),
    shuffle: bool = False,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    table: str = SINGLE_TABLE,
    metadata: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    compression: str = "zstd",
    rows_per_row_group: int | None = None,
    header_format: HeaderFormat = "json",
) -> Dataset:
    """Write a new dataset and commit it.

    Parameters
    ----------
    data
        A Spark DataFrame (written by Spark tasks), anything that exports an Arrow stream (PyArrow, Polars, DuckDB, a
        scan), a dataset of PyArrow, a pandas DataFrame (its index is dropped), or an iterable of these but Spark's. One
        element at a time is in memory, or 128 MiB of a stream (all with ``shuffle``). For a dataset of several tables a
        mapping from table to such rows, or an iterable of mappings; as Spark DataFrames one mapping, with ``shuffle``.
        Each partition has every table: rows of one mapping with equal partition values (and in one bucket) belong
        together.
    uuid
        Name of the dataset: letters, digits, ``+``, ``-`` and ``_``.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    partition_on
        Columns by whose values files are separated; they may hold no nulls. Of several tables each has them.
    secondary_indices
        Columns to keep an inverted index on; of several tables at least one has them.
    sort_by
        Columns by which the rows of each file are sorted.
    shuffle
        Bring equal partition values together, so that each partition gets one file (or ``num_buckets``) whatever task
        or frame its rows come from. Without it, every Spark task and every frame cuts files of its own.
    bucket_by, num_buckets
        Spread each partition over at most this many files; equal values of ``bucket_by`` (all columns if not given)
        share a file.
    table
        Name of the table inside the dataset, where the data is no mapping.
    metadata
        User metadata; values that JSON can hold.
    overwrite
        Replace an existing dataset, schema and layout included. Its files stay in the store, for those who read them.
    compression
        Of the data files: ``none``, ``snappy``, ``gzip``, ``brotli``, ``lz4`` or ``zstd``.
    rows_per_row_group
        Rows per Parquet row group; 262,144 if not given.
    header_format
        ``json`` or ``msgpack``.

    Returns
    -------
    Dataset
        The dataset as committed.

    Raises
    ------
    AlreadyExistsError
        The dataset exists and ``overwrite`` is not set; nothing was written.
    InvalidInputError
        Parameters, columns, types or values do not fit; nothing was committed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import write_dataset
    >>> weather = pa.table({"ORIGIN": ["EWR", "JFK"], "TEMP": [-1.5, 2.0]})
    >>> ds = write_dataset(weather, "weather", "memory://write_dataset", partition_on="ORIGIN")
    >>> ds.scan(where="TEMP < 0").to_arrow().to_pylist()
    [{'ORIGIN': 'EWR', 'TEMP': -1.5}]
    """
    layout = parse_layout(
        partition_on=partition_on,
        secondary_indices=secondary_indices,
        sort_by=sort_by,
        shuffle=shuffle,
        bucket_by=bucket_by,
        num_buckets=num_buckets,
        compression=compression,
        rows_per_row_group=rows_per_row_group,
    )
    check_flag(overwrite, "overwrite")
    check_header_format(header_format)
    opened = open_store(store)
    check_uuid(uuid)
    check_table(table)
    given = None if table == SINGLE_TABLE else table
    base = find_dataset(uuid, opened)
    if base is not None and not overwrite:
        raise AlreadyExistsError(
            f"Dataset {uuid!r} exists already in {opened.url}. Choose another name, pass overwrite=True to replace "
            "it, or use update_dataset to add to it.",
            uuid=uuid,
        )
    change = ChangeSet(
        write_id=opened.world.new_id(),
        operation="write_dataset",
        partition_keys=layout.partition_on,
        index_columns=layout.secondary_indices,
        metadata=parse_metadata(metadata),
        create=True,
        must_be_absent=not overwrite,
        overwrite=overwrite,
        header_format=header_format,
    )
    return Dataset(stage_and_commit(data, opened, uuid, given, layout, change, base))


def update_dataset(
    data: Any,
    uuid: str,
    store: StoreLike,
    *,
    delete_scope: Any = (),
    partition_on: str | Sequence[str] | None = None,
    secondary_indices: str | Sequence[str] | None = None,
    sort_by: str | Sequence[str] = (),
    shuffle: bool = False,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    table: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    compression: str = "zstd",
    rows_per_row_group: int | None = None,
    header_format: HeaderFormat = "json",
) -> Dataset:
    """Add rows to a dataset and delete partitions from it, in one commit; creates the dataset if it is absent.

    A column that no table of an old dataset has, but an index, is null in new rows.

    Parameters
    ----------
    data
        As for :func:`write_dataset`, or ``None`` to add nothing.
    uuid, store
        The dataset.
    delete_scope
        What to delete first: a list of mappings (column to value; a file goes where one of them fits as a whole), or
        a condition. Only partition columns and, where a file holds nothing else, indexed columns can decide.
    partition_on, secondary_indices
        As the dataset has them; they decide only where it is created. ``None``: as they are.
    sort_by, shuffle, bucket_by, num_buckets, compression, rows_per_row_group
        Layout of the new files, as for :func:`write_dataset`.
    table
        Name of the table; ``None`` for the only one, and where the data is a mapping.
    metadata
        Entries to add to the user metadata or to replace in it.
    header_format
        Of a dataset that is created; an existing one keeps its own.

    Raises
    ------
    CommitConflictError
        Others changed the dataset meanwhile such that both cannot hold; nothing was committed.
    InvalidInputError
        Data or parameters do not fit the dataset; nothing was committed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import update_dataset
    >>> for month in (1, 2):
    ...     rows = pa.table({"MONTH": [month], "TEMP": [month * 1.5]})
    ...     ds = update_dataset(rows, "weather", "memory://update_dataset", partition_on="MONTH")
    >>> ds = update_dataset(None, "weather", "memory://update_dataset", delete_scope=[{"MONTH": 1}])
    >>> ds.scan().to_arrow().to_pylist()
    [{'MONTH': 2, 'TEMP': 3.0}]
    """
    check_header_format(header_format)
    opened = open_store(store)
    check_uuid(uuid)
    base = find_dataset(uuid, opened)
    keys, indices = stored_layout(base, partition_on, secondary_indices, uuid)
    layout = parse_layout(
        partition_on=keys,
        secondary_indices=indices,
        sort_by=sort_by,
        shuffle=shuffle,
        bucket_by=bucket_by,
        num_buckets=num_buckets,
        compression=compression,
        rows_per_row_group=rows_per_row_group,
    )
    scope = parse_scope(delete_scope)
    if data is None and not scope and not metadata:
        raise InvalidInputError(
            f"The update of dataset {uuid!r} has nothing to do: give data, a delete_scope or metadata."
        )
    change = ChangeSet(
        write_id=opened.world.new_id(),
        operation="update_dataset",
        partition_keys=None if partition_on is None and base is not None else layout.partition_on,
        index_columns=None if secondary_indices is None and base is not None else layout.secondary_indices,
        delete_scope=scope,
        metadata=parse_metadata(metadata),
        create=data is not None,
        header_format=header_format,
    )
    return Dataset(stage_and_commit(data, opened, uuid, table, layout, change, base))


def stage_and_commit(
    data: Any,
    store: Store,
    uuid: str,
    table: str | None,
    layout: Layout,
    change: ChangeSet,
    base: Snapshot | None,
) -> Snapshot:
    """Stage rows and commit them with a change; on failure nothing of them is left.

    Parameters
    ----------
    data
        Rows as the user gave them, or ``None``.
    store, uuid, table
        Where they go; the data may name its tables itself.
    layout
        How they are laid out.
    change
        The commit, but for what is staged.
    base
        The dataset as it is, ``None`` where there is none.
    """
    if data is None:
        return commit(store, uuid, change, base)
    written: list[StagedPartition] = []
    kept = None if change.overwrite else base
    expected = None if kept is None else kept.schemas
    staging = Staging(store, uuid, change.write_id, incarnation(base, change.write_id), layout, expected)
    with discard_on_error(store, written):
        staged = stage_data(data, staging, kept, table, written)
    complete = replace(change, added=staged.partitions, tables=staged.schemas)
    with discard_on_error(store, written, committing=True):
        return commit(store, uuid, complete, base)


def stage_data(data: Any, staging: Staging, base: Snapshot | None, table: str | None, written: Written) -> Staged:
    """Stage rows as a user gave them.

    Parameters
    ----------
    data, staging
        The rows, and where and how they are staged.
    base, table
        The dataset to which they are added, and the table they are for; the data may name its tables itself.
    written
        Receives each file as soon as it is there.
    """
    rows = parse_data(data, staging.subject)
    if isinstance(rows, Rows):
        name = (table or SINGLE_TABLE) if base is None else base.table_name(table)
        check_table(name)
        return stage_rows(as_tables(rows, name), staging, written)
    if table is not None:
        raise InvalidInputError(
            f"The data for {staging.subject} is a mapping, which names its tables itself; leave out table={table!r}."
        )
    return stage_rows(rows, staging, written)
