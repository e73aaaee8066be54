"""How sorted rows become staged files: the body of every write task, in-process and on Spark.

Rows come in batches, sorted by the columns at which files are cut (the partition columns, then the bucket);
:mod:`kubothek.engine.sorted_files` sees to that where they are not. The task streams: it keeps at most one row group in
memory, closes a file where the next partition starts, and returns one
:class:`~kubothek.model.staged.StagedPartition` per file. Whatever makes the data unfit (nulls, cells given twice)
is raised here, before anything refers to the files. Values to index are gathered by
:mod:`kubothek.engine.index_values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.data import read_rows
from kubothek.codec.encoding import writer_options
from kubothek.codec.keys import data_key, file_stem
from kubothek.codec.labels import file_name, make_label, partition_text
from kubothek.codec.sealed_parquet import SealedWriter
from kubothek.engine.data_files import open_parquet
from kubothek.engine.index_values import IndexValues
from kubothek.engine.key_codes import key_codes, stable_order
from kubothek.engine.list_views import has_list_views, without_list_views
from kubothek.errors import DuplicateCellsError, InvalidInputError, NullValueError, SchemaError
from kubothek.model.staged import StagedPartition
from kubothek.plan.layout import ROWS_PER_ROW_GROUP
from kubothek.store.interface import Store

BUCKET = "__kubothek_bucket"
"""Column that numbers the bucket of a row on its way to the task; it is not stored."""

_BUFFERED_BYTES = 64 * 2**20
_MICROSECONDS_PER_DAY = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True, slots=True)
class WriteTask:
    """What a write task needs to know beside its rows.

    ``schema`` is the schema of record, partition columns first. ``unique`` are the columns of which no two rows may
    agree that agree in the partition columns ``apart`` (a cube's dimensions; empty: not checked); like partition
    columns they may not hold nulls.
    ``staged`` is the prefix for staged index values.
    """

    uuid: str
    table: str
    write_id: str
    staged: str
    schema: pa.Schema
    partition_on: tuple[str, ...] = ()
    index_columns: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    compression: str = "zstd"
    rows_per_row_group: int = ROWS_PER_ROW_GROUP

    @property
    def stored(self) -> pa.Schema:
        """Schema of the data files: all but the partition columns."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_on])


def write_files(store: Store, task: WriteTask, batches: Iterable[pa.RecordBatch]) -> Iterator[StagedPartition]:
    """Write sorted batches as files, one per run of equal partition values, and yield what was staged.

    Raises
    ------
    NullValueError, DuplicateCellsError, SchemaError
        The rows cannot be stored; the file being written is abandoned, earlier ones stay unreferenced.
    """
    cut_at = task.partition_on
    current: _OpenFile | None = None
    try:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            rows = conform_rows(batch, task)
            cut_at = (*task.partition_on, *([BUCKET] if BUCKET in rows.column_names else []))
            for piece in _runs(rows, cut_at):
                place = tuple(_python_value(piece, name, task) for name in cut_at)
                if current is not None and current.place != place:
                    yield current.close()
                    current = None
                if current is None:
                    current = _OpenFile(store, task, _directory(task, piece.schema, place), place)
                current.append(piece)
        if current is not None:
            done, current = current.close(), None
            yield done
    finally:
        if current is not None:
            current.abandon()


def _python_value(rows: pa.Table, name: str, task: WriteTask) -> object:
    """Return the value of a column in the first row, as its text in a path is made from it."""
    try:
        return rows.column(name)[0].as_py()
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"Partition column {name!r} of {task.uuid!r} holds a value that has no text in a path: {error}. Partition "
            "by dates between the years 1 and 9999; nothing was committed.",
            column=name,
        ) from error


def _directory(task: WriteTask, schema: pa.Schema, place: Sequence[object]) -> str:
    """Return the directory part of a label, with a slash at its end unless it is empty."""
    pairs = zip(task.partition_on, place, strict=False)
    return make_label([(name, partition_text(value, schema.field(name).type, name)) for name, value in pairs], "")


def write_empty_file(store: Store, task: WriteTask, directory: str = "") -> StagedPartition:
    """Write one file without rows: by it an unpartitioned dataset keeps its schema, a partition each of its tables.

    Parameters
    ----------
    store, task
        As for :func:`write_files`.
    directory
        The directory part of its label.
    """
    return _OpenFile(store, task, directory and f"{directory}/", ()).close()


