"""Every type of every library as data, index and partition column, and what is refused before anything is written."""

from __future__ import annotations

import math
import uuid as uuids
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import InvalidInputError, PredicateTypeError, SchemaError
from kubothek.model.condition import Comparison
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.conditions import matches
from kubothek.testing.datasets import same_rows
from kubothek.testing.kinds import FLAT

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)

EAST = timezone(timedelta(hours=5, minutes=30))
NOON = datetime(2020, 7, 1, 12)

# Three values in order, by the type of record.
ORDERED: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [False, True, True],
    pa.int64(): [-1, 0, 100],
    pa.uint64(): [0, 1, 100],
    pa.float64(): [-1.5, 0.0, 2.0],
    pa.string(): ["", "A/b %=+", "ü 🙂"],
    pa.binary(): [b"ab", b"b=", "é".encode()],
    pa.date32(): [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)],
    pa.time64("us"): [time(0), time(12, 30), time(23, 59, 59)],
    pa.timestamp("us"): [datetime(1700, 1, 1), datetime(1970, 1, 1), NOON],
    pa.timestamp("us", "UTC"): [
        datetime(1700, 1, 1, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        NOON.replace(tzinfo=UTC),
    ],
}


def ordered(name: str) -> list[Any]:
    """Return three values of a type, in order."""
    record = FLAT[name].record
    if pa.types.is_decimal(record):
        return [Decimal(f"{number}E-{record.scale}") for number in (-1, 0, 99)]
    return ORDERED[record]


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def written(data: Any, **layout: Any) -> kb.Dataset:
    """Write a dataset to an empty store."""
    return kb.write_dataset(data, "u", new_store(), **layout)


def refused(data: Any, error: type[Exception], told: str, **layout: Any) -> InvalidInputError:
    """Check that a write is refused and leaves nothing, and return the error."""
    store = new_store()
    with pytest.raises(error, match=told) as caught:
        kb.write_dataset(data, "u", store, **layout)
    assert list(store.list()) == []
    assert isinstance(caught.value, InvalidInputError)
    return caught.value


@pytest.mark.parametrize("name", FLAT)
def test_flat_types_as_data(name: str) -> None:
    """Values and nulls come back with the type of record, whatever encoded them."""
    values = [*ordered(name), None]
    found = written(pa.table({"x": range(4), "v1": FLAT[name].array(values)})).scan().to_arrow()
    assert found.schema.field("v1").type == FLAT[name].record
    assert found["v1"].to_pylist() == values


@pytest.mark.parametrize("name", FLAT)
def test_flat_types_as_index(name: str) -> None:
    """An index finds the rows and drops the files without any; it drops none for what it cannot prove."""
    values = [*ordered(name), None]
    frames = [pa.table({"x": [n], "i1": FLAT[name].array([value])}) for n, value in enumerate(values)]
    ds = written(frames, secondary_indices="i1")
    first, second, last, _ = values
    asked = [
        (C("i1") == second, {n for n in range(3) if values[n] == second}),
        (C("i1").isin([first, last]), {n for n in range(3) if values[n] in (first, last)}),
        (C("i1") < last, {n for n in range(3) if values[n] < last}),
        (C("i1") >= second, {n for n in range(3) if values[n] >= second}),
    ]
    for where, expected in asked:
        scan = ds.scan("x", where=where)
        assert (set(scan.to_arrow()["x"].to_pylist()), scan.explain().files) == (expected, len(expected))
    assert ds.scan("x", where=C("i1").is_null()).to_arrow()["x"].to_pylist() == [3]
    assert ds.load_index("i1").table["i1"].type == FLAT[name].record


