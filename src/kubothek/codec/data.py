"""How rows become Parquet files and come back with the types of the schema of record.

Reading one file goes in four steps: row groups whose statistics rule a match out are skipped; the columns of the
condition are decoded and give a mask; the other columns are decoded only for row groups in which a row matched; every
column is cast to its type of record. Files may have been written by others: narrower integers, dictionaries,
nanoseconds, ``large_string``, missing statistics and extra columns are all accepted.

Writing keeps what readers need: statistics on every column, microsecond timestamps, dictionary pages for text and for
numbers that come again often, which are decoded three times as fast, and none for other numbers. Floating-point columns
that compress by less than a tenth are stored as they are: a few per cent more bytes, and a quarter less time to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kubothek.errors import CorruptDatasetError, KubothekError
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.plan.match import match_rows
from kubothek.plan.statistics import ColumnStatistics, keep_by_statistics

_SAMPLE = 16_384
"""Rows, or the sixteenth part of it where a file has no more, by which it is decided how a column is encoded."""


@contextmanager
def corrupt_file(key: str) -> Iterator[None]:
    """Turn Arrow's errors about a file into :class:`~kubothek.errors.CorruptDatasetError` that names it.

    Pages that end too soon or do not unpack are an ``OSError`` without a number; those of the system have one.
    """
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError, OSError) as error:
        if isinstance(error, KubothekError) or getattr(error, "errno", None) is not None:
            raise
        raise CorruptDatasetError(f"Cannot read the data file {key!r}: {error}", key=key) from error


def read_rows(
    file: pq.ParquetFile,
    key: str,
    record: pa.Schema,
    columns: Sequence[str],
    condition: Condition = EVERYTHING,
    constants: Mapping[str, pa.Scalar] | None = None,
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

    Raises
    ------
    CorruptDatasetError
        A column is missing, or holds values that its type of record cannot hold.
    """
    constants = constants or {}
    with corrupt_file(key):
        groups: Sequence[int] = range(file.metadata.num_row_groups)
        tested = [name for name in record.names if name in condition.columns and name not in constants]
        if tested:
            groups = _possible_groups(file.metadata, condition, groups)
        sizes = np.array([file.metadata.row_group(group).num_rows for group in groups], np.int64)
        found = _decode(file, key, groups, record, tested)
        mask = _mask(condition, found, constants, int(sizes.sum()))
        if mask is not None and (sizes > 0).all() and len(sizes) > 1:
            hits = np.logical_or.reduceat(mask, np.cumsum(sizes) - sizes)
            kept = np.repeat(hits, sizes)
            groups, sizes, mask = np.asarray(groups)[hits].tolist(), sizes[hits], mask[kept]
            found = {name: column.filter(pa.array(kept)) for name, column in found.items()}
        rest = [name for name in columns if name not in constants and name not in found]
        found |= _decode(file, key, groups, record, rest)
        if mask is not None and not mask.all():
            selection = pa.array(mask)
            found = {name: column.filter(selection) for name, column in found.items()}
        rows = int(sizes.sum() if mask is None else np.count_nonzero(mask))
        return _assemble(found, constants, record, columns, rows)


def _decode(
    file: pq.ParquetFile, key: str, groups: Sequence[int], record: pa.Schema, columns: Sequence[str]
) -> dict[str, pa.ChunkedArray]:
    """Decode columns of some row groups to their types of record."""
    if not columns:
        return {}
    missing = sorted(set(columns) - set(file.schema_arrow.names))
    if missing:
        raise CorruptDatasetError(
            f"The data file {key!r} lacks the column(s) {', '.join(missing)} of the dataset's schema; "
            f"it has {', '.join(file.schema_arrow.names)}.",
            key=key,
        )
    table = file.read_row_groups(list(groups), columns=list(columns), use_threads=False)
    return {name: conform_column(table.column(name), record.field(name).type) for name in columns}


