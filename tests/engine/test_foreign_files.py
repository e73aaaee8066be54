"""Parquet files of other software come back with the types of record, whatever is odd about them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.foreign import file_of, new_store, parquet, put_dataset

import kubothek as kb
from kubothek.errors import CorruptDatasetError, SnapshotExpiredError
from kubothek.testing.stores import CountingStore

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)

INT, TEXT, WHEN = pa.int64(), pa.string(), pa.timestamp("us")
FAR = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2020, 1, 1, 0, 0, 0, 1)]
INT96 = {"use_deprecated_int96_timestamps": True}
STRUCT = pa.struct([("a", INT), ("b", TEXT)])

# Type in the file; values; type of record; how the file is written.
STORED: dict[str, tuple[pa.DataType, list[Any], pa.DataType, dict[str, Any]]] = {
    "int8": (pa.int8(), [-128, None, 127], INT, {}),
    "int32": (pa.int32(), [-(2**31), None], INT, {}),
    "uint8": (pa.uint8(), [255, None], pa.uint64(), {}),
    "uint32 as old versions have it": (pa.uint32(), [2**32 - 1, None], pa.uint64(), {"version": "1.0"}),
    "float32": (pa.float32(), [0.5, -0.0, None], pa.float64(), {}),
    "integers without a value": (INT, [None, None], INT, {}),
    "nulls where numbers should be": (pa.null(), [None, None], INT, {}),
    "nulls where lists should be": (pa.null(), [None], pa.list_(INT), {}),
    "nulls where structs should be": (pa.null(), [None], STRUCT, {}),
    "large text": (pa.large_string(), ["", "b", None], TEXT, {}),
    "a view of text": (pa.string_view(), ["", "more than twelve bytes", None], TEXT, {}),
    "dictionary of text": (pa.dictionary(pa.int8(), TEXT), ["b", None, "a", "b"], TEXT, {}),
    "dictionary of numbers": (pa.dictionary(pa.int8(), pa.int16()), [3, None, 1], INT, {}),
    "fixed binary": (pa.binary(2), [b"\0\xff", None], pa.binary(), {}),
    "seconds": (pa.timestamp("s"), [datetime(1, 1, 1), None], WHEN, {}),
    "milliseconds": (pa.timestamp("ms"), [FAR[0], None], WHEN, {}),
    "nanoseconds": (pa.timestamp("ns"), [FAR[2], None], WHEN, {}),
    "96 bits": (WHEN, [*FAR, None], WHEN, INT96),
    "96 bits without the type": (WHEN, [*FAR, None], WHEN, {**INT96, "store_schema": False}),
    "96 bits with a zone": (
        pa.timestamp("us", "Europe/Berlin"),
        [datetime(1, 1, 2, tzinfo=UTC), datetime(2020, 7, 1, tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
        INT96,
    ),
    "date in milliseconds": (pa.date64(), [date(1969, 12, 31), None], pa.date32(), {}),
    "time in milliseconds": (pa.time32("ms"), [time(1, 2, 3, 4000), None], pa.time64("us"), {}),
    "smaller decimals": (pa.decimal128(4, 1), [Decimal("-99.9"), None], pa.decimal128(10, 2), {}),
    "list<element>": (pa.list_(pa.field("element", pa.int32())), [[1, None], [], None], pa.list_(INT), {}),
    "list<item>": (pa.list_(INT), [[1], None], pa.list_(INT), {"use_compliant_nested_type": False}),
    "list without nulls": (pa.list_(pa.field("element", INT, False)), [[1], []], pa.list_(INT), {}),
    "list of dictionaries": (pa.list_(pa.dictionary(pa.int8(), TEXT)), [["a"], None], pa.list_(TEXT), {}),
    "struct in another order": (
        pa.struct([("b", pa.large_string()), ("a", pa.int8())]),
        [{"a": 1, "b": "x"}, None],
        STRUCT,
        {},
    ),
    "without statistics": (INT, [1, 2, None], INT, {"write_statistics": False}),
    "many pages": (TEXT, ["a", "b", None] * 50, TEXT, {"data_page_size": 1, "row_group_size": 7}),
    "without dictionaries": (TEXT, ["a", None], TEXT, {"use_dictionary": False, "compression": "gzip"}),
    "no row": (INT, [], INT, {}),
}


def stored(name: str) -> tuple[kb.Dataset, list[Any], pa.DataType]:
    """Put a file with a column ``v1`` of a type; return its values and their type of record."""
    kind, values, record, options = STORED[name]
    data = parquet(pa.table({"v1": pa.array(values, kind), "x": range(len(values))}), **options)
    return file_of(new_store(), pa.schema([("v1", record), ("x", INT)]), data), values, record


@pytest.mark.parametrize("name", STORED)
def test_types_of_other_software(name: str) -> None:
    """Values come back as they were, with the type of record."""
    ds, values, record = stored(name)
    found = ds.scan().to_arrow()["v1"]
    assert (found.type, found.to_pylist()) == (record, values)


@pytest.mark.parametrize("name", STORED)
def test_conditions_on_types_of_other_software(name: str) -> None:
    """A condition picks the rows that plain Python picks."""
    ds, values, record = stored(name)
    for wanted in {repr(value): value for value in values if not pa.types.is_nested(record)}.values():
        found = ds.scan("x", where=kb.C("v1") == wanted).to_arrow()["x"].to_pylist()
        assert found == [x for x, value in enumerate(values) if value == wanted]
    found = ds.scan("x", where=~kb.C("v1").is_null()).to_arrow()["x"].to_pylist()
    assert found == [x for x, value in enumerate(values) if value is not None]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("bits", [64, 96])
def test_nanoseconds_are_cut_off(zone: str | None, bits: int) -> None:
    """What is finer than microseconds is lost, and before 1970 too; conditions see what is left, statistics or not."""
    moments = pa.array([-1, 1_999, None], pa.timestamp("ns", zone))
    data = parquet(pa.table({"v1": moments, "x": [0, 1, 2]}), use_deprecated_int96_timestamps=bits == 96)
    scan = file_of(new_store(), pa.schema([("v1", pa.timestamp("us", zone and "UTC")), ("x", INT)]), data).scan
    found = scan().to_arrow()["v1"].cast(INT).to_pylist()
    assert found == [-1, 1, None]
    for x, moment in enumerate(scan().to_arrow()["v1"]):
        assert scan("x", where=kb.C("v1") == moment.as_py()).to_arrow()["x"].to_pylist() == [x]


def test_nan_and_zeros_of_other_software() -> None:
    """NaN stays NaN, and a negative zero negative, in files that have no statistics of them."""
    data = parquet(pa.table({"v1": pa.array([math.nan, -0.0, None], pa.float32())}))
    scan = file_of(new_store(), pa.schema({"v1": pa.float64()}), data).scan
    assert str(scan().to_arrow()["v1"].to_pylist()) == "[nan, -0.0, None]"
    assert str(scan(where=kb.C("v1") == 0).to_arrow()["v1"].to_pylist()) == "[-0.0]"


def test_each_file_may_differ() -> None:
    """Files of one dataset with other types, more columns and another order of columns are one table."""
    record = pa.schema([("v1", TEXT), ("x", INT)])
    files = {
        "a.parquet": parquet(pa.table({"x": pa.array([1], pa.int8()), "v1": ["a"]})),
        "b.parquet": parquet(pa.table({"extra": [[1]], "v1": pa.array(["b"]).dictionary_encode(), "x": [2]})),
        "c.parquet": parquet(pa.table({"v1": pa.nulls(1), "__index_level_0__": [0], "x": [3]})),
        "d.parquet": parquet(pa.table({"v1": pa.array([], pa.large_string()), "x": pa.array([], INT)})),
        "e.parquet": parquet(record.empty_table(), row_group_size=1),
        "f.csv": b";x;v1\n0;4;\n",
    }
    ds = put_dataset(new_store(), record, files)
    assert ds.scan().to_arrow().to_pydict() == {"v1": ["a", "b", None, None], "x": [1, 2, 3, 4]}
    assert ds.scan("x", where=kb.C("v1") != "a").to_arrow()["x"].to_pylist() == [2, 3, 4]


def without_row_groups() -> bytes:
    """Return a Parquet file that has not even an empty row group."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, pa.schema({"v1": INT})).close()
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("where", [None, "v1 > 0", "v1 == null"])
def test_a_file_without_row_groups(where: str | None) -> None:
    """A file of nothing but a footer has no rows."""
    scan = file_of(new_store(), pa.schema({"v1": INT}), without_row_groups()).scan(where=where)
    assert scan.to_arrow().to_pydict() == {"v1": []}
    assert list(scan.batches()) == []