@pytest.mark.parametrize("name", [name for name, kind in FLAT.items() if kind.partition is not None])
def test_flat_types_as_partition(name: str) -> None:
    """A partition value comes back with the type of record, and a condition on it reads its files only."""
    values = ordered(name)
    table = pa.table({"p": FLAT[name].array(values), "v1": range(3)})
    ds = kb.open_dataset("u", written(table, partition_on="p").store)
    assert ds.schema.field("p").type == FLAT[name].record
    assert same_rows(ds.scan().to_arrow(), [{"p": value, "v1": n} for n, value in enumerate(values)])
    for where, files in [(C("p") == values[0], 1), (C("p") < values[2], len({v for v in values if v < values[2]}))]:
        assert ds.scan(where=where).explain().files == files


@pytest.mark.parametrize(
    "name", [*(name for name, kind in FLAT.items() if kind.partition is None), "null", "list", "struct"]
)
def test_types_without_a_text_are_no_partition_columns(name: str) -> None:
    """The error names the column and what to partition by; nothing is written."""
    nested = {"null": pa.nulls(1), "list": pa.array([[1]]), "struct": pa.array([{"a": 1}])}
    values = nested[name] if name in nested else FLAT[name].array(ordered(name)[:1])
    table = pa.table({"p": values, "v1": [1]})
    error = refused(table, SchemaError, r"'p'.*(partition by a column of|drop the zone)", partition_on="p")
    assert error.columns == ("p",)


PARTITION_VALUES = {
    "bytes that are no text": (pa.array([b"a", b"\xff"]), "UTF-8"),
    "a null": (pa.array(["a", None]), "null"),
    "NaN": (pa.array([1.0, math.nan]), "NaN"),
    "a day after the year 9999": (pa.array([0, 5_000_000], pa.int32()).cast(pa.date32()), "9999"),
    "a day before the year 1": (pa.array([0, -5_000_000], pa.int32()).cast(pa.date32()), "9999"),
    "a moment after the year 9999": (pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("us")), "9999"),
}


@pytest.mark.parametrize("name", PARTITION_VALUES)
def test_values_without_a_text_are_no_partition_values(name: str) -> None:
    """The error names the column and the reason, and files that were staged before are gone."""
    values, told = PARTITION_VALUES[name]
    error = refused(pa.table({"p": values, "v1": [1, 2]}), InvalidInputError, f"(?s)'p'.*{told}", partition_on="p")
    assert error.column == "p"


