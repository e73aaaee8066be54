"""How measurements are shown: as a table in the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median

from rich.table import Table

from benchmarks.figures import Figures
from benchmarks.timing import Measurement, Timed

HEADINGS = ("case", "contender", "seconds", "from, to", "÷ Kubothek", "goal", "")
PACKAGES = ("pyspark", "pyarrow", "polars", "duckdb", "deltalake", "pyiceberg")


def table_of(work: str, measurements: Sequence[Measurement]) -> Table:
    """Return a table for the terminal."""
    notes = "\n".join(note for one in measurements for note in _notes(one))
    table = Table(title=work, caption=notes or None, title_justify="left", caption_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
    for measurement in measurements:
        for cells in _lines(measurement):
            table.add_row(*cells)
        table.add_section()
    return table


def _lines(measurement: Measurement) -> Iterator[tuple[str, ...]]:
    for number, timed in enumerate(measurement.timed):
        yield (measurement.name if number == 0 else "", timed.name, *_figures(timed, yardstick=number == 0))


def _notes(measurement: Measurement) -> Iterator[str]:
    if measurement.note:
        yield f"{measurement.name}: {measurement.note}"
    for timed in measurement.timed:
        if timed.failure:
            yield f"{measurement.name}: {timed.name} failed: {timed.failure}"


def _figures(timed: Timed, *, yardstick: bool) -> tuple[str, ...]:
    if timed.failure:
        return ("failed", "", "", "", "")
    seconds = (_short(median(timed.seconds)), f"{_short(min(timed.seconds))}, {_short(max(timed.seconds))}")
    if yardstick or timed.ratio is None:
        return (*seconds, "1", "", "")
    goal = "" if timed.goal is None else f"≥ {timed.goal:.2f}"
    return (*seconds, f"{timed.ratio:.2f}", goal, {True: "reached", False: "missed", None: ""}[timed.reached])


def _short(seconds: float) -> str:
    """Return seconds, of which short ones are told more finely."""
    return f"{seconds:.2f}" if seconds >= 1 else f"{seconds:.4f}"


def figures_table(figures: Figures) -> Table:
    """Return figures as a table for the terminal."""
    table = Table(title=figures.work, caption=figures.note, title_justify="left", caption_justify="left")
    for heading in figures.headings:
        table.add_column(heading, justify="right")
    for line in figures.lines:
        table.add_row(*line)
    return table


def environment() -> dict[str, str]:
    """Return what the figures depend on."""
    return {
        "cores": str(os.cpu_count()),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def markdown(
    size: str, facts: Mapping[str, str], measurements: Sequence[Measurement], figures: Sequence[Figures] = ()
) -> str:
    """Return the report as Markdown, one table per work."""
    lines = [
        f"# Benchmarks, size {size}",
        "",
        "Contenders run in turn in one process, Plateau in its own; every result was compared before its time",
        "counted. Seconds are medians; `÷ Kubothek` says how many times Kubothek's time a contender needs: the",
        "median over the rounds of the ratio within one.",
        "",
        *(f"* {name}: {value}" for name, value in facts.items()),
    ]
    for work in dict.fromkeys(one.work for one in measurements):
        own = [one for one in measurements if one.work == work]
        lines += ["", f"## {work.capitalize()}", "", _row(HEADINGS), _row(["---"] * 2 + ["---:"] * 4 + ["---"])]
        lines += [_row(cells) for one in own for cells in _lines(one)]
        lines += [f"\n{note}" for one in own for note in _notes(one)]
    for one in figures:
        lines += ["", f"## {one.work.capitalize()}", "", _row(one.headings), _row(["---:"] * len(one.headings))]
        lines += [*map(_row, one.lines), "", one.note]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def save(
    folder: Path,
    name: str,
    size: str,
    facts: Mapping[str, str],
    measurements: Sequence[Measurement],
    figures: Sequence[Figures] = (),
) -> tuple[Path, Path]:
    """Write the report as ``<name>.md`` and ``<name>.json`` and return where."""
    folder.mkdir(parents=True, exist_ok=True)
    text, data = folder / f"{name}.md", folder / f"{name}.json"
    text.write_text(markdown(size, facts, measurements, figures), encoding="utf-8")
    found = {"size": size, "facts": dict(facts), "measurements": [asdict(one) for one in measurements]}
    found["figures"] = [asdict(one) for one in figures]
    data.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return text, data
