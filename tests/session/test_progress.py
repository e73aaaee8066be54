"""Progress is counted from what a status tracker tells, and told from a thread."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kubothek.spark.progress import StageTasks, running_tasks, watch_tasks


class Tracker:
    """Knows the counts (done, running, total) of some running stages; ``None`` stands for one that just ended."""

    def __init__(self, stages: dict[int, tuple[int, int, int] | None]) -> None:
        self.stages = stages

    def getActiveStageIds(self) -> list[int]:  # noqa: N802  Spark's name
        return list(self.stages)

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        counts = self.stages[stage]
        names = ("numCompletedTasks", "numActiveTasks", "numTasks")
        return counts and SimpleNamespace(**dict(zip(names, counts, strict=True)))


def session(tracker: Tracker) -> Any:
    """Return what the watcher needs of a session."""
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


@pytest.mark.parametrize(
    ("stages", "counts"),
    [({}, (0, 0, 0)), ({1: (3, 2, 8)}, (3, 2, 8)), ({1: (3, 2, 8), 4: (0, 1, 1), 5: None}, (3, 3, 9))],
    ids=["idle", "one stage", "several, one gone"],
)
def test_tasks_of_running_stages_are_added(stages: dict, counts: tuple[int, int, int]) -> None:
    """What runs at once is one sum."""
    assert running_tasks(Tracker(stages)) == StageTasks(*counts)


def test_reports_come_while_the_block_runs() -> None:
    """They start soon, and end with the block."""
    reported = threading.Event()
    with watch_tasks(session(Tracker({1: (3, 2, 8)})), lambda tasks: reported.set(), every=0.001):
        assert reported.wait(5)
    assert "kubothek-progress" not in {thread.name for thread in threading.enumerate()}


def test_a_report_that_fails_ends_the_reports_only() -> None:
    """Work is not lost because its progress cannot be shown."""
    asked = threading.Event()

    def report(tasks: StageTasks) -> None:
        asked.set()
        raise OSError("the terminal is gone")

    with watch_tasks(session(Tracker({})), report, every=0.001):
        assert asked.wait(5)
