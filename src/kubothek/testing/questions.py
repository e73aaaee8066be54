"""Conditions over columns with known values, for tests: as plain values mean them, and as else they can be spelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pyarrow as pa
from hypothesis import strategies as st

from kubothek.model.condition import And, Comparison, Condition, IsIn, IsNull, Not, Operator, Or
from kubothek.testing.kinds import Values, spellings

_SHAPES = st.recursive(
    st.just("leaf"), lambda inner: st.tuples(st.sampled_from(["and", "or", "not"]), inner, inner), max_leaves=5
)
_OPERATORS = st.sampled_from([*get_args(Operator), "==", "in", "in", "null"])


@dataclass(frozen=True, slots=True)
class Column:
    """What literals for a column are drawn from: its type of record, any values of it, and those that are present."""

    type: pa.DataType
    values: Values
    present: Sequence[Any] = ()

    @property
    def comparable(self) -> bool:
        """Whether a column of this type can be asked for anything but null."""
        return not pa.types.is_nested(self.type) and not pa.types.is_null(self.type)


def draw_condition(draw: st.DrawFn, columns: Mapping[str, Column], names: Sequence[str]) -> Condition:
    """Draw a condition with plain literals, from the rows or near them.

    Parameters
    ----------
    draw
        Given by hypothesis.
    columns
        Columns by name.
    names
        Those to ask, at least one; one that is there twice is asked more often.
    """
    drawn: list[Condition] = []

    def condition(shape: Any) -> Condition:
        match shape:
            case ("and", one, other):
                return condition(one) & condition(other)
            case ("or", one, other):
                return condition(one) | condition(other)
            case ("not", one, _):
                return ~condition(one)
        if not drawn or draw(st.integers(0, 3)):
            name = draw(st.sampled_from(names))
            drawn.append(_leaf(draw, name, columns[name]))
        return draw(st.sampled_from(drawn))  # the same part again, perhaps negated in one of both places

    return condition(draw(_SHAPES))


def _leaf(draw: st.DrawFn, name: str, column: Column) -> Condition:
    op = draw(_OPERATORS)
    if op == "null":
        return IsNull(name)
    if op == "in":
        return IsIn(name, tuple(_literal(draw, column) for _ in range(draw(st.integers(0, 3)))))
    value = _literal(draw, column)
    return Comparison(name, "==" if (value is None or value != value) and op != "!=" else op, value)


def _literal(draw: st.DrawFn, column: Column) -> Any:
    if not column.comparable or draw(st.integers(0, 9)) == 9:
        return None
    near = not column.present or draw(st.booleans())
    return draw(column.values if near else st.sampled_from(column.present))


def spelled(draw: st.DrawFn, meant: Condition, types: Mapping[str, pa.DataType]) -> Condition:
    """Draw a condition that means the same, with literals of other types than those of the columns."""

    def spell(column: str, value: Any) -> Any:
        return draw(st.sampled_from(spellings(value, types[column])))

    match meant:
        case And(parts):
            return And(tuple(spelled(draw, part, types) for part in parts))
        case Or(parts):
            return Or(tuple(spelled(draw, part, types) for part in parts))
        case Not(part):
            return Not(spelled(draw, part, types))
        case IsIn(column, values):
            return IsIn(column, tuple(spell(column, value) for value in values))
        case Comparison(column, op, value):
            return Comparison(column, op, spell(column, value))
    return meant
