"""How the footer of a Parquet file is read such that nothing in it leads astray.

Pages can have checksums, which ours do. The footer, which says where pages are and what statistics and types they have,
has none in Parquet. So we put a seal among its key-value entries (:mod:`kubothek.codec.seal`), with the name of the
file: software that copies such entries from file to file does not make a file look damaged.

The footer of another writer cannot be proven whole. It is looked through for what PyArrow does not survive: where a
column chunk contradicts the schema, it ends the process instead of raising an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.seal import OPEN, is_whole, seal
from kubothek.codec.thrift import LENGTH, VALUE, read_struct
from kubothek.plan.ranges import FOOTER_BYTES

SEAL_ENTRY = "kubothek.seal"
"""Key of the entry that holds the name of the file and its seal."""

_MAGIC = b"PAR1"
_END = 8
_LARGEST = 2**28
"""Bytes of a footer; that of a million column chunks has fewer."""

_ROWS_PER_BYTE = 2**16
"""Rows that are believed, since memory is taken for as many as the footer tells of. A column without any value has some
thousands in a byte."""

_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_TYPE, _REPETITION, _CHILDREN = 1, 3, 5
_CHUNK_META, _CHUNK_TYPE, _CHUNK_VALUES, _SIZES = 3, 1, 5, 16
_REPETITIONS, _DEFINITIONS = 2, 3
_OPTIONAL, _REPEATED = 1, 2
_SHAPE = {
    _SCHEMA: [{_TYPE: VALUE, _REPETITION: VALUE, _CHILDREN: VALUE}],
    _ROWS: VALUE,
    _GROUPS: [
        {
            _COLUMNS: [
                {
                    _CHUNK_META: {
                        _CHUNK_TYPE: VALUE,
                        _CHUNK_VALUES: VALUE,
                        _SIZES: {_REPETITIONS: LENGTH, _DEFINITIONS: LENGTH},
                    }
                }
            ],
            _GROUP_ROWS: VALUE,
        }
    ],
}


def seal_entry(name: str) -> dict[str, str]:
    """Return the key-value entry by which :func:`seal_end` can seal the footer of a file of this name."""
    return {SEAL_ENTRY: f"{name} {OPEN.decode()}"}


def seal_end(end: bytes) -> bytes:
    """Return the last bytes of a Parquet file, its whole footer among them, with the footer sealed."""
    start = len(end) - _END - int.from_bytes(end[-_END:-4], "little")
    return end[:start] + seal(end[start:-_END]) + end[-_END:]


def load_footer(file: pa.NativeFile, name: str) -> pq.FileMetaData:
    """Read and check the footer of a Parquet file.

    Parameters
    ----------
    file
        The opened file; only its end is read.
    name
        The name that its seal has, if it has one.

    Raises
    ------
    pyarrow.ArrowInvalid
        It has no footer, its footer is not the one that was sealed, or it contradicts itself.
    """
    size = file.size()
    end = _read(file, size, min(FOOTER_BYTES, size))
    length = int.from_bytes(end[-_END:-4], "little")
    if len(end) < _END or end[-4:] != _MAGIC or not 0 < length <= min(size - _END, _LARGEST):
        raise pa.ArrowInvalid("it is no Parquet file, or its end is missing")
    if length + _END > len(end):
        end = _read(file, size, length + _END)
    footer = end[len(end) - _END - length : -_END]
    if f"{name} {OPEN[:6].decode()}".encode() not in footer:
        _check(footer, size)
    elif not is_whole(footer):
        raise pa.ArrowInvalid("its footer is damaged: it is not the one that was written")
    return pq.ParquetFile(pa.BufferReader(end), pre_buffer=False).metadata


def _read(file: pa.NativeFile, size: int, length: int) -> bytes:
    file.seek(size - length)
    return bytes(file.read(length))


def _check(footer: bytes, size: int) -> None:
    try:
        problem = next(_contradictions(read_struct(footer, 0, _SHAPE)[0], size), None)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = f"it cannot be understood ({type(error).__name__}: {error})"
    if problem is not None:
        raise pa.ArrowInvalid(f"its footer is damaged: {problem}")


def _contradictions(footer: dict[int, Any], size: int) -> Iterator[str]:
    leaves = list(_leaves(footer[_SCHEMA]))
    rows = [group[_GROUP_ROWS] for group in footer[_GROUPS]]
    if min(rows, default=0) < 0 or sum(rows) != footer[_ROWS]:
        yield f"its row groups have {sum(rows):,} rows and the file {footer[_ROWS]:,}"
    if footer[_ROWS] > size * _ROWS_PER_BYTE:
        yield f"no file of {size:,} bytes has {footer[_ROWS]:,} rows"
    for number, group in enumerate(footer[_GROUPS]):
        chunks = [chunk[_CHUNK_META] for chunk in group[_COLUMNS]]
        if len(chunks) != len(leaves):
            yield f"row group {number} has {len(chunks)} columns and the schema {len(leaves)}"
        for (kind, repetitions, definitions), chunk in zip(leaves, chunks, strict=True):
            sizes = chunk.get(_SIZES, {})
            if chunk[_CHUNK_TYPE] != kind:
                yield f"a column of type {kind} is of type {chunk[_CHUNK_TYPE]} in row group {number}"
            if sizes.get(_REPETITIONS, 0) not in (0, repetitions + 1):
                yield f"row group {number} counts {sizes[_REPETITIONS]} levels of repetition"
            if sizes.get(_DEFINITIONS, 0) not in (0, definitions + 1):
                yield f"row group {number} counts {sizes[_DEFINITIONS]} levels of definition"


def _leaves(schema: list[dict[int, Any]]) -> Iterator[tuple[int, int, int]]:
    """Yield physical type and highest levels of repetition and definition of each leaf, in order."""
    pending = [(schema[0][_CHILDREN], 0, 0)]  # children still to come, and the levels that they start from
    for element in schema[1:]:
        while pending and not pending[-1][0]:
            pending.pop()
        left, repetitions, definitions = pending.pop()
        pending.append((left - 1, repetitions, definitions))
        repetition = element[_REPETITION]
        repetitions += repetition == _REPEATED
        definitions += repetition in (_OPTIONAL, _REPEATED)
        if element.get(_CHILDREN):
            pending.append((element[_CHILDREN], repetitions, definitions))
        else:
            yield element[_TYPE], repetitions, definitions
