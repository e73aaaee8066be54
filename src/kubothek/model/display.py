"""How sizes, counts, durations and foreign texts are told to people, on a terminal, in a notebook or in a log."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # the last turn directions


def human_bytes(size: int) -> str:
    """Return a size for people, in decimal units.

    Examples
    --------
    >>> human_bytes(999), human_bytes(1_234_567)
    ('999 B', '1.2 MB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> plural(1, "file"), plural(336776, "row")
    ('1 file', '336,776 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> duration(0.0421), duration(7.26), duration(83.9)
    ('42 ms', '7.3 s', '84 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds:.0f} s"


def printable(text: str) -> str:
    r"""Return a text whose control characters are shown, so that names which others chose cannot steer a terminal.

    Examples
    --------
    >>> printable("TEMP"), printable("a\x1b[2Jb")
    ('TEMP', 'a\\x1b[2Jb')
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
