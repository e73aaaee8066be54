"""How values of the library look on a terminal: tables and bars.

Everything fits into 80 columns as far as names allow. Colours repeat what the text says and are never needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from kubothek.model.display import printable


def length_bar(value: float, longest: float, width: int = 30) -> Text:
    """Return a bar as long as a value is, compared with the longest."""
    return Text("━" * max(1, round(width * value / longest)) if longest else "", style="green")


def rows_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return rows as a table; numbers stand right, nulls are dashes."""
    body = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD)
    for position, name in enumerate(columns):
        numeric = all(isinstance(row[position], (int, float, type(None))) for row in body)
        table.add_column(name, justify="right" if numeric and body else "left")
    for row in body:
        table.add_row(*(Text(printable(cell_text(cell))) for cell in row))  # a Text, as "[x]" is markup in a str
    return table


def cell_text(value: Any) -> str:
    """Return one value for people: thousands apart, one decimal, a dash for null.

    Examples
    --------
    >>> cell_text(336776), cell_text(12.639), cell_text(None), cell_text("JFK")
    ('336,776', '12.6', '-', 'JFK')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
