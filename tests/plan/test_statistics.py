"""Statistics drop row groups that hold no match, and no others, whatever is missing or inexact in them."""

from __future__ import annotations

import math
from datetime import date, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.plan.statistics import ColumnStatistics, keep_by_statistics
from kubothek.testing.conditions import conditions, matches

SCHEMA = pa.schema({"x": pa.int64(), "y": pa.string(), "i1": pa.bool_(), "v1": pa.float64()})
VALUES = {
    "x": st.integers(-2, 3),
    "y": st.sampled_from(["", "a", "b", "é"]),
    "i1": st.booleans(),
    "v1": st.sampled_from([0.0, -0.0, 1.0, 2.5, math.inf, math.nan]),
}
GROUPS = st.lists(
    st.lists(st.fixed_dictionaries({name: values | st.none() for name, values in VALUES.items()}), max_size=4),
    min_size=1,
    max_size=4,
)


def summarise(groups, column, type_, forget=lambda: False):
    """Return the statistics that a Parquet writer keeps of these groups of values, some of them forgotten."""
    values = [[v for v in group if v is not None and v == v] for group in groups]
    return ColumnStatistics(
        min=pa.array([None if forget() or not v else min(v) for v in values], type_),
        max=pa.array([None if forget() or not v else max(v) for v in values], type_),
        nulls=pa.array([None if forget() else sum(v is None for v in group) for group in groups], pa.int64()),
        rows=pa.array([None if forget() else len(group) for group in groups], pa.int64()),
    )


def keep(where, statistics, type_):
    """Decide about groups by the statistics of one column ``x``."""
    condition = bind(parse_where(where), pa.schema({"x": type_}), subject="the table")
    return keep_by_statistics(condition, {"x": statistics}, len(statistics.rows)).tolist()


@given(conditions(VALUES), GROUPS, st.randoms(use_true_random=False))
def test_a_dropped_group_holds_no_match(condition, groups, random):
    """Any condition, any groups, nulls and NaN included, and any part of the statistics missing."""
    statistics = {
        name: summarise([[row[name] for row in rows] for rows in groups], name, SCHEMA.field(name).type,
                        lambda: random.random() < 0.2)
        for name in random.sample(SCHEMA.names, 3)
    }  # fmt: skip
    kept = keep_by_statistics(bind(condition, SCHEMA, subject="the table"), statistics, len(groups))
    for rows, keep_group in zip(groups, kept, strict=True):
        assert keep_group or not any(matches(condition, row) for row in rows)


@given(conditions({"x": VALUES["x"]}, max_leaves=1), st.lists(st.lists(VALUES["x"], min_size=1), min_size=1))
def test_a_comparison_drops_every_group_outside_its_range(condition, groups):
    """With full statistics, a group of one distinct value is kept exactly if it matches."""
    single = [[group[0]] * len(group) for group in groups]
    kept = keep(condition, summarise(single, "x", pa.int64()), pa.int64())
    assert kept == [matches(condition, {"x": group[0]}) for group in single]


# Groups: 1..3 without null, 5..5 with a null, all null, unknown.
KNOWN = ColumnStatistics(
    min=pa.array([1, 5, None, None]),
    max=pa.array([3, 5, None, None]),
    nulls=pa.array([0, 1, 4, None]),
    rows=pa.array([4, 4, 4, 4]),
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x == 2", [True, False, False, True]),
        ("x == 4", [False, False, False, True]),
        ("x != 5", [True, True, True, True]),
        ("x in (0, 4, 5)", [False, True, False, True]),
        ("x in (0, 4)", [False, False, False, True]),
        ("x in ()", [False, False, False, False]),
        ("x not in (5, 6)", [True, True, True, True]),
        ("not (x != 5)", [False, True, False, True]),
        ("x < 1", [False, False, False, True]),
        ("x <= 1", [True, False, False, True]),
        ("x > 4", [False, True, False, True]),
        ("x >= 6", [False, False, False, True]),
        ("not x >= 1", [False, True, True, True]),
        ("x is null", [False, True, True, True]),
        ("x is not null", [True, True, False, True]),
        ("x == 2 | x == 5", [True, True, False, True]),
        ("x > 1 & x > 4", [False, True, False, True]),
    ],
)
def test_groups_are_dropped_where_that_is_proven(where, expected):
    """Bounds and null counts drop what they can, and keep what is unknown."""
    assert keep(where, KNOWN, pa.int64()) == expected


@pytest.mark.parametrize("where", ["x != 1.0", "x == nan", "not x <= 1.0", "x is not null"])
def test_a_float_group_may_hide_nan(where):
    """Bounds leave out NaN, so a group from 1 to 1 may still hold a row that is not 1."""
    known = ColumnStatistics(pa.array([1.0]), pa.array([1.0]), pa.array([0]), pa.array([2]))
    assert keep(where, known, pa.float64()) == [True]


def test_nan_itself_bounds_nothing():
    """Old writers put NaN into the bounds; they are unknown then."""
    known = ColumnStatistics(pa.array([math.nan]), pa.array([math.nan]), pa.array([0]), pa.array([2]))
    assert keep("x > 5", known, pa.float64()) == [True]


def test_bounds_in_the_wrong_order_are_unknown():
    """Old writers ordered unsigned integers as signed ones."""
    known = ColumnStatistics(pa.array([1], pa.uint64()), pa.array([0], pa.uint64()), pa.array([0]), pa.array([2]))
    assert keep("x == 18446744073709551615", known, pa.uint64()) == [True]


@pytest.mark.parametrize(
    ("stored", "bounds", "column_type", "where", "expected"),
    [
        (pa.int8(), [1, 3], pa.int64(), "x == 300", False),
        (pa.float32(), [0.5, 1.5], pa.float64(), "x <= 0.5", True),
        (pa.string_view(), ["a", "c"], pa.string(), "x == 'd'", False),
        (pa.timestamp("ns"), [datetime(2020, 1, 1), datetime(2020, 1, 2)], pa.timestamp("us"), "x > 2020-01-02", False),  # noqa: DTZ001
        (pa.date64(), [date(2020, 1, 1), date(2020, 1, 2)], pa.date32(), "x == 2020-01-02", True),
        (pa.string(), ["1", "2"], pa.int64(), "x == 5", False),
        (pa.string(), ["a", "b"], pa.int64(), "x == 5", True),
        (pa.null(), [None, None], pa.int64(), "x == 5", True),
    ],
    ids=str,
)
def test_bounds_of_another_type_are_converted_or_unknown(stored, bounds, column_type, where, expected):
    """A stored type that converts is used, any other is as good as no statistics."""
    low, high = (pa.array([bound]).cast(stored) for bound in bounds)
    known = ColumnStatistics(low, high, pa.array([0]), pa.array([4]))
    assert keep(where, known, column_type) == [expected]
