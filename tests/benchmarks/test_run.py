"""What a run keeps of works that end well, fail or are interrupted, and what it ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.results import Result, load
from benchmarks.timing import Case, Contender
from click.testing import CliRunner
from tests.benchmarks.invented import Clock, failing

from benchmarks import __main__ as run

GOOD, BAD = Clock().case(), Case("dataset scan", "too much", (Contender("Kubothek", failing),), reason="A test.")


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, dict[str, Result]]]:
    """Measure these works instead of the real ones of these names, and return the exit code and what is kept."""

    def measure(**works: Callable[..., Iterator[Case]]) -> tuple[int, dict[str, Result]]:
        for work, cases in works.items():
            monkeypatch.setitem(run.WORKS, work, cases)
        options = ["--size", "tiny", "--rounds", "1", "--results", str(tmp_path), *(f"--work={work}" for work in works)]
        code = CliRunner().invoke(run.main, options).exit_code
        return code, {one.work: one for one in load(tmp_path, "tiny").works}

    return measure


def works(*parts: Case | BaseException) -> Callable[..., Iterator[Case]]:
    """Return a work of these cases, or that ends like this."""

    def cases(*_: object) -> Iterator[Case]:
        for part in parts:
            if isinstance(part, BaseException):
                raise part
            yield part

    cases.__name__, cases.__doc__ = "invented", "A work."
    return cases


def test_all_well(measured: Callable[..., tuple[int, dict[str, Result]]], tmp_path: Path) -> None:
    """A work is kept with its facts, shown on pages and drawn."""
    code, found = measured(lookup=works(GOOD))
    assert (code, found["lookup"].ended, found["lookup"].description) == (0, True, "A work.")
    assert found["lookup"].facts["command"] == "python -m benchmarks --size tiny --rounds 1 --memory 6g --work lookup"
    names = {"tiny.json", "tiny.md", "README.md", "tiny-lookup.png"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_case_fails(measured: Callable[..., tuple[int, dict[str, Result]]]) -> None:
    """A case of ours that fails is kept as such; the others are measured, and the run ends with 1."""
    code, found = measured(lookup=works(BAD, GOOD), commits=works(GOOD))
    assert (code, found["lookup"].failures) == (1, {"too much": "MemoryError: no more of it"})
    assert [one.name for work in found.values() for one in work.measurements] == ["all columns"] * 2


def test_work_fails(measured: Callable[..., tuple[int, dict[str, Result]]]) -> None:
    """A work that cannot even begin is kept as such; the others are measured."""
    code, found = measured(lookup=works(OSError("no disk")), commits=works(GOOD))
    assert (code, found["lookup"].failures) == (1, {"all of it": "OSError: no disk"})
    assert found["commits"].ended


def test_interrupted(measured: Callable[..., tuple[int, dict[str, Result]]]) -> None:
    """What was measured before Ctrl-C is kept, and known not to be all."""
    code, found = measured(lookup=works(GOOD, KeyboardInterrupt()), commits=works(GOOD))
    assert (code, [*found], found["lookup"].ended) == (130, ["lookup"], False)
    assert [one.name for one in found["lookup"].measurements] == ["all columns"]


def test_list() -> None:
    """Every work says in a line what it is, and no two have the same name."""
    lines = CliRunner().invoke(run.main, ["--list"]).output.splitlines()
    registered = (run.IN_PROCESS, run.CURVES, run.ALONE, run.ON_SPARK, run.SPARK_CURVES)
    assert len(lines) == len(run.WORKS) == sum(map(len, registered))
    assert all(line.split(maxsplit=1)[1].endswith(".") for line in lines)
