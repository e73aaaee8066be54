"""What the secondary indices of a snapshot answer: which files hold a value, and which values an index has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.index import embedded_values, read_index
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, IndexNotFoundError, ObjectNotFoundError
from kubothek.model.condition import EVERYTHING, Condition, Leaf
from kubothek.plan.index_merge import LABELS
from kubothek.plan.match import match_rows


def look_up(snapshot: Snapshot, leaves: Sequence[Leaf]) -> Mapping[Leaf, pa.Array]:
    """Return for each part of a condition the labels of the files that hold a matching value.

    Only row groups whose statistics admit a match are read, several indices at a time.
    """
    if not leaves:
        return {}
    return dict(zip(leaves, map_in_threads(lambda leaf: _labels(snapshot, leaf), leaves), strict=True))


def _labels(snapshot: Snapshot, leaf: Leaf) -> pa.Array:
    found = load_postings(snapshot, leaf.column, leaf)
    labels: pa.Array = pc.unique(pc.list_flatten(found.column(LABELS))).cast(pa.string())
    return labels


def load_postings(snapshot: Snapshot, column: str, condition: Condition = EVERYTHING) -> pa.Table:
    """Return the entries of an index that match: the column, and ``partition`` with the labels of each value.

    Raises
    ------
    IndexNotFoundError
        The dataset has no secondary index on this column.
    CorruptDatasetError
        The index file is missing or unreadable.
    """
    kind = next((s.field(column).type for s in snapshot.schemas.values() if column in s.names), None)
    if column in snapshot.header.indices and kind is not None:
        key = snapshot.header.indices[column]
        try:
            return read_index(snapshot.store.open_file(key), key, column, kind, condition)
        except ObjectNotFoundError as error:
            raise CorruptDatasetError(
                f"The index on {column!r} of dataset {snapshot.uuid!r} is missing: {key!r} is not in the store.",
                key=key,
            ) from error
    if column in snapshot.header.embedded_indices and kind is not None:
        embedded = snapshot.header.embedded_indices[column]
        values = embedded_values(column, embedded, kind)
        entries = pa.table({column: values, LABELS: pa.array(list(embedded.values()), pa.list_(pa.string()))})
        return entries if condition == EVERYTHING else entries.filter(match_rows(condition, entries))
    known = ", ".join(snapshot.index_columns) or "none"
    raise IndexNotFoundError(
        f"Dataset {snapshot.uuid!r} has no index on {column!r}; it has {known}.", columns=(column,)
    )
