"""How results look: a picture of bars per work, of lines for how cost grows.

Bars begin at Kubothek's own time and end at the contender's, on a logarithmic axis, so that twice as slow and twice as
fast are equally long; whiskers reach from the smallest to the largest ratio of a round. Lines are drawn on two
logarithmic axes, where a power of the axis is a straight line, and carry their names and slopes at their ends. Colours
are those of Okabe and Ito, which people who see fewer colours can tell apart too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, cycle
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.curves import Curve
from benchmarks.figures import three_digits
from benchmarks.report import picture_name
from benchmarks.results import Result, Results
from benchmarks.timing import Measurement, Timed

SLOWER, FASTER, OWN = "#0072B2", "#D55E00", "#999999"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vPX"
INK, FAINT = "#222222", "#DDDDDD"
_COLUMN, _NAMES, _PLACE = 8.0, 2.1, 0.26
"""Width of a picture or of a column of bars, width of the names in it, and height of a bar with its room; in inches."""
_LONGEST = 30
"""Bars in a column; more of them make two."""
_STYLE: Any = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(folder: Path, results: Results, anew: str) -> None:
    """Draw this work of a size anew and others that have no picture, and take away those of works that are no more."""
    drawn = {
        picture_name(results.size, one.work): one
        for one in results.works
        if one.measurements or any(curve.points for curve in one.curves)
    }
    for path in folder.glob(f"{results.size}-*.png"):
        if path.name not in drawn:
            path.unlink()
    for name, one in drawn.items():
        if one.work != anew and (folder / name).is_file():
            continue
        with mpl.rc_context(_STYLE):
            picture = lines(one, results.size) if one.curves else bars(one, results.size)
            picture.savefig(folder / name, dpi=144, metadata={"Software": None})


def bars(result: Result, size: str) -> Figure:
    """Return the ratios of a work, case below case, each under a line with Kubothek's own time."""
    columns = list(_columns(result.measurements))
    places = max(sum(len(one.timed) for one in column) for column in columns)
    width, height = _COLUMN * len(columns), _PLACE * places + 1.1
    ratios = [ratio for one in result.measurements for timed in one.timed for ratio in (*timed.ratios, timed.goal or 1)]
    figure = Figure(figsize=(width, height))
    for number, column in enumerate(columns):
        left = (number * _COLUMN + _NAMES) / width
        axes = figure.add_axes((left, 0.6 / height, (_COLUMN - _NAMES - 0.7) / width, 1 - 1.05 / height))
        axes.set(xscale="log", xlim=(min(*ratios, 0.6) / 1.2, max(*ratios, 1.7) * 1.2), ylim=(places - 0.4, -0.6))
        _column(axes, column)
    _title(figure, result, size)
    return figure


def _columns(measurements: Sequence[Measurement]) -> Iterator[Sequence[Measurement]]:
    """Yield all cases, or where they are many, the first half and then the second."""
    ends = list(accumulate(len(one.timed) for one in measurements))
    half = next(number for number, end in enumerate(ends, start=1) if end >= ends[-1] / 2)
    yield from (measurements[:half], measurements[half:]) if ends[-1] > _LONGEST else (measurements,)


def _column(axes: Axes, measurements: Sequence[Measurement]) -> None:
    y, names = 0, {}
    for one in measurements:
        own, *others = one.timed
        heading = f"{one.name}   ({own.name} {three_digits(median(own.seconds))} s)"
        shift = (-(_NAMES - 0.16) * 72, 0)
        axes.annotate(heading, (0, y), shift, ("axes fraction", "data"), "offset points", va="center", weight="bold")
        axes.plot((1, 1), (y + 0.5, y + len(others) + 0.5), color=INK, linewidth=1)
        for place, timed in enumerate(others, start=y + 1):
            _bar(axes, place, timed)
            names[place] = timed.name
        y += len(one.timed)
    axes.set_yticks(list(names), list(names.values()))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("time ÷ Kubothek's, right of 1 where Kubothek is faster; ◇ goal", loc="left")
    _ticks(axes.xaxis, "{:g}".format)


