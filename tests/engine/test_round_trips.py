"""Whatever the format can hold comes back as it was, with the type of record."""

from __future__ import annotations

import math
import uuid as uuids
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kubothek as kb
from kubothek.errors import SchemaError
from kubothek.store.interface import Store
from kubothek.store.open import open_store

NOON = datetime(2020, 2, 28, 12, 30, 15, 123456)  # noqa: DTZ001
MIDNIGHT = datetime(2020, 1, 1)  # noqa: DTZ001
EAST = timezone(timedelta(hours=5, minutes=30))
FIXED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])

# What is written, its values, and the type under which they are kept.
TYPES: dict[str, tuple[pa.DataType, list[Any], pa.DataType]] = {
    "int8": (pa.int8(), [-128, 127, None], pa.int64()),
    "int16": (pa.int16(), [-(2**15), None, 2**15 - 1], pa.int64()),
    "int32": (pa.int32(), [-(2**31), None, 2**31 - 1], pa.int64()),
    "int64": (pa.int64(), [-(2**63), None, 2**63 - 1], pa.int64()),
    "uint8": (pa.uint8(), [0, 255, None], pa.uint64()),
    "uint16": (pa.uint16(), [0, 2**16 - 1], pa.uint64()),
    "uint32": (pa.uint32(), [0, 2**32 - 1], pa.uint64()),
    "uint64": (pa.uint64(), [0, 2**64 - 1, None], pa.uint64()),
    "float32": (pa.float32(), [0.5, -0.0, math.inf, None], pa.float64()),
    "float64": (pa.float64(), [0.1, 5e-324, -math.inf, None], pa.float64()),
    "bool": (pa.bool_(), [True, False, None], pa.bool_()),
    "string": (pa.string(), ["", "a", "ü/%=\n", "𐀀\0", None], pa.string()),
    "large string": (pa.large_string(), ["", "b", None], pa.string()),
    "string view": (pa.string_view(), ["", "a string of more than twelve bytes", None], pa.string()),
    "binary": (pa.binary(), [b"", b"\0\xff", None], pa.binary()),
    "fixed binary": (pa.binary(2), [b"ab", b"\0\xff", None], pa.binary()),
    "date32": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None], pa.date32()),
    "date64": (pa.date64(), [date(1969, 12, 31), date(2020, 2, 29)], pa.date32()),
    "time32": (pa.time32("s"), [time(0), time(23, 59, 59), None], pa.time64("us")),
    "time64": (pa.time64("us"), [time(0), time(23, 59, 59, 999999), None], pa.time64("us")),
    "timestamp s": (pa.timestamp("s"), [NOON.replace(microsecond=0), None], pa.timestamp("us")),
    "timestamp ms": (pa.timestamp("ms"), [NOON.replace(microsecond=123000), None], pa.timestamp("us")),
    "timestamp us": (
        pa.timestamp("us"),
        [NOON, NOON.replace(year=1), NOON.replace(year=9999), None],
        pa.timestamp("us"),
    ),
    "timestamp ns": (pa.timestamp("ns"), [NOON, NOON.replace(year=1700), None], pa.timestamp("us")),
    "timestamp UTC": (pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")),
    "timestamp +05:30": (pa.timestamp("ms", "+05:30"), [datetime(2020, 1, 1, tzinfo=EAST)], pa.timestamp("us", "UTC")),
    "decimal": (pa.decimal128(38, 2), [Decimal("-9.99"), Decimal(10) ** 35, None], pa.decimal128(38, 2)),
    "wide decimal": (pa.decimal256(40, 0), [Decimal(10) ** 39, None], pa.decimal256(40, 0)),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["b", None, "a"], pa.string()),
    "list": (pa.list_(pa.int32()), [[1, None], [], None], pa.list_(pa.int64())),
    "fixed list": (pa.list_(pa.int64(), 2), [[1, 2], [3, None]], pa.list_(pa.int64())),
    "list of lists": (pa.list_(pa.list_(pa.string())), [[["a"], None, []], None], pa.list_(pa.list_(pa.string()))),
    "struct": (FIXED, [{"a": 1, "b": ["x"]}, {"a": None, "b": None}, None], FIXED),
    "null": (pa.null(), [None, None], pa.null()),
}


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def data_files(ds: kb.Dataset) -> list[pq.ParquetFile]:
    """Open the files of a dataset, in the order of its partitions."""
    keys = [part.files["table"] for part in ds.partitions.values()]
    return [pq.ParquetFile(ds.store.open_file(key)) for key in keys]


@pytest.mark.parametrize("name", TYPES)
def test_types_of_the_format(name: str) -> None:
    """Values come back exactly, nulls included, with the type of record."""
    stored, values, record = TYPES[name]
    table = pa.table({"x": range(len(values)), "v1": pa.array(values, stored)})
    ds = kb.write_dataset(table, "u", new_store())
    back = ds.scan().to_arrow()
    assert ds.schema.field("v1").type == back.schema.field("v1").type == record
    assert list(map(told, back["v1"].to_pylist())) == list(map(told, values))


