"""Reading a Parquet file: whole, by row groups and in batches, plain and as dictionaries."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.foreign import parquet

from kubothek.codec.conform import concat_rows, conform_column, constant_column
from kubothek.codec.data import dictionary_columns, read_rows, stream_rows
from kubothek.codec.possible_groups import possible_groups
from kubothek.codec.row_groups import GroupRun
from kubothek.model.condition import EVERYTHING, C, Condition
from kubothek.plan.bind import bind

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)

RECORD = pa.schema([("p", pa.string()), ("v1", pa.string()), ("x", pa.int64())])
ROWS = [{"p": "a", "v1": None if x % 7 == 0 else "abc"[x % 3], "x": x} for x in range(100)]
FILE = parquet(pa.Table.from_pylist(ROWS, RECORD).select(["x", "v1"]), row_group_size=10)
CONSTANTS = {"p": pa.scalar("a")}

WHERE: dict[str, tuple[Condition, Any]] = {
    "everything": (EVERYTHING, lambda row: True),
    "some": ((C("x") >= 35) & (C("v1") == "a"), lambda row: row["x"] >= 35 and row["v1"] == "a"),
    "null": (C("v1").is_null(), lambda row: row["v1"] is None),
    "a constant": ((C("p") == "a") & (C("x") < 3), lambda row: row["x"] < 3),
    "another constant": (C("p") == "b", lambda row: False),
    "nothing": (C("x") > 1000, lambda row: False),
    "nothing that statistics know": (C("v1") == "bb", lambda row: False),
}


def open_file(**options: Any) -> pq.ParquetFile:
    """Open the file of the rows."""
    return pq.ParquetFile(pa.BufferReader(FILE), **options)


@pytest.mark.parametrize("columns", [["x"], ["v1", "p", "x"], ["p"], []], ids=str)
@pytest.mark.parametrize("name", WHERE)
def test_every_way_gives_the_same_rows(name: str, columns: list[str]) -> None:
    """A file read at once, by runs of row groups or in batches has the rows that plain Python picks."""
    where, matches = WHERE[name]
    arguments = ("a", RECORD, columns, bind(where, RECORD, subject="u"), CONSTANTS)
    expected = [{name: row[name] for name in columns} for row in ROWS if matches(row)]
    runs = [(0, 1, 2), (3,), (4, 5, 6, 7, 8, 9)]
    for tables in (
        [read_rows(open_file(), *arguments)],
        [read_rows(open_file(), *arguments, run) for run in runs],
        [t for run in runs for t in stream_rows(open_file(), *arguments, GroupRun(run, 7))],
    ):
        schema = pa.schema([RECORD.field(name) for name in columns])
        assert all(table.schema == schema for table in tables)
        found = concat_rows(tables, schema)
        assert found.num_rows == len(expected)
        assert not columns or found.to_pylist() == expected


def test_no_column_is_decoded_for_row_groups_without_a_match() -> None:
    """The other columns of a row group are looked at only if a row of it matched."""
    start = pq.ParquetFile(pa.BufferReader(FILE)).metadata.row_group(5).column(1).data_page_offset
    broken = FILE[:start] + b"\xff" * 8 + FILE[start + 8 :]
    file = pq.ParquetFile(pa.BufferReader(broken))
    where = bind(C("x") != 55, RECORD, subject="u")
    assert read_rows(file, "a", RECORD, ["x"], where).num_rows == 99
    few = bind(C("x").isin([1, 99]), RECORD, subject="u")
    assert read_rows(file, "a", RECORD, ["v1"], few).num_rows == 2


NAIVE = datetime(2020, 1, 1)
# Type of record without its dictionary; values.
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["b", None, "a", "b"]),
    "bytes": (pa.binary(), [b"b", None, b""]),
    "int": (pa.int64(), [2, 2, None]),
    "uint": (pa.uint64(), [2**64 - 1, None]),
    "float": (pa.float64(), [0.5, None, 0.5]),
    "bool": (pa.bool_(), [True, None, False]),
    "date": (pa.date32(), [date(1, 1, 1), None]),
    "timestamp": (pa.timestamp("us"), [NAIVE, None, NAIVE]),
    "instant": (pa.timestamp("us", "UTC"), [NAIVE.replace(tzinfo=UTC), None]),
    "time": (pa.time64("us"), [time(1), None]),
    "decimal": (pa.decimal128(5, 2), [Decimal("1.50"), None]),
    "wide decimal": (pa.decimal256(50, 2), [Decimal("1.50"), None]),
    "null": (pa.null(), [None, None]),
    "only nulls": (pa.string(), [None, None]),
    "no rows": (pa.string(), []),
}
# How the values are stored.
STORED = {
    "plain": lambda column: column,
    "dictionary": lambda column: column.dictionary_encode(),
    "small dictionary": lambda column: column.dictionary_encode().cast(pa.dictionary(pa.int8(), column.type)),
}
UNWRITABLE = {("null", "dictionary"), ("null", "small dictionary")}


@pytest.mark.parametrize(
    ("name", "stored"), [(name, stored) for name in VALUES for stored in STORED if (name, stored) not in UNWRITABLE]
)
def test_dictionaries(name: str, stored: str) -> None:
    """A column that is wanted as a dictionary is one, however it is stored; conditions see its values."""
    kind, values = VALUES[name]
    record = pa.schema([("v1", pa.dictionary(pa.int32(), kind))])
    data = parquet(pa.table({"v1": STORED[stored](pa.array(values, kind))}), row_group_size=2)
    metadata = pq.read_metadata(pa.BufferReader(data))
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=dictionary_columns(metadata, record))
    found = concat_rows([read_rows(file, "a", record, ["v1"])], record)
    assert (found.schema, found["v1"].to_pylist()) == (record, values)
    present = read_rows(file, "a", record, ["v1"], bind(~C("v1").is_null(), record, subject="u"))
    assert present["v1"].to_pylist() == [value for value in values if value is not None]
    for value in present["v1"].to_pylist():
        equal = read_rows(file, "a", record, ["v1"], bind(C("v1") == value, record, subject="u"))
        assert equal["v1"].to_pylist() == [one for one in values if one == value]


@pytest.mark.parametrize("name", [name for name in VALUES if name != "no rows"])
def test_constant_columns(name: str) -> None:
    """A value that holds for a whole file is a column of its type, or a dictionary of it; so is null."""
    kind, values = VALUES[name]
    for value in (values[0], None):
        for wanted in (kind, pa.dictionary(pa.int32(), kind)):
            column = constant_column(pa.scalar(value, kind), wanted, 3)
            assert (column.type, column.to_pylist()) == (wanted, [value] * 3)


def test_dictionaries_of_files_are_put_together() -> None:
    """Tables with dictionaries of their own become one table with one dictionary."""
    record = pa.schema([("v1", pa.dictionary(pa.int32(), pa.string()))])
    columns = [pa.array(values).dictionary_encode() for values in (["a", "b"], ["c", None, "b"])]
    found = concat_rows([pa.table({"v1": column}, record) for column in columns], record)["v1"]
    assert found.to_pylist() == ["a", "b", "c", None, "b"]
    assert {str(chunk.dictionary.to_pylist()) for chunk in found.chunks} == {"['a', 'b', 'c']"}


def test_a_dictionary_whose_values_become_equal() -> None:
    """Stored values that are the same value of record are one entry of the dictionary."""
    moments = pa.array([1_000, 1_999, 2_000], pa.timestamp("ns")).dictionary_encode()
    found = conform_column(pa.chunked_array([moments]), pa.dictionary(pa.int32(), pa.timestamp("us"))).chunk(0)
    assert found.dictionary.cast(pa.int64()).to_pylist() == [1, 2]
    assert found.indices.to_pylist() == [0, 0, 1]


def test_statistics_of_large_unsigned_integers() -> None:
    """Numbers beyond those of signed integers rule row groups out as others do."""
    rows = pa.table({"x": pa.array([5, 2**63, 2**64 - 1, None], pa.uint64())})
    footer = pq.read_metadata(pa.BufferReader(parquet(rows, row_group_size=1)))
    condition = bind(C("x") >= 2**64 - 1, rows.schema, subject="u")
    assert list(possible_groups(footer, condition, {})) == [2]


@given(
    st.lists(st.none() | st.sampled_from(["", "a", "b", "ä" * 300]), max_size=40),
    st.integers(1, 15),
    st.sampled_from([1, 64, 2**20]),
    st.sampled_from(["everything", "null", "some", "nothing that statistics know"]),
)
def test_text_is_plain_however_it_is_decoded(values: list[str | None], group: int, room: int, name: str) -> None:
    """Text comes plain whether all pages are encoded, some, or none, and conditions see the same values."""
    where, matches = WHERE[name]
    table = pa.table({"x": pa.array(range(30, 30 + len(values)), pa.int64()), "v1": pa.array(values, pa.string())})
    data = parquet(table, row_group_size=group, dictionary_pagesize_limit=room)
    names = dictionary_columns(pq.read_metadata(pa.BufferReader(data)), RECORD)
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=names)
    found = read_rows(file, "a", RECORD, ["v1", "x"], bind(where, RECORD, subject="u"), CONSTANTS)
    expected = [row for row in table.select(["v1", "x"]).to_pylist() if matches(row)]
    assert (found.schema, found.to_pylist()) == (pa.schema([RECORD.field("v1"), RECORD.field("x")]), expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [(["a", "b"] * 9, ["v1"]), ([f"{n:0200}" for n in range(9_000)], [])],
    ids=["few values", "more than a dictionary holds"],
)
def test_text_is_decoded_by_dictionary_where_all_of_it_is_stored_so(values: list[str], expected: list[str]) -> None:
    """A text column without room for a dictionary has plain pages, which are decoded as they are."""
    data = parquet(pa.table({"x": range(len(values)), "v1": values}), compression="none")
    assert dictionary_columns(pq.read_metadata(pa.BufferReader(data)), RECORD) == expected
