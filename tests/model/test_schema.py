"""Which types the format holds, and how schemas are put in order and merged."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kubothek.errors import SchemaError
from kubothek.model.schema import check_partition_type, merge_schemas, normalise_schema, normalise_type

NORMALISED = [
    (pa.null(), pa.null()),
    (pa.bool_(), pa.bool_()),
    (pa.int8(), pa.int64()),
    (pa.int32(), pa.int64()),
    (pa.uint16(), pa.uint64()),
    (pa.float16(), pa.float64()),
    (pa.float32(), pa.float64()),
    (pa.large_string(), pa.string()),
    (pa.string_view(), pa.string()),
    (pa.large_binary(), pa.binary()),
    (pa.binary(3), pa.binary()),
    (pa.date64(), pa.date32()),
    (pa.time32("s"), pa.time64("us")),
    (pa.timestamp("ns"), pa.timestamp("us")),
    (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("us", "UTC")),
    (pa.decimal32(5, 2), pa.decimal128(5, 2)),
    (pa.decimal256(50, 2), pa.decimal256(50, 2)),
    (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
    (pa.run_end_encoded(pa.int32(), pa.int8()), pa.int64()),
    (pa.large_list(pa.field("element", pa.int8(), nullable=False)), pa.list_(pa.int64())),
    (pa.list_(pa.float32(), 3), pa.list_(pa.float64())),
    (pa.list_view(pa.date64()), pa.list_(pa.date32())),
    (pa.struct([pa.field("a", pa.int8(), nullable=False)]), pa.struct([("a", pa.int64())])),
]


@pytest.mark.parametrize(("given", "expected"), NORMALISED, ids=str)
def test_types_are_widened_and_encodings_dropped(given: pa.DataType, expected: pa.DataType) -> None:
    """Every type that the format holds has one normal form, which is its own normal form."""
    assert normalise_type(given) == expected
    assert normalise_type(expected) == expected


@pytest.mark.parametrize(
    "t",
    [
        pa.duration("s"),
        pa.month_day_nano_interval(),
        pa.map_(pa.string(), pa.int64()),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.list_(pa.duration("s")),
        pa.decimal128(5, -2),
        pa.struct([]),
        pa.uuid(),
    ],
    ids=str,
)
def test_types_without_a_place_in_the_format_are_refused(t: pa.DataType) -> None:
    """The message names the type and what to do instead."""
    with pytest.raises(SchemaError, match=r"cannot hold type .*; .*(store|cast) "):
        normalise_type(t)


def test_fields_of_a_struct_are_named_once() -> None:
    """Otherwise nobody could say which of them a name means."""
    with pytest.raises(SchemaError, match="'a' occurs more than once"):
        normalise_type(pa.list_(pa.struct([("a", pa.int8()), ("b", pa.int8()), ("a", pa.int8())])))


def test_partition_columns_come_first_and_the_others_by_name() -> None:
    """The schema of record has one order, whatever order the data has."""
    schema = pa.schema(
        [pa.field("v1", pa.int8(), nullable=False), ("q", pa.string()), ("I", pa.string()), ("p", pa.bool_())]
    )
    record = normalise_schema(schema.with_metadata({"a": "b"}), ["q", "p"])
    assert record.equals(
        pa.schema([("q", pa.string()), ("p", pa.bool_()), ("I", pa.string()), ("v1", pa.int64())]), check_metadata=True
    )


def test_all_problems_of_a_schema_are_reported_together() -> None:
    """A caller fixes the columns once, not one by one."""
    schema = pa.schema(
        [("v1", pa.int8()), ("v1", pa.int8()), ("v2", pa.duration("s")), ("p", pa.timestamp("us", "UTC"))]
    )
    with pytest.raises(SchemaError) as caught:
        normalise_schema(schema, ["p", "q"])
    assert caught.value.columns == ("v1", "q", "v2", "p")
    assert all(text in str(caught.value) for text in ("more than once", "not in the data", "duration", "timestamp_ntz"))


@pytest.mark.parametrize(
    ("base", "new", "merged"),
    [
        (pa.int64(), pa.int64(), pa.int64()),
        (pa.null(), pa.string(), pa.string()),
        (pa.string(), pa.null(), pa.string()),
        (pa.list_(pa.null()), pa.list_(pa.string()), pa.list_(pa.string())),
        (pa.struct([("a", pa.int64()), ("b", pa.null())]), pa.struct([("a", pa.null()), ("b", pa.bool_())]), None),
        (pa.int64(), pa.float64(), "differs"),
        (pa.struct([("a", pa.int64())]), pa.struct([("b", pa.int64())]), "differs"),
    ],
    ids=str,
)
def test_types_merge_only_where_one_is_null(base: pa.DataType, new: pa.DataType, merged: object) -> None:
    """Null gives way to any type, inside lists and structs too; nothing else is converted."""
    schemas = pa.schema([("v1", base)]), pa.schema([("v1", new)])
    if merged == "differs":
        with pytest.raises(SchemaError) as caught:
            merge_schemas(*schemas, what="the update")
        assert caught.value.columns == ("v1",)
        assert f"-v1: {base}\n+v1: {new}" in str(caught.value)
    else:
        expected = merged or pa.struct([("a", pa.int64()), ("b", pa.bool_())])
        assert merge_schemas(*schemas, what="the update").field("v1").type == expected


def test_columns_must_be_the_same_in_any_order() -> None:
    """A missing or further column is a difference, another order is none."""
    base = pa.schema([("v1", pa.int64()), ("v2", pa.string())])
    assert merge_schemas(base, pa.schema([base.field(1), base.field(0)]), what="x") == base
    with pytest.raises(SchemaError) as caught:
        merge_schemas(base, pa.schema([("v1", pa.int64()), ("v3", pa.string())]), what="x")
    assert caught.value.columns == ("v2", "v3")


def test_a_difference_shows_no_column_that_only_moved() -> None:
    """Whatever the order of the columns on the two sides, those that are equal are not among the changes."""
    base = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("v1", pa.int64())])
    with pytest.raises(SchemaError) as caught:
        merge_schemas(base, pa.schema([base.field(1), base.field(2), base.field(0), ("b", pa.int64())]), what="x")
    changed = [line for line in str(caught.value).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["+b: int64"]


@pytest.mark.parametrize("t", [pa.bool_(), pa.uint8(), pa.float32(), pa.decimal128(5, 2), pa.string(), pa.binary()])
def test_what_has_an_exact_text_may_be_a_partition_column(t: pa.DataType) -> None:
    """Numbers, booleans, texts and days."""
    check_partition_type(pa.field("p", t))


@pytest.mark.parametrize(
    ("t", "hint"),
    [
        (pa.timestamp("us", "UTC"), 'with .cast("timestamp_ntz")'),
        (pa.null(), "partition by a column of"),
        (pa.list_(pa.int8()), "partition by a column of"),
        (pa.struct([("a", pa.int8())]), "partition by a column of"),
        (pa.time32("s"), "partition by a column of"),
    ],
    ids=str,
)
def test_what_has_no_text_may_not_be_a_partition_column(t: pa.DataType, hint: str) -> None:
    """The message names the column, the type and the way out."""
    with pytest.raises(SchemaError) as caught:
        check_partition_type(pa.field("p", t))
    assert caught.value.columns == ("p",)
    assert hint in str(caught.value)
    assert str(t) in str(caught.value)