def frame(*values: Any) -> pd.DataFrame:
    """Return a pandas column of Python objects."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return pd.DataFrame({"v1": column})


def pandas_array(values: list[Any], dtype: Any) -> pd.DataFrame:
    """Return a pandas column of an extension type."""
    return pd.DataFrame({"v1": pd.array(values, dtype=dtype)})


def series(values: list[Any], dtype: Any) -> pl.DataFrame:
    """Return a Polars column."""
    return pl.DataFrame({"v1": pl.Series(values, dtype=dtype)})


# What makes the frame, the type of record, the values.
Source = tuple[Callable[[], Any], pa.DataType, list[Any]]
PANDAS: dict[str, Source] = {
    "Int64": (lambda: pandas_array([1, None], "Int64"), pa.int64(), [1, None]),
    "UInt8": (lambda: pandas_array([255, None], "UInt8"), pa.uint64(), [255, None]),
    "Float32": (lambda: pandas_array([0.5, None], "Float32"), pa.float64(), [0.5, None]),
    "boolean": (lambda: pandas_array([True, None], "boolean"), pa.bool_(), [True, None]),
    "string": (lambda: pandas_array(["ü", None], "string"), pa.string(), ["ü", None]),
    "string[pyarrow]": (lambda: pandas_array(["ü", None], "string[pyarrow]"), pa.string(), ["ü", None]),
    "ArrowDtype": (lambda: pandas_array([1, None], pd.ArrowDtype(pa.int8())), pa.int64(), [1, None]),
    "float with NaN": (lambda: pd.DataFrame({"v1": [1.5, math.nan]}), pa.float64(), [1.5, None]),
    "Categorical": (lambda: pd.DataFrame({"v1": pd.Categorical(["b", None, "a"])}), pa.string(), ["b", None, "a"]),
    "Categorical of days": (
        lambda: pd.DataFrame({"v1": pd.Categorical([date(2020, 1, 1)])}),
        pa.date32(),
        [date(2020, 1, 1)],
    ),
    "objects with None": (lambda: frame("a", None, math.nan), pa.string(), ["a", None, None]),
    "datetime64[ns]": (lambda: pd.DataFrame({"v1": pd.to_datetime([NOON, None])}), pa.timestamp("us"), [NOON, None]),
    "datetime64[s]": (
        lambda: pd.DataFrame({"v1": np.array(["0001-01-01T00:00:00"], "datetime64[s]")}),
        pa.timestamp("us"),
        [datetime(1, 1, 1)],
    ),
    "zone-aware": (
        lambda: pd.DataFrame({"v1": pd.to_datetime([NOON]).tz_localize("Asia/Kolkata")}),
        pa.timestamp("us", "UTC"),
        [NOON.replace(tzinfo=EAST)],
    ),
    "objects of several zones": (
        lambda: frame(NOON.replace(tzinfo=EAST), NOON.replace(tzinfo=UTC)),
        pa.timestamp("us", "UTC"),
        [NOON.replace(tzinfo=EAST), NOON.replace(tzinfo=UTC)],
    ),
    "days": (lambda: frame(date(2020, 1, 31), None, pd.NaT), pa.date32(), [date(2020, 1, 31), None, None]),
    "times": (lambda: frame(time(1, 2, 3, 4), None), pa.time64("us"), [time(1, 2, 3, 4), None]),
    "Decimals": (
        lambda: frame(Decimal("1.10"), Decimal("22.1"), None),
        pa.decimal128(4, 2),
        [Decimal("1.10"), Decimal("22.10"), None],
    ),
    "bytes": (lambda: frame(b"\xff", None), pa.binary(), [b"\xff", None]),
    "lists": (lambda: frame([1, None], None, []), pa.list_(pa.int64()), [[1, None], None, []]),
    "arrays": (lambda: frame(np.array([0.5]), None), pa.list_(pa.float64()), [[0.5], None]),
    "dictionaries": (lambda: frame({"a": 1}, None), pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
    "None": (lambda: frame(None, None), pa.null(), [None, None]),
}
POLARS: dict[str, Source] = {
    "Int8": (lambda: series([-128, None], pl.Int8), pa.int64(), [-128, None]),
    "UInt64": (lambda: series([2**64 - 1, None], pl.UInt64), pa.uint64(), [2**64 - 1, None]),
    "Float32": (lambda: series([0.5, math.inf, None], pl.Float32), pa.float64(), [0.5, math.inf, None]),
    "Boolean": (lambda: series([True, None], pl.Boolean), pa.bool_(), [True, None]),
    "String": (
        lambda: series(["a string of some length", ""], pl.String),
        pa.string(),
        ["a string of some length", ""],
    ),
    "Categorical": (lambda: series(["a", None], pl.Categorical), pa.string(), ["a", None]),
    "Enum": (lambda: series(["a", None], pl.Enum(["z", "a"])), pa.string(), ["a", None]),
    "Binary": (lambda: series([b"\xff", None], pl.Binary), pa.binary(), [b"\xff", None]),
    "Date": (lambda: series([date(1, 1, 1)], pl.Date), pa.date32(), [date(1, 1, 1)]),
    "Time": (lambda: series([time(1, 2, 3, 4)], pl.Time), pa.time64("us"), [time(1, 2, 3, 4)]),
    "Datetime(ns)": (lambda: series([NOON], pl.Datetime("ns")), pa.timestamp("us"), [NOON]),
    "Datetime(ms, zone)": (
        lambda: series([NOON.replace(tzinfo=UTC)], pl.Datetime("ms", "UTC")).select(
            pl.col("v1").dt.convert_time_zone("Asia/Tokyo")
        ),
        pa.timestamp("us", "UTC"),
        [NOON.replace(tzinfo=UTC)],
    ),
    "Decimal": (lambda: series([Decimal("1.10")], pl.Decimal(10, 2)), pa.decimal128(10, 2), [Decimal("1.10")]),
    "List": (lambda: series([["a", None], None], pl.List(pl.String)), pa.list_(pa.string()), [["a", None], None]),
    "Array": (lambda: series([[1, 2]], pl.Array(pl.Int8, 2)), pa.list_(pa.int64()), [[1, 2]]),
    "Struct": (lambda: series([{"a": 1}], pl.Struct({"a": pl.Int8})), pa.struct([("a", pa.int64())]), [{"a": 1}]),
    "Null": (lambda: series([None], pl.Null), pa.null(), [None]),
}
SQL: dict[str, tuple[str, pa.DataType, Any]] = {
    "TINYINT": ("(-128)::TINYINT", pa.int64(), -128),
    "UBIGINT": ("18446744073709551615::UBIGINT", pa.uint64(), 2**64 - 1),
    "HUGEINT": ("1::HUGEINT", pa.decimal128(38, 0), Decimal(1)),
    "FLOAT": ("0.5::FLOAT", pa.float64(), 0.5),
    "DECIMAL": ("1.10::DECIMAL(38, 18)", pa.decimal128(38, 18), Decimal("1.10")),
    "BOOLEAN": ("true", pa.bool_(), True),
    "VARCHAR": ("'ü'", pa.string(), "ü"),
    "BLOB": ("'a'::BLOB", pa.binary(), b"a"),
    "ENUM": ("'a'::ENUM('z', 'a')", pa.string(), "a"),
    "UUID": ("'8cfd0bc7-2673-4003-ad62-7cb0005ebd77'::UUID", pa.string(), "8cfd0bc7-2673-4003-ad62-7cb0005ebd77"),
    "DATE": ("DATE '0001-01-01'", pa.date32(), date(1, 1, 1)),
    "TIME": ("TIME '01:02:03.000004'", pa.time64("us"), time(1, 2, 3, 4)),
    "TIMESTAMP": ("TIMESTAMP '2020-07-01 12:00:00'", pa.timestamp("us"), NOON),
    "TIMESTAMP_NS": ("TIMESTAMP_NS '2020-07-01 12:00:00'", pa.timestamp("us"), NOON),
    "TIMESTAMPTZ": (
        "TIMESTAMPTZ '2020-07-01 12:00:00+05:30'",
        pa.timestamp("us", "UTC"),
        NOON.replace(tzinfo=EAST),
    ),
    "LIST": ("[1, NULL]", pa.list_(pa.int64()), [1, None]),
    "STRUCT": ("{'a': ['x']}", pa.struct([("a", pa.list_(pa.string()))]), {"a": ["x"]}),
    "NULL": ("NULL", pa.null(), None),
}
SOURCES: dict[str, Source] = {
    **{f"pandas {name}": source for name, source in PANDAS.items()},
    **{f"Polars {name}": source for name, source in POLARS.items()},
    **{
        f"DuckDB {name}": (lambda sql=sql: duckdb.sql(f"SELECT {sql} AS v1"), record, [value])  # type: ignore[misc]
        for name, (sql, record, value) in SQL.items()
    },
}


@pytest.mark.parametrize("name", SOURCES)
def test_types_of_other_libraries(name: str) -> None:
    """What another library calls it, it is kept under the type of record and comes back equal."""
    make, record, values = SOURCES[name]
    found = written(make()).scan().to_arrow()
    assert found.schema == pa.schema([("v1", record)])
    assert found["v1"].to_pylist() == values


def spans(*micros: int) -> pa.Array:
    """Return times that are no times of day."""
    return pa.array(micros, pa.int64()).view(pa.time64("us"))


# What makes the frame, and what the message says of column `v1`.
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "nanoseconds": (lambda: pa.table({"v1": pa.array([1], pa.timestamp("ns"))}), "without loss"),
    "nanoseconds of a time": (lambda: pa.table({"v1": pa.array([1], pa.time64("ns"))}), "without loss"),
    "nanoseconds in a list": (lambda: pa.table({"v1": pa.array([[1]], pa.list_(pa.timestamp("ns")))}), "without loss"),
    "nanoseconds in pandas": (lambda: pd.DataFrame({"v1": pd.to_datetime([1])}), "without loss"),
    "nanoseconds in objects": (lambda: frame(pd.Timestamp(1), None), "without loss"),
    "seconds beyond microseconds": (lambda: pa.table({"v1": pa.array([2**62], pa.timestamp("s"))}), "without loss"),
    "a time after midnight": (lambda: pa.table({"v1": spans(0, 86_400_000_000)}), "no times of day"),
    "a time before midnight": (lambda: pa.table({"v1": spans(-1)}), "no times of day"),
    "a duration": (lambda: pd.DataFrame({"v1": pd.to_timedelta(["1s"])}), "integer with the unit"),
    "a duration in Polars": (lambda: series([timedelta(1)], pl.Duration), "integer with the unit"),
    "a period": (lambda: pd.DataFrame({"v1": pd.period_range("2020", periods=1)}), "storage type"),
    "an interval": (lambda: pd.DataFrame({"v1": pd.interval_range(0, 1)}), "storage type"),
    "a complex number": (lambda: pd.DataFrame({"v1": [1 + 2j]}), "complex|Unsupported"),
    "an extension type": (lambda: pa.table({"v1": pa.array([b"0" * 16], pa.uuid())}), "storage type"),
    "a map": (lambda: duckdb.sql("SELECT MAP {'a': 1} AS v1"), "list of structs"),
    "a union": (lambda: duckdb.sql("SELECT union_value(a := 1) AS v1"), "column per alternative"),
    "an interval in DuckDB": (lambda: duckdb.sql("SELECT INTERVAL 1 DAY AS v1"), "integer with the unit"),
    "objects in Polars": (lambda: series([object()], pl.Object), "type that holds"),
    "a struct that names a field twice": (
        lambda: pa.table({"v1": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])}),
        "more than once",
    ),
    "numbers and texts": (lambda: frame(1, "a"), "'a'"),
    "truth values and numbers": (lambda: frame(2, True), "bool"),
    "texts and bytes": (lambda: frame("a", b"b"), "both texts and bytes"),
    "bytes and texts": (lambda: frame(b"b", "ä"), "both texts and bytes"),
    "texts and bytes in lists": (lambda: frame(["a"], [b"b"]), "both texts and bytes"),
    "texts and bytes in dictionaries": (lambda: frame({"a": "x"}, {"a": b"y"}), "both texts and bytes"),
    "days and moments": (lambda: frame(date(2020, 1, 1), NOON), "both days and moments"),
    "moments and days": (lambda: frame(NOON, date(2020, 1, 1)), "date"),
    "times with and without a zone": (lambda: frame(NOON, NOON.replace(tzinfo=EAST)), "with and without a zone"),
    "times of day with a zone": (lambda: frame(time(1, tzinfo=UTC)), "with a zone"),
    "Decimals and floats": (lambda: frame(Decimal(1), 1.5), "float"),
    "an infinite Decimal": (lambda: frame(Decimal("Infinity")), "infinite"),
    "integers of more than 64 bits": (lambda: frame(2**70), "large"),
    "an integer that floats cannot hold": (lambda: frame(2**53 + 1, 0.5), "9007199254740993"),
    "half a surrogate pair": (lambda: frame("\ud800"), "surrogates"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_would_not_survive_are_refused(name: str) -> None:
    """The error names the column and the reason; nothing is written, and nothing is stored as something else."""
    make, told = REFUSED[name]
    error = refused(make(), SchemaError, f"(?s)'v1'.*({told})")
    assert "v1" in (getattr(error, "columns", ()) or (error.column,))


def test_all_columns_of_a_frame_that_are_refused_are_named() -> None:
    """One error has every column that does not convert, and every one that mixes what does not go together."""
    numbers = frame(1, "a").rename(columns={"v1": "v2"}).assign(v1=["ok", "ok"], v3=frame(2**70, 1)["v1"])
    assert refused(numbers, SchemaError, "fit one type").columns == ("v2", "v3")
    mixed = frame("a", b"b").assign(v2=frame(NOON, NOON.replace(tzinfo=UTC))["v1"], v3=[1, 2])
    assert refused(mixed, SchemaError, "fit one type").columns == ("v1", "v2")


def far_days() -> pa.Array:
    """Return days of which Python has no value, and one of which it has."""
    return pa.array([-5_000_000, 0, 5_000_000], pa.int32()).cast(pa.date32())


@pytest.mark.parametrize("unit", ["day", "us"])
@pytest.mark.parametrize("layout", [{}, {"secondary_indices": "v1"}], ids=["data", "index"])
def test_days_and_moments_beyond_python(unit: str, layout: dict[str, Any]) -> None:
    """They are stored, found, and compared with literals of the years that Python has, or with Arrow's own."""
    values = far_days() if unit == "day" else far_days().cast(pa.timestamp("us"))
    ds = written(pa.table({"x": [0, 1, 2], "v1": values}), rows_per_row_group=1, **layout)
    assert ds.scan("v1").to_arrow()["v1"].combine_chunks().equals(values)
    asked: list[tuple[Any, list[int]]] = [
        (C("v1") < date(2020, 1, 1), [0, 1]),
        (C("v1") != date(1970, 1, 1), [0, 2]),
        (C("v1").isin([date(1970, 1, 1)]), [1]),
        *((C("v1") == values[n], [n]) for n in range(3)),
        (Comparison("v1", ">", values[0]), [1, 2]),
    ]
    for where, expected in asked:
        assert ds.scan("x", where=where).to_arrow()["x"].to_pylist() == expected, str(where)


