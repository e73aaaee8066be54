"""Shows what a command is doing: one line per step when it is done, and its progress while it runs.

On a terminal the progress is a bar that goes when the step is done. Elsewhere, in a file or a CI log, it is a plain
line every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from kubothek.model.display import duration
from kubothek.spark.progress import StageTasks
from kubothek.spark.progress_bar import task_bar, told

TITLE_WIDTH = 34
_LINE_EVERY_SECONDS = 5.0


@dataclass(slots=True)
class Step:
    """One step: its title, what came of it, and how long it took."""

    title: str
    outcome: str = ""
    seconds: float = 0.0


class Steps:
    """The steps of one command, shown on a console as they go; ``done`` lists those that are finished."""

    def __init__(self, console: Console) -> None:
        self.done: list[Step] = []
        self._console = console
        self._bar: Callable[[StageTasks], None] | None = None
        self._running: Step | None = None
        self._begin = 0.0
        self._last_line = 0.0

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Time a step and show it; its outcome is what the block sets. A step that fails leaves no line."""
        step = Step(title)
        self._begin = self._last_line = time.perf_counter()
        with self._shown(title) as self._bar:
            self._running = step
            try:
                yield step
            finally:
                self._running = None
        step.seconds = time.perf_counter() - self._begin
        self.done.append(step)
        self._console.print(_finished(step))

    def report(self, tasks: StageTasks) -> None:
        """Show how many tasks of Spark are done; called from the thread that watches them."""
        step, bar = self._running, self._bar
        if step is None:
            return
        if bar is not None:
            bar(tasks)
        elif tasks.total and time.perf_counter() - self._last_line > _LINE_EVERY_SECONDS:
            self._last_line = time.perf_counter()
            seconds = duration(self._last_line - self._begin)
            self._console.print(f"  … {step.title}: {told(tasks)} done after {seconds}")

    @contextmanager
    def _shown(self, title: str) -> Iterator[Callable[[StageTasks], None] | None]:
        if not self._console.file.isatty():
            yield None
            return
        with task_bar(self._console, title.ljust(TITLE_WIDTH)) as bar:
            yield bar


def _finished(step: Step) -> Text:
    seconds = duration(step.seconds).rjust(8)
    return Text.assemble(
        ("✓ ", "green"), step.title.ljust(TITLE_WIDTH), " ", (step.outcome.ljust(33), "dim"), (seconds, "cyan")
    )
