"""Which names are meant by patterns such as ``TEMP*``, of which each must mean something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click


def is_pattern(text: str) -> bool:
    """Tell whether a text stands for all names that match, and not for itself.

    Examples
    --------
    >>> is_pattern("TEMP*"), is_pattern("TEMP")
    (True, False)
    """
    return bool(set(text) & set("*?["))


def match_names(patterns: Iterable[str], known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the names that each pattern stands for, in the order of the names; upper and lower case differ.

    Examples
    --------
    >>> match_names(["w*", "airports"], ["airlines", "airports", "weather"])
    {'w*': ('weather',), 'airports': ('airports',)}
    """
    return {one: (one,) if one in known else tuple(n for n in known if fnmatchcase(n, one)) for one in patterns}


def merge(found: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return all names that were found, each once."""
    return tuple(dict.fromkeys(name for names in found.values() for name in names))


def describe_idle(found: Mapping[str, Sequence[str]], what: str, known: Sequence[str]) -> str | None:
    """Return the message about patterns that match nothing; ``None`` where each matches.

    Examples
    --------
    >>> describe_idle({"w*": ("weather",), "zz": ()}, "dataset of cube 'flights'", ["seed", "weather"])
    "No dataset of cube 'flights' matches 'zz'; there are seed, weather."
    """
    idle = [one for one, names in found.items() if not names]
    if not idle:
        return None
    there = f"there are {', '.join(known)}" if len(known) > 1 else f"there is {', '.join(known) or 'none'}"
    return f"No {what} matches {', '.join(map(repr, idle))}; {there}."


def _split(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pattern.strip() for text in texts for pattern in text.split(","))


def globs_option(flag: str, what: str) -> Callable[[Any], Any]:
    """Return an option that takes patterns, with commas between them or given several times."""
    return click.option(flag, metavar="GLOBS", multiple=True, callback=_split, help=what)
