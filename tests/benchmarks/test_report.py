"""What the pages and pictures of results say."""

from __future__ import annotations

import doctest
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.plots import apart, draw
from benchmarks.report import index, markdown, tables, terminal
from benchmarks.results import Results
from rich.console import Console
from tests.benchmarks.invented import FACTS, WORKS, everything, opened, scanned, timed

from benchmarks import figures, plots


def test_cases() -> None:
    """A line says the median with its spread, the ratio, what it took besides and whether the goal was reached."""
    page = markdown(everything())
    assert "|  | Spark's reader | 4.00 (3.50 to 4.50) | 4.00 (3.50 to 4.50) | 1.50 | 300 (+20) |" in page
    assert "| 30.0 | 0 |  | ≥ 5.00 | **missed** |" in page


def test_unknown_is_left_out() -> None:
    """What no contender knows has no column."""
    case = scanned().measurements[0]
    rounds = tuple(replace(one, used=None) for one in timed("Kubothek", 1.0).rounds)
    unknown = replace(case, timed=tuple(replace(one, rounds=rounds) for one in case.timed))
    (table,) = tables(scanned(measurements=(unknown,)))
    assert table.headings == ("case", "contender", "seconds", "÷ Kubothek", "goal", "")


def test_curves() -> None:
    """Curves stand side by side, with their slopes below."""
    (table,) = tables(opened())
    assert table.headings == ("partitions", "Kubothek, s", "Delta, s")
    assert table.lines[0] == ("10", "0.0100", "0.0100")
    assert table.lines[-2:] == (("100,000", "0.0100", ""), ("slope", "0.00", "1.00"))


def test_goals() -> None:
    """A page begins with all goals and how many were reached."""
    page = markdown(everything())
    assert "## Goals: 1 of 2 reached" in page
    assert "| scan | all columns | Spark's reader | 4.00 | ≥ 5.00 | **missed** |" in page
    assert "| memory | 20 times the rows | itself | 1.08 | ≤ 1.2 | reached |" in page


def test_facts() -> None:
    """What is the same for all works is said once; what is not is said of each."""
    page = markdown(everything().merged(scanned(facts=FACTS | {"commit": "8535f65"}), WORKS))
    assert (page.count("2026-11-21 08:00 UTC"), page.count("commit: 8535f65"), page.count("commit: 98a5bd7")) == (
        1,
        1,
        2,
    )


def test_failures() -> None:
    """What failed and what was not measured to its end is said so."""
    page = markdown(Results("small", (scanned(failures={"8 of 128 files": "MemoryError: none"}, ended=False),)))
    assert "**Failed**: 8 of 128 files: MemoryError: none" in page
    assert "**Interrupted before its end.**" in page


def test_index() -> None:
    """The index has a line per goal and a column per size."""
    page = index([everything(), Results("large", (scanned(7.0),))])
    assert "| scan | all columns | Spark's reader | ≥ 5.00 | 4.00, **missed** | 7.00 |" in page
    assert "| memory | 20 times the rows | itself | ≤ 1.2 | 1.08 |  |" in page
    assert "* [small](small.md): 1 of 2 reached" in page


def test_terminal() -> None:
    """The terminal shows the same tables."""
    console = Console(width=160, file=StringIO())
    console.print(*(terminal(table) for one in everything().works for table in tables(one)))
    text = console.file.getvalue()
    assert all(word in text for word in ("Spark's reader", "4.00 (3.50 to 4.50)", "missed", "slope", "Sizes in MiB."))


def test_pictures(tmp_path: Path) -> None:
    """Races and curves have a picture each, which is drawn anew with its work; that of a work that is no more goes."""
    for name in ("small-old.png", "large-scan.png"):
        (tmp_path / name).touch()
    draw(tmp_path, everything(), "scan")
    assert {path.name for path in tmp_path.iterdir()} == {"small-scan.png", "small-open.png", "large-scan.png"}
    (tmp_path / "small-open.png").write_bytes(b"as it was")
    draw(tmp_path, everything(), "scan")
    pictures = [(tmp_path / f"small-{work}.png").read_bytes() for work in ("scan", "open")]
    assert (pictures[0][:4], pictures[1]) == (b"\x89PNG", b"as it was")


@pytest.mark.parametrize("module", [figures, plots], ids=["figures", "plots"])
def test_examples(module: ModuleType) -> None:
    """The examples of the framework hold; they lie where no other command looks for them."""
    failed, attempted = doctest.testmod(module)
    assert (failed, attempted > 0) == (0, True)


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([8.0, 1.0], [8.0, 1.0], id="apart already"),
        pytest.param([1.0, 1.0], [0.5, 2.0], id="equal"),
        pytest.param([1.0, 2.0, 1.0], [0.3149802625, 5.0396842, 1.2599210499], id="one group in the order of heights"),
    ],
)
def test_labels(heights: list[float], expected: list[float]) -> None:
    """Labels that would lie on each other are moved apart around their middle."""
    assert apart(heights, 4.0) == pytest.approx(expected)
