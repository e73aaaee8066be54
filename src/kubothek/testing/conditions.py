"""Conditions for tests: what a row of plain Python values matches, and a hypothesis strategy for any condition.

:func:`matches` is the definition that the fast evaluation by Arrow is held against: one row, one recursion, no types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, get_args

import pyarrow as pa
from hypothesis import strategies as st

from kubothek.model.condition import And, Comparison, Condition, IsIn, IsNull, Leaf, Not, Operator, Or

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(condition: Condition, row: Mapping[str, Any]) -> bool:
    """Return whether a row, given as plain values by column, matches a condition with plain or bound literals.

    Examples
    --------
    >>> matches(Comparison("x", "!=", 1), {"x": None})
    True
    """
    match condition:
        case And(parts):
            return all(matches(part, row) for part in parts)
        case Or(parts):
            return any(matches(part, row) for part in parts)
        case Not(part):
            return not matches(part, row)
        case IsNull(column):
            return row[column] is None
        case IsIn(column, values):
            return any(_equal(row[column], _plain(value)) for value in values)
        case Comparison(column, op, value):
            if op in ("==", "!="):
                return _equal(row[column], _plain(value)) == (op == "==")
            return row[column] is not None and _ORDER[op](row[column], _plain(value))
    raise TypeError(f"{condition!r} is not a condition")


def _plain(literal: Any) -> Any:
    return literal.as_py() if isinstance(literal, pa.Scalar) else literal


def _equal(stored: Any, literal: Any) -> bool:
    if literal is None:
        return stored is None
    if literal != literal:
        return stored is None or stored != stored
    return stored is not None and bool(stored == literal)


def conditions(columns: Mapping[str, st.SearchStrategy[Any]], *, max_leaves: int = 6) -> st.SearchStrategy[Condition]:
    """Return a strategy for conditions over these columns, with literals from each column's strategy.

    A literal of null or NaN appears wherever it may: with ``==``, ``!=`` and ``in``.
    """
    leaf = st.one_of([_leaves(column, values) for column, values in columns.items()])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(operator.invert),
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        ),
        max_leaves=max_leaves,
    )


def _leaves(column: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Condition]:
    def comparison(op: Any, value: Any) -> Leaf:
        missing = value is None or value != value
        return Comparison(column, "==" if missing and op != "!=" else op, value)

    return st.one_of(
        st.builds(comparison, st.sampled_from(get_args(Operator)), values | st.none()),
        st.lists(values | st.none(), max_size=4).map(lambda chosen: IsIn(column, tuple(chosen))),
        st.just(IsNull(column)),
    )
