"""What the secondary indices of a snapshot answer: which files hold a value, and which values an index has.

Nearly always an index is on a column of the data. Where no table has the column, it says something about whole
partitions, and its type is that of the index file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.index import REBUILD, embedded_values, read_index
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.fetched_file import open_fetched
from kubothek.engine.local import map_in_threads
from kubothek.engine.ranged_parquet import RangedIndex
from kubothek.errors import CorruptDatasetError, IndexNotFoundError, ObjectNotFoundError, SnapshotExpiredError
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.plan.dataset_layout import column_type
from kubothek.plan.index_merge import LABELS
from kubothek.plan.match import match_rows
from kubothek.plan.prune import Lookup

_PARALLEL = 16


def index_only_columns(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the columns that an index has, but no table."""
    held = {name for schema in snapshot.schemas.values() for name in schema.names}
    return tuple(column for column in snapshot.index_columns if column not in held)


def look_up(snapshot: Snapshot, lookups: Sequence[Lookup]) -> Mapping[Lookup, pa.Array]:
    """Return for each part of a condition the labels of the files that hold a matching value.

    Only row groups whose statistics admit a match are read, several indices at a time.
    """
    if not lookups:
        return {}
    found = map_in_threads(lambda lookup: _labels(snapshot, lookup), lookups, _PARALLEL)
    return dict(zip(lookups, found, strict=True))


def _labels(snapshot: Snapshot, lookup: Lookup) -> pa.Array:
    [column] = lookup.columns
    found = load_postings(snapshot, column, lookup)
    labels: pa.Array = pc.unique(pc.list_flatten(found.column(LABELS))).cast(pa.string())
    return labels


def load_postings(snapshot: Snapshot, column: str, condition: Condition = EVERYTHING) -> pa.Table:
    """Return the entries of an index that match: the column, and ``partition`` with the labels of each value.

    The column has its type of record; where no table has it, the type that the index file gives it.

    Raises
    ------
    IndexNotFoundError
        The dataset has no secondary index on this column.
    SnapshotExpiredError
        The index file of an old version is gone.
    CorruptDatasetError
        The index file is missing or unreadable.
    """
    kind = column_type(snapshot.base, column)
    if column in snapshot.header.indices:
        key = snapshot.header.indices[column]
        try:
            return read_index(open_fetched(snapshot.store, key), key, column, kind, condition, RangedIndex)
        except ObjectNotFoundError as error:
            if not snapshot.etag:
                raise SnapshotExpiredError(
                    f"The index on {column!r} of this version of dataset {snapshot.uuid!r} is not in the store any "
                    f"more: {key!r} was collected or deleted after the version was opened.",
                    key=key,
                ) from error
            raise CorruptDatasetError(
                f"The index on {column!r} of dataset {snapshot.uuid!r} is missing: {key!r} is not in the store. "
                f"{REBUILD}",
                key=key,
            ) from error
    if column in snapshot.header.embedded_indices:
        embedded = snapshot.header.embedded_indices[column]
        values = embedded_values(column, embedded, pa.string() if kind is None else kind)
        entries = pa.table({column: values, LABELS: pa.array(list(embedded.values()), pa.list_(pa.string()))})
        return entries if condition == EVERYTHING else entries.filter(match_rows(condition, entries))
    known = ", ".join(snapshot.index_columns) or "none"
    raise IndexNotFoundError(
        f"Dataset {snapshot.uuid!r} has no index on {column!r}; it has {known}. build_dataset_indices makes one.",
        columns=(column,),
    )
