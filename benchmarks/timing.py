"""How long each contender of a case takes, and whether all of them give the same rows.

Contenders run in turn, round after round, so that whatever else the machine does hits all of them alike. The first
round warms up and is not timed. Every result is compared with the first contender's before its time counts. Ratios are
taken within a round, and their median is reported: it holds where the seconds themselves depend on the day.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DIFFERENT_ORDER = 1e-9
"""Relative difference of two sums of the same doubles, added in another order."""


def _itself(result: Any) -> Any:
    return result


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work.

    ``run`` is timed; ``rows`` turns what it returns into a table to compare, and cleans up, off the clock. ``goal`` is
    how many times the first contender's time this one should need at least; ``None`` where it is only reported. A
    contender in another process takes the time itself; ``seconds`` finds it in what ``run`` returns.
    """

    name: str
    run: Callable[[], Any]
    rows: Callable[[Any], pa.Table] = _itself
    goal: float | None = None
    seconds: Callable[[Any], float] | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """The same work for several contenders, Kubothek the first; ``note`` finds out, off the clock, what else to say."""

    work: str
    name: str
    contenders: tuple[Contender, ...]
    note: Callable[[], str] = lambda: ""


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of one contender, round by round, and the ratios to the first contender's; or why it failed."""

    name: str
    goal: float | None
    seconds: tuple[float, ...]
    ratios: tuple[float, ...]
    failure: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the first contender's time this one needs."""
        return median(self.ratios) if self.ratios else None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; ``None`` where there is none or nothing to compare."""
        return None if self.goal is None or self.ratio is None else self.ratio >= self.goal


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a case came to; the first contender is the yardstick."""

    work: str
    name: str
    timed: tuple[Timed, ...]
    note: str = ""


def measure(case: Case, rounds: int, clock: Callable[[], float] = time.perf_counter) -> Measurement:
    """Run all contenders of a case in turn.

    Parameters
    ----------
    case
        What to measure.
    rounds
        How often, after one round to warm up.
    clock
        Gives seconds.

    Raises
    ------
    AssertionError
        A contender gave other rows than the first one.
    """
    seconds: dict[str, list[float]] = {contender.name: [] for contender in case.contenders}
    failures: dict[str, str] = {}
    for number in range(rounds + 1):
        expected: pa.Table | None = None
        for contender in case.contenders:
            if contender.name in failures:
                continue
            start = clock()
            try:
                result = contender.run()
            except Exception as error:
                if expected is None:  # a rival may fail in its own way (out of memory), the first may not
                    raise
                failures[contender.name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                continue
            elapsed = clock() - start if contender.seconds is None else contender.seconds(result)
            rows = contender.rows(result)
            expected = rows if expected is None else expected
            assert_same_rows(rows, expected, f"{case.work}, {case.name}: {contender.name}")
            if number:
                seconds[contender.name].append(elapsed)
    first = seconds[case.contenders[0].name]
    timed = tuple(_timed(contender, seconds[contender.name], first, failures) for contender in case.contenders)
    return Measurement(case.work, case.name, timed, case.note())


def _timed(contender: Contender, seconds: Sequence[float], first: Sequence[float], failures: dict[str, str]) -> Timed:
    failure = failures.get(contender.name, "")
    ratios = () if failure else tuple(own / other for own, other in zip(seconds, first, strict=True))
    return Timed(contender.name, contender.goal, tuple(seconds), ratios, failure)


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
