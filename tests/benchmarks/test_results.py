"""How results of works that were measured at different times are kept together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.curves import Curve, Point
from benchmarks.results import Results, load, save
from tests.benchmarks.invented import FACTS, WORKS, everything, opened, scanned


def test_kept(tmp_path: Path) -> None:
    """What is kept is read back as it was."""
    save(tmp_path, everything())
    assert load(tmp_path, "small") == everything()


def test_nothing_kept(tmp_path: Path) -> None:
    """Where there is no file yet, or one of another form, nothing is kept."""
    (tmp_path / "tiny.json").write_text('{"size": "tiny", "measurements": []}')
    assert [load(tmp_path, size) for size in ("small", "tiny")] == [Results("small"), Results("tiny")]


def test_merged() -> None:
    """A work that is measured anew takes its old place; the others keep their facts."""
    new = scanned(9.0, facts=FACTS | {"commit": "8535f65"})
    found = everything().merged(new, WORKS)
    assert [one.work for one in found.works] == [*WORKS]
    assert [one.facts["commit"] for one in found.works] == ["8535f65", "98a5bd7", "98a5bd7"]


def test_order() -> None:
    """Works come in the order in which they are registered, not in that of their measuring."""
    assert Results("small", (opened(),)).merged(scanned(), WORKS).works == (scanned(), opened())


def test_renamed() -> None:
    """A work that is no more vanishes with the next one that is kept."""
    renamed = replace(scanned(), work="read")
    assert [one.work for one in everything().merged(renamed, ("read", *WORKS[1:])).works] == ["read", "open", "memory"]


def test_failed_is_not_reached() -> None:
    """What failed counts as a goal that was missed."""
    *_, last = scanned(failures={"8 of 128 files": "MemoryError: no more of it"}).goals()
    assert (last.case, last.found, last.reached) == ("8 of 128 files", "failed", False)


def test_slope() -> None:
    """The slope is the power that seconds grow with; one place has none."""
    ours, theirs = opened().curves
    assert (round(ours.slope or 0.0, 6), round(theirs.slope or 0.0, 6)) == (0, 1)
    assert Curve("open", "open", "partitions", "Kubothek", (Point(10, 1),)).slope is None