def told(value: Any) -> Any:
    """Give a value such that zeros of either sign differ and instants in different zones do not."""
    return str(value) if isinstance(value, float) else value


def test_nan_stays_nan() -> None:
    """NaN is a value and does not become null."""
    ds = kb.write_dataset(pa.table({"v1": [math.nan, None, 1.0]}), "u", new_store())
    found = ds.scan().to_arrow()["v1"]
    assert found.null_count == 1
    assert math.isnan(found[0].as_py())


@pytest.mark.parametrize(
    "kind",
    [pa.duration("s"), pa.map_(pa.string(), pa.int64()), pa.month_day_nano_interval()],
    ids=["duration", "map", "interval"],
)
def test_types_that_the_format_cannot_hold(kind: pa.DataType) -> None:
    """What cannot be stored is refused with the column's name, and nothing is written."""
    store = new_store()
    with pytest.raises(SchemaError, match="'v1'"):
        kb.write_dataset(pa.table({"x": [1], "v1": pa.nulls(1, kind)}), "u", store)
    assert list(store.list()) == []


def test_nanoseconds_are_not_cut_off() -> None:
    """A timestamp that microseconds cannot hold is refused rather than changed."""
    table = pa.table({"v1": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(SchemaError, match="without loss"):
        kb.write_dataset(table, "u", new_store())


def test_names_in_any_script() -> None:
    """Column names and partition values may hold whatever text holds."""
    rows = {"größe/=%": ["a/b", "", "ü 1%", "+"], "列": [1, 2, 3, 4], " ": [None, "x", None, "y"]}
    ds = kb.write_dataset(pa.table(rows), "u", new_store(), partition_on="größe/=%", secondary_indices=["列", " "])
    found = ds.scan(where=kb.C("列") > 1).to_arrow().to_pylist()
    expected = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    assert sorted(found, key=lambda row: row["列"]) == expected[1:]
    assert ds.load_index(" ").table[" "].to_pylist() == ["x", "y"]


def test_row_groups_are_as_small_as_asked() -> None:
    """Rows are cut into row groups of the given size, and a condition reads across them."""
    table = pa.table({"x": range(10), "v1": [n % 3 for n in range(10)]})
    ds = kb.write_dataset(table, "u", new_store(), rows_per_row_group=3)
    [file] = data_files(ds)
    assert [file.metadata.row_group(n).num_rows for n in range(4)] == [3, 3, 3, 1]
    assert ds.scan("x", where="v1 == 1 & x > 2").to_arrow()["x"].to_pylist() == [4, 7]


def test_a_file_per_partition_value() -> None:
    """Files are cut where the partition changes, in the order of values, wherever the rows were."""
    rows = {"p": [2, 1, 2, 1], "q": ["b", "a", "b", "b"], "v1": [1, 2, 3, 4]}
    ds = kb.write_dataset(pa.table(rows), "u", new_store(), partition_on=["p", "q"])
    places = [label.rpartition("/")[0] for label in ds.partitions]
    assert places == ["p=1/q=a", "p=1/q=b", "p=2/q=b"]
    assert [file.read()["v1"].to_pylist() for file in data_files(ds)] == [[2], [4], [1, 3]]


def test_partition_columns_are_not_in_the_files() -> None:
    """A partition column lives in the path alone."""
    ds = kb.write_dataset(pa.table({"p": [1], "v1": [1]}), "u", new_store(), partition_on="p")
    assert [file.schema_arrow.names for file in data_files(ds)] == [["v1"]]


PARTITION_VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [False, True]),
    "int": (pa.int8(), [-1, 0, 127]),
    "uint": (pa.uint64(), [0, 2**64 - 1]),
    "float": (pa.float64(), [-1.5, 0.1, 1e300, math.inf]),
    "text": (pa.string(), ["", ".", "..", "a/b", "p=1", "é\n"]),
    "date": (pa.date32(), [date(2020, 2, 29)]),
    "timestamp": (pa.timestamp("us"), [MIDNIGHT, NOON]),
    "decimal": (pa.decimal128(5, 2), [Decimal("-1.50"), Decimal("0.00")]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
}


@pytest.mark.parametrize("name", PARTITION_VALUES)
def test_partition_values_keep_their_type(name: str) -> None:
    """A value in the path comes back as what it was, and a condition on it drops the other files."""
    kind, values = PARTITION_VALUES[name]
    table = pa.table({"p": pa.array(values, kind), "v1": range(len(values))})
    ds = kb.open_dataset("u", kb.write_dataset(table, "u", new_store(), partition_on="p").store)
    assert ds.scan("p").to_arrow()["p"].to_pylist() == values
    for number, value in enumerate(values):
        scan = ds.scan("v1", where=kb.C("p") == value)
        assert (scan.to_arrow()["v1"].to_pylist(), scan.explain().files) == ([number], 1)


def test_rows_are_sorted_within_files() -> None:
    """`sort_by` orders the rows of each file: by several columns, nulls last, ties as they were."""
    rows = {"p": [1, 1, 1, 1, 2], "x": [2, None, 1, 2, 0], "y": ["b", "a", "c", "a", "z"], "v1": range(5)}
    ds = kb.write_dataset(pa.table(rows), "u", new_store(), partition_on="p", sort_by=["x", "y"])
    assert [file.read()["v1"].to_pylist() for file in data_files(ds)] == [[2, 3, 0, 1], [4]]


@pytest.mark.parametrize("by", ["x", ["x", "y"]], ids=["one", "two"])
def test_buckets_keep_equal_values_together(by: Any) -> None:
    """Each partition has at most as many files as buckets, and equal values share one."""
    rows = [(p, x, y) for p in (1, 2) for x in range(5) for y in ("a", "b") for _ in range(2)]
    table = pa.table(dict(zip("pxy", map(list, zip(*rows, strict=True)), strict=True)))
    frames = [table.slice(0, 17), table.slice(17)]
    ds = kb.write_dataset(frames, "u", new_store(), partition_on="p", shuffle=True, bucket_by=by, num_buckets=3)
    assert len(ds.partitions) == 6
    places = [(n // 3, tuple(r[c] for c in by)) for n, f in enumerate(data_files(ds)) for r in distinct(f, by)]
    assert len(places) == len(set(places))
    assert sorted(map(str, ds.scan(["p", "x", "y"]).to_arrow().to_pylist())) == sorted(map(str, table.to_pylist()))


def distinct(file: pq.ParquetFile, columns: Any) -> list[dict[str, Any]]:
    """Return the distinct values of some columns of a file."""
    rows: list[dict[str, Any]] = file.read(columns=list(columns)).group_by(list(columns)).aggregate([]).to_pylist()
    return rows


@pytest.mark.parametrize(("columns", "files"), [("xl", 2), ("l", 1)], ids=["flat and nested", "nested"])
def test_buckets_of_columns_without_an_order(columns: str, files: int) -> None:
    """Without `bucket_by` rows are spread by all columns that can be compared; lists only come along."""
    table = pa.table({"x": [1, 2, 3], "l": [[1], None, []]}).select(list(columns))
    ds = kb.write_dataset(table, "u", new_store(), shuffle=True, num_buckets=2)
    assert len(ds.partitions) == files
    assert sorted(map(str, ds.scan("l").to_arrow()["l"].to_pylist())) == ["None", "[1]", "[]"]


def test_an_index_is_the_inversion_of_the_files() -> None:
    """An index maps each value to the labels of exactly the files that hold it; nulls and NaN are in none."""
    rows = {
        "p": [1, 1, 1, 2, 2, 3],
        "i1": ["b", "a", None, "a", "a", None],
        "i2": [1.5, math.nan, 0.0, None, 1.5, -0.0],
    }
    ds = kb.write_dataset(pa.table(rows), "u", new_store(), partition_on="p", secondary_indices=["i1", "i2"])
    for column in ("i1", "i2"):
        inverted: dict[Any, set[str]] = {}
        for label, file in zip(ds.partitions, data_files(ds), strict=True):
            for value in file.read()[column].to_pylist():
                if value is not None and value == value:
                    inverted.setdefault(value, set()).add(label)
        index = ds.load_index(column).table
        found = zip(index[column].to_pylist(), map(set, index["partition"].to_pylist()), strict=True)
        assert list(found) == sorted(inverted.items())


def test_an_index_with_many_values_is_staged() -> None:
    """More values than a descriptor carries travel as a file, which is gone after the commit."""
    values = list(range(5000))
    table = pa.table({"p": [n % 2 for n in values], "i1": values[::-1]})
    frames = [table, pa.table({"p": [0], "i1": [7]})]
    ds = kb.write_dataset(frames, "u", new_store(), secondary_indices=["i1"])
    first, second = ds.partitions
    assert len(ds.load_index("i1")) == 5000
    assert ds.load_index("i1").eval_operator("==", 7) == {first, second}
    assert [info.key for info in ds.store.list("_kubothek/") if "staged" in info.key] == []


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_compression_of_the_files(compression: str) -> None:
    """Files are compressed as asked; readers need not know."""
    ds = kb.write_dataset(pa.table({"v1": ["a"] * 99}), "u", new_store(), compression=compression)
    [file] = data_files(ds)
    found = file.metadata.row_group(0).column(0).compression
    assert found == {"none": "UNCOMPRESSED"}.get(compression, compression.upper())
    assert ds.scan().to_arrow().num_rows == 99
