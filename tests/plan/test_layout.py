"""Whether a write's parameters fit each other and the data."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kubothek.errors import InvalidInputError, SchemaError, UnknownColumnError
from kubothek.model.names import column_names
from kubothek.plan.layout import ROWS_PER_ROW_GROUP, Layout, parse_layout, record_schema, record_schemas, share_types

SCHEMA = pa.schema([("v1", pa.int8()), ("p", pa.string()), ("i1", pa.float32()), ("l", pa.list_(pa.int64()))])


def test_parameters_are_parsed_once() -> None:
    """A name stands for a list of one, ``None`` for no column, and case does not matter to a compression."""
    layout = parse_layout(partition_on="p", secondary_indices=None, sort_by=["v1"], compression="ZSTD")
    assert layout == Layout(("p",), (), ("v1",), rows_per_row_group=ROWS_PER_ROW_GROUP)


PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "partition and index": ({"partition_on": "p", "secondary_indices": ["p", "i1"]}, "p cannot be both"),
    "an index on a column of its own name": ({"secondary_indices": "partition"}, "'partition' cannot have an index"),
    "buckets without a shuffle": ({"num_buckets": 2}, "shuffle=True"),
    "bucket columns without a number": ({"bucket_by": "x", "shuffle": True}, "num_buckets"),
    "no buckets": ({"num_buckets": 0, "shuffle": True}, "positive"),
    "a truth value as a number": ({"num_buckets": True, "shuffle": True}, "positive"),
    "a fraction as a number": ({"rows_per_row_group": 1.5}, "rows_per_row_group"),
    "too large a number": ({"rows_per_row_group": 2**31}, "rows_per_row_group"),
    "a text as a flag": ({"shuffle": "no"}, "True or False"),
    "an unknown compression": ({"compression": "zip"}, "none, snappy"),
    "a set, which has no order": ({"partition_on": {"p", "q"}}, "ordered sequence"),
    "a number as a column": ({"sort_by": [1]}, "holds 1"),
    "a number for columns": ({"sort_by": 1}, "sort_by"),
    "a column twice": ({"partition_on": ["p", "p"]}, "p more than once"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_parameters_that_do_not_fit(name: str) -> None:
    """The error names the parameter and what is wrong with it."""
    parameters, told = PROBLEMS[name]
    with pytest.raises(InvalidInputError, match=told):
        parse_layout(**parameters)


def test_all_problems_at_once() -> None:
    """Several faults are one error."""
    with pytest.raises(InvalidInputError, match=r"both.*positive.*shuffle=True.*zip"):
        parse_layout(partition_on="p", secondary_indices="p", num_buckets=-1, compression="zip")


@pytest.mark.parametrize("value", ["p", ["p"], ("p",), iter(["p"])], ids=["name", "list", "tuple", "iterator"])
def test_column_lists(value: Any) -> None:
    """Any ordered sequence of names is a column list."""
    assert column_names(value, "columns") == ("p",)


def test_schema_of_record() -> None:
    """Partition columns come first, the others by name, all with their normalised types."""
    record = record_schema(SCHEMA, Layout(partition_on=("p",)), "dataset 'u'")
    assert record == pa.schema(
        [("p", pa.string()), ("i1", pa.float64()), ("l", pa.list_(pa.field("item", pa.int64()))), ("v1", pa.int64())]
    )


UNFIT: dict[str, tuple[Layout, type[Exception], str]] = {
    "columns that are not there": (Layout(("z1",), ("z2",)), UnknownColumnError, "z1; .* z2.*It has v1, p, i1, l"),
    "an index on a list": (Layout(secondary_indices=("l",)), SchemaError, "l .*secondary_indices"),
    "an order of lists": (Layout(sort_by=("l",), bucket_by=("l",)), SchemaError, "l .*sort_by, l .*bucket_by"),
    "a partition of lists": (Layout(partition_on=("l",)), SchemaError, "'l'"),
    "nothing but partitions": (Layout(partition_on=("v1", "p", "i1", "l")), SchemaError, "l"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_layouts_that_the_data_does_not_fit(name: str) -> None:
    """Columns of a layout must be there and have an order."""
    layout, error, told = UNFIT[name]
    with pytest.raises(error, match=told):
        record_schema(SCHEMA, layout, "dataset 'u'")


def test_tables_are_laid_out_each_by_what_it_has() -> None:
    """Indices and orders concern the tables that have their columns; the partition columns lead in all."""
    tables = {"a": SCHEMA, "b": pa.schema([("x", pa.int8()), ("p", pa.string()), ("i1", pa.null())])}
    records = record_schemas(tables, Layout(("p",), ("i1", "x"), ("v1",)), "dataset 'u'")
    assert {table: record.names for table, record in records.items()} == {
        "a": ["p", "i1", "l", "v1"],
        "b": ["p", "i1", "x"],
    }
    assert records["b"].field("i1").type == pa.float64()


def test_all_shared_columns_that_differ_are_named() -> None:
    """Columns of one name have one type, inside of lists too; nulls fit all."""
    a = pa.schema([("x", pa.int64()), ("y", pa.list_(pa.null())), ("v1", pa.string())])
    b = pa.schema([("y", pa.list_(pa.int64())), ("v1", pa.null())])
    assert share_types({"a": a, "b": b}, "u")["a"].field("y").type == pa.list_(pa.int64())
    c = pa.schema([("x", pa.string()), ("v1", pa.bool_())])
    with pytest.raises(
        SchemaError, match=r"'x' \(int64 in 'a', string in 'c'\); 'v1' \(string in 'a', bool in 'c'\)"
    ) as caught:
        share_types({"a": a, "b": b, "c": c}, "u")
    assert caught.value.columns == ("x", "v1")
