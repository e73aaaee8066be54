"""How a Parquet file of an object store is read: in one request, or in two steps whose requests are under way at once.

A small file comes whole. Of another the footer is fetched, and then, whenever row groups are decoded, the chunks of the
columns that are wanted. :mod:`kubothek.plan.ranges` has the rule.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.column_chunks import chunk_ranges
from kubothek.engine.fetched_file import FetchedFile
from kubothek.plan.ranges import ROUND_TRIP_BYTES


class RangedParquet(pq.ParquetFile):
    """A Parquet file that fetches the column chunks that it is about to decode, all at once.

    Parameters
    ----------
    source
        A :class:`FetchedFile`, or whatever else Arrow opens, which is read as Arrow does.
    options
        Of ``pyarrow.parquet.ParquetFile``. Its own buffering is off, for it asks for one range after the other.
    """

    def __init__(self, source: Any, **options: Any) -> None:
        super().__init__(readable(source), **options, pre_buffer=False)
        self._fetched = source if isinstance(source, FetchedFile) else None

    def again(self) -> FetchedFile | None:
        """Return another file of the same object, for another thread; ``None`` where nothing is fetched."""
        return self._fetched and self._fetched.again()

    def fetch(self, groups: Sequence[int], first: Collection[str], then: Collection[str] = ()) -> None:
        """Fetch some columns of row groups, and those that may follow too if they are not worth a round trip."""
        if self._fetched is None:
            return
        later = chunk_ranges(self.metadata, groups, then, self._fetched.size())
        if sum(length for _, length in later) <= ROUND_TRIP_BYTES:
            first = {*first, *then}
        self._fetched.fetch(chunk_ranges(self.metadata, groups, first, self._fetched.size()))

    def read_row_groups(self, row_groups: Sequence[int], columns: Sequence[str] | None = None, **options: Any) -> Any:
        """Read as the base class does, with what is needed fetched first."""
        self.fetch(row_groups, self.schema_arrow.names if columns is None else columns)
        return super().read_row_groups(row_groups, columns=columns, **options)


class RangedIndex(RangedParquet):
    """An index file that is about to be looked at: with a row group's values its labels are fetched, in one request."""

    def fetch(self, groups: Sequence[int], first: Collection[str], then: Collection[str] = ()) -> None:
        """Fetch whole row groups, since those that may have a match nearly always have one."""
        super().fetch(groups, {*self.schema_arrow.names, *first, *then})


def readable(source: Any) -> Any:
    """Return what Arrow opens: a :class:`FetchedFile` as a file of its own, anything else as it is."""
    return pa.PythonFile(source, mode="r") if isinstance(source, FetchedFile) else source
