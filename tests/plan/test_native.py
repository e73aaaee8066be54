"""When Spark's own reader would give exactly what a scan promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kubothek.model.condition import EVERYTHING, C
from kubothek.model.read_plan import ReadInput
from kubothek.plan.native import spark_reads_exactly

RECORD = pa.schema([("p", pa.int64()), ("v1", pa.float64())])


def exactly(
    record: pa.Schema = RECORD,
    where: Any = EVERYTHING,
    values: Any = (1, 2),
    root: str = "/data/u/table",
    key: str = "u/table/a.parquet",
) -> bool:
    """Ask for a scan of all columns, with these values of the partition column."""
    source = ReadInput("u", "u", "table", record, record, ("p",), (), EVERYTHING, where)
    keys = pa.array([key] * len(values), pa.string())
    files = pa.table({"key": keys, "partition/p": pa.array(values, record.field("p").type)})
    return spark_reads_exactly(source, files, record, root)


def of_type(column: str, kind: pa.DataType) -> pa.Schema:
    """Return the schema with another type of one column."""
    return RECORD.set(RECORD.get_field_index(column), pa.field(column, kind))


def test_a_plain_scan() -> None:
    """Whole numbers, floats and conditions on partition columns are no obstacle."""
    assert exactly()
    assert exactly(where=C("p") == 1)
    assert exactly(values=())


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.binary(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"),
     pa.decimal128(10, 2), pa.list_(pa.int64()), pa.struct([("a", pa.string())]),
     pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)  # fmt: skip
def test_types_that_spark_reads_exactly(kind: pa.DataType) -> None:
    """These types come back as Kubothek gives them."""
    assert exactly(of_type("v1", kind))


NOT_EXACT: dict[str, dict[str, Any]] = {
    "rows to filter": {"where": C("v1") > 0},
    "unsigned integers": {"record": of_type("v1", pa.uint64())},
    "times": {"record": of_type("v1", pa.time64("us"))},
    "wide decimals": {"record": of_type("v1", pa.decimal256(50, 2))},
    "a column of nulls": {"record": of_type("v1", pa.null())},
    "unsigned integers in a list": {"record": of_type("v1", pa.list_(pa.uint64()))},
    "times in a struct": {"record": of_type("v1", pa.struct([("a", pa.time64("us"))]))},
    "dictionaries of what it lacks": {"record": of_type("v1", pa.dictionary(pa.int32(), pa.uint64()))},
    "files that are not Parquet": {"key": "u/table/a.csv"},
    "names that differ in case only": {"record": RECORD.append(pa.field("V1", pa.int64()))},
    "no data column": {"record": RECORD.remove(1)},
    "float partitions": {"record": of_type("p", pa.float64())},
    "timestamp partitions": {"record": of_type("p", pa.timestamp("us"))},
    "text that Spark would decode": {"record": of_type("p", pa.string()), "values": ["a", "a b"]},
    "empty text, which Spark takes for null": {"record": of_type("p", pa.string()), "values": [""]},
    "a folder that Spark takes for a pattern": {"root": "/data/{u}/table"},
}


@pytest.mark.parametrize("name", NOT_EXACT)
def test_what_spark_would_not_read_exactly(name: str) -> None:
    """Each of these gives other rows, other values or an error."""
    assert not exactly(**NOT_EXACT[name])


def test_plain_text_partitions() -> None:
    """Text that needs no quoting is read from the path as it is."""
    assert exactly(of_type("p", pa.string()), values=["DE", "a-b_c.1"])


def test_early_conditions_count_too() -> None:
    """A condition on data columns that is to be asked early is a filter all the same."""
    source = ReadInput("u", "u", "table", RECORD, RECORD, (), (), EVERYTHING, EVERYTHING)
    assert not spark_reads_exactly(replace(source, early=C("v1") > 0), pa.table({}), RECORD, "/data")


@pytest.mark.parametrize("values", [["a"], [""]], ids=["plain", "empty"])
def test_partition_columns_that_are_not_wanted(values: list[str]) -> None:
    """Spark looks at the whole path of a file, also where no column comes from it."""
    wanted = pa.schema([("v1", pa.float64())])
    source = ReadInput("u", "u", "table", wanted, wanted, (), (), EVERYTHING, EVERYTHING)
    files = pa.table({"key": ["u/table/p=/a.parquet"], "partition/p": values})
    assert spark_reads_exactly(source, files, of_type("p", pa.string()), "/data") == (values == ["a"])
