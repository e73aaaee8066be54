"""How one data file is opened and read, whatever kind it is: at once, or in steps that fit in memory.

The ending of its key says what kind of file it is. A Parquet file falls into runs of row groups, each of which is a
step of its own and may be read beside the others; a CSV file and a row group that is too large are read by one step
after the other. A file of a directory is read by its path, which nothing is faster than; one of an object store as
:mod:`kubothek.engine.ranged_parquet` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.conform import concat_rows
from kubothek.codec.csv import stream_csv
from kubothek.codec.data import (
    Decoded,
    corrupt_file,
    decode_rows,
    dictionary_columns,
    matching_rows,
    stream_rows,
)
from kubothek.codec.footer import load_footer
from kubothek.codec.keys import data_suffix, file_stem
from kubothek.codec.possible_groups import SMALL_FILE_ROWS, possible_groups
from kubothek.codec.row_groups import GroupRun, cut_runs
from kubothek.engine.fetched_file import FetchedFile
from kubothek.engine.ranged_parquet import RangedParquet, readable
from kubothek.engine.steps import Made, Step, in_order, steps_of
from kubothek.errors import ObjectNotFoundError, SnapshotExpiredError
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.plan.ranges import FOOTER_BYTES, REQUEST_BYTES, fits_request, vain_bytes
from kubothek.store.interface import Store

_BUFFER = 2**20
"""Bytes of a column chunk that are read at a time, where row groups are too large to be read at once."""

_BUFFERS = 64 * 2**20
"""Bytes of all columns together that are read at a time then, if each read is a round trip."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of a Parquet file that was opened before: its footer, and how to go on reading the same object."""

    metadata: pq.FileMetaData
    file: FetchedFile | None


@dataclass(frozen=True, slots=True, eq=False)
class FileScan:
    """Which rows and columns are wanted of one data file.

    ``key`` and ``size`` (in bytes, ``None`` where unknown) say where it is in ``store``. ``record`` has the types of
    record of all columns that are needed, ``columns`` those of the result, in order. ``condition`` is bound;
    ``constants`` are columns with one value for the whole file. ``stored_columns`` says how many columns the file has
    (0 where unknown), by which it is decided how to fetch it.
    """

    store: Store
    key: str
    size: int | None
    record: pa.Schema
    columns: tuple[str, ...]
    condition: Condition = EVERYTHING
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    stored_columns: int = 0

    def read(self) -> pa.Table:
        """Return the rows.

        Raises
        ------
        SnapshotExpiredError
            The file is gone.
        CorruptDatasetError
            It cannot be read, lacks a column, or holds values that a type of record cannot hold.
        """
        part = self.decode()
        return self.matching([part]) if isinstance(part, Decoded) else part

    def decode(self) -> Decoded | pa.Table:
        """Return the rows, or where all of the file was decoded what :meth:`matching` takes them from.

        Raises as :meth:`read` does.
        """
        if data_suffix(self.key) != ".parquet":
            schema = pa.schema([self.record.field(name) for name in self.columns])
            return concat_rows(self._stream_csv(), schema)
        with self._opened() as file:
            return self._decode_groups(file, self._possible(file))

    def matching(self, parts: Sequence[Decoded]) -> pa.Table:
        """Return the rows of decoded files of which the same is wanted as of this one."""
        return matching_rows(parts, self.record, self.columns, self.condition)

    def pieces(self) -> Iterator[Decoded | pa.Table]:
        """Yield the rows in pieces that fit in memory, or what they are taken from; raises as :meth:`read` does."""
        part = self._decode_small() if data_suffix(self.key) == ".parquet" else None
        yield from in_order((self.step,)) if part is None else (part,)

    def _decode_small(self) -> Decoded | pa.Table | None:
        with self._opened() as file:
            if file.metadata.num_rows > SMALL_FILE_ROWS:
                return None
            return self._decode_groups(file, self._possible(file))

    def _possible(self, file: RangedParquet) -> Sequence[int]:
        return possible_groups(file.metadata, self.condition, self.constants)

    def step(self) -> Made[pa.Table]:
        """Return the first of the rows, and the steps that read the others; raises as :meth:`read` does."""
        if data_suffix(self.key) != ".parquet":
            return steps_of(self._stream_csv())()
        with self._opened() as file:
            runs = cut_runs(file.metadata, self._possible(file), self.record.names)
            known = Known(file.metadata, file.again())
            if not runs or runs[0].batch_rows:
                return Made((), self._steps(known, runs))
            return Made((self._read_groups(file, runs[0].groups),), self._steps(known, runs[1:]))

    def _steps(self, known: Known, runs: tuple[GroupRun, ...]) -> tuple[Step[pa.Table], ...]:
        return tuple(
            steps_of(self._stream_run(known, run)) if run.batch_rows else partial(self._read_run, known, run)
            for run in runs
        )

    def _read_run(self, known: Known, run: GroupRun) -> Made[pa.Table]:
        with self._opened(known) as file:
            return Made((self._read_groups(file, run.groups),))

    def _read_groups(self, file: RangedParquet, groups: Sequence[int]) -> pa.Table:
        part = self._decode_groups(file, groups)
        return self.matching([part]) if isinstance(part, Decoded) else part

    def _decode_groups(self, file: RangedParquet, groups: Sequence[int]) -> Decoded | pa.Table:
        file.fetch(groups, self._needed_first(), {*self.columns} - self.constants.keys())
        return decode_rows(file, self.key, self.record, self.columns, self.condition, self.constants, groups)

    def _stream_run(self, known: Known, run: GroupRun) -> Iterator[pa.Table]:
        with self._opened(known, buffer_size=self._buffer_bytes()) as file:
            yield from stream_rows(file, self.key, self.record, self.columns, self.condition, self.constants, run)

    def _buffer_bytes(self) -> int:
        each = _BUFFERS // max(len(self.record.names), 1)
        return min(max(each, _BUFFER), REQUEST_BYTES) if self.store.is_remote else _BUFFER

    def _needed_first(self) -> set[str]:
        """Return the stored columns that are surely decoded: those of the condition, or all that are wanted."""
        return ({*self.condition.columns} - self.constants.keys()) or {*self.columns} - self.constants.keys()

    def _stream_csv(self) -> Iterator[pa.Table]:
        with _present(self.store, self.key):
            yield from stream_csv(
                _csv_source(self.store, self.key, self.size),
                self.key,
                self.record,
                self.columns,
                self.condition,
                self.constants,
            )

    @contextmanager
    def _opened(self, known: Known | None = None, **options: Any) -> Iterator[RangedParquet]:
        with _present(self.store, self.key), corrupt_file(self.key), ExitStack() as opened:
            source = known.file.again() if known and known.file else self._source()
            if isinstance(source, str):  # opened once, for the footer and for the pages
                source = opened.enter_context(pa.OSFile(source))
                if source.size() <= FOOTER_BYTES:  # as many bytes as are read for the footer
                    source = pa.BufferReader(source.read_buffer())
            metadata = known.metadata if known else _footer(source, self.key)
            dictionaries = dictionary_columns(metadata, self.record)
            with _parquet_file(source, metadata=metadata, read_dictionary=dictionaries, **options) as file:
                yield file

    def _source(self) -> Any:
        first = len(self._needed_first())
        if self.size is None or not first:
            return _source(self.store, self.key, self.size)
        vain = vain_bytes(self.size, first, self.stored_columns)
        return _source(self.store, self.key, self.size, self.size if fits_request(self.size, vain) else FOOTER_BYTES)


