"""Which rows a reader asks for: conditions as frozen values, and the column object ``C`` that builds them.

A condition is two-valued: every row either matches or does not, nulls included. ``==``, ``in`` and the ordering
operators match a null only where null itself was asked for; ``!=`` is "is distinct from" and matches null; ``~`` turns
matches into non-matches, nulls included. NaN is a value that has no order and equals nothing stored; asking for NaN
itself (``== nan``, or in a list) finds NaN and null. A condition is *bound* once its literals are Arrow scalars of the
columns' types (``kubothek.plan.bind``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import pyarrow as pa

from kubothek.errors import InvalidInputError
from kubothek.model.literal import literal_text
from kubothek.model.names import column_text

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


class Condition:
    """Base of all conditions; combine them with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        """Both hold."""
        return all_of((self, other)) if isinstance(other, Condition) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        """At least one holds."""
        return any_of((self, other)) if isinstance(other, Condition) else NotImplemented

    def __invert__(self) -> Condition:
        """The opposite, for nulls too."""
        return Not(self)

    def __bool__(self) -> NoReturn:
        """Refuse: ``and``, ``or``, ``not`` and chained comparisons would silently drop a part."""
        raise TypeError(
            f"A condition has no truth value: {self}. Combine conditions with &, | and ~, each in parentheses, "
            "and write (C('x') >= 1) & (C('x') < 5) or C('x').in_interval(1, 5) for an interval."
        )

    @property
    def columns(self) -> frozenset[str]:
        """Names of all columns that the condition looks at."""
        return frozenset(leaf.column for leaf in leaves(self))


@dataclass(frozen=True, slots=True)
class Comparison(Condition):
    """``column op value``; a value of ``None`` is allowed with ``==`` and ``!=``."""

    column: str
    op: Operator
    value: Any

    def __str__(self) -> str:
        """Give the text form, which the parser reads back."""
        return f"{column_text(self.column)} {self.op} {literal_text(self.value)}"


@dataclass(frozen=True, slots=True)
class IsIn(Condition):
    """``column`` has one of ``values``; ``None`` among them matches null.

    Once bound, ``values`` is an Arrow array of the column's type, without nulls and NaN.
    """

    column: str
    values: tuple[Any, ...] | pa.Array

    def __hash__(self) -> int:
        """Hash without the values: an Arrow array has no hash, and a list may be long."""
        return hash((self.column, len(self.values)))

    def __str__(self) -> str:
        """Give the text form."""
        return f"{column_text(self.column)} in ({', '.join(map(literal_text, self.values))})"


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    """``column`` is null."""

    column: str

    def __str__(self) -> str:
        """Give the text form."""
        return f"{column_text(self.column)} is null"


@dataclass(frozen=True, slots=True)
class And(Condition):
    """All parts hold; without parts: every row."""

    parts: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        """Give the text form."""
        return " & ".join(f"({part})" for part in self.parts) or "true"


@dataclass(frozen=True, slots=True)
class Or(Condition):
    """At least one part holds; without parts: no row."""

    parts: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        """Give the text form."""
        return " | ".join(f"({part})" for part in self.parts) or "false"


@dataclass(frozen=True, slots=True)
class Not(Condition):
    """The part does not hold."""

    part: Condition

    def __str__(self) -> str:
        """Give the text form."""
        return f"~({self.part})"


Leaf = Comparison | IsIn | IsNull

EVERYTHING = And()
NOTHING = Or()


def leaves(condition: Condition) -> Iterator[Leaf]:
    """Yield the parts of a condition that look at one column each."""
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case Comparison() | IsIn() | IsNull():
            yield condition


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """Return the parts that must all hold; none for the condition that everything matches."""
    if isinstance(condition, And):
        return tuple(part for inner in condition.parts for part in conjuncts(inner))
    return (condition,)


def all_of(conditions: Iterable[Condition]) -> Condition:
    """Return the condition that all of these hold, flat."""
    parts = tuple(part for condition in conditions for part in conjuncts(condition))
    return parts[0] if len(parts) == 1 else And(parts)


def any_of(conditions: Iterable[Condition]) -> Condition:
    """Return the condition that at least one of these holds, flat."""
    parts: list[Condition] = []
    for condition in conditions:
        parts.extend(condition.parts if isinstance(condition, Or) else (condition,))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


class C:
    """A column, by name, in a condition.

    Examples
    --------
    >>> str((C("COUNTRY_CODE") == "DE") & (C("TEMP") < 0))
    '(COUNTRY_CODE == "DE") & (TEMP < 0)'
    """

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]  # comparing builds a condition, so a column cannot be a key

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise InvalidInputError(f"A column is named by a string, but {name!r} is a {type(name).__name__}.")
        self.name = name

    def _compare(self, op: Operator, value: Any) -> Condition:
        if isinstance(value, C):
            raise InvalidInputError(
                f"Cannot compare two columns ({self.name} {op} {value.name}): compare a column with a value."
            )
        if value is None and op not in ("==", "!="):
            raise InvalidInputError(f"Null has no order: {self.name} {op} null. Use is_null() or ==, !=.")
        return Comparison(self.name, op, value)

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]  # builds, does not compare
        """Match rows with this value; ``None`` matches null."""
        return self._compare("==", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]  # likewise
        """Match rows without this value, nulls included."""
        return self._compare("!=", value)

    def __lt__(self, value: Any) -> Condition:
        """Match smaller values, never null."""
        return self._compare("<", value)

    def __le__(self, value: Any) -> Condition:
        """Match smaller or equal values, never null."""
        return self._compare("<=", value)

    def __gt__(self, value: Any) -> Condition:
        """Match greater values, never null."""
        return self._compare(">", value)

    def __ge__(self, value: Any) -> Condition:
        """Match greater or equal values, never null."""
        return self._compare(">=", value)

    def isin(self, values: Iterable[Any]) -> Condition:
        """Match rows with one of these values; ``None`` among them matches null."""
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise InvalidInputError(
                f"isin needs a list of values for {self.name}, but got a {type(values).__name__}: {values!r}."
            )
        return IsIn(self.name, tuple(values))

    def in_interval(self, start: Any = None, stop: Any = None) -> Condition:
        """Match ``start <= value < stop``; a bound of ``None`` is open."""
        parts: list[Condition] = []
        if start is not None:
            parts.append(self._compare(">=", start))
        if stop is not None:
            parts.append(self._compare("<", stop))
        return all_of(parts)

    def is_null(self) -> Condition:
        """Match null."""
        return IsNull(self.name)

    def __repr__(self) -> str:
        """Show how the column was made."""
        return f"C({self.name!r})"
