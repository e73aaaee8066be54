"""The simulator: it repeats itself, finds nothing wrong with the protocol, and everything wrong with a damaged one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

import pytest
from tests.simulation.mutations import MUTATIONS, SEEDS

from kubothek.testing.simulation import Report, run_schedule
from kubothek.testing.simulation.runs import Fault, Outcome

BLOCKS, SCHEDULES = 20, 100
MOST_SCHEDULES = 2000


def reports(seeds: Iterable[int]) -> list[Report]:
    """Run schedules."""
    return [run_schedule(seed) for seed in seeds]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_nothing_is_violated(block: int) -> None:
    """Whatever the clients do and whatever goes wrong, what is promised holds."""
    found = reports(range(block * SCHEDULES, (block + 1) * SCHEDULES))
    assert [violation for report in found for violation in report.violations] == []
    assert sum(run.outcome is Outcome.DONE for report in found for run in report.runs) > 4 * SCHEDULES
    assert len({fault for report in found for fault in report.faults}) >= len(Fault) - 2  # each is rare


@pytest.mark.parametrize("seed", [pytest.param(9064, id="before the dataset"), pytest.param(35393, id="beside it")])
def test_withdrawn_header(seed: int) -> None:
    """A header that says that it gave way, under the other name of a header, is no version that could be lost."""
    assert run_schedule(seed).violations == ()


def test_number_that_another_client_gave() -> None:
    """One who goes on from a header of other software takes over the number that a stale listing gave it."""
    assert run_schedule(24686).violations == ()


@pytest.mark.parametrize("name", MUTATIONS)
def test_damage_is_found(name: str) -> None:
    """Each damage to the protocol violates something within a fixed number of schedules."""
    with MUTATIONS[name]():
        found = (run_schedule(seed) for seed in (SEEDS.get(name, 0), *range(MOST_SCHEDULES)))
        violations = next((report.violations for report in found if report.violations), ())
    assert violations
    assert not any("no such error is raised on purpose" in violation for violation in violations)


def test_a_seed_says_it_all() -> None:
    """The same seed gives the same story, in another process too."""
    code = "from kubothek.testing.simulation import run_schedule; print([str(run_schedule(s)) for s in range(12)])"
    hashing = {**os.environ, "PYTHONHASHSEED": "7"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=hashing).stdout
    assert told.strip() == str([str(report) for report in reports(range(12))])