def conform_rows(batch: pa.RecordBatch | pa.Table, task: WriteTask) -> pa.Table:
    """Cast rows to the types of record and check the columns that may not be null.

    Zeros of partition columns lose their sign: they are equal, so they are one partition, whose text is ``0.0``.
    """
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    columns = {field.name: _cast(table.column(field.name), field) for field in task.schema}
    for name in dict.fromkeys([*task.partition_on, *task.unique]):
        _refuse_nulls(columns[name], name, task)
    for name in task.schema.names:
        if pa.types.is_time(columns[name].type):
            _refuse_later_days(columns[name], name, task)
    for name in task.partition_on:
        if pa.types.is_floating(columns[name].type):
            columns[name] = pc.add(columns[name], 0.0)
    if BUCKET in table.column_names:
        columns[BUCKET] = table.column(BUCKET)
    return pa.table(columns)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    kind = column.type
    try:
        if pa.types.is_run_end_encoded(kind):
            column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        if has_list_views(kind):
            return pa.chunked_array([without_list_views(chunk).cast(field.type) for chunk in column.chunks], field.type)
        if pa.types.is_dictionary(kind) and kind.value_type != field.type:
            # The values first: Arrow cannot decode a dictionary of views, which is what Polars gives.
            column = column.cast(pa.dictionary(kind.index_type, field.type))
        return _times(column, field.type) if pa.types.is_time(field.type) else column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"Column {field.name!r} of type {kind} cannot be stored as {field.type} without loss: {error}",
            column=field.name,
        ) from error


