"""How results are shown: every part as a table of text, in the terminal and in Markdown alike.

A page per size begins with all of its goals and says of every work when and where it was measured; what is the same for
all works is said once. An index over all sizes shows every goal with what each size came to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from rich.table import Table

from benchmarks.curves import Curve
from benchmarks.figures import Figures, three_digits
from benchmarks.results import Result, Results
from benchmarks.timing import Measurement, Timed
from benchmarks.usage import Usage

INTRODUCTION = """\
Contenders run in turn in one process tree, and every result is compared with Kubothek's before its time counts. Seconds
are medians over the rounds that follow a first one to warm up, in brackets the shortest and the longest. `÷ Kubothek`
is how many times Kubothek's time a contender needs, more than 1 where it is slower: the median of the ratios within a
round. CPU, memory and bytes are those of the whole process tree; memory is the most it held, in brackets how much of
that it did not hold yet when the contender began. [How this is measured and read](../README.md)."""
OVERVIEW = """\
What every goal came to, size by size; it was reached unless something else is said. Ratios are how many times
Kubothek's time the other needs. The page of a size has the figures, the pictures and the circumstances they were
measured in. [How this is measured and read](../README.md)."""
VERDICTS = {True: "reached", False: "**missed**", None: "no figure"}
GOALS = ("work", "case", "against", "found", "goal", "")
_USED: dict[str, Callable[[Sequence[Usage]], str]] = {
    "CPU, s": lambda used: three_digits(median(one.cpu for one in used)),
    "peak, MiB": lambda used: f"{max(one.peak_mib for one in used):,.0f} (+{max(one.grown_mib for one in used):,.0f})",
    "read, MB": lambda used: three_digits(median(one.read for one in used) / 1e6),
    "written, MB": lambda used: three_digits(median(one.written for one in used) / 1e6),
}


def tables(result: Result) -> Iterator[Figures]:
    """Yield all parts of a result as tables."""
    if result.measurements:
        yield table_of_cases(result.measurements)
    for name in dict.fromkeys(curve.name for curve in result.curves):
        yield table_of_curves([curve for curve in result.curves if curve.name == name])
    yield from result.figures


def table_of_cases(measurements: Sequence[Measurement]) -> Figures:
    """Return cases as a table: a line per contender, and only columns about which something is known."""
    columns: dict[str, Callable[[Timed], str]] = {
        "contender": lambda timed: timed.name,
        "seconds": lambda timed: _spread(timed.seconds) if timed.rounds else "failed",
        "÷ Kubothek": lambda timed: _spread(timed.ratios) if timed.ratios else "",
        **{name: partial(_used, told) for name, told in _USED.items()},
        "requests": lambda timed: ", ".join(
            {f"{one.requests:,}": None for one in timed.rounds if one.requests is not None}
        ),
        "goal": lambda timed: ", ".join(goal.goal for goal in timed.goals("")),
        "": lambda timed: ", ".join(VERDICTS[goal.reached] for goal in timed.goals("")),
    }
    everyone = [timed for one in measurements for timed in one.timed]
    shown = {name: cell for name, cell in columns.items() if any(map(cell, everyone))}
    lines = tuple(
        (one.name if number == 0 else "", *(cell(timed) for cell in shown.values()))
        for one in measurements
        for number, timed in enumerate(one.timed)
    )
    notes = "\n\n".join(note for one in measurements for note in _notes(one))
    return Figures(measurements[0].work, ("case", *shown), lines, notes)


def table_of_curves(curves: Sequence[Curve]) -> Figures:
    """Return curves of one name as a table: a line per place, a column per contender, and the slopes below."""
    places = {curve.contender: {point.x: point for point in curve.points} for curve in curves}
    lines = (
        (f"{x:,.10g}", *(three_digits(points[x].seconds) if x in points else "" for points in places.values()))
        for x in sorted({point.x for curve in curves for point in curve.points})
    )
    slopes = ("slope", *("" if curve.slope is None else f"{curve.slope:z.2f}" for curve in curves))
    notes = dict.fromkeys(f"{curve.contender}: {curve.note}" for curve in curves if curve.note)
    headings = (curves[0].x, *(f"{contender}, s" for contender in places))
    return Figures(curves[0].name, headings, (*lines, slopes), "\n\n".join(notes))


def goal_lines(result: Result) -> Iterator[tuple[str, ...]]:
    """Yield the goals of a result, each as a line of a table."""
    for one in result.goals():
        yield result.work, one.case, one.against, one.found, one.goal, VERDICTS[one.reached]


def terminal(figures: Figures) -> Table:
    """Return a table for the terminal."""
    table = Table(title=figures.work, caption=figures.note or None, title_justify="left", caption_justify="left")
    for heading, left in zip(figures.headings, _words(figures), strict=True):
        table.add_column(heading, justify="left" if left else "right")
    for line in figures.lines:
        table.add_row(*(cell.replace("**", "") for cell in line))
    return table


def markdown(results: Results) -> str:
    """Return the page of a size."""
    common = dict(results.works[0].facts.items() if results.works else ())
    for one in results.works:
        common = {name: value for name, value in common.items() if one.facts.get(name) == value}
    goals = tuple(line for one in results.works for line in goal_lines(one))
    lines = [f"# Benchmarks, size {results.size}", "", INTRODUCTION, ""]
    lines += [f"* {name}: {value}" for name, value in common.items()]
    lines += ["", f"## Goals: {reached(results)}", "", *_rows(Figures("", GOALS, goals))]
    for one in results.works:
        lines += _section(one, results.size, common)
    return "\n".join(lines) + "\n"


def reached(results: Results) -> str:
    """Return how many goals were reached, and how many there are."""
    goals = [goal.reached for one in results.works for goal in one.goals()]
    return f"{goals.count(True)} of {len(goals)} reached"


def index(everything: Sequence[Results]) -> str:
    """Return the page over all sizes."""
    goals: dict[tuple[str, ...], dict[str, str]] = {}
    for results in everything:
        for one in results.works:
            for work, case, against, found, goal, verdict in goal_lines(one):
                cell = found if verdict == VERDICTS[True] else f"{found}, {verdict}"
                goals.setdefault((work, case, against, goal), {})[results.size] = cell
    sizes = {results.size: f"[{results.size}]({results.size}.md)" for results in everything}
    counts = (f"* {sizes[results.size]}: {reached(results)}" for results in everything)
    by_work = sorted(goals.items(), key=lambda item: item[0][0])
    lines = tuple((*key, *(found.get(size, "") for size in sizes)) for key, found in by_work)
    headings = ("work", "case", "against", "goal", *sizes.values())
    return "\n".join(["# Benchmarks", "", OVERVIEW, "", *counts, "", *_rows(Figures("", headings, lines))]) + "\n"


def _section(result: Result, size: str, common: dict[str, str]) -> Iterator[str]:
    yield from ("", f"## {result.title}", "", f"{result.description} (`--work {result.work}`)", "")
    yield ", ".join(f"{name}: {value}" for name, value in result.facts.items() if name not in common)
    if not result.ended:
        yield "\n**Interrupted before its end.**"
    for part, failure in result.failures.items():
        yield f"\n**Failed**: {part}: {failure}"
    for table in tables(result):
        if result.curves:
            yield from ("", f"### {table.work}")
        yield from ("", *_rows(table))
        if table.note:
            yield from ("", table.note)
    if result.measurements or any(curve.points for curve in result.curves):
        yield f"\n![{result.title}]({picture_name(size, result.work)})"


def picture_name(size: str, work: str) -> str:
    """Return the name of the file that a work's picture is in."""
    return f"{size}-{work}.png"


