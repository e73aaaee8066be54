"""How values look on a terminal."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from kubothek.cli.render import length_bar, rows_table


def shown(value: Any) -> str:
    """Render as on a terminal of 80 columns without colours."""
    console = Console(file=io.StringIO(), width=80)
    console.print(value)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]  # a StringIO
    return "\n".join(line.rstrip() for line in lines)


def test_numbers_stand_right_and_texts_left() -> None:
    """A column of numbers is aligned at its last digit; a null changes nothing."""
    lines = shown(rows_table(("x", "v1"), [("a", 1000), ("bbb", None), ("c", 0.25)])).splitlines()
    assert [line.strip() for line in lines if line.strip()] == [
        "x        v1",
        "─────────────",
        "a     1,000",
        "bbb       -",
        "c       0.2",
    ]


def test_a_bar_is_as_long_as_its_value() -> None:
    """Bars compare; the shortest is still seen, and nothing has no bar."""
    assert [len(length_bar(v, 4.0, 8)) for v in (4.0, 2.0, 0.001)] == [8, 4, 1]
    assert len(length_bar(0.0, 0.0)) == 0
