"""CSV files as pandas writes them come back with the types of record."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from kubothek.codec.csv import stream_csv
from kubothek.errors import CorruptDatasetError
from kubothek.model.condition import EVERYTHING, C, Condition
from kubothek.plan.bind import bind

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)


def read(
    data: bytes | str, kinds: dict[str, pa.DataType], where: Condition = EVERYTHING, **options: Any
) -> dict[str, list[Any]]:
    """Read all columns of a file, or those named, as plain values."""
    record, data = pa.schema(kinds), data.encode() if isinstance(data, str) else data
    columns, key = options.pop("columns", record.names), options.pop("key", "u/table/a.csv")
    condition = bind(where, record, subject="u")
    tables = list(stream_csv(lambda: pa.BufferReader(data), key, record, columns, condition, **options))
    return {name: [v for table in tables for v in table[name].to_pylist()] for name in columns}


def written(values: list[Any], **options: Any) -> bytes:
    """Return what pandas writes for a column ``v1`` beside a column ``x``."""
    frame = pd.DataFrame({"x": range(len(values)), "v1": pd.Series(values, **options)})
    text: str = frame.to_csv(sep=";", index=False)
    return text.encode()


# Type of record, values as they come back; how pandas holds them.
PANDAS: dict[str, tuple[pa.DataType, list[Any], dict[str, Any]]] = {
    "int": (pa.int64(), [-(2**63), 0, 2**63 - 1], {}),
    "int with null": (pa.int64(), [1, None], {"dtype": "Int64"}),
    "uint": (pa.uint64(), [0, 2**63, 2**64 - 1], {"dtype": "uint64"}),
    "float": (pa.float64(), [0.1, -1e-300, math.inf, -math.inf, None], {}),
    "whole float": (pa.float64(), [1.0, 2.0], {}),
    "bool": (pa.bool_(), [True, False], {}),
    "bool with null": (pa.bool_(), [True, None, False], {"dtype": object}),
    "text": (pa.string(), ["a;b", 'say "a"', "two\nlines", "\r\n", "ü東🙂", "NA", "null", " ", "1"], {}),
    "null": (pa.null(), [None, None], {"dtype": object}),
    "date": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None], {"dtype": object}),
    "midnight": (pa.timestamp("us"), [datetime(2020, 1, 1), None], {}),
    "timestamp": (pa.timestamp("us"), [datetime(2020, 1, 1), datetime(1700, 2, 3, 4, 5, 6, 789000)], {}),
    "far timestamp": (pa.timestamp("us"), [datetime(1, 1, 1, 1), datetime(9999, 1, 1, 0, 0, 0, 1)], {"dtype": object}),
    "instant": (pa.timestamp("us", "UTC"), [datetime(2020, 1, 1, 0, 0, 0, 5, tzinfo=UTC), None], {}),
    "time": (pa.time64("us"), [time(0), time(23, 59, 59, 999999), None], {"dtype": object}),
    "decimal": (pa.decimal128(38, 2), [Decimal("-1.50"), Decimal("9" * 36), None], {"dtype": object}),
    "wide decimal": (pa.decimal256(50, 2), [Decimal("1" * 48), None], {"dtype": object}),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["b", None, "a"], {"dtype": "category"}),
}


@pytest.mark.parametrize("name", PANDAS)
def test_what_pandas_writes(name: str) -> None:
    """Values and nulls come back as they were, with the type of record."""
    kind, values, options = PANDAS[name]
    assert read(written(values, **options), {"v1": kind})["v1"] == values


def test_zones_are_told_by_the_text() -> None:
    """A moment in another zone is the same moment."""
    data = written([pd.Timestamp("2020-07-01 12:00", tz="Europe/Berlin")])
    assert read(data, {"v1": pa.timestamp("us", "UTC")}) == {"v1": [datetime(2020, 7, 1, 10, tzinfo=UTC)]}


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_are_cut_off(zone: str | None) -> None:
    """What is finer than microseconds is lost, in whatever row it is."""
    data = written([pd.Timestamp(-1, tz=zone), pd.Timestamp("2020-01-01", tz=zone)])
    before, after = read(data, {"v1": pa.timestamp("us", zone)})["v1"]
    assert before.replace(tzinfo=None) == datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert after.replace(tzinfo=None) == datetime(2020, 1, 1)


def test_nan_is_a_text_of_its_own() -> None:
    """Pandas writes NaN as null; where the text says NaN, it is NaN."""
    null, nan = read("v1\n;\nnan\n".replace(";", '""'), {"v1": pa.float64()})["v1"]
    assert null is None
    assert math.isnan(nan)


def test_empty_text_is_null() -> None:
    """Empty fields are null, quoted or not, since pandas writes null and the empty text alike."""
    assert read('x;v1\n1;\n2;""\n', {"x": pa.int64(), "v1": pa.string()}) == {"x": [1, 2], "v1": [None, None]}
    assert read(pd.DataFrame({"v1": ["", None]}).to_csv(index=False), {"v1": pa.string()}) == {"v1": [None, None]}


@pytest.mark.parametrize("data", ["v1;x\n", "v1;x\r\n", "\ufeffv1;x\n"], ids=["unix", "windows", "marked"])
def test_only_a_header(data: str) -> None:
    """A file without rows gives none, with the columns it promises."""
    assert read(data, {"x": pa.int64(), "v1": pa.string()}) == {"x": [], "v1": []}


def test_other_columns_do_not_matter() -> None:
    """A column of the pandas index, columns without a place in the schema, and any order of columns are accepted."""
    text = pd.DataFrame({"b": ["x", "y"], "extra": [b"?", None], "a": [1, 2]}).to_csv(sep=";")
    assert read(text, {"a": pa.int64(), "b": pa.string()}) == {"a": [1, 2], "b": ["x", "y"]}


def test_compressed() -> None:
    """A file ending in .gz is unpacked, in however many pieces it was packed."""
    data = gzip.compress(b"x;v1\n1;a\n") + gzip.compress(b"2;b\n")
    assert read(data, {"x": pa.int64()}, key="u/table/a.csv.gz") == {"x": [1, 2]}


def test_conditions_are_asked_of_rows() -> None:
    """A condition is evaluated on the values of record, also on columns that are not wanted and on constants."""
    kinds = {"x": pa.int64(), "v1": pa.float64(), "p": pa.string()}
    where = (C("x") > 1) & (C("v1") != 0.5) & (C("p") == "a")
    data = "x;v1\n1;1.5\n2;0.5\n3;\n"
    found = read(data, kinds, where, columns=["p", "v1"], constants={"p": pa.scalar("a")})
    assert found == {"p": ["a"], "v1": [None]}
    assert read(data, kinds, where, columns=["v1"], constants={"p": pa.scalar("b")}) == {"v1": []}


def test_rows_are_counted_without_columns() -> None:
    """Where only constants are wanted, or nothing, rows are counted."""
    arguments = lambda: pa.BufferReader(b"x;v1\n1;2\n3;4\n"), "u/table/a.csv", pa.schema({"p": pa.int64()})
    [table] = stream_csv(*arguments, ["p"], constants={"p": pa.scalar(7)})
    assert table.to_pydict() == {"p": [7, 7]}
    [table] = stream_csv(*arguments, [], constants={"p": pa.scalar(7)})
    assert (table.num_rows, table.num_columns) == (2, 0)


UNREADABLE: dict[str, tuple[bytes, pa.DataType, str]] = {
    "nothing": (b"", pa.int64(), "no line with the names"),
    "a missing column": (b"x;y\n1;2\n", pa.int64(), "lacks the column.* v1.* it has x, y"),
    "two of a name": (b"v1;v1\n1;2\n", pa.int64(), "several columns named v1"),
    "another type": (b"x;v1\n1;a\n", pa.int64(), "'a'"),
    "a float in a column of integers": (b"x;v1\n1;1.0\n", pa.int64(), "'1.0'"),
    "an unreadable time": (b"x;v1\n1;yesterday\n", pa.timestamp("us"), "yesterday"),
    "values in a column of nulls": (b"x;v1\n1;a\n", pa.null(), "'a'"),
    "too few fields": (b"x;v1\n1\n", pa.int64(), "Expected 2 columns"),
    "no text": (b"x;v1\n1;\xff\n", pa.string(), "utf-8"),
    "names that are no text": (b"x;\xff\n", pa.string(), "utf-8"),
    "another separator": (b"x,v1\n1,2\n", pa.int64(), "lacks the column"),
    "bytes": (b"x;v1\n1;b'a'\n", pa.binary(), "cannot hold 'v1' of type binary"),
    "a list": (b"x;v1\n1;[1]\n", pa.list_(pa.int64()), "cannot hold 'v1' of type list"),
    "a struct": (b"x;v1\n1;{}\n", pa.struct([("a", pa.int64())]), "cannot hold 'v1' of type struct"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read(name: str) -> None:
    """The error names the file and says what is wrong."""
    data, kind, message = UNREADABLE[name]
    with pytest.raises(CorruptDatasetError, match=f"(?s)'u/table/a.csv'.*{message}") as caught:
        read(data, {"v1": kind})
    assert caught.value.key == "u/table/a.csv"


@pytest.mark.parametrize("data", [gzip.compress(b"x;v1\n1;2\n")[:-4], b"x;v1\n1;2\n"], ids=["cut off", "not packed"])
def test_broken_compression(data: bytes) -> None:
    """A file that cannot be unpacked is corrupt."""
    with pytest.raises(CorruptDatasetError, match=r"'a\.csv\.gz'"):
        read(data, {"v1": pa.int64()}, key="a.csv.gz")


def test_columns_without_a_text_can_be_left_out() -> None:
    """Other columns of a file with lists are read."""
    assert read("x;v1\n1;[1]\n", {"x": pa.int64(), "v1": pa.list_(pa.int64())}, columns=["x"]) == {"x": [1]}


def test_large_files_come_in_pieces() -> None:
    """Many blocks are read one after the other, in the order of the file."""
    data = "x;v1\n" + "".join(f"{n};{'a' * 90}\n" for n in range(100_000))
    tables = list(stream_csv(lambda: pa.BufferReader(data.encode()), "a.csv", pa.schema({"x": pa.int64()}), ["x"]))
    assert len(tables) > 1
    assert pa.concat_tables(tables)["x"].to_pylist() == list(range(100_000))
