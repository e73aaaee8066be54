"""Conditions on columns of a cube with Kartothek's classes; each is a condition of Kubothek as well.

``C("x") == 1`` makes an :class:`EqualityCondition`, and so on; ``&`` makes a :class:`Conjunction`. As they are
conditions of Kubothek they also know ``|`` and ``~``, and can be passed wherever it takes ``where=``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import kubothek as kb
from kubothek.compat.serialization import filter_df_from_predicates
from kubothek.errors import InvalidInputError
from kubothek.model.condition import And, Comparison, IsIn, Operator, all_of, conjuncts
from kubothek.model.condition_json import condition_from_json, condition_to_json
from kubothek.model.condition_text import parse_text

__all__ = [
    "C",
    "Condition",
    "Conjunction",
    "EqualityCondition",
    "GreaterEqualCondition",
    "GreaterThanCondition",
    "InIntervalCondition",
    "InequalityCondition",
    "IsInCondition",
    "LessEqualCondition",
    "LessThanCondition",
    "SimpleCondition",
    "VirtualColumn",
]


class Condition(kb.Condition):
    """A condition on one column."""

    __slots__ = ()
    column: str

    @property
    def predicate_part(self) -> list[tuple[str, str, Any]]:
        """The condition as parts of a predicate, all of which must hold."""
        raise NotImplementedError

    @property
    def active(self) -> bool:
        """Whether it restricts anything."""
        return bool(self.predicate_part)

    def __and__(self, other: kb.Condition) -> Any:
        """Both hold."""
        known = isinstance(other, (Condition, Conjunction))
        return Conjunction((self, other)) if known else all_of((self, other))

    def filter_df(self, df: Any) -> Any:
        """Return the rows of a pandas frame that match."""
        return Conjunction((self,)).filter_df(df)

    @staticmethod
    def from_string(s: str, all_types: Mapping[str, Any]) -> kb.Condition:
        """Return the condition that a text says (``"x > 1"``)."""
        return Conjunction.from_string(s, all_types)


class SimpleCondition(Condition, Comparison):
    """A column compared with a value."""

    __slots__ = ()
    OP: ClassVar[Operator] = "=="

    def __init__(self, column: str, value: Any) -> None:
        Comparison.__init__(self, column, self.OP, value)

    @property
    def predicate_part(self) -> list[tuple[str, str, Any]]:
        """The condition as the only part of a predicate."""
        return [(self.column, self.OP, self.value)]


class EqualityCondition(SimpleCondition):
    """``column == value``."""

    __slots__ = ()


class InequalityCondition(SimpleCondition):
    """``column != value``."""

    __slots__ = ()
    OP = "!="


class LessThanCondition(SimpleCondition):
    """``column < value``."""

    __slots__ = ()
    OP = "<"


class LessEqualCondition(SimpleCondition):
    """``column <= value``."""

    __slots__ = ()
    OP = "<="


class GreaterThanCondition(SimpleCondition):
    """``column > value``."""

    __slots__ = ()
    OP = ">"


class GreaterEqualCondition(SimpleCondition):
    """``column >= value``."""

    __slots__ = ()
    OP = ">="


class IsInCondition(Condition, IsIn):
    """``column`` has one of these values."""

    __slots__ = ()

    def __init__(self, column: str, value: Iterable[Any]) -> None:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise InvalidInputError(f"isin needs a list of values for {column}, not {value!r}.")
        IsIn.__init__(self, column, tuple(value))

    @property
    def value(self) -> tuple[Any, ...]:
        """The values."""
        return tuple(self.values)

    @property
    def predicate_part(self) -> list[tuple[str, str, Any]]:
        """The condition as the only part of a predicate."""
        return [(self.column, "in", list(self.values))]


class InIntervalCondition(Condition, And):
    """``start <= column < stop``; a bound of ``None`` is open."""

    __slots__ = ("column", "start", "stop")
    start: Any
    stop: Any

    def __init__(self, column: str, start: Any = None, stop: Any = None) -> None:
        for name, value in (("column", column), ("start", start), ("stop", stop)):
            object.__setattr__(self, name, value)
        And.__init__(self, tuple(Comparison(*part) for part in self.predicate_part))  # type: ignore[arg-type]

    @property
    def predicate_part(self) -> list[tuple[str, str, Any]]:
        """The condition as parts of a predicate; none where both bounds are open."""
        bounds = [(">=", self.start), ("<", self.stop)]
        return [(self.column, op, value) for op, value in bounds if value is not None]

    def __getstate__(self) -> Any:
        return self.column, self.start, self.stop

    def __setstate__(self, state: Any) -> None:
        self.__init__(*state)  # type: ignore[misc]  # a frozen value has no other way to come back whole

    def __str__(self) -> str:
        """Give the form that Kartothek prints."""
        return f"{self.column}.in_interval({self.start}, {self.stop})"


class Conjunction(And):
    """Conditions that must all hold.

    Examples
    --------
    >>> both = (C("x") > 1) & C("y").isin([1, 2])
    >>> str(both), both.predicate
    ('(x > 1) & (y in (1, 2))', [('x', '>', 1), ('y', 'in', [1, 2])])
    """

    __slots__ = ("conditions",)
    conditions: tuple[Condition, ...]

    def __init__(self, conditions: Any) -> None:
        found = tuple(_flat(conditions))
        object.__setattr__(self, "conditions", found)
        And.__init__(self, found)

    @classmethod
    def from_two(cls, left: Any, right: Any) -> Conjunction:
        """Return the conjunction of both."""
        return cls((left, right))

    def __and__(self, other: kb.Condition) -> Any:
        """Both hold."""
        return Conjunction((self, other)) if isinstance(other, (Condition, Conjunction)) else all_of((self, other))

    @property
    def predicate(self) -> list[tuple[str, str, Any]] | None:
        """The conditions as one inner list of predicates, ``None`` where they restrict nothing."""
        return [part for condition in self.conditions for part in condition.predicate_part] or None

    def split_by_column(self) -> dict[str, Conjunction]:
        """Return the conditions of each column."""
        parts: dict[str, list[Condition]] = {}
        for condition in self.conditions:
            parts.setdefault(condition.column, []).append(condition)
        return {column: Conjunction(part) for column, part in parts.items()}

    def filter_df(self, df: Any) -> Any:
        """Return the rows of a pandas frame that match."""
        return df if self.predicate is None else filter_df_from_predicates(df, [self.predicate])

    @staticmethod
    def from_string(s: str, all_types: Mapping[str, Any]) -> kb.Condition:
        """Return the condition that a text says, in the form that :mod:`kubothek` takes everywhere.

        Raises
        ------
        InvalidInputError
            It cannot be understood, or names a column that has no type.
        """
        if not s.strip():
            return Conjunction(())
        found = parse_text(s)
        unknown = sorted(found.columns - set(all_types))
        if unknown:
            raise InvalidInputError(f"Unknown column(s) {', '.join(unknown)} in condition {s!r}.", columns=unknown)
        return _as_classes(found)

    def to_jsonarray(self) -> list[dict[str, Any]]:
        """Return the conditions as values for JSON, in which dates and the like are objects that name their type."""
        return [_to_json(condition) for condition in self.conditions]

    @classmethod
    def from_jsonarray(cls, array: list[dict[str, Any]]) -> Conjunction:
        """Return the conditions that values of JSON say, as :meth:`to_jsonarray` gives them."""
        if not isinstance(array, list):
            raise TypeError(f"Conditions in JSON are a list, not {array!r}.")
        return cls([_from_json(dict(one)) for one in array])

    def __getstate__(self) -> Any:
        return self.conditions

    def __setstate__(self, state: Any) -> None:
        self.__init__(state)  # type: ignore[misc]  # a frozen value has no other way to come back whole


class VirtualColumn:
    """A column, by name, in a condition.

    Examples
    --------
    >>> type(C("x") == 1).__name__, str(C("x").in_interval(1, 5))
    ('EqualityCondition', 'x.in_interval(1, 5)')
    """

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]  # comparing builds a condition, so a column cannot be a key

    def __init__(self, name: str) -> None:
        self.name = kb.C(name).name

    def _compare(self, kind: type[SimpleCondition], value: Any) -> SimpleCondition:
        if isinstance(value, (VirtualColumn, kb.C)):
            raise TypeError(f"Cannot compare two columns: {self.name} and {value.name}.")
        return kind(self.name, value)

    def __eq__(self, other: object) -> Any:
        """Match rows with this value."""
        return self._compare(EqualityCondition, other)

    def __ne__(self, other: object) -> Any:
        """Match rows without this value, nulls included."""
        return self._compare(InequalityCondition, other)

    def __lt__(self, other: Any) -> SimpleCondition:
        """Match smaller values."""
        return self._compare(LessThanCondition, other)

    def __le__(self, other: Any) -> SimpleCondition:
        """Match smaller or equal values."""
        return self._compare(LessEqualCondition, other)

    def __gt__(self, other: Any) -> SimpleCondition:
        """Match greater values."""
        return self._compare(GreaterThanCondition, other)

    def __ge__(self, other: Any) -> SimpleCondition:
        """Match greater or equal values."""
        return self._compare(GreaterEqualCondition, other)

    def isin(self, other: Iterable[Any]) -> IsInCondition:
        """Match rows with one of these values."""
        return IsInCondition(self.name, other)

    def in_interval(self, start: Any = None, stop: Any = None) -> InIntervalCondition:
        """Match ``start <= value < stop``; a bound of ``None`` is open."""
        return InIntervalCondition(self.name, start, stop)

    def __repr__(self) -> str:
        """Show how the column was made."""
        return f"C({self.name!r})"


C = VirtualColumn

_SIMPLE: tuple[type[SimpleCondition], ...] = (
    EqualityCondition,
    InequalityCondition,
    LessThanCondition,
    LessEqualCondition,
    GreaterThanCondition,
    GreaterEqualCondition,
)
_BY_NAME = {kind.__name__: kind for kind in (*_SIMPLE, IsInCondition, InIntervalCondition)}


def as_where(conditions: Any) -> Any:
    """Return what Kartothek takes for conditions as what ``where=`` takes: none, one, several, or a conjunction."""
    if conditions is None or isinstance(conditions, (kb.Condition, str)):
        return conditions
    return all_of(conditions)


def _flat(conditions: Any) -> Iterable[Condition]:
    if conditions is None:
        return
    if isinstance(conditions, Conjunction):
        yield from conditions.conditions
    elif isinstance(conditions, Condition):
        yield conditions
    elif isinstance(conditions, kb.Condition):
        raise InvalidInputError(f"A Conjunction is made of Kartothek's conditions; combine this with &: {conditions}.")
    else:
        for one in conditions:
            yield from _flat(one)


def _as_classes(condition: kb.Condition) -> kb.Condition:
    """Return a condition as a conjunction of Kartothek's classes, or as it is where that cannot be."""
    kinds = {kind.OP: kind for kind in _SIMPLE}
    found: list[Condition] = []
    for part in conjuncts(condition):
        if isinstance(part, Comparison):
            found.append(kinds[part.op](part.column, part.value))
        elif isinstance(part, IsIn):
            found.append(IsInCondition(part.column, part.values))
        else:
            return condition
    return Conjunction(found)


def _to_json(condition: Condition) -> dict[str, Any]:
    told: dict[str, Any] = {"type": type(condition).__name__, "column": condition.column}
    if isinstance(condition, InIntervalCondition):
        return {**told, "start": _value_to_json(condition.start), "stop": _value_to_json(condition.stop)}
    value = condition.predicate_part[0][2]
    return {**told, "value": [*map(_value_to_json, value)] if isinstance(value, list) else _value_to_json(value)}


def _value_to_json(value: Any) -> Any:
    return condition_to_json(Comparison("value", "==", value))["value"]


def _value_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_value_from_json, value)]
    found = condition_from_json({"column": "value", "op": "==", "value": value})
    return found.value if isinstance(found, Comparison) else None


def _from_json(stored: dict[str, Any]) -> Condition:
    name = stored.pop("type", None)
    if name is None:
        raise InvalidInputError(f"A condition in JSON has a type, which is missing in {stored!r}.")
    if name not in _BY_NAME:
        raise TypeError(f"There is no condition of type {name!r}; there are {', '.join(_BY_NAME)}.")
    made: Condition = _BY_NAME[name](
        **{entry: told if entry == "column" else _value_from_json(told) for entry, told in stored.items()}
    )
    return made
