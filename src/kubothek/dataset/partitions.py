"""How a dataset grows by steps: created empty, partitions staged anywhere, committed in one place.

Several processes may stage files at once (:func:`write_partitions`); what they return is small, pickles, and is sent to
the one that commits (:func:`commit_dataset`). What was staged and is never committed is garbage like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
from kubothek.dataset.staging.stage import Staging, incarnation
from kubothek.dataset.staging.staged_files import check_files, staged_partition_keys
from kubothek.dataset.write import stage_data
from kubothek.engine.spark import is_spark_schema
from kubothek.engine.spark_types import arrow_schema
from kubothek.errors import InvalidInputError, SchemaError
from kubothek.model.header import SINGLE_TABLE, HeaderFormat
from kubothek.model.names import column_names
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.layout import parse_layout, record_schemas
from kubothek.store.open import StoreLike, open_store


def write_partitions(
    data: Any,
    uuid: str,
    store: StoreLike,
    *,
    partition_on: str | Sequence[str] | None = None,
    secondary_indices: str | Sequence[str] | None = None,
    sort_by: str | Sequence[str] = (),
    shuffle: bool = False,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    table: str | None = None,
    compression: str = "zstd",
    rows_per_row_group: int | None = None,
) -> tuple[StagedPartition, ...]:
    """Write rows as files of a dataset without committing them; :func:`commit_dataset` does.

    Any number of processes may do so at once, before the dataset exists too. Files that are not committed are garbage,
    which is collected once it is older than a day: commit before.

    Parameters
    ----------
    data
        As for :func:`write_dataset`.
    uuid, store
        The dataset.
    partition_on, secondary_indices
        As the dataset has them, ``None`` for just that; for a dataset that does not exist yet they decide, and must be
        the same in all processes.
    sort_by, shuffle, bucket_by, num_buckets, compression, rows_per_row_group
        Layout of the files, as for :func:`write_dataset`.
    table
        Name of the table; ``None`` for the only one, and where the data is a mapping.

    Returns
    -------
    tuple of StagedPartition
        What to commit: one value per file (of several tables: per file of the first). They can be pickled.

    Raises
    ------
    InvalidInputError, SchemaError
        Data or parameters do not fit each other or the dataset; nothing was left in the store.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import commit_dataset, write_partitions
    >>> staged = [
    ...     write_partitions(
    ...         pa.table({"MONTH": [m], "TEMP": [1.5]}), "weather", "memory://staged", partition_on="MONTH"
    ...     )
    ...     for m in (1, 2)
    ... ]
    >>> commit_dataset("weather", "memory://staged", new_partitions=staged).scan("MONTH").to_arrow().to_pydict()
    {'MONTH': [1, 2]}
    """
    opened = open_store(store)
    check_uuid(uuid)
    base = find_dataset(uuid, opened)
    keys, indices = stored_layout(base, partition_on, secondary_indices, uuid)
    unknown = [] if base is None else [column for column in indices if column not in base.index_columns]
    if unknown:
        raise InvalidInputError(
            f"Dataset {uuid!r} has no index on {', '.join(unknown)}. Leave secondary_indices out to keep those it has, "
            "and build an index over what is there with build_dataset_indices.",
            columns=tuple(unknown),
        )
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
    write_id = opened.world.new_id()
    expected = None if base is None else base.schemas
    staging = Staging(opened, uuid, write_id, incarnation(base, write_id), layout, expected)
    written: list[StagedPartition] = []
    with discard_on_error(opened, written):
        staged = stage_data(data, staging, base, table, written).partitions
        opened.flush()
    return staged


def commit_dataset(
    uuid: str,
    store: StoreLike,
    *,
    new_partitions: StagedPartition | Iterable[Any] = (),
    delete_scope: Any = (),
    metadata: Mapping[str, Any] | None = None,
    partition_on: str | Sequence[str] = (),
    secondary_indices: str | Sequence[str] = (),
) -> Dataset:
    """Commit staged partitions, deletions and metadata to a dataset, all at once; partitions create it if it is absent.

    Parameters
    ----------
    uuid, store
        The dataset.
    new_partitions
        What :func:`write_partitions` returned: the partitions, or iterables of them.
    delete_scope
        What to delete first, as for :func:`update_dataset`; new partitions are not touched by it.
    metadata
        Entries to add to the user metadata or to replace in it.
    partition_on, secondary_indices
        To be checked against what the partitions have. Where a new dataset is created and they are not given, the
        partitions decide: their partition columns, and the columns of which all of them carry the values.

    Raises
    ------
    InvalidInputError, SchemaError
        Partitions of another dataset, schema or partitioning, without values of an indexed column, or given or
        committed before; or there is nothing to commit. Nothing was committed, and staged files were left alone.
    ObjectNotFoundError
        Staged files are gone; nothing was committed.
    CommitConflictError
        Others changed the dataset meanwhile such that both cannot hold; nothing was committed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import commit_dataset, write_dataset
    >>> rows = pa.table({"MONTH": [1, 2], "TEMP": [1.5, 3.0]})
    >>> ds = write_dataset(rows, "weather", "memory://commit_dataset", partition_on="MONTH")
    >>> ds = commit_dataset("weather", "memory://commit_dataset", delete_scope=[{"MONTH": 1}], metadata={"who": "me"})
    >>> ds.scan("MONTH").to_arrow().to_pydict(), ds.metadata["who"]
    ({'MONTH': [2]}, 'me')
    """
    opened = open_store(store)
    check_uuid(uuid)
    staged = tuple(_flattened(new_partitions))
    scope, entries = parse_scope(delete_scope), parse_metadata(metadata)
    if not staged and not scope and not entries:
        raise InvalidInputError(
            f"There is nothing to commit to dataset {uuid!r}: give new_partitions, a delete_scope or metadata."
        )
    base = _without(find_dataset(uuid, opened), staged)
    keys = column_names(partition_on, "partition_on") or None
    if staged:
        keys = staged_partition_keys(staged, uuid, keys)
        check_files(staged, uuid, opened, None if base is None else base.partitions)
    indices = column_names(secondary_indices, "secondary_indices") or None
    if base is None and indices is None:
        indices = _carried_by_all(staged)
    change = ChangeSet(
        write_id=opened.world.new_id(),
        operation="commit_dataset",
        added=staged,
        partition_keys=keys,
        index_columns=indices,
        delete_scope=scope,
        metadata=entries,
        create=bool(staged),
    )
    return Dataset(commit(opened, uuid, change, base))


def create_empty_dataset(
    schema: Any,
    uuid: str,
    store: StoreLike,
    *,
    partition_on: str | Sequence[str] = (),
    secondary_indices: str | Sequence[str] = (),
    table: str = SINGLE_TABLE,
    metadata: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    header_format: HeaderFormat = "json",
) -> Dataset:
    """Create a dataset without partitions, to which rows are added later.

    Parameters
    ----------
    schema
        A PyArrow schema, anything that exports one (``__arrow_c_schema__``), a Spark ``StructType``, or a mapping from
        table to one of these. Partition columns are part of it.
    uuid, store, partition_on, secondary_indices, metadata, overwrite, header_format
        As for :func:`write_dataset`.
    table
        Name of the table, where the schema is no mapping.

    Raises
    ------
    AlreadyExistsError
        The dataset exists and ``overwrite`` is not set.
    InvalidInputError, SchemaError
        Parameters, columns or types do not fit.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import create_empty_dataset
    >>> schema = pa.schema([("MONTH", pa.int32()), ("TEMP", pa.float32())])
    >>> ds = create_empty_dataset(schema, "weather", "memory://create_empty_dataset", partition_on="MONTH")
    >>> ds.scan().to_arrow().num_rows, ds.schema.names
    (0, ['MONTH', 'TEMP'])
    """
    layout = parse_layout(partition_on=partition_on, secondary_indices=secondary_indices)
    check_flag(overwrite, "overwrite")
    check_header_format(header_format)
    opened = open_store(store)
    check_uuid(uuid)
    given = _parse_schemas(schema, table, uuid)
    change = ChangeSet(
        write_id=opened.world.new_id(),
        operation="create_empty_dataset",
        tables=record_schemas(given, layout, f"dataset {uuid!r}"),
        partition_keys=layout.partition_on,
        index_columns=layout.secondary_indices,
        metadata=parse_metadata(metadata),
        create=True,
        must_be_absent=not overwrite,
        overwrite=overwrite,
        header_format=header_format,
    )
    return Dataset(commit(opened, uuid, change, find_dataset(uuid, opened)))


def _flattened(given: Any) -> Iterator[StagedPartition]:
    """Yield staged partitions, whatever they are nested in."""
    if isinstance(given, StagedPartition):
        yield given
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        for one in given:
            yield from _flattened(one)
    else:
        raise InvalidInputError(
            f"new_partitions must hold what write_partitions returned, but holds a {type(given).__qualname__}."
        )


def _without(base: Snapshot | None, staged: Sequence[StagedPartition]) -> Snapshot | None:
    """Return the dataset as it was before these files were staged, where its header leaves partitions to a listing."""
    if base is None or base.header.partitions is not None:
        return base
    labels = pa.array([part.label for part in staged], pa.string())
    earlier = base.partitions.filter(pc.invert(pc.is_in(base.partitions["label"], value_set=labels)))
    return replace(base, partitions=earlier, _file_tables={})


def _carried_by_all(staged: Sequence[StagedPartition]) -> tuple[str, ...]:
    """Return the columns of which every partition carries the values to index."""
    columns = [tuple(part.index_values) for part in staged]
    return tuple(name for name in dict.fromkeys(columns[0] if columns else ()) if all(name in own for own in columns))


def _parse_schemas(schema: Any, table: str, uuid: str) -> dict[str, pa.Schema]:
    """Return the schema of each table; a mapping that is a schema itself, as Polars has one, is taken as that."""
    if isinstance(schema, Mapping) and not hasattr(schema, "__arrow_c_schema__"):
        if table != SINGLE_TABLE:
            raise InvalidInputError(
                f"The schema of dataset {uuid!r} is a mapping, which names its tables; leave out table={table!r}."
            )
        schemas = dict(schema)
    else:
        check_table(table)
        schemas = {table: schema}
    if not schemas:
        raise InvalidInputError(f"The schema of dataset {uuid!r} is an empty mapping; a dataset has a table at least.")
    for name in schemas:
        check_table(name)
    return {name: _parse_schema(one, f"table {name!r} of dataset {uuid!r}") for name, one in schemas.items()}


def _parse_schema(schema: Any, subject: str) -> pa.Schema:
    if is_spark_schema(schema):
        return arrow_schema(schema)
    try:
        if hasattr(schema, "__arrow_c_schema__"):
            return pa.schema(schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(f"The schema of {subject} cannot be understood: {error}") from error
    raise InvalidInputError(
        f"The schema of {subject} is a {type(schema).__qualname__}. Give a PyArrow schema, what exports one, or a "
        "Spark StructType."
    )
