"""How the content of an index becomes its next file: read what there was, merge, write under a new key.

Index files are never changed: each commit that touches an index writes a new one, which counts once a header refers to
it. Its key holds the time to the microsecond; where two writers meet in one, the later takes the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

from kubothek.codec.index import REBUILD, embedded_values, encode_index, read_index, read_index_parts
from kubothek.codec.keys import index_key
from kubothek.dataset.indices.stream import stream_index
from kubothek.engine.fetched_file import open_fetched
from kubothek.engine.local import map_in_threads
from kubothek.engine.ranged_parquet import RangedParquet
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError, StoreError
from kubothek.plan.apply import IndexMerge
from kubothek.plan.index_merge import index_from_postings, merge_index
from kubothek.store.interface import Store, Swapped

_KEY_TRIES = 1000
_PARALLEL = 8
_LARGE_BYTES = 16 * 2**20
"""Of an index file, from which on it is merged part by part."""


def write_indices(
    store: Store, uuid: str, merges: Sequence[IndexMerge], when: datetime, written: MutableSequence[str]
) -> dict[str, str]:
    """Write the next file of each index and return column to key.

    ``written`` receives each key as soon as its file is there, so that the caller knows them after an error too.
    """

    def write(merge: IndexMerge) -> str:
        key = _put_new(store, uuid, merge.column, encode_index(merge.column, merged_parts(store, merge)), when)
        written.append(key)
        return key

    if len(merges) == 1:
        return {merges[0].column: write(merges[0])}
    return dict(zip((merge.column for merge in merges), map_in_threads(write, merges, _PARALLEL), strict=True))


def merged_index(store: Store, merge: IndexMerge) -> pa.Table:
    """Return the next content of an index: what there was, without the removed labels, with what is added."""
    return pa.concat_tables(list(merged_parts(store, merge)))


def merged_parts(store: Store, merge: IndexMerge) -> Iterator[pa.Table]:
    """Yield the next content of an index in parts, sorted by value: one, unless it may be too large for memory."""
    staged = any(isinstance(values, str) for _, values in merge.added)
    with _base_file(store, merge) as file:
        if file is not None and (staged or file.size() > _LARGE_BYTES):
            kind, parts = read_index_parts(file, str(merge.base_key), merge.column, merge.type)
            yield from stream_index(store, merge, kind, parts)
            return
        kind, base = _base_content(merge, file)
        if staged:
            yield from stream_index(store, merge, kind, [] if base is None else [base])
        elif merge.built is not None and not merge.added and not len(merge.removed_labels):
            yield merge.built
        else:
            yield merge_index(merge.column, base, _added(merge, kind), merge.removed_labels)


@contextmanager
def _base_file(store: Store, merge: IndexMerge) -> Iterator[pa.NativeFile | None]:
    """Open the index as it was, where there is a file of it that counts."""
    if merge.base_key is None or merge.built is not None:
        yield None
        return
    try:
        with open_fetched(store, merge.base_key) as file:
            yield file
    except ObjectNotFoundError as error:
        if error.details.get("key") != merge.base_key:
            raise
        raise CorruptDatasetError(
            f"The index on {merge.column!r} is to be in {merge.base_key!r}, which does not exist. {REBUILD}",
            key=merge.base_key,
        ) from error


def _base_content(merge: IndexMerge, file: pa.NativeFile | None) -> tuple[pa.DataType, pa.Table | None]:
    """Return the type of the indexed column, and what the index held before."""
    if merge.built is not None:
        return merge.type or merge.built.schema.field(merge.column).type, merge.built
    if file is not None:
        base = read_index(file, str(merge.base_key), merge.column, merge.type, opened_as=RangedParquet)
        return base.schema.field(merge.column).type, base
    kind = merge.type or pa.string()
    if not merge.embedded:
        return kind, None
    values = embedded_values(merge.column, merge.embedded, kind)
    parts = list(zip(merge.embedded.values(), values, strict=True))
    labels = [label for part, _ in parts for label in part]
    repeated = values.take(np.repeat(np.arange(len(values)), [len(part) for part, _ in parts]))
    return kind, index_from_postings(merge.column, repeated, pa.array(labels, pa.string()))


def _added(merge: IndexMerge, kind: pa.DataType) -> pa.Table:
    """Return the index over the new partitions, all of whose values are at hand."""
    arrays = [values.cast(kind) for _, values in merge.added if not isinstance(values, str)]
    labels = pa.array([label for label, _ in merge.added], pa.string())
    rows = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    values = pa.concat_arrays(arrays or [pa.array([], kind)])
    return index_from_postings(merge.column, values, labels.take(pa.array(rows, pa.int64())))


def staged_keys(merges: Iterable[IndexMerge]) -> list[str]:
    """Return the keys of the staged index values, which nobody needs after the commit."""
    return [values for merge in merges for _, values in merge.added if isinstance(values, str)]


def _put_new(store: Store, uuid: str, column: str, data: bytes, when: datetime) -> str:
    for microseconds in range(_KEY_TRIES):
        key = index_key(uuid, column, when + timedelta(microseconds=microseconds))
        if isinstance(store.create(key, data, durable=False), Swapped):
            return key
        # Taken, or no answer: then the next key leaves at worst a file that nothing refers to.
    raise StoreError(f"No free key for an index on {column!r} near {key!r}.", key=key, operation="create")
