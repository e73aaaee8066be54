"""What an index holds: for each value of a column the labels of the partitions that have it, sorted by value.

::

    postings (value, label)          index
    2  b                             v1   partition
    1  a              ->             1    [a, b]
    1  b                             2    [b]

Everything is done on whole columns, because an index may have as many postings as there are files times values. Nulls
and NaN are not in an index: Kartothek leaves both out, so that no reader may conclude anything from their absence.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kubothek.errors import InvalidInputError, SchemaError
from kubothek.model.schema import normalise_type
from kubothek.plan.keys import sorted_distinct

LABELS = "partition"
"""Column of an index that holds the labels; no column of this name can be indexed."""
_LARGEST = 2**63
_LABELS_TYPE = pa.list_(pa.string())


def index_schema(column: str, t: pa.DataType) -> pa.Schema:
    """Return the schema of an index on a column of this type.

    Raises
    ------
    InvalidInputError
        If the column has the name under which an index keeps its labels.
    SchemaError
        If values of this type have no order.
    """
    t = normalise_type(t)
    if column == LABELS:
        raise InvalidInputError(f"A column called {LABELS!r} cannot have an index: the format uses this name itself.")
    if types.is_null(t) or types.is_nested(t):
        raise SchemaError(f"Column {column!r} has type {t}, on which there can be no index.", columns=(column,))
    return pa.schema([(column, t), (LABELS, _LABELS_TYPE)])


def index_from_postings(
    column: str, values: pa.Array | pa.ChunkedArray, labels: pa.Array | pa.ChunkedArray
) -> pa.Table:
    """Return the index of pairs of value and label: sorted by value, each with its sorted labels.

    Examples
    --------
    >>> index_from_postings("v1", pa.array([2, 1, 1, None]), pa.array(["b", "b", "a", "c"])).to_pydict()
    {'v1': [1, 2], 'partition': [['a', 'b'], ['b']]}
    """
    schema = index_schema(column, values.type)
    values = _plain(values, schema.field(0).type)
    keep = pc.is_valid(values)
    if types.is_floating(values.type):
        keep = pc.and_(keep, pc.invert(pc.is_nan(pc.fill_null(values, 0.0))))
        values = pc.add(values, 0.0)  # -0.0 equals 0.0 and must be one value with it
    values, labels = values.filter(keep), _encoded(labels).filter(keep)
    names, ranks = _ranked(labels)
    values, ranks = _as_numbers(values, ranks, len(names)) or _sorted(values, ranks)
    first = _changes(values)
    offsets = pa.array(np.append(np.flatnonzero(first), len(values)).astype(np.int32))
    return pa.table(
        [values.filter(pa.array(first)), pa.ListArray.from_arrays(offsets, names.take(ranks))], schema=schema
    )


def merge_index(
    column: str, base: pa.Table | None, added: pa.Table | None, removed_labels: pa.Array | pa.ChunkedArray | None
) -> pa.Table:
    """Return the index that results when partitions are removed from one index and another is added.

    Parameters
    ----------
    column
        The indexed column.
    base
        The index as it was; ``None`` where there was none.
    added
        The index of the new partitions; ``None`` where there are none. One of both must be given.
    removed_labels
        Labels that leave ``base``; those in ``added`` stay.

    Raises
    ------
    SchemaError
        If the types of both differ.

    Examples
    --------
    >>> base = pa.table({"i1": [1, 2], "partition": [["a", "b"], ["b"]]})
    >>> added = pa.table({"i1": [1, 3], "partition": [["c"], ["c"]]})
    >>> merge_index("i1", base, added, pa.array(["b"])).to_pydict()
    {'i1': [1, 3], 'partition': [['a', 'c'], ['c']]}
    """
    indices = [index for index in (base, added) if index is not None]
    if not indices:
        raise InvalidInputError(f"There is no index on {column!r} to merge.")
    held = list(dict.fromkeys(normalise_type(index[column].type) for index in indices))
    if len(held) > 1:
        raise SchemaError(
            f"The index on {column!r} holds {held[0]}, but the new values are {held[1]}.", columns=(column,)
        )
    postings = [explode_index(index, column) for index in indices]
    if base is not None and removed_labels is not None and len(removed_labels):
        values, labels = postings[0]
        kept = pc.invert(pc.is_in(labels, value_set=_plain(removed_labels, pa.string())))
        postings[0] = values.filter(kept), labels.filter(kept)
    values, labels = (pa.concat_arrays(parts) for parts in zip(*postings, strict=True))
    return index_from_postings(column, values, labels)


def explode_index(index: pa.Table, column: str) -> tuple[pa.Array, pa.Array]:
    """Return the postings of an index: value and label, one pair per label of each value."""
    lists = _plain(index[LABELS], _LABELS_TYPE)
    values = _plain(index[column], normalise_type(index[column].type))
    return values.take(pc.list_parent_indices(lists)), pc.list_flatten(lists)


def listed_files(index: pa.Table, labels: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs (file, row of the index) such that the index lists the file's label under the row's value.

    Parameters
    ----------
    index
        The column and ``partition``; labels that no file has are passed over.
    labels
        Labels of the files, each once.

    Examples
    --------
    >>> index = pa.table({"i1": [1, 2], "partition": [["a", "b"], ["b", "gone"]]})
    >>> files, rows = listed_files(index, pa.array(["a", "b"]))
    >>> files.tolist(), rows.tolist()
    ([0, 1, 1], [0, 0, 1])
    """
    lists = _plain(index[LABELS], _LABELS_TYPE)
    files = pc.index_in(pc.list_flatten(lists), value_set=_plain(labels, pa.string()))
    rows = pc.list_parent_indices(lists).filter(files.is_valid())
    return (
        files.drop_null().to_numpy(zero_copy_only=False).astype(np.int64),
        rows.to_numpy(zero_copy_only=False).astype(np.int64),
    )


