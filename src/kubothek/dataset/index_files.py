"""How the content of an index becomes its next file: read what there was, merge, write under a new key.

Index files are never changed: each commit that touches an index writes a new one, which counts once a header refers to
it. Its key holds the time to the microsecond; where two writers meet in one, the later takes the next.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.index import embedded_values, encode_index, read_index
from kubothek.codec.keys import index_key
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError, StoreError
from kubothek.model.schema import normalise_type
from kubothek.plan.apply import IndexMerge
from kubothek.plan.index_merge import index_from_postings, merge_index
from kubothek.store.interface import Store, Swapped

_KEY_TRIES = 1000
_PARALLEL = 8


def write_indices(
    store: Store, uuid: str, merges: Sequence[IndexMerge], when: datetime, written: MutableSequence[str]
) -> dict[str, str]:
    """Write the next file of each index and return column to key.

    ``written`` receives each key as soon as its file is there, so that the caller knows them after an error too.
    """

    def write(merge: IndexMerge) -> str:
        key = _put_new(store, uuid, merge.column, encode_index(merge.column, merged_index(store, merge)), when)
        written.append(key)
        return key

    if len(merges) == 1:
        return {merges[0].column: write(merges[0])}
    return dict(zip((merge.column for merge in merges), map_in_threads(write, merges, _PARALLEL), strict=True))


def merged_index(store: Store, merge: IndexMerge) -> pa.Table:
    """Return the next content of an index: what there was, without the removed labels, with what is added."""
    kind, base = _base_content(store, merge)
    values, labels = _postings(store, merge.added, kind)
    added = index_from_postings(merge.column, values, labels)
    return merge_index(merge.column, base, added, merge.removed_labels)


def _base_content(store: Store, merge: IndexMerge) -> tuple[pa.DataType, pa.Table | None]:
    """Return the type of the indexed column, and what the index held before."""
    if merge.built is not None:
        return merge.type or merge.built.schema.field(merge.column).type, merge.built
    if merge.base_key is not None:
        try:
            with store.open_file(merge.base_key) as file:
                kind = merge.type or normalise_type(pq.read_schema(file).field(merge.column).type)
                file.seek(0)
                return kind, read_index(file, merge.base_key, merge.column, kind)
        except ObjectNotFoundError as error:
            raise CorruptDatasetError(
                f"The index on {merge.column!r} is to be in {merge.base_key!r}, which does not exist. "
                "Overwrite the dataset, or bring the file back.",
                key=merge.base_key,
            ) from error
    kind = merge.type or pa.string()
    if not merge.embedded:
        return kind, None
    values = embedded_values(merge.column, merge.embedded, kind)
    parts = list(zip(merge.embedded.values(), values, strict=True))
    labels = [label for part, _ in parts for label in part]
    repeated = values.take(np.repeat(np.arange(len(values)), [len(part) for part, _ in parts]))
    return kind, index_from_postings(merge.column, repeated, pa.array(labels, pa.string()))


def _postings(
    store: Store, added: Sequence[tuple[str, pa.Array | str]], kind: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    """Return one row per value and label."""
    staged = _read_staged(store, [values for _, values in added if isinstance(values, str)])
    arrays = [(staged[values] if isinstance(values, str) else values).cast(kind) for _, values in added]
    labels = pa.array([label for label, _ in added], pa.string())
    rows = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    return pa.concat_arrays(arrays or [pa.array([], kind)]), labels.take(pa.array(rows, pa.int64()))


def _read_staged(store: Store, keys: Sequence[str]) -> dict[str, pa.Array]:
    """Read index values that a write staged, each an Arrow IPC file of one column."""
    blobs = store.get_many(keys)
    missing = [key for key, blob in zip(keys, blobs, strict=True) if blob is None]
    if missing:
        raise ObjectNotFoundError(
            f"The staged index values {missing[0]!r} are gone; write the data again.", key=missing[0]
        )
    return {
        key: pa.ipc.open_file(pa.py_buffer(blob.data)).read_all().column(0).combine_chunks()
        for key, blob in zip(keys, blobs, strict=True)
        if blob is not None
    }


def staged_keys(merges: Iterable[IndexMerge]) -> list[str]:
    """Return the keys of the staged index values, which nobody needs after the commit."""
    return [values for merge in merges for _, values in merge.added if isinstance(values, str)]


def _put_new(store: Store, uuid: str, column: str, data: bytes, when: datetime) -> str:
    for microseconds in range(_KEY_TRIES):
        key = index_key(uuid, column, when + timedelta(microseconds=microseconds))
        if isinstance(store.create(key, data), Swapped):
            return key
        # Taken, or no answer: then the next key leaves at worst a file that nothing refers to.
    raise StoreError(f"No free key for an index on {column!r} near {key!r}.", key=key, operation="create")