def _times(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast times of any unit, and texts of the form in which Spark shows times; lists of texts are refused."""
    if not pa.types.is_string(column.type):
        return column.cast(kind)
    return pc.binary_join_element_wise("1970-01-01 ", column, "").cast(pa.timestamp("us")).cast(kind)


def _refuse_later_days(column: pa.ChunkedArray, name: str, task: WriteTask) -> None:
    """Refuse times that are not within a day; Python and statistics would take them for times of day."""
    bounds = pc.min_max(column.cast(pa.int64())).as_py()
    if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < _MICROSECONDS_PER_DAY:
        raise SchemaError(
            f"Column {name!r} of {task.uuid!r} holds times from {bounds['min']} to {bounds['max']} microseconds after "
            "midnight, which are no times of day. Store spans of time as integers.",
            column=name,
        )


def _refuse_nulls(column: pa.ChunkedArray, name: str, task: WriteTask) -> None:
    nulls = column.null_count
    what = "null"
    if not nulls and pa.types.is_floating(column.type):
        nulls, what = pc.sum(pc.is_nan(column)).as_py() or 0, "NaN"
    if nulls:
        kind = "partition" if name in task.partition_on else "dimension"
        raise NullValueError(
            f"The {kind} column {name!r} of {task.uuid!r} has no value ({what}) in {nulls} of {len(column)} rows "
            "looked at. Fill these rows or leave them out; nothing was committed.",
            column=name,
        )


def cut_runs(rows: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Return the positions at which a run of rows with equal values in these columns starts."""
    changes = np.zeros(max(rows.num_rows - 1, 0), bool)
    for name in columns:
        values = rows.column(name)
        changes |= pc.not_equal(values.slice(1), values.slice(0, rows.num_rows - 1)).to_numpy()
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def _runs(rows: pa.Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Cut rows where one of the columns changes."""
    starts = cut_runs(rows, columns)
    for start, stop in zip(starts, np.append(starts[1:], rows.num_rows), strict=True):
        yield rows.slice(start, stop - start)


class _OpenFile:
    """A data file that is being written; invisible until it is closed."""

    def __init__(self, store: Store, task: WriteTask, directory: str, place: tuple[object, ...]) -> None:
        self.place = place
        self._task = task
        self._label = directory + file_name(task.write_id, store.world.new_id())
        self._key = data_key(task.uuid, task.table, self._label)
        self._stack = ExitStack()
        self._sink = self._stack.enter_context(store.create_file(self._key))
        self._writer: SealedWriter | None = None
        self._pieces: list[pa.Table] = []
        self._last: pa.Table | None = None
        self._rows = self._buffered = self._bytes = 0
        self._values = {
            name: IndexValues(store, task.staged, task.schema.field(name).type) for name in task.index_columns
        }

    def append(self, piece: pa.Table) -> None:
        """Add rows; complete row groups are written at once."""
        self._check_unique(piece)
        self._pieces.append(piece.select(self._task.stored.names))
        self._rows += piece.num_rows
        self._buffered += piece.num_rows
        self._bytes += piece.nbytes
        if self._buffered >= self._task.rows_per_row_group or self._bytes >= _BUFFERED_BYTES:
            self._flush(everything=self._bytes >= _BUFFERED_BYTES)

    def close(self) -> StagedPartition:
        """Write what is left and make the file visible."""
        try:
            self._flush(everything=True)
            size = self._opened(self._task.stored.empty_table()).close()
            found = {name: values.close() for name, values in self._values.items()}
            self._stack.close()
        except BaseException:
            self.abandon()
            raise
        bucket = self.place[-1] if len(self.place) > len(self._task.partition_on) else None
        return StagedPartition(
            label=self._label,
            files={self._task.table: self._key},
            rows=self._rows,
            bytes=size,
            schema={self._task.table: self._task.schema},
            index_values=found,
            bucket=bucket if isinstance(bucket, int) else None,
        )

    def abandon(self) -> None:
        """Leave nothing in the store."""
        with suppress(OSError, pa.ArrowException):
            self._opened(self._task.stored.empty_table()).close()
        self._stack.__exit__(InterruptedError, InterruptedError("the write was abandoned"), None)
        for values in self._values.values():
            values.abandon()

    def _check_unique(self, piece: pa.Table) -> None:
        """Refuse neighbours that agree in all unique columns; the rows are sorted by them."""
        names = list(self._task.unique)
        if not names:
            return
        cells = piece.select(names)
        if self._last is not None:
            cells = pa.concat_tables([self._last, cells])
        self._last = cells.slice(cells.num_rows - 1)
        same = np.ones(cells.num_rows - 1, bool)
        for column in cells.columns:
            same &= pc.equal(column.slice(1), column.slice(0, cells.num_rows - 1)).to_numpy()
        if same.any():
            raise_duplicates(self._task, cells.take(pa.array(np.flatnonzero(same)[:5])), int(same.sum()))

    def _opened(self, first: pa.Table) -> SealedWriter:
        """Return the writer; the first rows decide how columns are encoded."""
        if self._writer is None:
            options = writer_options(first, self._task.compression)
            self._writer = SealedWriter(self._sink, first.schema, file_stem(self._key), **options)
        return self._writer

    def _flush(self, *, everything: bool) -> None:
        if not self._pieces:
            return
        rows = pa.concat_tables(self._pieces)
        size = self._task.rows_per_row_group
        complete = rows.num_rows if everything else rows.num_rows - rows.num_rows % size
        ready, left = rows.slice(0, complete), rows.slice(complete)
        self._opened(ready).write_table(ready.combine_chunks(), row_group_size=size)
        for name, values in self._values.items():
            values.add(ready.column(name))
        self._pieces = [left] if left.num_rows else []
        self._buffered, self._bytes = left.num_rows, left.nbytes


def raise_duplicates(task: WriteTask, examples: pa.Table, count: int) -> None:
    """Raise the error for cells that one write holds more than once."""
    columns = tuple(dict.fromkeys((*task.apart, *task.unique)))
    shown = "; ".join(str(row) for row in examples.to_pylist())
    raise DuplicateCellsError(
        f"The data for {task.uuid!r} holds the same cell more than once: {count} row(s) repeat another in "
        f"{', '.join(columns)}, for example {shown}. Remove them; nothing was committed.",
        columns=columns,
        examples=examples.to_pylist(),
    )


def check_cells(store: Store, task: WriteTask, staged: Sequence[StagedPartition]) -> None:
    """Refuse cells that occur in more than one of these staged files.

    Raises
    ------
    DuplicateCellsError
        Some do.
    """
    # In dimensions that are partition columns too these files agree; the files do not hold them.
    names = [name for name in task.unique if name not in task.partition_on]
    if not names:
        count = sum(one.rows or 0 for one in staged)
        if count > 1:
            raise_duplicates(task, pa.table({"file": [one.label for one in staged[:5]]}), count - 1)
        return
    parts = []
    for one in staged:
        key = one.files[task.table]
        with open_parquet(store, key, one.bytes) as file:
            parts.append(read_rows(file, key, task.schema, names))
    cells = pa.concat_tables(parts)
    (codes,), size = key_codes([[cells.column(name) for name in names]])
    order = stable_order(codes, size)
    ordered = codes[order]
    again = order[1:][ordered[1:] == ordered[:-1]]
    if len(again):
        raise_duplicates(task, cells.take(pa.array(again[:5])), len(again))


def bucket_numbers(
    tables: Sequence[pa.Table], columns: Sequence[str], partition_on: Sequence[str], count: int
) -> list[pa.Array]:
    """Number the buckets of rows, below ``count``: equal values in ``columns`` have one in each partition.

    The distinct values of a partition are dealt out in turn, so that no bucket gets many more than another. Lists and
    structs do not count. Several tables get the same number for the same values.
    """
    rows = [table.num_rows for table in tables]
    flat = [name for name in columns if not pa.types.is_nested(tables[0].schema.field(name).type)]
    places, _ = _dense_codes(tables, partition_on)
    values, size = _dense_codes(tables, flat)
    pairs, of_row = np.unique(places * size + values, return_inverse=True)
    firsts = np.searchsorted(pairs // size, pairs // size)
    numbers = (np.arange(len(pairs)) - firsts) % count
    return [pa.array(part) for part in np.split(numbers[of_row], np.cumsum(rows)[:-1])]


def _dense_codes(tables: Sequence[pa.Table], columns: Sequence[str]) -> tuple[np.ndarray, int]:
    """Number the distinct rows of all tables without gaps, and count them; without columns all rows are alike."""
    if not columns:
        return np.zeros(sum(table.num_rows for table in tables), np.int64), 1
    codes, _ = key_codes([[table.column(name) for name in columns] for table in tables])
    distinct, dense = np.unique(np.concatenate(codes), return_inverse=True)
    return dense.astype(np.int64), max(len(distinct), 1)


def same_cells(staged: Iterable[StagedPartition], task: WriteTask) -> Mapping[tuple[str, ...], list[StagedPartition]]:
    """Group staged files that may hold the same cell: by the directories of the columns that keep cells apart."""
    groups: dict[tuple[str, ...], list[StagedPartition]] = {}
    places = [number for number, name in enumerate(task.partition_on) if name in task.apart]
    for one in staged:
        directories = one.label.split("/")
        groups.setdefault(tuple(directories[place] for place in places), []).append(one)
    return groups
