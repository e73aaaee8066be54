"""How the rows of Parquet files come back with the types of the schema of record.

Reading one file goes in four steps: row groups whose statistics rule a match out are skipped; the columns of the
condition are decoded and give a mask; the other columns are decoded only for row groups in which a row matched; every
column is cast to its type of record (:mod:`kubothek.codec.conform`). This is done for the whole file, for a run of its
row groups (:mod:`kubothek.codec.row_groups`), or in batches where a row group is too large for that. Files may have
been written by others: narrower integers, dictionaries, nanoseconds, ``large_string``, missing statistics and extra
columns are all accepted. Their pages seldom have checksums, so nothing can be promised about what decays in them, nor
whether their text is UTF-8; pages of ours are checked whenever they are read.

Small files are decoded one by one, but tested and cast together. How files are written is in
:mod:`kubothek.codec.encoding`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kubothek.codec.conform import Columns, assemble, concat_rows, conform_column, constant_column, row_mask
from kubothek.codec.possible_groups import SMALL_FILE_ROWS, possible_groups
from kubothek.codec.row_groups import GroupRun
from kubothek.errors import CorruptDatasetError, KubothekError
from kubothek.model.condition import EVERYTHING, Condition

_DICTIONARY_BYTES = 2**20
"""Bytes of a dictionary from which on writers go on without it, as Arrow and Java do by default."""


@contextmanager
def corrupt_file(key: str) -> Iterator[None]:
    """Turn Arrow's errors about a file into :class:`~kubothek.errors.CorruptDatasetError` that names it.

    Pages that end too soon or do not unpack are an ``OSError`` without a number; those of the system have one. Names
    that are no UTF-8, and pages that are not there, are found by Python.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        system = isinstance(error, (KubothekError, MemoryError)) or getattr(error, "errno", None) is not None
        if system or isinstance(error, pa.lib.ArrowCancelled):
            raise
        raise CorruptDatasetError(f"Cannot read the data file {key!r}: {error}", key=key) from error


def dictionary_columns(metadata: pq.FileMetaData, record: pa.Schema) -> list[str]:
    """Return the columns of a file to be decoded as dictionaries, though they may be wanted plain.

    Those are the columns that are wanted so, and whatever text surely is stored so: Arrow decodes a dictionary and
    takes its values by number twice as fast as it decodes the values one by one, and of rows that match no condition
    none needs to be taken. Only where writers ran out of room for a dictionary (1 MiB) there are plain pages, of which
    Arrow would have to make one.
    """
    wanted = {field.name: pa.types.is_dictionary(field.type) for field in record if _is_text(field.type)}
    if not wanted:
        return []
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    return [path for i, path in enumerate(paths) if path in wanted and (wanted[path] or is_encoded(metadata, i))]


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def is_encoded(metadata: pq.FileMetaData, column: int, groups: Sequence[int] | None = None) -> bool:
    """Tell whether a column has nothing but dictionary pages in some row groups, ``None`` for all of them.

    Where writers ran out of room for a dictionary plain pages follow.
    """
    groups = range(metadata.num_row_groups) if groups is None else groups
    chunks = (metadata.row_group(group).column(column) for group in groups)
    return all(chunk.has_dictionary_page and chunk.total_uncompressed_size < _DICTIONARY_BYTES for chunk in chunks)


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """The rows of a small file as they were decoded, none of them tested yet.

    ``columns`` are the stored ones, the others are the ``constants`` of the file.
    """

    key: str
    rows: int
    columns: Columns
    constants: Mapping[str, pa.Scalar]

    @property
    def kinds(self) -> tuple[pa.DataType, ...]:
        """Types of the stored columns: those of record, or dictionaries of them."""
        return tuple(column.type for column in self.columns.values())


def read_rows(
    file: pq.ParquetFile,
    key: str,
    record: pa.Schema,
    columns: Sequence[str],
    condition: Condition = EVERYTHING,
    constants: Mapping[str, pa.Scalar] | None = None,
    groups: Sequence[int] | None = None,
) -> pa.Table:
    """Read the rows of one file that a condition matches, with the types of record.

    Parameters
    ----------
    file
        The opened file.
    key
        Its storage key, for messages.
    record
        Types of record of every column named here.
    columns
        Columns of the result, in order.
    condition
        Bound condition on columns of the file and of ``constants``.
    constants
        Columns whose value is the same for the whole file (its partition columns). They win over stored columns.
    groups
        Row groups to read; ``None`` for all that may hold a matching row.

    Raises
    ------
    CorruptDatasetError
        A column is missing, or holds values that its type of record cannot hold.
    """
    part = decode_rows(file, key, record, columns, condition, constants, groups)
    return matching_rows((part,), record, columns, condition) if isinstance(part, Decoded) else part