def broken(data: bytes, start: int, stop: int) -> bytes:
    """Return a file in which some bytes are not what they were."""
    found = bytearray(data)
    found[start:stop] = b"\xff" * len(found[start:stop])
    return bytes(found)


GOOD = parquet(pa.table({"v1": list(range(1000))}), use_dictionary=False, compression="gzip")
CORRUPT = {
    "nothing": b"",
    "something else": b"garbage" * 10,
    "cut off": GOOD[:-30],
    "encrypted": b"PARE" + GOOD[4:-4] + b"PARE",
    "a broken footer": broken(GOOD, -60, -8),
    "a broken page": broken(GOOD, 4, 60),
    "broken data": broken(GOOD, 100, 900),
    "a missing column": parquet(pa.table({"x": [1]})),
    "no column": parquet(pa.table({"x": [1]}).select([])),
    "two of a name": parquet(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["v1", "v1"])),
    "another type": parquet(pa.table({"v1": ["a"]})),
    "values that do not fit": parquet(pa.table({"v1": pa.array([2**63], pa.uint64())})),
    "a list": parquet(pa.table({"v1": [[1]]})),
}


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("name", CORRUPT)
def test_a_file_that_cannot_be_read_is_named(name: str, way: str) -> None:
    """Whatever is wrong with a file, the error says which one it is."""
    scan = file_of(new_store(), pa.schema({"v1": INT}), CORRUPT[name]).scan()
    with pytest.raises(CorruptDatasetError, match=r"u/table/a\.parquet") as caught:
        scan.to_arrow() if way == "whole" else list(scan.batches())
    assert caught.value.key == "u/table/a.parquet"


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz"])
def test_a_file_that_is_gone(name: str, way: str, tmp_path: Any) -> None:
    """A file that was deleted after the dataset was opened is an error of its own, in every kind of store."""
    for store in (new_store(), CountingStore(new_store()), kb.Store(tmp_path)):
        scan = put_dataset(store, pa.schema({"v1": INT}), {name: GOOD}).scan()
        store.delete([f"u/table/{name}"])
        with pytest.raises(SnapshotExpiredError, match=name):
            scan.to_arrow() if way == "whole" else list(scan.batches())


