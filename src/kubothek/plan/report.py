"""How an explanation is shown: one report of aligned cells and remarks, as text, as a coloured tree, or as HTML.

The text is plain enough for any log: the lines of its tree are ASCII. Colours, in the other two, repeat what the words
say and are never needed; in a notebook they are such that they can be read on light and dark backgrounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from kubothek.model.markup import CELL, FAINT, NUMBER

if TYPE_CHECKING:
    from rich.tree import Tree

_STYLES = {"scan": "bold", "seed": "bold green", "inner": "bold yellow", "left": "cyan", "unread": "dim"}
_COLOURS = {"seed": "#2e9e5b", "inner": "#c0841a", "left": "#2a8fb5"}
_MEASURED = "measured"
_HEADS = ("dataset", "", "files", "bytes", "rows", "requests", "")


@dataclass(frozen=True, slots=True)
class Cells:
    """Numbers of one dataset in words; empty where unknown."""

    files: str
    size: str
    rows: str
    requests: str

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them, in order."""
        return (self.files, self.size, self.rows, self.requests)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is told of one dataset: ``part`` says in words what its role is."""

    name: str
    role: str
    part: str
    expected: Cells
    measured: Cells | None
    remarks: tuple[str, ...]

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """What is expected, and below it what was measured, if anything was."""
        expected = (self.part, *self.expected.texts)
        return (expected,) if self.measured is None else (expected, (_MEASURED, *self.measured.texts))


@dataclass(frozen=True, slots=True)
class Report:
    """What is told of a read; the first of ``notes`` follows the title, the others and ``summary`` are lines."""

    title: str
    notes: tuple[str, ...]
    entries: tuple[Entry, ...]
    summary: tuple[str, ...]

    @property
    def name_width(self) -> int:
        """Letters of the longest name."""
        return max((len(entry.name) for entry in self.entries), default=0)


def as_text(report: Report) -> str:
    """Return a report as lines of text.

    Examples
    --------
    >>> entry = Entry("weather", "scan", "scan", Cells("1 of 3 files", "80 B", "", ""), None, ("2 dropped",))
    >>> print(as_text(Report("dataset weather", ("1 unit",), (entry,), ())))
    dataset weather: 1 unit
    `- weather  scan  1 of 3 files  80 B
         2 dropped
    """
    first, *others = report.notes
    lines = [f"{report.title}: {first}", *others]
    for number, (entry, (expected, *measured)) in enumerate(zip(report.entries, _aligned(report), strict=True)):
        branch, rail = ("`- ", "   ") if number == len(report.entries) - 1 else ("|- ", "|  ")
        lines.append(f"{branch}{entry.name.ljust(report.name_width)}  {expected}")
        lines += [f"{rail}{' ' * report.name_width}  {line}" for line in measured]
        lines += [f"{rail}  {remark}" for remark in entry.remarks]
    return "\n".join([*lines, *report.summary])


def as_tree(report: Report) -> Tree:
    """Return a report as a tree for a terminal: a branch per dataset, its remarks dimmed below it."""
    from rich.text import Text
    from rich.tree import Tree

    first, *others = report.notes
    title = Text.assemble((report.title, "bold"), (f": {first}", "dim"))
    for note in others:
        word, _, rest = note.partition(" ")
        title.append(f"\n{word} ", "dim").append(rest, "yellow" if word == "where" else "")
    for line in report.summary:
        title.append(f"\n{line}", "dim")
    tree = Tree(title, guide_style="dim")
    for entry, (expected, *measured) in zip(report.entries, _aligned(report), strict=True):
        name = (entry.name.ljust(report.name_width), _STYLES[entry.role])
        label = Text.assemble(name, "  ", (expected, "dim" if entry.role == "unread" else ""))
        for line in measured:
            label.append(f"\n{' ' * report.name_width}  ").append(line, "magenta")
        branch = tree.add(label)
        for remark in entry.remarks:
            branch.add(Text(remark, "dim"))
    return tree


def as_html(report: Report) -> str:
    """Return a report as a table in HTML, complete with its styles; colours of the text are the notebook's own."""
    lines = (f"<b>{escape(report.title)}</b>: {escape(report.notes[0])}", *map(escape, report.notes[1:]))
    heads = "".join(f'<th style="{NUMBER if 2 <= n <= 5 else CELL}">{head}</th>' for n, head in enumerate(_HEADS))
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px">'
        + "".join(f"<div>{line}</div>" for line in lines)
        + '<table style="border-collapse:collapse;margin:6px 0;color:inherit;background:none">'
        + f'<thead><tr style="{FAINT};background:none">{heads}</tr></thead>'
        + f"<tbody>{''.join(_html_row(entry) for entry in report.entries)}</tbody></table>"
        + "".join(f'<div style="{FAINT}">{escape(line)}</div>' for line in report.summary)
        + "</div>"
    )


def _html_row(entry: Entry) -> str:
    """Return one dataset as a row, with a line per number where several are compared."""
    colour = f";color:{_COLOURS[entry.role]}" if entry.role in _COLOURS else ""
    part, *numbers = ("<br>".join(map(escape, texts)) for texts in zip(*entry.lines, strict=True))
    cells = [
        f'<td style="{CELL}{colour}"><b>{escape(entry.name)}</b></td>',
        f'<td style="{CELL};white-space:nowrap">{part}</td>',
        *(f'<td style="{NUMBER}">{texts}</td>' for texts in numbers),
        f'<td style="{CELL};{FAINT}">{"<br>".join(map(escape, entry.remarks))}</td>',
    ]
    return f'<tr style="background:none{";" + FAINT if entry.role == "unread" else ""}">{"".join(cells)}</tr>'


def _aligned(report: Report) -> list[list[str]]:
    """Return the lines of each entry, in columns that are wide enough for all; empty columns take no room.

    Words are put left and numbers right.
    """
    widths = [max(map(len, column)) for column in zip(*(row for e in report.entries for row in e.lines), strict=True)]
    return [[_padded(row, widths) for row in entry.lines] for entry in report.entries]


def _padded(row: tuple[str, ...], widths: list[int]) -> str:
    cells = enumerate(zip(row, widths, strict=True))
    return "  ".join(cell.rjust(w) if place else cell.ljust(w) for place, (cell, w) in cells if w).rstrip()
