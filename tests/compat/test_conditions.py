"""Conditions with Kartothek's classes, on frames and in queries, and its predicates."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.compat.core.cube.conditions import (
    C,
    Condition,
    Conjunction,
    EqualityCondition,
    GreaterEqualCondition,
    GreaterThanCondition,
    InequalityCondition,
    InIntervalCondition,
    IsInCondition,
    LessEqualCondition,
    LessThanCondition,
)
from kubothek.compat.serialization import check_predicates, filter_array_like, filter_predicates_by_column
from kubothek.errors import InvalidInputError

X = C("x")
EACH = {
    EqualityCondition: (X == 2, [2]),
    InequalityCondition: (X != 2, [1, 3]),
    LessThanCondition: (X < 2, [1]),
    LessEqualCondition: (X <= 2, [1, 2]),
    GreaterThanCondition: (X > 2, [3]),
    GreaterEqualCondition: (X >= 2, [2, 3]),
    IsInCondition: (X.isin([1, 3]), [1, 3]),
    InIntervalCondition: (X.in_interval(2, 3), [2]),
}
FRAME = pd.DataFrame({"x": [1, 2, 3]})


@pytest.mark.parametrize("kind", EACH)
def test_each_class(kind: type[Condition]) -> None:
    """Each operation makes its class, filters a frame, travels, and comes back from JSON."""
    condition, rows = EACH[kind]
    both = Conjunction([condition])
    assert type(condition) is kind
    assert condition.filter_df(FRAME)["x"].tolist() == rows
    assert str(pickle.loads(pickle.dumps(condition))) == str(condition)
    assert Conjunction.from_jsonarray(both.to_jsonarray()) == both


@pytest.mark.parametrize(
    "value",
    [date(2020, 1, 31), datetime(2020, 1, 31, 12, tzinfo=UTC), Decimal("1.10"), b"a", None, 2**53 + 1],
    ids=["date", "time", "decimal", "bytes", "null", "integer"],
)
def test_values_survive_json(value: Any) -> None:
    """A text of JSON brings back each kind of value, in lists and intervals, too."""
    given = Conjunction([value == X, X.isin([value]), X.in_interval(value, None)])
    assert Conjunction.from_jsonarray(json.loads(json.dumps(given.to_jsonarray()))) == given


@pytest.mark.parametrize("kind", EACH)
def test_each_class_is_a_condition_here(kind: type[Condition]) -> None:
    """Kubothek's own functions take the conditions, combined with operators that Kartothek does not have."""
    condition, rows = EACH[kind]
    ds = kb.write_dataset(pa.table({"x": [1, 2, 3]}), kind.__name__, "memory://compat_conditions")
    assert ds.scan(where=condition).to_arrow()["x"].to_pylist() == rows
    assert ds.scan(where=~condition | (X == 2)).to_arrow()["x"].to_pylist() == sorted({1, 2, 3} - set(rows) | {2})


def test_conjunctions() -> None:
    """Conditions combined with ``&`` are flat, know their columns, and fall apart by them."""
    both = (X > 1) & (C("y") == "a") & (X < 3)
    assert [str(part) for part in both.conditions] == ["x > 1", 'y == "a"', "x < 3"]
    assert both.predicate == [("x", ">", 1), ("y", "==", "a"), ("x", "<", 3)]
    assert {column: len(part.conditions) for column, part in both.split_by_column().items()} == {"x": 2, "y": 1}


def test_conditions_from_text() -> None:
    """A text becomes Kartothek's classes; a column that nobody knows is an error."""
    found = Conjunction.from_string("x > 1 & y == 'a'", {"x": pa.int64(), "y": pa.string()})
    assert found == (X > 1) & (C("y") == "a")
    with pytest.raises(ValueError, match="zz"):
        Condition.from_string("zz == 1", {"x": pa.int64()})


@pytest.mark.parametrize("wrong", [lambda: bool(X == 1), lambda: C("y") == X], ids=["truth", "two columns"])
def test_what_is_no_condition(wrong: object) -> None:
    """A condition has no truth value, and compares a column with a value."""
    with pytest.raises(TypeError):
        wrong()  # type: ignore[operator]


def test_predicates() -> None:
    """Predicates are checked, reduced to columns, and applied to arrays under a mask."""
    with pytest.raises(InvalidInputError):
        check_predicates([])
    assert filter_predicates_by_column([[("x", "==", 1), ("y", ">", 2)], [("y", "<", 0)]], ["x"]) == [[("x", "==", 1)]]
    assert filter_array_like([1, 2, 3], "in", [2, 3], mask=[True, True, False]).tolist() == [False, True, False]
