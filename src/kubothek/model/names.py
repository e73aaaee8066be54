"""The names of columns: how lists of them are given, and how one is written in the text of a condition.

A name, a sequence of names or nothing becomes one tuple of distinct names. In a text, a name that is no plain word
stands in backticks: ``COLUMN``, ```any other name```.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubothek.errors import InvalidInputError

WORDS = frozenset({"and", "or", "not", "in", "is", "null", "none", "true", "false", "nan", "inf"})
"""Words with a meaning in the text form, in any case; a column of such a name is written in backticks."""

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_LISTED = 20


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


def name_hint(name: str, known: Sequence[str]) -> str:
    """Return what to say of a column that is unknown: those with a similar name, or all where there are few.

    Examples
    --------
    >>> name_hint("TMP", ["TEMP", "WIND"]), name_hint("DAY", ["TEMP", "WIND"])
    ('did you mean TEMP?', 'there are TEMP, WIND')
    """
    close = difflib.get_close_matches(name, known) or [one for one in known if one.casefold() == name.casefold()]
    if close:
        return f"did you mean {', '.join(map(column_text, close))}?"
    if not known:
        return "there are no columns"
    return f"there are {', '.join(map(column_text, known[:_LISTED]))}" + (", ..." if len(known) > _LISTED else "")


def column_text(name: str) -> str:
    """Return the text form of a column's name, in backticks unless it is a plain word.

    Examples
    --------
    >>> column_text("COUNTRY_CODE"), column_text("wind speed"), column_text("in")
    ('COUNTRY_CODE', '`wind speed`', '`in`')
    """
    if _PLAIN_NAME.fullmatch(name) and name.casefold() not in WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"
