"""What many schedules came to, counted; how a process runs its share of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module

import pyarrow as pa

from kubothek.testing.simulation.schedules import run_schedule

_SHOWN = 20


@dataclass
class Tally:
    """What some schedules came to."""

    schedules: int = 0
    calls: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    violations: dict[int, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add others."""
        self.schedules += other.schedules
        self.calls += other.calls
        self.operations += other.operations
        self.faults += other.faults
        self.violations |= other.violations

    def __str__(self) -> str:
        """Return the table that is printed."""
        lines = [f"{self.schedules:,} schedules, {self.operations.total():,} operations, {self.calls:,} store calls"]
        for title, counts in (("operations", self.operations), ("faults", self.faults)):
            lines += ["", f"{title}:", *(f"  {count:9,}  {name}" for name, count in sorted(counts.items()))]
        found = sorted(self.violations.items())
        lines += [
            "",
            f"{len(found):,} schedules with violations",
            *(f"  {seed}: {one}" for seed, one in found[:_SHOWN]),
        ]
        return "\n".join(lines)


def run_many(seeds: Iterable[int], mutation: str | None = None) -> Tally:
    """Run schedules, under a mutation if one is named."""
    tally = Tally()
    with mutated(mutation):
        for seed in seeds:
            report = run_schedule(seed)
            tally.schedules += 1
            tally.calls += len(report.trace)
            for (name, outcome), count in report.outcomes.items():
                tally.operations[f"{name}: {outcome.value}"] += count
            for fault, count in report.faults.items():
                tally.faults[fault.value] += count
            if report.violations:
                tally.violations[seed] = report.violations[0]
    return tally


def mutated(name: str | None) -> AbstractContextManager[object]:
    """Return what damages the protocol while it is entered, given as ``module:function``."""
    if name is None:
        return nullcontext()
    module, _, function = name.partition(":")
    found: Callable[[], AbstractContextManager[object]] = getattr(import_module(module), function)
    return found()


def begin_worker() -> None:
    """Keep Arrow in a process of its own from threads of which nobody needs any."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
