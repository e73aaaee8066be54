"""Literals meet columns: what is converted without loss, what is refused, and that all problems come at once."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.errors import PredicateTypeError, UnknownColumnError
from kubothek.model.condition import C, Comparison, IsIn, IsNull, Not, Or
from kubothek.model.condition_json import condition_to_json
from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.testing.conditions import conditions
from kubothek.testing.kinds import FLAT

NOON = datetime(2020, 1, 31, 12)  # noqa: DTZ001  no zone
MIDNIGHT = datetime(2020, 1, 31)  # noqa: DTZ001  no zone
DAY = date(2020, 1, 31)
US, UTC_US, DEC = pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.decimal128(6, 2)
NAN = float("nan")


def bind_x(condition, column_type):
    """Bind to one column ``x`` of this type."""
    return bind(condition, pa.schema({"x": column_type}), subject="dataset 'd'")


@pytest.mark.parametrize(
    ("column_type", "literal", "expected"),
    [
        (pa.int64(), 1, 1),
        (pa.int64(), 1.0, 1),
        (pa.int64(), Decimal("1.0"), 1),
        (pa.int64(), np.uint8(1), 1),
        (pa.uint64(), 2**64 - 1, 2**64 - 1),
        (pa.float64(), 1, 1.0),
        (pa.float64(), np.float32(0.5), 0.5),
        (pa.float64(), Decimal("0.1"), 0.1),
        (pa.bool_(), np.bool_(True), True),
        (pa.string(), "a", "a"),
        (pa.binary(), bytearray(b"a\0"), b"a\0"),
        (pa.date32(), DAY, DAY),
        (pa.date32(), "2020-01-31", DAY),
        (pa.date32(), MIDNIGHT, DAY),
        (pa.date32(), np.datetime64("2020-01-31"), DAY),
        (US, NOON, NOON),
        (US, DAY, MIDNIGHT),
        (US, "2020-01-31", MIDNIGHT),
        (US, "2020-01-31 12:00", NOON),
        (US, pd.Timestamp("2020-01-31 12:00"), NOON),
        (US, np.datetime64("2020-01-31T12"), NOON),
        (UTC_US, NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
        (UTC_US, "2020-01-31T13:00+01:00", NOON.replace(tzinfo=UTC)),
        (pa.time64("us"), time(12), time(12)),
        (pa.time64("us"), "12:00", time(12)),
        (DEC, Decimal("1.1"), Decimal("1.10")),
        (DEC, 1.1, Decimal("1.10")),
        (DEC, 3, Decimal("3.00")),
        (DEC, 123456, Decimal("123456.00")),
    ],
    ids=str,
)
def test_a_literal_is_converted_where_nothing_is_lost(column_type, literal, expected):
    """The bound literal is an Arrow scalar of the column's kind, alone and in a list."""
    bound = bind_x(C("x") == literal, column_type)
    assert type(bound.value) is type(pa.scalar(expected, bound.value.type))
    assert bound.value.as_py() == expected
    assert bind_x(C("x").isin([literal]), column_type).values.to_pylist() == [expected]


@pytest.mark.parametrize(
    ("column_type", "literal", "reason"),
    [
        (pa.int64(), 2.5, "whole number"),
        (pa.int64(), 2**70, "not between"),
        (pa.uint64(), -1, "not between"),
        (pa.int64(), float("inf"), "not between"),
        (pa.int64(), "1", "str"),
        (pa.int64(), True, "bool"),
        (pa.float64(), 2**53 + 1, "nearest float"),
        (pa.float64(), 10**400, "too large"),
        (pa.float64(), "1", "str"),
        (pa.bool_(), 1, "int"),
        (pa.bool_(), "true", "str"),
        (pa.string(), 1, "int"),
        (pa.string(), b"a", "decode"),
        (pa.string(), "\ud800", "Unicode"),
        (pa.binary(), "a", "encode"),
        (pa.date32(), NOON, "whole day"),
        (pa.date32(), MIDNIGHT.replace(tzinfo=UTC), "whole day"),
        (pa.date32(), "wrong", "ISO form"),
        (pa.date32(), 1, "int"),
        (US, NOON.replace(tzinfo=UTC), "leave the zone out"),
        (US, pd.Timestamp(1), "nanoseconds"),
        (US, "2020-01-31T12:00Z", "leave the zone out"),
        (US, 1, "int"),
        (UTC_US, NOON, "give a zone"),
        (UTC_US, DAY, "give a zone"),
        (UTC_US, datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "too large"),
        (pa.time64("us"), time(12, tzinfo=UTC), "leave the zone out"),
        (DEC, Decimal("1.111"), "digits after the point"),
        (DEC, Decimal("1e999999999"), "too large"),
        (DEC, float("inf"), "too large"),
        (DEC, "1.1", "str"),
        (pa.list_(pa.int64()), 1, "tested for null"),
        (pa.struct({"a": pa.int64()}), 1, "tested for null"),
    ],
    ids=lambda value: str(value).encode(errors="backslashreplace").decode()[:30],
)
def test_a_literal_that_does_not_fit_is_refused(column_type, literal, reason):
    """What would lose something, or match nothing for its type's sake, is an error with the reason."""
    with pytest.raises(PredicateTypeError, match=reason) as caught:
        bind_x(C("x") == literal, column_type)
    assert caught.value.columns == ("x",)
    with pytest.raises(PredicateTypeError, match=reason):
        bind_x(C("x").isin([literal]), column_type)


