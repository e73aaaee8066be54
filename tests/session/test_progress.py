"""Progress is counted from what a status tracker tells, and told from a thread."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kubothek.spark.progress import StageTasks, ToldTasks, running_tasks, watch_tasks


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


def stage(done: int, total: int, *, ended: bool = False) -> Any:
    """Return what a server of Connect tells of one stage."""
    return SimpleNamespace(num_completed_tasks=done, num_tasks=total, done=ended)


def test_operations_of_a_server_are_added_until_they_are_done() -> None:
    """Each tells of its own stages, again and again; those that ended do not count."""
    reported: list[StageTasks] = []
    told = ToldTasks(reported.append)
    told(stages=[stage(8, 8, ended=True), stage(1, 4)], inflight_tasks=2, operation_id="a", done=False)
    told(stages=[stage(0, 3)], inflight_tasks=1, operation_id="b", done=False)
    told(stages=[stage(2, 4)], inflight_tasks=2, operation_id="a", done=False)
    told(stages=[stage(4, 4)], inflight_tasks=0, operation_id="a", done=True)
    assert reported == [StageTasks(1, 2, 4), StageTasks(1, 3, 7), StageTasks(2, 3, 7), StageTasks(0, 1, 3)]


def test_a_report_about_a_server_that_fails_is_no_concern_of_the_action() -> None:
    """The handler runs in the thread of the action."""
    told = ToldTasks(lambda tasks: 1 / 0)
    told(stages=[], inflight_tasks=0, operation_id=None, done=True)