def decode_rows(
    file: pq.ParquetFile,
    key: str,
    record: pa.Schema,
    columns: Sequence[str],
    condition: Condition = EVERYTHING,
    constants: Mapping[str, pa.Scalar] | None = None,
    groups: Sequence[int] | None = None,
) -> Decoded | pa.Table:
    """Decode a file for :func:`matching_rows` to test its rows with those of others, or read the rows of a large one.

    The parameters and errors are those of :func:`read_rows`.
    """
    constants = constants or {}
    with corrupt_file(key):
        groups = possible_groups(file.metadata, condition, constants) if groups is None else groups
        tested, rest = _stored_columns(file, key, record, columns, condition, constants)
        sizes = [file.metadata.row_group(group).num_rows for group in groups]
        if condition == EVERYTHING or file.metadata.num_rows <= SMALL_FILE_ROWS:
            return Decoded(key, sum(sizes), _decode(file, groups, record, [*tested, *rest]), constants)
        found = _decode(file, groups, record, tested)
        mask = row_mask(condition, found, constants, sum(sizes))
        assert mask is not None  # noqa: S101  there is a condition
        if not mask.true_count:
            return pa.schema([record.field(name) for name in columns]).empty_table()
        groups, found, mask = _with_hits(groups, sizes, found, mask)
        found |= _decode(file, groups, record, rest)
        return assemble(_filtered(found, mask), constants, record, columns, mask.true_count)


def matching_rows(
    parts: Sequence[Decoded], record: pa.Schema, columns: Sequence[str], condition: Condition = EVERYTHING
) -> pa.Table:
    """Return the matching rows of decoded files, in order, with the types of record.

    Files are tested together, since each call of Arrow's costs as much as some thousand rows do. The parameters and
    errors are those of :func:`read_rows`.
    """
    if len(parts) == 1:
        with corrupt_file(parts[0].key):
            return _matching(parts, record, columns, condition)
    schema = pa.schema([record.field(name) for name in columns])
    try:
        alike = [tuple(run) for _, run in groupby(parts, lambda part: part.kinds)]
        found = concat_rows([_matching(run, record, columns, condition) for run in alike], schema)
    except pa.ArrowException:  # which of them is to blame, each by itself tells
        found = concat_rows([matching_rows((one,), record, columns, condition) for one in parts], schema)
    return found.combine_chunks() if columns else found  # of no columns it would forget the rows


def _matching(parts: Sequence[Decoded], record: pa.Schema, columns: Sequence[str], condition: Condition) -> pa.Table:
    """Test rows of files whose columns have the same types."""
    sizes = np.array([part.rows for part in parts])
    stored = parts[0].columns
    found = {
        name: pa.chunked_array([chunk for part in parts for chunk in part.columns[name].chunks], column.type)
        for name, column in stored.items()
    }
    asked = condition.columns & parts[0].constants.keys()
    repeated = {n: pa.chunked_array([pa.repeat(part.constants[n], part.rows) for part in parts]) for n in asked}
    mask = row_mask(condition, {n: found[n] for n in condition.columns & found.keys()} | repeated, {}, int(sizes.sum()))
    if mask is not None:
        found = _filtered(found, mask)
        reached = np.concatenate(([0], np.cumsum(np.asarray(mask))))
        ends = np.cumsum(sizes)
        sizes = reached[ends] - reached[ends - sizes]
    constants = {
        name: pa.chunked_array(
            [
                constant_column(part.constants[name], record.field(name).type, int(rows))
                for part, rows in zip(parts, sizes, strict=True)
            ],
            record.field(name).type,
        )
        for name in columns
        if name in parts[0].constants
    }
    return assemble(found | constants, {}, record, columns, int(sizes.sum()))


def _with_hits(
    groups: Sequence[int], sizes: Sequence[int], found: Columns, mask: pa.BooleanArray
) -> tuple[Sequence[int], Columns, pa.BooleanArray]:
    """Leave out the row groups in which no row matched."""
    if len(groups) < 2 or not all(sizes):
        return groups, found, mask
    rows = np.array(sizes, np.int64)
    hits = np.logical_or.reduceat(np.asarray(mask), np.cumsum(rows) - rows)
    if hits.all():
        return groups, found, mask
    kept = pa.array(np.repeat(hits, rows))
    return np.asarray(groups)[hits].tolist(), _filtered(found, kept), mask.filter(kept)