LITERALS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "a day of NumPy": (pa.date32(), date(2020, 1, 1), np.datetime64("2020-01-01")),
    "a year of NumPy": (pa.date32(), date(2020, 1, 1), np.datetime64("2020")),
    "a moment of NumPy": (pa.timestamp("us"), NOON, np.datetime64(NOON, "ns")),
    "a moment of pandas": (pa.timestamp("us"), NOON, pd.Timestamp(NOON)),
    "a moment of pandas in a zone": (
        pa.timestamp("us", "UTC"),
        NOON.replace(tzinfo=EAST),
        pd.Timestamp(NOON, tz="Asia/Kolkata"),
    ),
    "an Arrow scalar in nanoseconds": (pa.timestamp("us"), NOON, pa.scalar(NOON, pa.timestamp("ns"))),
    "an Arrow text": (pa.date32(), date(2020, 1, 1), pa.scalar("2020-01-01", pa.large_string())),
    "a number of NumPy": (pa.int64(), 1, np.float32(1)),
    "a truth value of NumPy": (pa.bool_(), True, np.True_),
}


@pytest.mark.parametrize("name", LITERALS)
def test_literals_of_other_libraries(name: str) -> None:
    """A literal that means the value finds it, whatever library it is from; pandas' missing values find nulls."""
    kind, value, literal = LITERALS[name]
    ds = written(pa.table({"x": [1, 2], "v1": pa.array([value, None], kind)}))
    assert ds.scan("x", where=C("v1") == literal).to_arrow()["x"].to_pylist() == [1]
    assert ds.scan("x", where=C("v1").isin([literal, pd.NaT])).to_arrow()["x"].to_pylist() == [1, 2]
    assert ds.scan("x", where=C("v1") == pd.NA).to_arrow()["x"].to_pylist() == [2]


