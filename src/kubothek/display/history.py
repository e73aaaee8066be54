"""What was committed when: a lane of marks per dataset along time, and the last commits as a table."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from kubothek.display.drawing import Tick, axis, lane, lanes, paragraph, percent, section, spread_ticks, strip, table
from kubothek.model.display import plural
from kubothek.model.history import HistoryEntry
from kubothek.model.markup import Markup, element
from kubothek.plan.cube.picture import CubePicture, DatasetPicture

_MARKS = 300
_ROWS = 20
_MARGIN = 0.02
_HEADINGS = ("time (UTC)", "dataset", "version", "operation", "author", "added", "removed", "rows", "")
_SHAPES = {
    "adds": "M-{0},0 A{0},{0} 0 1,1 {0},0 A{0},{0} 0 1,1 -{0},0 Z",
    "removes": "M-{0},-{0} H{0} V{0} H-{0} Z",
    "foreign": "M0,-{0} L{0},0 L0,{0} L-{0},0 Z",
}
_KEYS = {"adds": "adds partitions", "removes": "only removes some, or none", "foreign": "by other software"}


def history_section(picture: CubePicture) -> Markup:
    """Draw the commits of all datasets."""
    commits = [(dataset, entry) for dataset in picture.datasets for entry in dataset.history]
    if not commits:
        return section("history", "History", paragraph("No commit is recorded."))
    times = [entry.time for _, entry in commits]
    first, last = min(times), max(times)
    rows = [_lane(dataset, first, last) for dataset in picture.datasets]
    newest = sorted(commits, key=lambda commit: commit[1].time, reverse=True)[:_ROWS]
    caption = "Commits" if len(newest) == len(commits) else f"The last {len(newest)} of {len(commits):,} commits"
    return section(
        "history",
        "History",
        paragraph("The larger a mark, the more partitions came and went. ", *_key(), class_="lead"),
        lanes(*rows, axis(_ticks(first, last))),
        table(caption, _HEADINGS, ([*_cells(dataset, entry)] for dataset, entry in newest), (2, 5, 6, 7)),
    )


def _lane(dataset: DatasetPicture, first: datetime, last: datetime) -> Markup:
    shown = dataset.history[:_MARKS]
    marks = [_mark(entry, _place(entry.time, first, last)) for entry in reversed(shown)]
    told = plural(len(dataset.history), "commit")
    note = (
        f"version {dataset.version}, {told}" if dataset.version is not None else f"{told}, the last by other software"
    )
    return lane(dataset.dataset_id, note, strip(f"{dataset.dataset_id}: {note}", marks, "times"))


def _place(time: datetime, first: datetime, last: datetime) -> float:
    """Return where a time is along the strip; a single moment is where it begins."""
    span = (last - first).total_seconds()
    part = (time - first).total_seconds() / span if span else 0.0
    return _MARGIN + (1 - 2 * _MARGIN) * part


def _kind(entry: HistoryEntry) -> str:
    if entry.is_foreign:
        return "foreign"
    return "adds" if entry.added else "removes"


def _mark(entry: HistoryEntry, place: float) -> Markup:
    """Return a commit as a mark that keeps its form, whatever the width of the strip."""
    radius = 4 + min(6.0, 1.5 * math.log10(1 + (entry.added or 0) + (entry.removed or 0)))
    who = f" by {entry.author}" if entry.author else ""
    title = (
        f"version {entry.version}, {entry.time:%Y-%m-%d %H:%M:%S}: {entry.operation or 'commit'}{who}{_changes(entry)}"
    )
    return element("svg", _shape(_kind(entry), radius, title), x=percent(place), y="50%", class_="mark")


def _shape(kind: str, radius: float, title: str | None = None) -> Markup:
    shown = None if title is None else element("title", title)
    return element("path", shown, d=_SHAPES[kind].format(f"{radius:.1f}"), class_=f"commit-{kind}")


def _changes(entry: HistoryEntry) -> str:
    counts = [f"{number:,} {word}" for number, word in ((entry.added, "added"), (entry.removed, "removed")) if number]
    return f", {', '.join(counts)}" if counts else ""


def _key() -> list[Markup]:
    return [
        element(
            "span",
            element(
                "svg",
                element("svg", _shape(kind, 5), x="50%", y="50%", class_="mark"),
                class_="dot",
                aria_hidden="true",
            ),
            f" {meaning} ",
            class_="key-word",
        )
        for kind, meaning in _KEYS.items()
    ]


def _ticks(first: datetime, last: datetime) -> list[Tick]:
    span = last - first
    form = "%Y-%m-%d" if span > timedelta(days=2) else "%m-%d %H:%M" if span > timedelta(minutes=10) else "%H:%M:%S"
    times = [first + span * part for part in (0.75, 0.5, 0.25, 0)]
    named = {f"{time:{form}}": time for time in times}  # moments that are close have one name, told at the first
    return spread_ticks([_place(time, first, last) for time in reversed(named.values())], [*reversed(named)])


def _cells(dataset: DatasetPicture, entry: HistoryEntry) -> tuple[str, ...]:
    version, time, *others = entry.cells
    return (time, dataset.dataset_id, version, *others)
