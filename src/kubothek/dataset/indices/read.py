"""Which values data files hold in some columns: what the content of an index is made from.

They are read for an index on what a dataset holds already, and for partitions that a commit brings although others
have built an index since they were staged, or since they were removed where they come back::

    staged               a, b       without values
    others               an index on v1
    read, in threads     v1 of a, v1 of b
    to be committed      a: {1, 3}, b: {}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.staged_table import read_staged
from kubothek.dataset.scan import open_scan
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.gather import gather
from kubothek.engine.postings import LABEL, VALUE, IndexTask
from kubothek.errors import ObjectNotFoundError, SnapshotExpiredError
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.apply import header_rows
from kubothek.plan.dataset_layout import DatasetLayout, column_type, missing_values, next_layout
from kubothek.plan.index_merge import explode_index, index_from_postings
from kubothek.store.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Pairs = tuple[pa.ChunkedArray, pa.ChunkedArray]
"""Values of one column, and beside each the label of a file that holds it, as a dictionary."""


def read_postings(
    snapshot: Snapshot, columns: Sequence[str], task: IndexTask, spark: SparkSession | None = None
) -> dict[str, Pairs]:
    """Read columns from all tables that have them, in the files of all partitions."""
    store, layout = snapshot.store, DatasetLayout(snapshot.partition_keys, snapshot.schemas)
    found: dict[str, list[pa.Table]] = {column: [] for column in columns}
    for table, schema in snapshot.schemas.items():
        held = [column for column in columns if column in schema.names]
        if not held:
            continue
        plan = open_scan(snapshot, columns=held, table=table).plan
        for part in gather(store, plan, task.read_postings, spark, verb="build indices of"):
            found[part.column].append(_load(store, part.content))
    labels = pa.dictionary(pa.int32(), pa.string())
    kinds = {column: pa.schema([(VALUE, column_type(layout, column)), (LABEL, labels)]) for column in columns}
    joined = {
        column: pa.concat_tables([kinds[column].empty_table(), *(part.cast(kinds[column]) for part in parts)])
        for column, parts in found.items()
    }
    return {column: (pairs.column(VALUE), pairs.column(LABEL)) for column, pairs in joined.items()}


def _load(store: Store, content: pa.Table | str) -> pa.Table:
    """Return postings, those that are staged read from the store."""
    if isinstance(content, pa.Table):
        return content
    return pa.concat_tables(list(read_staged(pa.BufferReader(store.get(content).data), content)))


def with_index_values(change: ChangeSet, winner: Snapshot) -> ChangeSet:
    """Return a change whose partitions have values for every index of the dataset that it is to be made on.

    Values that are missing are read from the data files; where none are, nothing is read.

    Raises
    ------
    ObjectNotFoundError
        One of these files is gone.
    CorruptDatasetError
        One is damaged.
    """
    kept = () if change.overwrite else (c for c in winner.index_columns if c not in change.drop_indices)
    missing = missing_values(kept, change)
    if not missing:
        return change
    layout = next_layout(winner.base, change, winner.uuid)
    columns = [column for column in missing if column_type(layout, column) is not None]
    lacking = tuple(p for p in (*change.revived, *change.added) if not p.index_values.keys() >= {*columns})
    if not lacking:
        return change
    found = _values_by_label(lacking, columns, replace(winner, schemas=layout.schemas))

    def completed(part: StagedPartition) -> StagedPartition:
        return replace(part, index_values={**found.get(part.label, {}), **part.index_values})

    return replace(change, added=tuple(map(completed, change.added)), revived=tuple(map(completed, change.revived)))


def _values_by_label(
    parts: tuple[StagedPartition, ...], columns: Sequence[str], winner: Snapshot
) -> dict[str, dict[str, pa.Array]]:
    """Read the values of columns from the files of partitions that are in no header: label to column to values."""
    rows = header_rows(parts, winner.tables, winner.uuid)
    try:
        postings = read_postings(replace(winner, partitions=rows, _file_tables={}), columns, IndexTask())
    except SnapshotExpiredError as error:
        key = error.details.get("key")
        raise ObjectNotFoundError(
            f"The staged file {key!r} of dataset {winner.uuid!r} is gone: deleted or collected as garbage. It is "
            f"needed for an index that was built meanwhile, one of {', '.join(map(repr, columns))}. Write the data "
            "again; nothing was committed.",
            key=key,
        ) from error
    labels = [part.label for part in parts]
    cut = [_cut(column, postings[column], labels) for column in columns]
    return {label: dict(zip(columns, values, strict=True)) for label, *values in zip(labels, *cut, strict=True)}


def _cut(column: str, pairs: Pairs, labels: Sequence[str]) -> list[pa.Array]:
    """Return the values of each label: distinct, sorted, without null and NaN."""
    if pa.types.is_null(pairs[0].type):
        return [pa.nulls(0)] * len(labels)
    values, owners = explode_index(index_from_postings(column, *pairs), column)
    numbers = pc.index_in(owners, value_set=pa.array(labels, pa.string())).to_numpy()
    values = values.take(pa.array(np.argsort(numbers, kind="stable")))
    counts = np.bincount(numbers, minlength=len(labels))
    starts = np.cumsum(counts) - counts
    return [values.slice(start, count) for start, count in zip(starts.tolist(), counts.tolist(), strict=True)]