UNFIT: dict[str, tuple[pa.DataType, Any]] = {
    "a moment with nanoseconds for a day": (pa.date32(), pd.Timestamp("2020-01-01 00:00:00.000000001")),
    "nanoseconds": (pa.timestamp("us"), pd.Timestamp(1)),
    "nanoseconds of NumPy": (pa.timestamp("us"), np.datetime64(1, "ns")),
    "a far day of NumPy for a number": (pa.int64(), np.datetime64("30000-01-01")),
    "a span of NumPy for a number": (pa.int64(), np.timedelta64(1, "ns")),
    "a period": (pa.date32(), pd.Period("2020-01-01")),
    "a number that floats lack": (pa.float64(), 2**53 + 1),
    "a truth value for a number": (pa.int64(), True),
    "a far day in a list": (pa.date32(), [pa.scalar(5_000_000, pa.int32()).cast(pa.date32())]),
}


@pytest.mark.parametrize("name", UNFIT)
def test_literals_that_a_column_cannot_hold(name: str) -> None:
    """Nothing is compared with something near it: the error names the column and the literal."""
    kind, literal = UNFIT[name]
    ds = written(pa.table({"v1": pa.nulls(1, kind)}))
    where = C("v1").isin(literal) if isinstance(literal, list) else C("v1") == literal
    with pytest.raises(PredicateTypeError, match="v1"):
        ds.scan(where=where)


