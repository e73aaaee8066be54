"""How the next content of an index comes about where it may be too large for memory: range of values by range.

Postings, of the index as it was and of what is added, go through a sort that spills to disk; each range of values that
comes out becomes a part of the next index. Labels travel as numbers, because each is repeated for every value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.staged_table import read_staged
from kubothek.engine.external_sort import RangeSort
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError
from kubothek.plan.apply import IndexMerge
from kubothek.plan.index_merge import explode_index, index_from_postings
from kubothek.store.interface import Store

_PARALLEL = 8
_BATCHES_AHEAD = 8


class _Labels:
    """Numbers labels in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, labels: pa.Array) -> pa.Array:
        """Return the number of each label."""
        encoded = pc.dictionary_encode(labels)
        own = [self._numbers.setdefault(label, len(self._numbers)) for label in encoded.dictionary.to_pylist()]
        return pa.array(own, pa.int32()).take(encoded.indices)

    def names(self) -> pa.Array:
        """Return the labels by number."""
        return pa.array(self._numbers, pa.string())


def stream_index(store: Store, merge: IndexMerge, kind: pa.DataType, base: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the next content of an index in parts, sorted by value, at least one; no value is in two of them.

    Parameters
    ----------
    store, merge
        Where the staged values of the change are, and the change.
    kind
        Type of the indexed column.
    base
        The index as it was, in parts.
    """
    labels = _Labels()
    schema = pa.schema([("value", kind), ("label", pa.int32())])
    with RangeSort(schema, "value") as postings:
        for values, names in chain(_kept(base, merge), _added(store, merge, kind)):
            numbers = labels.number(names)
            postings.add(pa.table([values, numbers], schema=schema))
        known = labels.names()
        for rows in postings.ranges():
            found = pa.DictionaryArray.from_arrays(rows["label"].combine_chunks(), known)
            yield index_from_postings(merge.column, rows["value"], found)


def _kept(base: Iterable[pa.Table], merge: IndexMerge) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the postings of the index as it was whose labels stay."""
    for part in base:
        values, labels = explode_index(part, merge.column)
        if len(merge.removed_labels):
            stay = pc.invert(pc.is_in(labels, value_set=merge.removed_labels.cast(pa.string())))
            values, labels = values.filter(stay), labels.filter(stay)
        yield values, labels


def _added(store: Store, merge: IndexMerge, kind: pa.DataType) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the postings of new partitions: those in memory together, then those of each batch that was staged."""
    inline = [(label, values) for label, values in merge.added if not isinstance(values, str)]
    if inline:
        names = pa.array([label for label, _ in inline], pa.string())
        rows = np.repeat(np.arange(len(inline)), [len(values) for _, values in inline])
        yield pa.concat_arrays([values.cast(kind) for _, values in inline]), names.take(pa.array(rows, pa.int64()))
    staged = [(label, key) for label, key in merge.added if isinstance(key, str)]
    opened = map_in_threads(lambda key: _begun(staged_values(store, key)), [key for _, key in staged], _PARALLEL)
    for (label, _), (first, rest) in zip(staged, opened, strict=True):
        for values in chain(first, rest):
            yield values.cast(kind), pa.repeat(pa.scalar(label, pa.string()), len(values))


def _begun(batches: Iterator[pa.Array]) -> tuple[list[pa.Array], Iterator[pa.Array]]:
    """Read some batches, which of most files are all; what is left is read when it is needed."""
    return list(islice(batches, _BATCHES_AHEAD)), batches


def staged_values(store: Store, key: str) -> Iterator[pa.Array]:
    """Yield the batches of index values that a write staged, each a file of one column.

    Raises
    ------
    ObjectNotFoundError
        The file is gone.
    CorruptDatasetError
        It is damaged.
    """
    try:
        with store.open_file(key) as file:
            for part in read_staged(file, key):
                if part.num_columns != 1:
                    raise CorruptDatasetError(f"{key!r} holds {part.num_columns} columns, not one of values.", key=key)
                yield from part.column(0).chunks
    except ObjectNotFoundError as error:
        raise ObjectNotFoundError(
            f"The staged index values {key!r} are gone; write the data again.", key=key
        ) from error
