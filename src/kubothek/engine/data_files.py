"""How one data file is opened and read, whatever kind it is: at once, or in steps that fit in memory.

The ending of its key says what kind of file it is. A Parquet file falls into runs of row groups, each of which is a
step of its own and may be read beside the others; a CSV file and a row group that is too large are read by one step
after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.conform import concat_rows
from kubothek.codec.csv import stream_csv
from kubothek.codec.data import corrupt_file, dictionary_columns, possible_groups, read_rows, stream_rows
from kubothek.codec.keys import data_suffix
from kubothek.codec.row_groups import GroupRun, cut_runs
from kubothek.engine.steps import Made, Step, steps_of
from kubothek.errors import ObjectNotFoundError, SnapshotExpiredError
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.store.interface import Store

FOOTER_BYTES = 2**16
"""Bytes at the end of a file that Arrow fetches to read the footer."""

_BUFFER = 2**20
"""Bytes of a column chunk that are fetched at a time, where row groups are too large to be fetched at once."""


@dataclass(frozen=True, slots=True, eq=False)
class FileScan:
    """Which rows and columns are wanted of one data file.

    ``key`` and ``size`` (in bytes, ``None`` where unknown) say where it is in ``store``. ``record`` has the types of
    record of all columns that are needed, ``columns`` those of the result, in order. ``condition`` is bound;
    ``constants`` are columns with one value for the whole file.
    """

    store: Store
    key: str
    size: int | None
    record: pa.Schema
    columns: tuple[str, ...]
    condition: Condition = EVERYTHING
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)

    def read(self) -> pa.Table:
        """Return the rows.

        Raises
        ------
        SnapshotExpiredError
            The file is gone.
        CorruptDatasetError
            It cannot be read, lacks a column, or holds values that a type of record cannot hold.
        """
        if data_suffix(self.key) != ".parquet":
            schema = pa.schema([self.record.field(name) for name in self.columns])
            return concat_rows(self._stream_csv(), schema)
        with self._opened() as file:
            return read_rows(file, self.key, self.record, self.columns, self.condition, self.constants)

    def step(self) -> Made[pa.Table]:
        """Return the first of the rows, and the steps that read the others; raises as :meth:`read` does."""
        if data_suffix(self.key) != ".parquet":
            return steps_of(self._stream_csv())()
        with self._opened() as file:
            runs = cut_runs(
                file.metadata, possible_groups(file.metadata, self.condition, self.constants), self.record.names
            )
            if not runs or runs[0].batch_rows:
                return Made((), self._steps(file.metadata, runs))
            return Made((self._read_groups(file, runs[0]),), self._steps(file.metadata, runs[1:]))

    def _steps(self, metadata: pq.FileMetaData, runs: tuple[GroupRun, ...]) -> tuple[Step[pa.Table], ...]:
        return tuple(
            steps_of(self._stream_run(metadata, run)) if run.batch_rows else partial(self._read_run, metadata, run)
            for run in runs
        )

    def _read_run(self, metadata: pq.FileMetaData, run: GroupRun) -> Made[pa.Table]:
        with self._opened(metadata) as file:
            return Made((self._read_groups(file, run),))

    def _read_groups(self, file: pq.ParquetFile, run: GroupRun) -> pa.Table:
        return read_rows(file, self.key, self.record, self.columns, self.condition, self.constants, run.groups)

    def _stream_run(self, metadata: pq.FileMetaData, run: GroupRun) -> Iterator[pa.Table]:
        with self._opened(metadata, pre_buffer=False, buffer_size=_BUFFER) as file:
            yield from stream_rows(file, self.key, self.record, self.columns, self.condition, self.constants, run)

    def _stream_csv(self) -> Iterator[pa.Table]:
        with _present(self.store, self.key):
            yield from stream_csv(
                lambda: self.store.open_file(self.key, self.size),
                self.key,
                self.record,
                self.columns,
                self.condition,
                self.constants,
            )

    @contextmanager
    def _opened(self, metadata: pq.FileMetaData | None = None, **options: Any) -> Iterator[pq.ParquetFile]:
        with _present(self.store, self.key), corrupt_file(self.key):
            source = _source(self.store, self.key, self.size)
            if any(pa.types.is_dictionary(kind) for kind in self.record.types):
                metadata = metadata or pq.read_metadata(source)
                options["read_dictionary"] = dictionary_columns(metadata, self.record)
            with _parquet_file(source, metadata=metadata, **options) as file:
                yield file


def open_parquet(store: Store, key: str, size: int | None) -> pq.ParquetFile:
    """Open a Parquet file, by its path where the store is a directory.

    Raises
    ------
    SnapshotExpiredError
        The file is gone.
    CorruptDatasetError
        It is no Parquet file.
    """
    with _present(store, key), corrupt_file(key):
        return _parquet_file(_source(store, key, size))


def read_facts(store: Store, key: str, size: int, stored: pa.Schema) -> tuple[int, pa.Schema]:
    """Return the rows and the schema of a data file: from its footer, or, where it has none, by reading all of it.

    ``stored`` is the schema of record of what a file holds, which tells a CSV file's types.

    Raises
    ------
    SnapshotExpiredError
        The file is gone.
    CorruptDatasetError
        It cannot be understood.
    """
    if data_suffix(key) != ".parquet":
        table = FileScan(store, key, size, stored, tuple(stored.names)).read()
        return table.num_rows, table.schema
    with corrupt_file(key), open_parquet(store, key, size) as file:
        return file.metadata.num_rows, file.schema_arrow


def _source(store: Store, key: str, size: int | None) -> str | pa.NativeFile:
    path = store.local_path(key)
    if path is not None:
        return path
    if size is not None and size <= FOOTER_BYTES:  # whoever reads the footer fetches it all, and need not come back
        return pa.BufferReader(store.get_range(key, 0, size))
    return store.open_file(key, size)


def _parquet_file(source: str | pa.NativeFile, **options: Any) -> pq.ParquetFile:
    """Open Parquet; years beyond those of nanoseconds stay what they are in the old 96-bit timestamps."""
    defaults = {"coerce_int96_timestamp_unit": "us", "pre_buffer": not isinstance(source, str)}
    return pq.ParquetFile(source, **(defaults | options))


@contextmanager
def _present(store: Store, key: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, ObjectNotFoundError) as error:
        raise SnapshotExpiredError(
            f"The data file {key!r} is not in {store.url} any more: it was collected or deleted after this snapshot "
            "was opened. Open the dataset again; if the error stays, the dataset is damaged.",
            key=key,
        ) from error
