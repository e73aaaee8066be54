"""How long each contender of a case takes, and whether all of them give the same rows.

Contenders run in turn, round after round, so that whatever else the machine does hits all of them alike. The first
round warms up and is not timed; each following one begins with another contender, so that nobody always comes after
the same one. Every result is compared with the first contender's before its time counts. Ratios are taken within a
round, and their median is reported: it holds where the seconds themselves depend on the day.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.figures import Goal, three_digits
from benchmarks.usage import Meter, Usage

_DIFFERENT_ORDER = 1e-9
"""Relative difference of two sums of the same doubles, added in another order."""


def _itself(result: Any) -> Any:
    return result


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work.

    ``run`` is timed; ``rows`` turns what it returns into a table to compare, and cleans up, off the clock. ``goal`` is
    how many times the first contender's time this one should need at least, ``None`` where it is only reported. Of the
    contenders of one ``group``, which are ways to use the same software, the goal is about the fastest alone. A
    contender in another process takes the time itself; ``seconds`` finds it in what ``run`` returns, as ``requests``
    finds how often a store was asked that counts.
    """

    name: str
    run: Callable[[], Any]
    rows: Callable[[Any], pa.Table] = _itself
    goal: float | None = None
    seconds: Callable[[Any], float] | None = None
    requests: Callable[[Any], int] | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """The same work for several contenders, Kubothek the first.

    ``note`` finds out, off the clock, what else to say; ``reason`` says why a case has no goal.
    """

    work: str
    name: str
    contenders: tuple[Contender, ...]
    note: Callable[[], str] = lambda: ""
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.reason and all(one.goal is None for one in self.contenders):
            raise ValueError(f"{self.work}, {self.name}: no contender has a goal, and no reason is given")


@dataclass(frozen=True, slots=True)
class Round:
    """What a contender needed once; nothing is known of its use where the system does not tell."""

    seconds: float
    used: Usage | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """The rounds of one contender and their ratios to the first contender's; or why it failed."""

    name: str
    goal: float | None
    rounds: tuple[Round, ...]
    ratios: tuple[float, ...]
    failure: str = ""
    group: str = ""

    @property
    def seconds(self) -> tuple[float, ...]:
        """Seconds, round by round."""
        return tuple(one.seconds for one in self.rounds)

    @property
    def ratio(self) -> float | None:
        """How many times the first contender's time this one needs."""
        return median(self.ratios) if self.ratios else None

    def goals(self, case: str) -> Iterator[Goal]:
        """Yield the goal that this contender sets, where it sets one, with what was found."""
        if self.goal is not None:
            found = "failed" if self.ratio is None else three_digits(self.ratio)
            reached = None if self.ratio is None else self.ratio >= self.goal
            yield Goal(case, self.name, found, f"≥ {three_digits(self.goal)}", reached)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a case came to; the first contender is the yardstick."""

    work: str
    name: str
    timed: tuple[Timed, ...]
    note: str = ""

    def goals(self) -> Iterator[Goal]:
        """Yield the goals of all contenders; of those of a group only the fastest one's."""
        groups: dict[str, list[Timed]] = {}
        for timed in self.timed:
            groups.setdefault(timed.group or timed.name, []).append(timed)
        for group in groups.values():
            fastest = min(group, key=lambda timed: inf if timed.ratio is None else timed.ratio)
            yield from fastest.goals(self.name)


def measure(
    case: Case, rounds: int, clock: Callable[[], float] = time.perf_counter, meter: Callable[[], Meter] = Meter
) -> Measurement:
    """Run all contenders of a case in turn.

    Parameters
    ----------
    case
        What to measure.
    rounds
        How often, after one round to warm up.
    clock
        Gives seconds.
    meter
        Makes what tells what else a run needed.

    Raises
    ------
    AssertionError
        A contender gave other rows than the first one.
    Exception
        Whatever the first contender fails with; what others fail with is part of the measurement.
    """
    taken: dict[str, list[Round]] = {contender.name: [] for contender in case.contenders}
    failures: dict[str, str] = {}
    yardstick = case.contenders[0]
    for number in range(rounds + 1):
        found: dict[str, pa.Table] = {}
        for contender in in_turn(case.contenders, number):
            if contender.name in failures:
                continue
            try:
                one, found[contender.name] = _run(contender, clock, meter)
            except Exception as error:
                if contender is yardstick:  # a rival may fail in its own way (out of memory), the first may not
                    raise
                failures[contender.name] = said(error)
                continue
            if number:
                taken[contender.name].append(one)
        for name, rows in found.items():
            assert_same_rows(rows, found[yardstick.name], f"{case.work}, {case.name}: {name}")
    first = [one.seconds for one in taken[yardstick.name]]
    timed = []
    for contender in case.contenders:
        failure = failures.get(contender.name, "")
        own = () if failure else tuple(taken[contender.name])
        ratios = tuple(round(one.seconds / other, 4) for one, other in zip(own, first, strict=not failure))
        timed.append(Timed(contender.name, contender.goal, own, ratios, failure, contender.group))
    return Measurement(case.work, case.name, tuple(timed), " ".join(filter(None, (case.note(), case.reason))))


def in_turn(contenders: Sequence[Contender], number: int) -> Sequence[Contender]:
    """Return the contenders in the order of a round: each one begins with the next of them."""
    begin = number % len(contenders)
    return (*contenders[begin:], *contenders[:begin])


def said(error: BaseException) -> str:
    """Return what an error says, on one line and not at length, with paths from here on; Java's is its last cause."""
    cause = str(error).rpartition("Caused by: ")[2].partition("\n\tat ")[0]
    text = " ".join(cause.replace(f"{Path.cwd()}/", "").split())
    return f"{type(error).__name__}: {text[:200]}"


def _run(contender: Contender, clock: Callable[[], float], meter: Callable[[], Meter]) -> tuple[Round, pa.Table]:
    with meter() as used:
        start = clock()
        result = contender.run()
        elapsed = clock() - start
    seconds = elapsed if contender.seconds is None else contender.seconds(result)
    requests = None if contender.requests is None else contender.requests(result)
    return Round(round(seconds, 9), used.usage, requests), contender.rows(result)


def assert_same_rows(found: pa.Table, expected: pa.Table, who: str) -> None:
    """Check that two tables hold the same rows, in any order; sums of doubles may differ in the last digits."""
    assert set(found.column_names) == set(expected.column_names), f"{who} gives the columns {found.column_names}"
    assert found.num_rows == expected.num_rows, f"{who} gives {found.num_rows} rows, not {expected.num_rows}"
    left, right = _ordered(found), _ordered(expected)
    for name in right.column_names:
        ours, theirs = left.column(name), right.column(name)
        if pa.types.is_floating(theirs.type):
            same = np.allclose(ours.to_numpy(), theirs.to_numpy(), rtol=_DIFFERENT_ORDER, atol=0, equal_nan=True)
        else:
            same = ours.cast(theirs.type).equals(theirs)
        assert same, f"{who} gives other values in {name}"


def _ordered(table: pa.Table) -> pa.Table:
    keys = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in sorted(keys)]))
