"""Conditions as JSON: they survive the trip, and what is no condition is refused."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.errors import InvalidInputError
from kubothek.model.condition import EVERYTHING, NOTHING, C, Comparison, IsIn
from kubothek.model.condition_json import condition_from_json, condition_to_json
from kubothek.testing.conditions import conditions

LITERALS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.times().map(lambda clock: clock.replace(fold=0)),
    st.datetimes().map(lambda moment: moment.replace(fold=0)),
    st.decimals(allow_nan=False),
)


@given(conditions({"x": LITERALS, "y": LITERALS}))
def test_a_condition_survives_json_text(condition):
    """Written as JSON text and read back, a condition is what it was, types of literals included."""
    assert repr(condition_from_json(json.loads(json.dumps(condition_to_json(condition))))) == repr(condition)


def test_bound_literals_are_written_as_plain_values():
    """A bound condition gives the JSON of what was asked."""
    bound = Comparison("x", ">=", pa.scalar(date(2020, 1, 31))) & IsIn("y", pa.array([1, 2]))
    assert condition_to_json(bound) == condition_to_json((C("x") >= date(2020, 1, 31)) & C("y").isin([1, 2]))


@pytest.mark.parametrize(("condition", "value"), [(EVERYTHING, {"and": []}), (NOTHING, {"or": []})], ids=str)
def test_no_parts_are_everything_or_nothing(condition, value):
    """The neutral conditions have a form too."""
    assert condition_to_json(condition) == value
    assert condition_from_json(value) == condition


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"column": "x"},
        {"column": "x", "op": "~", "value": 1},
        {"column": "x", "op": ["=="], "value": 1},
        {"column": 1, "op": "==", "value": 1},
        {"column": "x", "op": "in", "values": 1},
        {"column": "x", "op": "==", "value": 1, "more": 2},
        {"column": "x", "op": "==", "value": {"date": "2020-13-01"}},
        {"column": "x", "op": "==", "value": {"decimal": "a"}},
        {"column": "x", "op": "==", "value": {"timestamp": "2020-01-31T12:00:00.1234567"}},
        {"column": "x", "op": "==", "value": {"colour": "red"}},
        {"column": "x", "op": "==", "value": [1]},
        {"and": {"column": "x"}},
    ],
    ids=str,
)
def test_other_json_is_refused(value):
    """Nothing is read as a condition that was not written as one."""
    with pytest.raises(InvalidInputError):
        condition_from_json(value)


def test_a_literal_without_json_form_is_refused():
    """What no column can hold has no form."""
    with pytest.raises(InvalidInputError, match="timedelta"):
        condition_to_json(C("x") == timedelta(1))