def write_pages(folder: Path, results: Results, everything: Sequence[Results]) -> None:
    """Write the page of a size and the index."""
    (folder / f"{results.size}.md").write_text(markdown(results), encoding="utf-8")
    (folder / "README.md").write_text(index(everything), encoding="utf-8")


def _notes(measurement: Measurement) -> Iterator[str]:
    if measurement.note:
        yield f"{measurement.name}: {measurement.note}"
    for timed in measurement.timed:
        if timed.failure:
            yield f"{measurement.name}: {timed.name} failed: {timed.failure}"


def _spread(numbers: Sequence[float]) -> str:
    """Return the median, and the smallest and largest number in brackets where they say more."""
    middle, least, most = map(three_digits, (median(numbers), min(numbers), max(numbers)))
    return middle if least == most else f"{middle} ({least} to {most})"


def _used(told: Callable[[Sequence[Usage]], str], timed: Timed) -> str:
    used = [one.used for one in timed.rounds if one.used is not None]
    return told(used) if used else ""


def _rows(figures: Figures) -> Iterator[str]:
    """Yield a table as the lines of Markdown; none where it is empty."""
    if not figures.lines:
        return
    bars = ["---" if left else "---:" for left in _words(figures)]
    for cells in (figures.headings, bars, *figures.lines):
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _words(figures: Figures) -> list[bool]:
    """Say of each column whether it holds words, as the first one does; they begin on the left, numbers end right."""
    columns = list(zip(*figures.lines, strict=True))
    return [
        number == 0 or any(cell.lstrip("*")[:1].isalpha() and cell != "failed" for cell in column)
        for number, column in enumerate(columns)
    ]
