"""The door for lists of columns: a name, a sequence of names or nothing becomes one tuple of distinct names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubothek.errors import InvalidInputError


def column_names(value: Any, what: str) -> tuple[str, ...]:
    """Return the names that were meant.

    Parameters
    ----------
    value
        A name, an ordered sequence of distinct names, or ``None``.
    what
        The parameter that it was given for, for messages.

    Raises
    ------
    InvalidInputError
        It is none of these; ``columns`` has the names that occur more than once.

    Examples
    --------
    >>> column_names("MONTH", "partition_on"), column_names(None, "sort_by")
    (('MONTH',), ())
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (set, frozenset, Mapping, bytes)) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{what} must be a column name or an ordered sequence of them, not {value!r}.")
    names = tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(f"{what} must hold column names, but holds {name!r}.")
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InvalidInputError(f"{what} names {', '.join(doubled)} more than once.", columns=tuple(doubled))
    return names