def _filtered(found: Columns, mask: pa.BooleanArray) -> Columns:
    """Leave the rows of a mask; Arrow goes through it once for all columns of a table, which is much faster."""
    if not found or mask.true_count == len(mask):
        return found
    table = pa.table(found).filter(mask)
    return dict(zip(table.column_names, table.columns, strict=True))


def stream_rows(
    file: pq.ParquetFile,
    key: str,
    record: pa.Schema,
    columns: Sequence[str],
    condition: Condition,
    constants: Mapping[str, pa.Scalar],
    run: GroupRun,
) -> Iterator[pa.Table]:
    """Read the matching rows of row groups that are too large to be decoded at once, in batches.

    The columns of the condition are decoded first, for one bit per row; the others only where a row matched. The
    parameters and errors are those of :func:`read_rows`.
    """
    with corrupt_file(key):
        tested, _ = _stored_columns(file, key, record, columns, condition, constants)
        parts = [
            row_mask(condition, found, constants, rows)
            for found, rows in (_batches(file, record, tested, run) if condition != EVERYTHING else ())
        ]
        mask = pa.chunked_array(parts, pa.bool_())
        if parts and not pc.any(mask).as_py():
            return
        start = 0
        for found, rows in _batches(file, record, [name for name in columns if name not in constants], run):
            if parts:
                selection = mask.slice(start, rows)
                start, rows = start + rows, pc.sum(selection).as_py() or 0
                found = {name: column.filter(selection) for name, column in found.items()}
            if rows:
                yield assemble(found, constants, record, columns, rows)


def _stored_columns(
    file: pq.ParquetFile,
    key: str,
    record: pa.Schema,
    columns: Sequence[str],
    condition: Condition,
    constants: Mapping[str, pa.Scalar],
) -> tuple[list[str], list[str]]:
    """Return the columns that the condition needs, and what else is wanted; all are in the file."""
    tested = [name for name in record.names if name in condition.columns and name not in constants]
    rest = [name for name in columns if name not in constants and name not in tested]
    check_stored(key, [*tested, *rest], file.schema_arrow.names)
    return tested, rest


def _batches(
    file: pq.ParquetFile, record: pa.Schema, columns: Sequence[str], run: GroupRun
) -> Iterator[tuple[Columns, int]]:
    """Decode columns of a run batch by batch, with the number of rows of each."""
    missing = sum(file.metadata.row_group(group).num_rows for group in run.groups)
    for batch in file.iter_batches(run.batch_rows, list(run.groups), columns=list(columns), use_threads=False):
        table = pa.Table.from_batches([batch])
        found = _conformed({name: table.column(name) for name in columns}, record)
        missing -= batch.num_rows
        yield found, batch.num_rows
    if missing:
        raise pa.ArrowInvalid(f"it lacks {missing:,} rows that its footer tells of")


def _decode(file: pq.ParquetFile, groups: Sequence[int], record: pa.Schema, columns: Sequence[str]) -> Columns:
    """Decode columns of some row groups to their types of record; dictionaries stay what they are for now."""
    if not columns:
        return {}
    table = read_groups(file, groups, columns)
    return _conformed({name: table.column(name) for name in columns}, record)


def _conformed(found: Columns, record: pa.Schema) -> Columns:
    """Cast columns to their types of record, but for dictionaries, which are made plain when the rows are known."""
    return {
        name: column if pa.types.is_dictionary(column.type) else conform_column(column, record.field(name).type)
        for name, column in found.items()
    }


def read_groups(file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
    """Decode columns of some row groups, and all of their rows: Arrow skips pages of a kind that it does not know.

    Raises
    ------
    pyarrow.ArrowException, OSError
        They cannot be decoded, or there are fewer rows than the footer says.
    """
    wanted = None if columns is None else list(columns)
    table = file.read_row_groups(list(groups), columns=wanted, use_threads=False)
    rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    if table.num_rows != rows:
        raise pa.ArrowInvalid(f"it has {table.num_rows:,} of the {rows:,} rows that its footer tells of")
    return table


def check_stored(key: str, columns: Sequence[str], stored: Sequence[str]) -> None:
    """Refuse a file that lacks columns, or has several of one name."""
    missing = sorted(set(columns) - set(stored))
    if missing:
        raise CorruptDatasetError(
            f"The data file {key!r} lacks the column(s) {', '.join(missing)} of the dataset's schema; "
            f"it has {', '.join(stored) or 'none'}.",
            key=key,
        )
    doubled = [name for name in columns if stored.count(name) > 1] if len(set(stored)) < len(stored) else []
    if doubled:
        raise CorruptDatasetError(f"The data file {key!r} has several columns named {', '.join(doubled)}.", key=key)


def unique_values(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column that are neither null nor NaN, for an index."""
    values = pc.unique(column).drop_null()
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    return values
