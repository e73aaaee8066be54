"""A table of rows for people: as many rows and columns as fit, and a line that says how much there is.

On a terminal its height and width are what fits. In a file or a pipe all columns are shown, and a thousand rows; what
is to be read by programs, or is longer, is better written in another format.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import types
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kubothek.cli.layout import Trimmed
from kubothek.cube.query import Query
from kubothek.model.display import plural, printable
from kubothek.model.literal import literal_text

_PIPED_ROWS = 1000
_FEWEST_ROWS = 10
_MOST_ROWS = 10_000
"""Rows of the longest table: who reads more of them is a program, and aligning them takes longer than reading them."""

_AROUND = 6
"""Lines of a terminal that the table does not get: its head, the summary, the prompt."""

_LONGEST = 40
"""Characters of a value on a terminal; longer ones are cut."""

_FRAME = 3
"""Characters between two columns."""


def show_rows(console: Console, query: Query, tables: Iterable[pa.Table], limit: int | None) -> None:
    """Show the first rows and say how many there are.

    Parameters
    ----------
    console
        Where the table goes.
    query, tables
        What was asked, and its rows in pieces; all pieces are taken, to count the rows. Columns that say which cell a
        row is come before the others.
    limit
        Rows that ``tables`` was cut to, of which ten thousand are shown; ``None`` to show as many as fit.
    """
    most = min(limit, _MOST_ROWS) if limit is not None else rows_that_fit(console)
    shown, total = _head(query.schema, tables, most)
    if not total:
        console.print("no rows")
        return
    names = dict.fromkeys([*query.plan.group_by, *query.plan.order, *query.schema.names])
    columns = [_Column.of(name, shown.column(name)) for name in names]
    kept = _columns_that_fit(console, columns)
    console.print(Trimmed(_table(kept)))
    console.print(Text(_summary(shown.num_rows, total, limit, columns, kept), style="dim"), soft_wrap=True)


def rows_that_fit(console: Console) -> int:
    """Return how many rows a table has where nobody said."""
    return max(console.height - _AROUND, _FEWEST_ROWS) if sys.stdout.isatty() else _PIPED_ROWS


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as texts."""

    name: str
    cells: list[str]
    is_number: bool

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray) -> _Column:
        kind = values.type
        is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        texts = [printable(value_text(value)) for value in values.to_pylist()]
        return cls(printable(name), [_cut(text) for text in texts] if sys.stdout.isatty() else texts, is_number)

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.name, *self.cells)))


def value_text(value: Any) -> str:
    """Return a value for people, exactly; a dash for null.

    Examples
    --------
    >>> value_text(336776), value_text(0.1), value_text(None), value_text([1, None]), value_text("JFK")
    ('336776', '0.1', '-', '[1,null]', 'JFK')
    """
    if value is None:
        return "-"
    if isinstance(value, (list, dict)):
        return msgspec.json.encode(value).decode()
    return literal_text(value) if isinstance(value, (bool, bytes)) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _head(schema: pa.Schema, tables: Iterable[pa.Table], most: int) -> tuple[pa.Table, int]:
    """Return the first rows, and how many rows there are."""
    parts, total = [schema.empty_table()], 0
    for table in tables:
        if total < most:
            parts.append(table.slice(0, most - total))
        total += table.num_rows
    return pa.concat_tables(parts), total


def _columns_that_fit(console: Console, columns: Sequence[_Column]) -> list[_Column]:
    """Return the columns that fit beside each other, at least one."""
    ends = accumulate(column.width + _FRAME for column in columns)
    fitting = [column for column, end in zip(columns, ends, strict=True) if end + 1 <= console.width]
    return fitting or list(columns[:1])


def _table(columns: Sequence[_Column]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(Text(column.name), justify="right" if column.is_number else "left", no_wrap=True)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))  # a Text, as "[x]" is markup in a str
    return table


def _summary(shown: int, total: int, limit: int | None, columns: Sequence[_Column], kept: Sequence[_Column]) -> str:
    rows = plural(total, "row")
    if shown < total:
        rows = f"the first {shown:,} of {rows}"
    elif total == limit:
        rows = f"the first {rows}" if total > 1 else "the first row"
    if len(kept) == len(columns):
        return rows
    missing = ", ".join(column.name for column in columns[len(kept) :])
    return f"{rows}; {len(kept)} of {len(columns)} columns, without {missing}"
