"""Conditions as values: building, combining, and refusing what would silently mean something else."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from kubothek.errors import InvalidInputError
from kubothek.model.condition import (
    EVERYTHING,
    NOTHING,
    And,
    C,
    Comparison,
    IsIn,
    IsNull,
    Not,
    Or,
    all_of,
    any_of,
    conjuncts,
    leaves,
)

X, Y, V1 = C("x") == 1, C("y") > 2, C("v1").is_null()


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (C("x") == 1, Comparison("x", "==", 1)),
        (C("x") != None, Comparison("x", "!=", None)),  # noqa: E711
        (C("x") < 1, Comparison("x", "<", 1)),
        (C("x") <= 1, Comparison("x", "<=", 1)),
        (C("x") > 1, Comparison("x", ">", 1)),
        (C("x") >= 1, Comparison("x", ">=", 1)),
        (C("x").isin([1, None]), IsIn("x", (1, None))),
        (C("x").is_null(), IsNull("x")),
        (C("x").in_interval(1, 5), And((Comparison("x", ">=", 1), Comparison("x", "<", 5)))),
        (C("x").in_interval(stop=0), Comparison("x", "<", 0)),
        (C("x").in_interval(), EVERYTHING),
        (~X, Not(X)),
        (X & Y & V1, And((X, Y, V1))),
        (X & (Y & V1), And((X, Y, V1))),
        (X | (Y | V1), Or((X, Y, V1))),
        ((X | Y) & V1, And((Or((X, Y)), V1))),
    ],
    ids=str,
)
def test_expressions_build_flat_values(built, expected):
    """Each expression gives one value, and nested parts of one kind become one list."""
    assert built == expected


def test_columns_and_leaves_are_those_of_all_parts():
    """A condition knows which columns it looks at, through every combination."""
    condition = ~(X | Y) & V1
    assert condition.columns == {"x", "y", "v1"}
    assert list(leaves(condition)) == [X, Y, V1]


def test_neutral_elements_vanish():
    """Everything and nothing are what is left of no conditions."""
    assert all_of([]) == EVERYTHING
    assert any_of([]) == NOTHING
    assert all_of([EVERYTHING, X]) == X
    assert any_of([NOTHING, X]) == X
    assert conjuncts(EVERYTHING) == ()
    assert conjuncts(X & Y) == (X, Y)


@pytest.mark.parametrize("use", [bool, lambda c: c and c, lambda c: not c], ids=["bool", "and", "not"])
def test_a_condition_has_no_truth_value(use):
    """Python's own and, or and not would drop a part without a word, so they are refused."""
    with pytest.raises(TypeError, match="no truth value"):
        use(X)


@pytest.mark.parametrize(
    "wrong",
    [lambda: C("x") < None, lambda: C("x") == C("y"), lambda: C("x").isin("ab"), lambda: C("x").isin(1), lambda: C(1)],
    ids=["order of null", "two columns", "text as list", "number as list", "number as column"],
)
def test_meaningless_comparisons_are_refused(wrong):
    """What cannot be meant raises where it is written."""
    with pytest.raises(InvalidInputError):
        wrong()


def test_other_operands_are_refused():
    """Only conditions combine with conditions."""
    with pytest.raises(TypeError):
        X & True
    with pytest.raises(TypeError):
        X | "y > 2"


def test_bound_lists_are_values_too():
    """An ``in`` over an Arrow array compares, hashes and pickles like one over a tuple."""
    bound = IsIn("x", pa.array([1, 2]))
    assert bound == IsIn("x", pa.array([1, 2])) != IsIn("x", pa.array([1, 3]))
    assert {bound: "found"}[IsIn("x", pa.array([1, 2]))] == "found"
    assert pickle.loads(pickle.dumps(bound)) == bound
