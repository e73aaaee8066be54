"""Which files came to a dataset between two of its versions, and which went.

Two versions are compared as they are, whatever happened between them::

    before     a    b    c
    after      a         c'   d         added: c', d        removed: b, c

A file is never changed, so that its key says what is in it. What came and went between the two is in neither, and a
partition whose file was replaced has gone and come.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.header import FILE_PREFIX


@dataclass(frozen=True, slots=True, eq=False)
class FileChanges:
    """What came and what went: rows of ``Header.partitions``, of the version after and of the one before."""

    added: pa.Table
    removed: pa.Table


def compare_files(before: pa.Table | None, after: pa.Table, table: str) -> FileChanges:
    """Return how the files of one table differ between two versions.

    Parameters
    ----------
    before, after
        The partitions of the versions, as ``Header.partitions`` has them; ``None`` where there was no dataset.
    table
        The table; a partition without a file of it is in neither.

    Examples
    --------
    >>> before = pa.table({"label": ["a", "b"], "file/table": ["d/table/a.parquet", "d/table/b.parquet"]})
    >>> after = pa.table({"label": ["b", "c"], "file/table": ["d/table/b.parquet", "d/table/c.parquet"]})
    >>> changes = compare_files(before, after, "table")
    >>> changes.added["label"].to_pylist(), changes.removed["label"].to_pylist()
    (['c'], ['a'])
    """
    column = FILE_PREFIX + table
    earlier = after.slice(0, 0) if before is None else before
    return FileChanges(_missing(after, earlier, column), _missing(earlier, after, column))


def _missing(rows: pa.Table, others: pa.Table, column: str) -> pa.Table:
    """Return the rows whose file the others do not have."""
    if column not in rows.column_names:
        return rows.slice(0, 0)
    files = rows[column]
    known = others[column] if column in others.column_names else files.slice(0, 0)
    new = pc.invert(pc.is_in(files, value_set=known.combine_chunks()))
    return rows.filter(pc.and_(new, pc.is_valid(files)))