@pytest.mark.parametrize(
    "stored",
    [pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.string_view()],
    ids=str,
)
def test_an_encoding_is_not_a_type(stored):
    """Literals bind to the values' type, however they are stored."""
    assert bind_x(C("x") == "a", stored) == Comparison("x", "==", pa.scalar("a"))


@pytest.mark.parametrize("missing", [None, pd.NaT, pd.NA, np.datetime64("NaT")], ids=repr)
@pytest.mark.parametrize("column_type", [pa.int64(), pa.float64(), US, pa.list_(pa.int64())], ids=str)
def test_null_becomes_a_null_test(missing, column_type):
    """``== null``, ``!= null`` and null in a list are tests for null, whatever library's null it is."""
    assert bind_x(Comparison("x", "==", missing), column_type) == IsNull("x")
    assert bind_x(Comparison("x", "!=", missing), column_type) == Not(IsNull("x"))
    assert bind_x(IsIn("x", (missing,)), column_type) == IsNull("x")


def test_null_in_a_list_becomes_a_part_of_its_own():
    """A list with null is a list without, or null."""
    assert bind_x(C("x").isin([1, None]), pa.int64()) == Or((IsIn("x", pa.array([1])), IsNull("x")))


def test_nan_keeps_its_own_comparison_in_float_columns_only():
    """NaN matches NaN and null; where there is no NaN it is null."""
    assert str(bind_x(C("x").isin([1.0, NAN, None]), pa.float64())) == "(x in (1.0)) | (x == nan)"
    assert str(bind_x(C("x") != NAN, pa.float64())) == "x != nan"
    assert bind_x(C("x") == NAN, pa.int64()) == IsNull("x")
    assert bind_x(C("x").isin([1, NAN]), pa.int64()) == Or((IsIn("x", pa.array([1])), IsNull("x")))


@pytest.mark.parametrize("literal", [None, NAN], ids=str)
def test_null_and_nan_have_no_order(literal):
    """An ordering with them is refused rather than matching nothing."""
    with pytest.raises(PredicateTypeError, match="no order"):
        bind_x(Comparison("x", "<", literal), pa.float64())


def test_a_column_without_values_takes_any_literal():
    """Of a column that is all null, no type is known: the literal keeps its own."""
    assert bind_x(C("x") < 1, pa.null()) == Comparison("x", "<", pa.scalar(1))
    with pytest.raises(PredicateTypeError, match="one type"):
        bind_x(C("x").isin([1, "a"]), pa.null())


def test_all_problems_are_reported_together():
    """One error names every column and literal at fault; its class is that of the first."""
    schema = pa.schema({"TEMP": pa.float64(), "v1": pa.int64()})
    condition = (C("temp") < 0) | ~((C("v1") == "a") & C("v1").isin([1, "b"]))
    with pytest.raises(UnknownColumnError, match="dataset 'd'") as caught:
        bind(condition, schema, subject="dataset 'd'")
    assert caught.value.columns == ("temp", "v1")
    assert [text for text in ("TEMP", '"a"', '"b"') if text not in str(caught.value)] == []
    assert len(caught.value.problems) == 3


def test_binding_twice_changes_nothing():
    """A bound condition can be bound again, to the same or a merged schema."""
    schema = pa.schema({"x": DEC, "y": UTC_US, "v1": pa.float64()})
    condition = (C("x") < 123456) & C("y").isin([None, NOON.replace(tzinfo=UTC)]) & ~(C("v1") >= 1)
    bound = bind(condition, schema, subject="dataset 'd'")
    assert bind(bound, schema, subject="dataset 'd'") == bound


@given(name=st.sampled_from([name for name, kind in FLAT.items() if kind.flat]), data=st.data())
def test_a_bound_condition_is_written_and_read_as_it_is(name, data):
    """As text and as JSON, with literals of every type that a column may have, it comes back equal."""
    schema = pa.schema({"x": FLAT[name].record})
    asked = data.draw(conditions({"x": FLAT[name].values.filter(lambda value: value == value)}, max_leaves=3))
    bound = bind(asked, schema, subject="d")
    for again in (parse_where(str(bound)), parse_where(condition_to_json(bound))):
        assert bind(again, schema, subject="d") == bound
