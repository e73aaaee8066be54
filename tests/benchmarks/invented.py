"""What tests of the benchmarks' framework measure: a clock that only contenders wind, and results made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Self

import pyarrow as pa
from benchmarks.curves import Curve, Point
from benchmarks.figures import Figures, Goal
from benchmarks.results import Result, Results
from benchmarks.timing import Case, Contender, Measurement, Round, Timed
from benchmarks.usage import Meter, Usage

SUMS = pa.table({"p": [1, 2], "v1": [0.3, 1.0]})
WORKS = ("scan", "open", "memory")
FACTS = {"measured": "2026-11-21 08:00 UTC", "commit": "98a5bd7", "load at its start": "0.20"}


class Clock:
    """Seconds that pass only when a contender takes them."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float, rows: pa.Table = SUMS) -> Callable[[], pa.Table]:
        def run() -> pa.Table:
            self.now += seconds
            return rows

        return run

    def case(self, *others: Contender, ours: float = 2) -> Case:
        """Return a case in which Kubothek takes two seconds."""
        return Case("dataset scan", "all columns", (Contender("Kubothek", self.takes(ours)), *others), reason="A test.")


class NoMeter(Meter):
    """Measures nothing, at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def failing() -> pa.Table:
    """Be a contender that runs out of memory."""
    raise MemoryError("no more of it")


def timed(name: str, *seconds: float, goal: float | None = None, requests: int | None = None) -> Timed:
    """Return rounds whose ratios are to a second each."""
    used = Usage(cpu=1.5, peak_mib=300.0, grown_mib=20.0, read=30_000_000, written=0)
    return Timed(name, goal, tuple(Round(one, used, requests) for one in seconds), seconds)


def scanned(seconds: float = 4.0, goal: float = 5.0, **changes: object) -> Result:
    """Return the result of a race against Spark, which takes so many times as long."""
    spark = timed("Spark's reader", seconds - 0.5, seconds, seconds + 0.5, goal=goal)
    case = Measurement("dataset scan", "all columns", (timed("Kubothek", 1, 1, 1, requests=3), spark), "A note.")
    return replace(Result("scan", "A scan of one dataset.", FACTS, (case,), ended=True), **changes)


def opened() -> Result:
    """Return the result of curves, one linear and one constant."""
    places = (10.0, 1_000.0, 100_000.0)
    ours = tuple(Point(x, 0.01) for x in places)
    theirs = tuple(Point(x, x / 1000) for x in places[:2])
    curves = (
        Curve("opening", "open", "partitions", "Kubothek", ours),
        Curve("opening", "open", "partitions", "Delta", theirs),
    )
    return Result("open", "Open a dataset.", FACTS, curves=curves, ended=True)


def remembered() -> Result:
    """Return the result of figures with a goal."""
    goal = Goal("20 times the rows", "itself", "1.08", "≤ 1.2", reached=True)
    figures = Figures("memory", ("peak in MiB", "20 rows"), (("read", "7"),), "Sizes in MiB.", (goal,))
    return Result("memory", "What memory it takes.", FACTS, figures=(figures,), ended=True)


def everything() -> Results:
    """Return results of all forms."""
    return Results("small", (scanned(), opened(), remembered()))
