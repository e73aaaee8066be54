"""How values of the library look on a terminal: explanations as trees, tables, durations and bars.

Everything fits into 80 columns as far as names allow. Colours repeat what the text says and are never needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from kubothek.plan.explain import RULES, Explanation, SourceExplanation, human_bytes

_ROLES = {"scan": "scan", "seed": "seed", "inner": "inner", "left": "left", "unread": "not read"}
_BLOCKS = 12
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")  # the last turn directions


def explanation_tree(explanation: Explanation) -> Tree:
    """Return an explanation as a tree: a branch per dataset, below it what is special about its files."""
    tree = Tree(_question(explanation), guide_style="dim")
    names = max((len(source.name) for source in explanation.sources), default=0)
    for source in explanation.sources:
        branch = tree.add(_source(source, names))
        for remark in _remarks(source):
            branch.add(Text(remark, style="dim"))
    return tree


def _question(explanation: Explanation) -> Text:
    text = Text.assemble((explanation.subject, "bold"))
    if explanation.condition:
        text.append(" where ", "dim").append(explanation.condition, "yellow")
    if explanation.group_by:
        text.append(" by ", "dim").append(", ".join(explanation.group_by))
    size = "" if explanation.bytes is None else f", {human_bytes(explanation.bytes)}"
    read = f"{plural(explanation.files, 'file')}{size}, read as {plural(explanation.units, 'unit')}"
    return text.append(f"\n{read}", "dim")


def _source(source: SourceExplanation, width: int) -> Text:
    files = f"{source.files} of {plural(source.total, 'file')}".rjust(14)
    size = "" if source.bytes is None or not source.files else human_bytes(source.bytes)
    text = Text.assemble(
        source.name.ljust(width),
        "  ",
        (_ROLES[source.role].ljust(8), "bold" if source.role in ("seed", "inner") else "dim"),
        "  ",
        share_bar(source.files, source.total),
        f"  {files}  ",
        (size.rjust(9), "cyan"),
    )
    text.rstrip()
    return text


def _remarks(source: SourceExplanation) -> Iterator[str]:
    for rule, count in source.dropped.items():
        yield f"{plural(count, 'file')} dropped {RULES.get(rule, rule)}"
    if source.reads > source.files:
        yield f"read {source.reads} times, as several units need the same files"
    if source.overlaid:
        yield f"{plural(source.overlaid, 'unit')} overlaid: versions of cells are resolved"


def share_bar(part: int, whole: int) -> Text:
    """Return a bar of blocks, filled for the part; something is never shown as nothing.

    Examples
    --------
    >>> share_bar(1, 100).plain, share_bar(0, 100).plain
    ('■□□□□□□□□□□□', '□□□□□□□□□□□□')
    """
    blocks = min(_BLOCKS, whole)
    filled = -(-part * blocks // whole) if whole else 0
    return Text.assemble(("■" * filled, "green"), ("□" * (blocks - filled), "dim"), " " * (_BLOCKS - blocks))


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


def printable(text: str) -> str:
    r"""Return a text whose control characters are shown, so that names which others chose cannot steer a terminal.

    Examples
    --------
    >>> printable("TEMP"), printable("a\x1b[2Jb")
    ('TEMP', 'a\\x1b[2Jb')
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


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


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> plural(1, "file"), plural(336776, "row")
    ('1 file', '336,776 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
