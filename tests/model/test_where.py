"""The door for conditions: every form that ``where=`` takes, and what it says to others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kubothek.errors import InvalidInputError
from kubothek.model.condition import EVERYTHING, C
from kubothek.model.where import parse_where

X1 = C("x") == 1


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, EVERYTHING),
        (X1, X1),
        ("x == 1", X1),
        ([[("x", "==", 1)]], X1),
        ([[["x", "==", 1]]], X1),
        ([[("x", "==", 1), ("y", "!=", None)]], X1 & (C("y") != None)),  # noqa: E711
        ([[("x", "==", 1)], [("x", ">", 5), ("y", "<=", 2)]], X1 | ((C("x") > 5) & (C("y") <= 2))),
        ([[("x", "in", [1, 2])]], C("x").isin([1, 2])),
        ([[("x", "in", (1,))]], C("x").isin([1])),
        ([[("x", "in", {1})]], C("x").isin([1])),
        ([[("x", "in", np.array([1, 2]))]], C("x").isin([1, 2])),
        ([[("x", "in", pa.array([1]))]], C("x").isin([pa.scalar(1)])),
        ([[("x", "not in", [1])]], ~C("x").isin([1])),
        ([[("x", "in", [])]], C("x").isin([])),
        ({"column": "x", "op": "==", "value": 1}, X1),
        ({"not": {"column": "x", "op": "==", "value": 1}}, ~X1),
    ],
    ids=lambda value: str(value).partition(" object at ")[0],
)
def test_every_form_means_the_same_condition(where, expected):
    """A condition, a text and Kartothek's lists are parsed to one value."""
    assert parse_where(where) == expected


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ([], "empty"),
        ([[]], r"\[0\] is empty"),
        ([("x", "==", 1)], r"\[0\] must be a list"),
        ([[("x", "==")]], "no .column, operator, value"),
        ([["x", "==", 1]], "no .column, operator, value"),
        ([[(1, "==", 1)]], "column's name"),
        ([[("x", "~", 1)]], "unknown operator"),
        ([[("x", ["=="], 1)]], "unknown operator"),
        ([[("x", "in", 1)]], "list of values"),
        ([[("x", "in", "ab")]], "list of values"),
        ([[("x", "==", [1])]], "use 'in'"),
        ([[("x", "<", None)]], "no order"),
        ([[("x", ">=", float("nan"))]], "no order"),
        ([X1, X1], r"\[0\] is a condition already .* combine conditions with &"),
        ({"x": 1}, "no condition"),
        (5, "int"),
        (C("x"), "C"),
    ],
    ids=str,
)
def test_what_is_no_condition_is_refused(where, problem):
    """The message says what is wrong with the form."""
    with pytest.raises(InvalidInputError, match=problem):
        parse_where(where)


def test_all_problems_of_the_lists_are_named_at_once():
    """Whoever repairs a predicate sees every fault of it."""
    with pytest.raises(InvalidInputError) as caught:
        parse_where([[("x", "~", 1), ("y", "==", 2)], [("x", "in", 3)]])
    assert [problem[:6] for problem in caught.value.problems] == ["[0][0]", "[1][0]"]
