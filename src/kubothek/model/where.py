"""The door for conditions: whatever ``where=`` was given becomes one :class:`Condition`.

Four forms are taken: a condition built with ``C``, a text (``kubothek.model.condition_text``), the mapping that it is
as JSON (``kubothek.model.condition_json``), and Kartothek's predicates, a list of lists of
``(column, operator, value)`` of which any inner list must hold completely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from kubothek.errors import InvalidInputError
from kubothek.model.condition import EVERYTHING, Comparison, Condition, IsIn, Not, Operator, all_of, any_of
from kubothek.model.condition_json import condition_from_json
from kubothek.model.condition_text import parse_text
from kubothek.model.literal import python_value

_OPERATORS = (*get_args(Operator), "in", "not in")


def parse_where(where: Any) -> Condition:
    """Return the condition that was meant.

    Parameters
    ----------
    where
        ``None`` (everything matches), a condition, a text, its JSON form, or Kartothek's OR-of-ANDs lists.

    Raises
    ------
    InvalidInputError
        If it is none of these, or one that breaks the rules of its form; every problem of the lists is named.

    Examples
    --------
    >>> print(parse_where([[("COUNTRY_CODE", "==", "DE"), ("TEMP", "<", 0)], [("TEMP", "in", [30, 31])]]))
    ((COUNTRY_CODE == "DE") & (TEMP < 0)) | (TEMP in (30, 31))
    """
    if where is None:
        return EVERYTHING
    if isinstance(where, Condition):
        return where
    if isinstance(where, str):
        return parse_text(where)
    if isinstance(where, Mapping):
        return condition_from_json(where)
    if isinstance(where, list):
        return _parse_lists(where)
    raise InvalidInputError(
        f"A condition is given as an expression of columns (C('x') == 1), a text ('x == 1'), lists "
        f"([[('x', '==', 1)]]) or JSON, but this is a {type(where).__name__}: {where!r}."
    )


def _parse_lists(where: list[Any]) -> Condition:
    problems = list(_shape_problems(where))
    if not problems:
        problems = [
            f"[{i}][{j}] {literal!r} {problem}"
            for i, conjunction in enumerate(where)
            for j, literal in enumerate(conjunction)
            if (problem := _literal_problem(literal))
        ]
    if problems:
        raise InvalidInputError(
            "These lists are no condition; it must look like [[('x', '==', 1), ('y', 'in', [1, 2])], [('x', '>', 5)]], "
            "where one of the inner lists has to hold completely:\n- " + "\n- ".join(problems),
            problems=tuple(problems),
        )
    return any_of(all_of(_leaf(*literal) for literal in conjunction) for conjunction in where)


def _shape_problems(where: list[Any]) -> Iterable[str]:
    if not where:
        yield "the list is empty; use None to match everything"
    for i, conjunction in enumerate(where):
        if isinstance(conjunction, Condition):
            yield f"[{i}] is a condition already ({conjunction}); combine conditions with & or |"
        elif not isinstance(conjunction, list):
            yield f"[{i}] must be a list of (column, operator, value), but is {conjunction!r}"
        elif not conjunction:
            yield f"[{i}] is empty"


def _literal_problem(literal: Any) -> str | None:
    if not isinstance(literal, (tuple, list)) or len(literal) != 3:
        return "is no (column, operator, value)"
    column, op, value = literal
    if not isinstance(column, str):
        return f"must begin with a column's name, not with a {type(column).__name__}"
    if not isinstance(op, str) or op not in _OPERATORS:
        return f"has an unknown operator; there are {', '.join(_OPERATORS)}"
    if op in ("in", "not in"):
        return None if _is_values(value) else f"needs a list of values, not a {type(value).__name__}"
    if _is_values(value):
        return f"compares with a list; use 'in' instead of {op!r}"
    value = python_value(value)
    if op not in ("==", "!=") and (value is None or value != value):
        return "has no order: only ==, != and 'in' can be used with a null value"
    return None


def _is_values(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, Mapping))


def _leaf(column: str, op: Any, value: Any) -> Condition:
    if op in ("in", "not in"):
        leaf = IsIn(column, tuple(value))
        return leaf if op == "in" else Not(leaf)
    return Comparison(column, op, value)
