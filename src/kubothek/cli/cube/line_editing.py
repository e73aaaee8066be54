"""Editing of the lines that a prompt reads: a history that outlives it, and names that the tab key completes.

Both come from readline, which not every Python has; without it, lines are read all the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kubothek.model.names import column_text

try:
    import readline
except ImportError:  # on Windows
    readline = None  # type: ignore[assignment]  # not everywhere

_HISTORY_LINES = 1000
_DELIMITERS = " \t\n,()[]&|~!=<>"


@contextmanager
def line_editing(names: Iterable[str]) -> Iterator[None]:
    """Complete these names, and remember lines, for as long as the block runs, where lines come from a terminal."""
    if readline is None or not sys.stdin.isatty():
        yield
        return
    words = sorted({column_text(name) for name in names})
    readline.set_completer(lambda text, number: completion(words, text, number))
    readline.set_completer_delims(_DELIMITERS)
    readline.parse_and_bind("tab: complete")
    history = _history_file()
    with suppress(OSError):  # there is none yet, or it cannot be read
        readline.read_history_file(history)
    try:
        yield
    finally:
        readline.set_completer(None)
        readline.set_history_length(_HISTORY_LINES)
        with suppress(OSError):  # a home that cannot be written is no reason to fail
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def completion(words: Iterable[str], text: str, number: int) -> str | None:
    """Return the completion of this number for the text before the cursor, ``None`` after the last.

    Examples
    --------
    >>> completion(["TEMP", "TIME"], "T", 1), completion(["TEMP"], "x", 0)
    ('TIME', None)
    """
    return next((word for place, word in enumerate(_beginning(words, text)) if place == number), None)


def _beginning(words: Iterable[str], text: str) -> list[str]:
    return [word for word in words if word.casefold().lstrip("`").startswith(text.casefold().lstrip("`"))]


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "kubothek" / "query_history"
