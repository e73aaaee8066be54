"""How far the Spark jobs of a session are, told while the program waits for them.

An action blocks the thread that runs it. A second thread asks Spark's status tracker now and then for the stages that
are running and reports how many of their tasks are done. A server of Spark Connect tells it unasked, every two seconds
or as its setting ``spark.connect.progress.reportInterval`` says.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kubothek.engine.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class StageTasks:
    """Tasks of the stages that run now: how many are done, are running, and are there in all."""

    done: int
    running: int
    total: int


class StageTracker(Protocol):
    """What is needed of ``SparkContext.statusTracker()``."""

    def getActiveStageIds(self) -> Sequence[int]:  # noqa: N802  Spark's name
        """Return the ids of the stages that run now."""

    def getStageInfo(self, stageId: int) -> Any:  # noqa: N802, N803  Spark's names
        """Return the counts of a stage, ``None`` if it is not known any more."""


def running_tasks(tracker: StageTracker) -> StageTasks:
    """Return the tasks of the stages that run now; all counts are 0 when nothing runs."""
    infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [info for info in infos if info is not None]
    return StageTasks(
        done=sum(info.numCompletedTasks for info in known),
        running=sum(info.numActiveTasks for info in known),
        total=sum(info.numTasks for info in known),
    )


class ToldTasks:
    """Receives what a server of Connect tells of each operation, and reports the tasks of all that run now."""

    def __init__(self, report: Callable[[StageTasks], None]) -> None:
        self._report = report
        self._operations: dict[str | None, StageTasks] = {}

    def __call__(self, stages: Iterable[Any], inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        """Take note; the names of the arguments are Spark's."""
        running = [] if done else [stage for stage in stages if not stage.done]
        self._operations[operation_id] = StageTasks(
            done=sum(stage.num_completed_tasks for stage in running),
            running=0 if done else inflight_tasks,
            total=sum(stage.num_tasks for stage in running),
        )
        if done:
            del self._operations[operation_id]
        known = [*self._operations.values()]
        counts = StageTasks(
            sum(one.done for one in known), sum(one.running for one in known), sum(one.total for one in known)
        )
        with suppress(Exception):  # an action must not fail because its progress cannot be shown
            self._report(counts)


@contextmanager
def watch_tasks(spark: SparkSession, report: Callable[[StageTasks], None], *, every: float = 0.25) -> Iterator[None]:
    """Report the running tasks of a session while the block runs, from a thread of its own.

    Parameters
    ----------
    spark
        The session.
    report
        Called with the counts, also when nothing runs; it must be quick, and what it raises is no concern of the
        block, but ends the reports of a classic session.
    every
        Seconds between two reports; for Spark Connect the server decides.
    """
    if is_connect(spark):
        told: Any = ToldTasks(report)  # called like Spark's ProgressHandler; a class of Spark's is no use without it
        spark.registerProgressHandler(told)
        try:
            yield
        finally:
            spark.removeProgressHandler(told)
        return
    tracker = spark.sparkContext.statusTracker()
    stopped = threading.Event()

    def watch() -> None:
        with suppress(Exception):  # an action must not fail because its progress cannot be shown
            while not stopped.wait(every):
                report(running_tasks(tracker))

    thread = threading.Thread(target=watch, name="kubothek-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
