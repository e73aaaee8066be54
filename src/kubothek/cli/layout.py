"""How facts are laid out: aligned blocks under titles for a few of them, plain lines for very many.

Blocks are Rich's, and wrap within their columns on a terminal. A listing is text at once, because Rich needs seconds
for 100,000 lines, and its lines stay whole, as labels and keys are there to be copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kubothek.model.display import printable

_GAP = "  "
Listed = tuple[str, Sequence[str]]
"""One column of a listing: its heading, and a text for each line."""


def block(title: str, rows: Sequence[Sequence[RenderableType]]) -> RenderableType:
    """Return rows in aligned columns below a title."""
    heading = Text(printable(title), style="bold")
    return Trimmed(Group(heading, Padding(grid(rows), (0, 0, 0, 2), expand=False)))


def grid(rows: Sequence[Sequence[RenderableType]]) -> RenderableType:
    """Return rows in aligned columns, which may stand in a cell of others."""
    table = Table.grid(padding=(0, len(_GAP)))
    for _ in rows[0] if rows else ():
        table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) if isinstance(cell, str) else cell for cell in row))
    return table


class Trimmed:
    """What is below it, without the blanks at the ends of its lines."""

    def __init__(self, body: RenderableType) -> None:
        self._body = body

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render lines up to their last visible character."""
        for line in console.render_lines(self._body, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            if line:
                line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
            yield from line
            yield Segment.line()


def print_listing(names: Listed, *numbers: Listed) -> None:
    """Print a line for each name, with its numbers before it, below headings; nothing where there are no names.

    Names come last, because they may be of any length: numbers stay aligned where a terminal wraps them.
    """
    heading, cells = names
    if not cells:
        return
    columns = [_right(column) for column in numbers]
    lines = [_GAP.join(line) for line in zip(*columns, [heading, *map(printable, cells)], strict=True)]
    lines[0] = click.style(lines[0], dim=True)
    click.echo("\n".join(lines))


def _right(column: Listed) -> list[str]:
    heading, cells = column
    width = max(map(len, (heading, *cells)))
    return [cell.rjust(width) for cell in (heading, *cells)]
