"""How an index is stored as a Parquet file, and how only the part that a condition needs is read back.

A file is written sorted by value in row groups of a few thousand values, so that a lookup reads the footer and one row
group, told by its statistics. Files of Kartothek and Plateau, in any order and with large types, are read too. How the
content of an index comes about is in :mod:`kubothek.plan.index_merge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kubothek.codec.data import is_encoded, read_groups
from kubothek.codec.footer import load_footer
from kubothek.codec.possible_groups import group_statistics
from kubothek.codec.sealed_parquet import SealedWriter
from kubothek.errors import CorruptDatasetError, KubothekError
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.model.schema import normalise_type
from kubothek.plan.index_merge import LABELS, index_schema
from kubothek.plan.match import match_rows
from kubothek.plan.statistics import keep_by_statistics

_VALUES_PER_ROW_GROUP = 8192
_GROUPS_PER_PART = 64
SEALED_AS = "index"
"""The name in the seals of all index files, whose keys are decided after they are written."""
REBUILD = "Build the index again with build_dataset_indices, or forget it with drop_dataset_indices."
"""What to do about an index that cannot be read: it says nothing that the data does not."""


def encode_index(column: str, parts: Iterable[pa.Table]) -> bytes:
    """Return the Parquet file of an index.

    Parameters
    ----------
    column
        The indexed column.
    parts
        Its values and the labels of each in ``partition``, as :func:`merge_index` returns them: at least one table, and
        those of smaller values first.
    """
    waiting = iter(parts)
    first = next(waiting)
    schema = index_schema(column, first[column].type)
    sink = pa.BufferOutputStream()
    with SealedWriter(
        sink,
        schema,
        SEALED_AS,
        compression="zstd",
        coerce_timestamps="us",
        write_statistics=[column],
        use_dictionary=[f"{LABELS}.list.item"],
        use_compliant_nested_type=False,  # as Kartothek: readers of its time know the item of a list by this name
    ) as writer:
        for part in chain([first], waiting):
            index = part.select(schema.names).cast(schema)
            writer.write_table(_sorted(index, index[column]), row_group_size=_VALUES_PER_ROW_GROUP)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # PyArrow has no types


def _sorted(index: pa.Table, values: pa.ChunkedArray) -> pa.Table:
    """Sort by value what is not sorted; it nearly always is, and to move millions of labels takes long."""
    if not pc.any(pc.less(values[1:], values[:-1])).as_py():
        return index
    return index.take(pc.sort_indices(values))  # not by name: Arrow takes ".x" and "[0]" for paths


def read_index(
    file: pa.NativeFile,
    key: str,
    column: str,
    value_type: pa.DataType | None,
    condition: Condition | None = None,
    opened_as: type[pq.ParquetFile] = pq.ParquetFile,
) -> pa.Table:
    """Return the entries of a stored index that a condition matches.

    Parameters
    ----------
    file
        The opened file; only its footer and the row groups that may match are read.
    key
        Its storage key, for messages.
    column
        The indexed column.
    value_type
        Its type of record; ``None`` where only the index has the column: then the stored type, normalised.
    condition
        A bound condition on this column alone; ``None`` for all entries.
    opened_as
        The class that reads the file, which may know better how to fetch what it is about to read.

    Returns
    -------
    pa.Table
        The columns ``column`` (of ``value_type``) and ``partition`` (lists of labels).

    Raises
    ------
    CorruptDatasetError
        If it is no index on this column or holds other values; ``key`` is the file's.
    """
    condition = EVERYTHING if condition is None else condition
    with _index_errors(key, column):
        metadata = load_footer(file, SEALED_AS)
        groups = _possible_groups(metadata, column, condition)
        encoded = _label_paths(metadata, groups) if condition != EVERYTHING else []
        parquet, schema = _open(file, key, column, value_type, opened_as, metadata=metadata, read_dictionary=encoded)
        if not encoded:
            index = _entries(parquet, groups, schema, key)
            return index if condition == EVERYTHING else index.filter(match_rows(condition, index))
        return _matching(parquet, groups, schema, key, condition)


def read_index_parts(
    file: pa.NativeFile, key: str, column: str, value_type: pa.DataType | None
) -> tuple[pa.DataType, Iterator[pa.Table]]:
    """Return the type of a stored index's values, and its entries in parts of some row groups, as they are stored.

    Parameters and errors are those of :func:`read_index`.
    """
    with _index_errors(key, column):
        parquet, schema = _open(file, key, column, value_type, metadata=load_footer(file, SEALED_AS))

    def parts() -> Iterator[pa.Table]:
        for start in range(0, parquet.metadata.num_row_groups, _GROUPS_PER_PART):
            groups = range(start, min(start + _GROUPS_PER_PART, parquet.metadata.num_row_groups))
            with _index_errors(key, column):
                part = _entries(parquet, groups, schema, key)
            yield part

    return schema.field(column).type, parts()


@contextmanager
def _index_errors(key: str, column: str) -> Iterator[None]:
    try:
        yield
    except KubothekError:  # this one, or the store's
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptDatasetError(
            f"{key!r} cannot be read as an index on {column!r}: {error}. {REBUILD}", key=key
        ) from error


def _open(
    file: pa.NativeFile,
    key: str,
    column: str,
    value_type: pa.DataType | None,
    opened_as: type[pq.ParquetFile] = pq.ParquetFile,
    **options: Any,
) -> tuple[pq.ParquetFile, pa.Schema]:
    """Open an index and return the types that its entries are to have."""
    parquet = opened_as(file, page_checksum_verification=True, **options)
    names = parquet.schema_arrow.names
    wrong = sorted(name for name in (column, LABELS) if names.count(name) != 1)
    if wrong:
        raise CorruptDatasetError(
            f"{key!r} is no index on {column!r}: it has no column, or several, called {', '.join(wrong)}. {REBUILD}",
            key=key,
        )
    kind = normalise_type(parquet.schema_arrow.field(column).type) if value_type is None else value_type
    return parquet, pa.schema([(column, kind), (LABELS, pa.list_(pa.string()))])


def _entries(parquet: pq.ParquetFile, groups: Sequence[int], schema: pa.Schema, key: str) -> pa.Table:
    return _checked(read_groups(parquet, groups, schema.names).select(schema.names).cast(schema), key)


def _matching(
    parquet: pq.ParquetFile, groups: Sequence[int], schema: pa.Schema, key: str, condition: Condition
) -> pa.Table:
    """Return the entries that match: of each row group its values, and then only the labels of those that match.

    Labels are decoded as dictionaries, a row group at a time as Arrow demands, so that of thousands only those that are
    found become texts: half of the time of a lookup of many values.
    """
    column, labels = schema
    values = read_groups(parquet, groups, [column.name]).column(column.name).cast(column.type)
    values.validate(full=True)  # also those that do not match
    rows = np.flatnonzero(match_rows(condition, pa.table({column.name: values})))
    ends = np.cumsum([parquet.metadata.row_group(group).num_rows for group in groups])
    places, starts = np.unique(np.searchsorted(ends, rows, "right"), return_index=True)
    found = []
    for place, own in zip(places.tolist(), np.split(rows, starts[1:]), strict=False):
        stored = read_groups(parquet, [groups[place]], [labels.name]).column(labels.name)
        first = ends[place] - parquet.metadata.row_group(groups[place]).num_rows
        found += stored.take(pa.array(own - first)).cast(labels.type).chunks
    arrays = [values.take(pa.array(rows)), pa.chunked_array(found, labels.type)]
    return _checked(pa.Table.from_arrays(arrays, schema=schema), key)


def _label_paths(metadata: pq.FileMetaData, groups: Sequence[int]) -> list[str]:
    """Return the path of the labels in the file if they can be decoded as dictionaries: where row groups are small.

    Of larger ones the labels may have several dictionaries, which Arrow does not put into lists.
    """
    if any(metadata.row_group(group).num_rows > _VALUES_PER_ROW_GROUP for group in groups):
        return []
    paths = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    found = [path for path in paths if path.startswith(f"{LABELS}.")]
    return found if all(is_encoded(metadata, paths[path], groups) for path in found) else []


def _checked(index: pa.Table, key: str) -> pa.Table:
    index.validate(full=True)  # that texts are UTF-8, which Parquet does not promise
    if index[LABELS].null_count or pc.list_flatten(index[LABELS]).null_count:
        raise CorruptDatasetError(
            f"{key!r} is no index on {index.column_names[0]!r}: a value has no labels, or null for one. {REBUILD}",
            key=key,
        )
    return index


def embedded_values(column: str, values: Iterable[str], kind: pa.DataType) -> pa.Array:
    """Return the values of an index that is kept in an old header, where they are texts.

    Raises
    ------
    CorruptDatasetError
        They are no values of the column's type.
    """
    try:
        return pa.array(list(values), pa.string()).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptDatasetError(
            f"The header's index on {column!r} holds what is no {kind}: {error}. {REBUILD}", key=None
        ) from error


def _possible_groups(metadata: pq.FileMetaData, column: str, condition: Condition) -> list[int]:
    count: int = metadata.num_row_groups
    if condition == EVERYTHING or not count:
        return list(range(count))
    keep = keep_by_statistics(condition, group_statistics(metadata, frozenset({column})), count)
    return [int(group) for group in keep.nonzero()[0]]