def lines(result: Result, size: str) -> Figure:
    """Return the curves of a work, those of one name beside those of the next."""
    drawn = [curve for curve in result.curves if curve.points]
    names = list(dict.fromkeys(curve.name for curve in drawn))
    contenders = list(dict.fromkeys(curve.contender for curve in drawn))
    rows = -(-len(names) // 2)
    width, height = (_COLUMN * 1.4 if len(names) > 1 else _COLUMN), 3.1 * rows + 0.6
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", rect=(0, 0, 1, 1 - 0.35 / height), wspace=0.06, hspace=0.06)
    panels = figure.subplots(rows, min(len(names), 2), squeeze=False).flat
    for name, axes in zip(names, panels, strict=False):
        _panel(axes, name, [curve for curve in drawn if curve.name == name], contenders)
    for axes in list(figure.axes)[len(names) :]:
        axes.remove()
    _title(figure, result, size)
    return figure


def _panel(axes: Axes, name: str, curves: Sequence[Curve], contenders: Sequence[str]) -> None:
    """Draw the curves of one name; a contender looks the same in all panels of a picture."""
    looks = dict(zip(contenders, cycle(zip(LINES, MARKS, strict=True)), strict=False))
    for curve in curves:
        x, seconds = [point.x for point in curve.points], [point.seconds for point in curve.points]
        colour, mark = looks[curve.contender]
        width = 2.2 if curve.contender == "Kubothek" else 1.2
        axes.plot(x, seconds, color=colour, marker=mark, markersize=4.5, linewidth=width)
    axes.set(xscale="log", yscale="log", xlabel=curves[0].x, ylabel="seconds")
    axes.set_title(name, loc="left", fontsize=9, weight="bold")
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    _ticks(axes.xaxis, short_number)
    _ticks(axes.yaxis, "{:g}".format)
    low, high = axes.get_ylim()
    ends = [curve.points[-1].seconds for curve in curves]
    for curve, y in zip(curves, apart(ends, (high / low) ** 0.075), strict=True):
        slope = "" if curve.slope is None else f", slope {curve.slope:z.2f}"
        axes.annotate(
            curve.contender + slope,
            (1.02, y),
            xycoords=axes.get_yaxis_transform(),
            va="center",
            color=looks[curve.contender][0],
            annotation_clip=False,
        )


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Return heights for labels that are near these and whose ratios are at least so large, in the same order.

    >>> apart([1.0, 1.0, 8.0], 4.0)
    [0.5, 2.0, 8.0]
    """
    if not heights:
        return []
    order = np.argsort(np.log(heights), kind="stable")
    wanted = np.log(np.array(heights))[order]
    groups = [[value] for value in wanted]  # neighbours too near each other become a group around their middle
    step = np.log(least)
    number = 0
    while number + 1 < len(groups):
        (own, other), sizes = groups[number : number + 2], (len(groups[number]), len(groups[number + 1]))
        gap = np.mean(other) - np.mean(own)
        if gap < step * sum(sizes) / 2 - 1e-9:
            groups[number : number + 2] = [own + other]
            number = max(number - 1, 0)
        else:
            number += 1
    placed = [np.mean(group) + step * (n - (len(group) - 1) / 2) for group in groups for n in range(len(group))]
    found = np.empty(len(heights))
    found[order] = np.exp(placed)
    return [round(float(height), 9) for height in found]


def short_number(number: float) -> str:
    """Return a large number with a letter for its thousands.

    >>> short_number(100_000), short_number(10)
    ('100k', '10')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def _bar(axes: Axes, y: float, timed: Timed) -> None:
    text, style = ("failed", "italic") if timed.ratio is None else (three_digits(timed.ratio), "normal")
    axes.annotate(text, (1.02, y), xycoords=("axes fraction", "data"), va="center", style=style)
    if timed.ratio is not None:
        colour = OWN if timed.name.startswith("Kubothek") else SLOWER if timed.ratio >= 1 else FASTER
        axes.barh(y, timed.ratio - 1, left=1, height=0.62, color=colour)
        axes.plot((min(timed.ratios), max(timed.ratios)), (y, y), color=INK, linewidth=1)
    if timed.goal is not None:
        axes.plot(timed.goal, y, marker="D", markersize=4.5, color="white", markeredgecolor=INK)


def _ticks(axis: Axis, shown: Callable[[float], str]) -> None:
    """Label a logarithmic axis at the powers of ten, and in between where it is short."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 300 else (1.0,), numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))


def _title(figure: Figure, result: Result, size: str) -> None:
    width, height = figure.get_size_inches()
    y = 1 - 0.2 / height
    figure.text(0.16 / width, y, result.title, va="center", fontsize=11, weight="bold")
    about = f"size {size}, {result.facts['measured']}"
    figure.text(1 - 0.16 / width, y, about, va="center", ha="right", color="#666666", fontsize=8)