def test_a_file_of_an_unknown_kind() -> None:
    """A header that lists a file of another kind is corrupt as far as that file goes."""
    ds = kb.write_dataset(pa.table({"v1": [1]}), "u", new_store())
    header = ds.store.get("u.by-dataset-metadata.json").data.replace(b".parquet", b".h5").replace(b', "seal"', b', "_"')
    ds.store.put("u.by-dataset-metadata.json", header)
    with pytest.raises(CorruptDatasetError, match=r"\.h5.*\.csv\.gz"):
        kb.open_dataset("u", ds.store).scan().to_arrow()


@pytest.mark.parametrize(
    ("column", "kind", "nested"),
    [("a.b", pa.struct([("b", INT)]), {"b": 1}), ("a.list.element", pa.list_(INT), [1])],
    ids=["struct", "list"],
)
def test_statistics_of_a_field_are_not_those_of_a_column(column: str, kind: pa.DataType, nested: Any) -> None:
    """A field of a struct or list may have the path of a column with dots, whichever comes first in the file."""
    rows = pa.table({column: [100, 200], "a": pa.array([nested, nested], kind)})
    for stored in (rows, rows.select(["a", column])):
        ds = file_of(new_store(), pa.schema([("a", kind), (column, INT)]), parquet(stored, row_group_size=1))
        assert ds.scan(column, kb.C(column) == 100).to_arrow()[column].to_pylist() == [100]