def _plain(array: pa.Array | pa.ChunkedArray, t: pa.DataType) -> pa.Array:
    array = array.cast(t)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _encoded(labels: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Return labels as a dictionary, which they may be already: each of them stands for many values."""
    if not types.is_dictionary(labels.type):
        return pc.dictionary_encode(_plain(labels, pa.string()))
    return labels.unify_dictionaries().combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels


def _ranked(encoded: pa.DictionaryArray) -> tuple[pa.Array, pa.Array]:
    """Return the distinct labels, sorted, and for each label its place among them; numbers sort faster than text."""
    order = pc.sort_indices(encoded.dictionary)
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    return encoded.dictionary.take(order), pa.array(places[encoded.indices.to_numpy()])


def _sorted(values: pa.Array, ranks: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the distinct pairs of a value and a label's place, sorted by both."""
    order = pc.sort_indices(
        pa.table({"value": values, "label": ranks}), sort_keys=[("value", "ascending"), ("label", "ascending")]
    )
    values, ranks = values.take(order), ranks.take(order)
    distinct = pa.array(_changes(values) | _changes(ranks))
    return values.filter(distinct), ranks.filter(distinct)


def _as_numbers(values: pa.Array, ranks: pa.Array, count: int) -> tuple[pa.Array, pa.Array] | None:
    """Return the same where a pair fits into one number, as pairs of integers, days and times do; else ``None``.

    Sorting these numbers takes a tenth of the time of sorting pairs.
    """
    kind = values.type
    counted = any(is_kind(kind) for is_kind in (types.is_int64, types.is_date32, types.is_time64, types.is_timestamp))
    if not counted or not len(values):
        return None
    whole = values.cast(pa.int32()).cast(pa.int64()) if types.is_date32(kind) else values.cast(pa.int64())
    low, high = (value.as_py() for value in pc.min_max(whole).values())
    if (high - low + 1) * count >= _LARGEST:
        return None
    numbers = sorted_distinct((whole.to_numpy() - low) * count + ranks.to_numpy())
    found = pa.array(numbers // count + low)
    found = found.cast(pa.int32()).cast(kind) if types.is_date32(kind) else found.cast(kind)
    return found, pa.array(numbers % count)


def _changes(sorted_values: pa.Array) -> np.ndarray:
    """Return where a value differs from the one before it; the first does."""
    if not len(sorted_values):
        return np.zeros(0, bool)
    differs = pc.not_equal(sorted_values[1:], sorted_values[:-1])
    return np.concatenate([[True], differs.to_numpy(zero_copy_only=False)])
