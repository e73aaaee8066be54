"""How cost grows: the same case at several places of an axis, measured and checked as any other, as one curve each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from benchmarks.curves import Curve, Point
from benchmarks.timing import Case, Measurement, measure

ROUNDS = 3
"""A curve is read for its slope, which needs fewer rounds than a ratio."""


def curves(name: str, axis: str, cases: Iterable[tuple[float, Case]], note: str = "") -> Iterator[Curve]:
    """Measure cases one after the other and yield a curve per contender; one that fails has no point there.

    Parameters
    ----------
    name
        What the picture shows.
    axis
        What grows, with its unit.
    cases
        Where on the axis, and the case there; a case may be made just before it is measured.
    note
        What to say of the curve of the first contender.
    """
    measured = [(x, measure(case, ROUNDS)) for x, case in cases]
    work = measured[0][1].work
    contenders = dict.fromkeys(timed.name for _, one in measured for timed in one.timed)
    for number, contender in enumerate(contenders):
        points = tuple(point for x, one in measured for point in _points(x, one, contender))
        yield Curve(work, name, axis, contender, points, "" if number else note)


def _points(x: float, measured: Measurement, contender: str) -> Iterator[Point]:
    for timed in measured.timed:
        if timed.name == contender and timed.seconds and not timed.failure:
            yield Point(x, median(timed.seconds))
