"""How datasets are written and added to: check, stage, commit.

Parameters and schemas are checked against each other and against the dataset before any row is written; rows are
staged as files that nothing refers to; one commit makes them visible. What fails before the commit leaves the dataset
as it was.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from kubothek.codec.header import check_metadata
from kubothek.codec.keys import check_table, check_uuid
from kubothek.codec.labels import write_prefix
from kubothek.dataset.commit import commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.incoming import parse_rows
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.dataset.staging import Staging, discard_on_error, stage_rows
from kubothek.errors import AlreadyExistsError, InvalidInputError, SchemaError
from kubothek.model.condition import Condition
from kubothek.model.header import SINGLE_TABLE, HeaderFormat
from kubothek.model.names import column_names
from kubothek.model.staged import ChangeSet
from kubothek.model.where import parse_where
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
        A Spark DataFrame (written by Spark tasks), anything that exports an Arrow stream (PyArrow, Polars, DuckDB), a
        pandas DataFrame (its index is dropped), or an iterable of the latter two.
    uuid
        Name of the dataset: letters, digits, ``+``, ``-`` and ``_``.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    partition_on
        Columns by whose values files are separated; they may hold no nulls.
    secondary_indices
        Columns to keep an inverted index on.
    sort_by
        Columns by which the rows of each file are sorted.
    shuffle
        Bring equal partition values together, so that each partition gets one file (or ``num_buckets``) whatever task
        or frame its rows come from. Without it, every Spark task and every frame cuts files of its own.
    bucket_by, num_buckets
        Spread each partition over at most this many files; equal values of ``bucket_by`` (all columns if not given)
        share a file.
    table
        Name of the table inside the dataset.
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
    if header_format not in ("json", "msgpack"):
        raise InvalidInputError(f"header_format must be 'json' or 'msgpack', not {header_format!r}.")
    opened = open_store(store)
    check_uuid(uuid)
    check_table(table)
    base = find_snapshot(uuid, opened)
    if base is not None and not overwrite:
        raise AlreadyExistsError(
            f"Dataset {uuid!r} exists already in {opened.url}. Choose another name, pass overwrite=True to replace "
            "it, or use update_dataset to add to it.",
            uuid=uuid,
        )
    change = ChangeSet(
        write_id=uuids.uuid4().hex,
        operation="write_dataset",
        partition_keys=layout.partition_on,
        index_columns=layout.secondary_indices,
        metadata=parse_metadata(metadata),
        create=True,
        must_be_absent=not overwrite,
        overwrite=overwrite,
        header_format=header_format,
    )
    return Dataset(stage_and_commit(data, opened, uuid, table, layout, change, base, expected=None))


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
        Name of the table; ``None`` for the only one.
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
    opened = open_store(store)
    check_uuid(uuid)
    base = find_snapshot(uuid, opened)
    keys, indices = _as_stored(base, partition_on, secondary_indices, uuid)
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
    scope = _parse_scope(delete_scope)
    if data is None and not scope and not metadata:
        raise InvalidInputError(
            f"The update of dataset {uuid!r} has nothing to do: give data, a delete_scope or metadata."
        )
    name = (table or SINGLE_TABLE) if base is None else base.table_name(table)
    check_table(name)
    change = ChangeSet(
        write_id=uuids.uuid4().hex,
        operation="update_dataset",
        partition_keys=None if partition_on is None and base is not None else layout.partition_on,
        index_columns=None if secondary_indices is None and base is not None else layout.secondary_indices,
        delete_scope=scope,
        metadata=parse_metadata(metadata),
        create=data is not None,
        header_format=header_format,
    )
    expected = None if base is None else base.schemas[name]
    return Dataset(stage_and_commit(data, opened, uuid, name, layout, change, base, expected=expected))


def stage_and_commit(
    data: Any,
    store: Store,
    uuid: str,
    table: str,
    layout: Layout,
    change: ChangeSet,
    base: Snapshot | None,
    expected: pa.Schema | None,
) -> Snapshot:
    """Stage rows and commit them with a change; on failure nothing of them is left.

    Parameters
    ----------
    data
        Rows as the user gave them, or ``None``.
    store, uuid, table
        Where they go.
    layout
        How they are laid out.
    change
        The commit, but for what is staged.
    base
        The dataset as it is, ``None`` where there is none.
    expected
        Schema of record that the rows must fit, ``None`` where they define it.
    """
    if data is None:
        return commit(store, uuid, change, base)
    with discard_on_error(store, uuid, table, change.write_id):
        staged = stage_rows(
            parse_rows(data, f"dataset {uuid!r}"),
            Staging(store, uuid, table, change.write_id, incarnation(base, change.write_id), layout, expected),
        )
    complete = replace(
        change,
        added=staged.partitions,
        tables={table: staged.schema},
        unique_write=write_prefix(change.write_id) if layout.unique else None,
    )
    with discard_on_error(store, uuid, table, change.write_id, committing=True):
        return commit(store, uuid, complete, base)


def incarnation(base: Snapshot | None, write_id: str) -> str:
    """Return under which incarnation a write stages index values; that of a new dataset is not known yet."""
    return write_id if base is None or base.header.state is None else base.header.state.incarnation


def _as_stored(
    base: Snapshot | None, partition_on: Any, secondary_indices: Any, uuid: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return partition keys and indices of the new files: as they are, or as given for a new dataset."""
    keys = column_names(partition_on, "partition_on")
    indices = column_names(secondary_indices, "secondary_indices")
    if base is None:
        return keys, indices
    if partition_on is not None and keys != base.partition_keys:
        raise SchemaError(
            f"Dataset {uuid!r} is partitioned by {', '.join(base.partition_keys) or 'nothing'}, but partition_on says "
            f"{', '.join(keys) or 'nothing'}. Leave partition_on out to add to it as it is.",
            columns=keys,
        )
    return base.partition_keys, tuple(dict.fromkeys((*base.index_columns, *indices)))


def _parse_scope(scope: Any) -> tuple[Condition, ...]:
    """Parse a delete scope into conditions, any of which selects."""
    if scope is None:
        return ()
    if isinstance(scope, Mapping):
        scope = [scope]
    if isinstance(scope, Iterable) and not isinstance(scope, str):
        entries = list(scope)
        if all(isinstance(entry, Mapping) for entry in entries):
            empty = [entry for entry in entries if not entry]
            if empty:
                raise InvalidInputError("An empty delete scope would delete everything; name columns and values.")
            return tuple(parse_where([[(column, "==", value) for column, value in e.items()]]) for e in entries)
        scope = entries
    condition = parse_where(scope)
    if not condition.columns:
        raise InvalidInputError(
            f"The delete scope {scope!r} names no column, so it would delete everything or nothing; name columns and "
            "values, or overwrite the dataset."
        )
    return (condition,)


def parse_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return user metadata as a dictionary with text keys."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise InvalidInputError(f"metadata must map names to values, but is {metadata!r}.")
    check_metadata(metadata)
    return dict(metadata)