def test_names_that_look_like_paths() -> None:
    """A column named like a field of a struct or an item of a list is neither, not in the statistics either."""
    rows: list[dict[str, Any]] = [{"a": {"b": 9}, "a.b": n, "l": [9], "l.list.element": n} for n in range(3)]
    ds = written(pa.Table.from_pylist(rows), rows_per_row_group=1, secondary_indices=["a.b"])
    for name in ("a.b", "l.list.element"):
        assert ds.scan(where=C(name) == 1).to_arrow().to_pylist() == [rows[1]]
        assert ds.scan(name, where=C(name) > 0).to_arrow()[name].to_pylist() == [1, 2]


def many_rows(count: int) -> list[dict[str, Any]]:
    """Return rows with a column per flat type, in which values come again, and some of which hardly any does."""
    random = Random(0)
    pools = {name: [*ordered(name), None] for name in FLAT}
    rows = [{name: random.choice(pool) for name, pool in pools.items()} for _ in range(count)]
    noise = {"x": lambda: random.getrandbits(60), "y": random.random, "q": lambda: f"{random.getrandbits(60):x}"}
    return [{**row, **{name: draw() for name, draw in noise.items()}} for row in rows]


@cache
def of_many_rows() -> tuple[kb.Dataset, list[dict[str, Any]]]:
    """Write enough rows that columns are encoded in each of the ways that there are, in several row groups."""
    rows = many_rows(3000)
    kinds = {name: kind.record for name, kind in FLAT.items()} | {"x": pa.int64(), "y": pa.float64(), "q": pa.string()}
    return written(pa.Table.from_pylist(rows, pa.schema(list(kinds.items()))), rows_per_row_group=1100), rows


@pytest.mark.parametrize("name", [*FLAT, "x", "y", "q"])
def test_conditions_on_many_rows(name: str) -> None:
    """Dictionaries, plain pages and row groups give the rows that plain Python finds."""
    ds, rows = of_many_rows()
    value = ordered(name)[1] if name in FLAT else rows[1500][name]
    for where in (
        C(name) == value,
        C(name) != value,
        C(name) < value,
        C(name).isin([value, None]),
        ~(C(name) <= value),
    ):
        expected = [row["x"] for row in rows if matches(where, row)]
        assert ds.scan("x", where=where).to_arrow()["x"].to_pylist() == expected, str(where)
    assert ds.scan(name).to_arrow()[name].to_pylist() == [row[name] for row in rows]