def open_parquet(store: Store, key: str, size: int | None) -> RangedParquet:
    """Open a Parquet file, by its path where the store is a directory.

    Raises
    ------
    SnapshotExpiredError
        The file is gone.
    CorruptDatasetError
        It is no Parquet file.
    """
    with _present(store, key), corrupt_file(key):
        source = _source(store, key, size)
        return _parquet_file(source, metadata=_footer(source, key))


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


def _source(store: Store, key: str, size: int | None, end: int = FOOTER_BYTES) -> Any:
    """Return a path, an Arrow file, or for a remote one a :class:`FetchedFile` with its last bytes, ``end`` of them."""
    path = store.local_path(key)
    if path is not None:
        return path
    if not store.is_remote:
        return store.open_file(key, size)
    file = FetchedFile(store, key, size)
    file.fetch_end(end)
    return file


def _csv_source(store: Store, key: str, size: int | None) -> Callable[[], pa.NativeFile]:
    """Return how to open a text file, which is fetched at once where it is small.

    Arrow's threads read ahead, after an error too, and would abort a program that ends just then if they let go of an
    object of Python's. So they get a copy in memory of their own.
    """
    source = _source(store, key, size, 0)
    if isinstance(source, str):
        return lambda: store.open_file(key, size)
    if isinstance(source, FetchedFile):
        if source.size() > REQUEST_BYTES:
            return lambda: readable(source.again())
        source.fetch_end(source.size())
    copy = pa.BufferOutputStream()
    with readable(source) as file:
        copy.write(file.read())
    data = copy.getvalue()
    return lambda: pa.BufferReader(data)


def _footer(source: Any, key: str) -> pq.FileMetaData:
    if isinstance(source, str):
        with pa.OSFile(source) as file:
            return load_footer(file, file_stem(key))
    return load_footer(readable(source), file_stem(key))


def _parquet_file(source: Any, **options: Any) -> RangedParquet:
    """Open Parquet; years beyond those of nanoseconds stay what they are in the old 96-bit timestamps."""
    options = {"coerce_int96_timestamp_unit": "us", "page_checksum_verification": True} | options
    return RangedParquet(source, **options)


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