def conform_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a stored column to its type of record; raises ``ArrowInvalid`` where a value does not survive."""
    return column if column.type == kind else column.cast(kind)


def _mask(
    condition: Condition, columns: Mapping[str, pa.ChunkedArray], constants: Mapping[str, pa.Scalar], rows: int
) -> np.ndarray | None:
    """Return which rows match, or ``None`` where there is nothing to test."""
    if condition == EVERYTHING:
        return None
    values = dict(columns) | {n: pa.repeat(v, rows) for n, v in constants.items() if n in condition.columns}
    values = values or {"": pa.nulls(rows)}
    mask: np.ndarray = np.asarray(match_rows(condition, pa.table(values)))
    return mask


def _assemble(
    found: Mapping[str, pa.ChunkedArray],
    constants: Mapping[str, pa.Scalar],
    record: pa.Schema,
    columns: Sequence[str],
    rows: int,
) -> pa.Table:
    if not columns:
        return pa.table({"rows": pa.nulls(rows)}).select([])
    schema = pa.schema([record.field(name) for name in columns])
    arrays = [
        pa.repeat(constants[field.name].cast(field.type), rows) if field.name in constants else found[field.name]
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _possible_groups(metadata: pq.FileMetaData, condition: Condition, groups: Sequence[int]) -> Sequence[int]:
    """Drop the row groups whose statistics prove that no row matches."""
    statistics = group_statistics(metadata, condition.columns)
    if not statistics:
        return groups
    kept: list[int] = np.flatnonzero(keep_by_statistics(condition, statistics, len(groups))).tolist()
    return kept


def group_statistics(metadata: pq.FileMetaData, columns: frozenset[str]) -> dict[str, ColumnStatistics]:
    """Return the footer's statistics of some columns, one entry per row group; columns without any are left out."""
    if metadata.num_row_groups == 0:
        return {}
    first = metadata.row_group(0)
    positions = {first.column(i).path_in_schema: i for i in range(first.num_columns)}
    found = {}
    rows = pa.array([metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)], pa.int64())
    for name in columns & positions.keys():
        chunks = [metadata.row_group(g).column(positions[name]).statistics for g in range(metadata.num_row_groups)]
        bounds = [s if s is not None and s.has_min_max else None for s in chunks]
        counted = [s if s is not None and s.has_null_count else None for s in chunks]
        try:
            lowest = pa.array([s.min if s else None for s in bounds])
            highest = pa.array([s.max if s else None for s in bounds])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError, AttributeError):
            continue  # bounds that Python cannot hold (far dates, INT96) prove nothing
        found[name] = ColumnStatistics(
            min=lowest,
            max=highest,
            nulls=pa.array([s.null_count if s else None for s in counted], pa.int64()),
            rows=rows,
        )
    return found


def writer_options(first: pa.Table, compression: str) -> dict[str, Any]:
    """Options for ``pyarrow.parquet.ParquetWriter`` by which all data files are written.

    Parameters
    ----------
    first
        The first rows of the file, with its schema.
    compression
        Name of the compression.
    """
    repeating = [field.name for field in first.schema if _repeats(first.column(field.name))]
    dense = (
        []
        if any(pa.types.is_nested(kind) for kind in first.schema.types)
        else [
            name for name in first.column_names if name not in repeating and _is_dense(first.column(name), compression)
        ]
    )  # of nested columns every leaf would have to be named
    return {
        "compression": {n: "none" if n in dense else compression for n in first.column_names} if dense else compression,
        "version": "2.6",
        "write_statistics": True,
        "coerce_timestamps": "us",
        "use_dictionary": repeating or False,
    }


def _is_dense(column: pa.ChunkedArray, compression: str) -> bool:
    """Whether compression gains less than a tenth, as with measured doubles; then it only costs time to undo."""
    sample = column.slice(0, _SAMPLE // 8)
    if compression == "none" or len(sample) < _SAMPLE // 8 or not pa.types.is_floating(column.type):
        return False
    data = sample.fill_null(0.0).to_numpy().tobytes()
    return len(pa.Codec(compression).compress(data)) > 0.9 * len(data)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary serves a column: it does for text, and for numbers only where values come again often."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return True
    if pa.types.is_nested(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return False
    sample = column.slice(0, _SAMPLE)
    return len(sample) >= _SAMPLE // 16 and bool(pc.count_distinct(sample).as_py() <= len(sample) // 8)


def unique_values(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column that are neither null nor NaN, for an index."""
    values = pc.unique(column).drop_null()
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    return values
