"""Rows of a dataset as pandas frames: as Kartothek gives them, partition by partition or as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import types

import kubothek as kb
from kubothek.codec.conform import concat_rows
from kubothek.errors import InvalidInputError


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What to read of a dataset.

    ``columns`` and ``categoricals`` are by table, or for all tables alike. ``dispatch_by`` are columns with one frame
    per combination of values, ``None`` for one frame per file. ``label_filter`` tells by the label which files count.
    """

    columns: Any = None
    categoricals: Any = None
    predicates: Any = None
    dates_as_object: bool = False
    dispatch_by: Any = None
    label_filter: Callable[[str], bool] | None = None

    def scan(self, dataset: kb.Dataset, table: str) -> kb.Scan:
        """Plan the read of one table."""
        return dataset.scan(
            _of_table(self.columns, table),
            self.predicates,
            table,
            categoricals=_of_table(self.categoricals, table) or (),
        )


def wanted(
    dataset: kb.Dataset, *, dispatch_by: Any = None, concat_partitions_on_primary_index: bool = False, **rest: Any
) -> Wanted:
    """Return what is to be read, with the columns that divide it.

    Raises
    ------
    InvalidInputError
        Labels are filtered where frames have none.
    """
    by = list(dataset.partition_keys) if concat_partitions_on_primary_index and dispatch_by is None else dispatch_by
    if by is not None and rest.get("label_filter") is not None:
        raise InvalidInputError(
            "label_filter needs one frame per file: leave dispatch_by out, or say it by predicates."
        )
    return Wanted(dispatch_by=by, **rest)


def read_whole(dataset: kb.Dataset, table: str, asked: Wanted) -> Any:
    """Return one table as a pandas frame."""
    scan = asked.scan(dataset, table)
    if asked.label_filter is None:
        return to_pandas(scan.to_arrow(), asked.dates_as_object)
    parts = (rows for label, rows in scan.groups() if asked.label_filter(label))
    return to_pandas(concat_rows(parts, scan.schema), asked.dates_as_object)


def read_parts(dataset: kb.Dataset, tables: Sequence[str] | None, asked: Wanted) -> Iterator[dict[str, Any]]:
    """Yield one dictionary of pandas frames by table for each file, or for each combination of values.

    Of a dataset with one table, files are read one after the other; of several tables all rows are in memory.
    """
    names = [tables] if isinstance(tables, str) else list(tables or dataset.tables)
    scans = {table: asked.scan(dataset, table) for table in names}
    if len(names) == 1:
        for key, rows in scans[names[0]].groups(asked.dispatch_by):
            if asked.label_filter is None or asked.label_filter(key):
                yield {names[0]: to_pandas(rows, asked.dates_as_object)}
        return
    found = {table: dict(scan.groups(asked.dispatch_by)) for table, scan in scans.items()}
    for key in dict.fromkeys(key for groups in found.values() for key in groups):
        if asked.label_filter is None or asked.label_filter(key):
            parts = {table: groups.get(key, scans[table].schema.empty_table()) for table, groups in found.items()}
            yield {table: to_pandas(rows, asked.dates_as_object) for table, rows in parts.items()}


def to_pandas(rows: pa.Table, dates_as_object: bool = False) -> Any:
    """Return rows as Kartothek has them in pandas: times in nanoseconds, dates as times unless objects are wanted.

    Raises
    ------
    InvalidInputError
        A date or time is not within the years 1677 to 2262, which is all that nanoseconds can count.

    Examples
    --------
    >>> from datetime import date
    >>> to_pandas(pa.table({"until": [date(2020, 1, 31)]}))["until"].tolist()
    [Timestamp('2020-01-31 00:00:00')]
    """
    _check_times(rows, dates_as_object)
    return rows.to_pandas(date_as_object=dates_as_object, coerce_temporal_nanoseconds=True)


def _check_times(rows: pa.Table, dates_as_object: bool) -> None:
    """Refuse dates and durations, which Arrow would multiply unchecked, and times, whose column it would not name."""
    wrong = [name for name in dict.fromkeys(rows.column_names) if not _fits(rows[name])]
    dates = [name for name in wrong if types.is_date(_value_type(rows[name]))]
    times = [name for name in wrong if name not in dates]
    problems = []
    if dates and not dates_as_object:
        problems.append(
            f"Dates of {', '.join(map(repr, dates))} are out of range: pass dates_as_object=True, which keeps them as "
            "they are (date_as_object=True for indices)."
        )
    if times:
        problems.append(
            f"Times of {', '.join(map(repr, times))} are out of range: select the other columns, or rows within range."
        )
    if problems:
        raise InvalidInputError(
            "As in Kartothek, pandas frames count nanoseconds here, which reach from 1677 to 2262. "
            f"{' '.join(problems)} Natively, to_pandas() of Dataset.scan and kubothek.query_cube keeps all of them.",
            columns=(*(() if dates_as_object else dates), *times),
        )


def _value_type(column: pa.ChunkedArray) -> pa.DataType:
    return column.type.value_type if types.is_dictionary(column.type) else column.type


def _fits(column: pa.ChunkedArray) -> bool:
    """Tell whether the values of a column fit into nanoseconds; what lies within lists and structs is not converted."""
    of = _value_type(column)
    if not (types.is_date(of) or types.is_timestamp(of) or types.is_duration(of)):
        return True
    parts = [chunk.dictionary for chunk in column.chunks] if types.is_dictionary(column.type) else [column]
    wanted = pa.duration("ns") if types.is_duration(of) else pa.timestamp("ns", getattr(of, "tz", None))
    try:
        for part in parts:
            part.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def _of_table(given: Any, table: str) -> Any:
    """Return what is said of one table, where it is said by table."""
    return given.get(table) if isinstance(given, Mapping) else given
