"""Steps are told on a terminal, and where nobody watches: in a file or a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from kubothek.cli import steps as module
from kubothek.cli.steps import Steps
from kubothek.spark.progress import StageTasks


def log() -> tuple[io.StringIO, Steps]:
    """Return steps that are shown in a file."""
    file = io.StringIO()
    return file, Steps(Console(file=file, width=80))


def test_a_step_is_a_line_when_it_is_done() -> None:
    """The line has the title, the outcome and the time; the step is kept for later."""
    file, steps = log()
    with steps.step("write") as step:
        step.outcome = "3 rows"
    assert file.getvalue().split() == ["✓", "write", "3", "rows", "0", "ms"]
    assert [(done.title, done.outcome) for done in steps.done] == [("write", "3 rows")]


class Terminal(io.StringIO):
    """A file that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar_while_a_step_runs() -> None:
    """It says how many tasks are done, and nothing between two steps."""
    file = Terminal()
    steps = Steps(Console(file=file, width=80, force_terminal=True))
    with steps.step("write"):
        steps.report(StageTasks(done=3, running=1, total=1234))
    steps.report(StageTasks(7, 0, 7))
    assert "3 of 1,234 tasks" in file.getvalue()
    assert "7 of 7" not in file.getvalue()


def test_a_step_that_fails_is_not_done() -> None:
    """No line says that it was."""
    file, steps = log()
    with pytest.raises(ValueError, match="broken"), steps.step("write"):
        raise ValueError("broken")
    assert (file.getvalue(), steps.done) == ("", [])


def test_progress_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log the tasks of a long step are told, and those of a short one are not."""
    file, steps = log()
    with steps.step("short"):
        steps.report(StageTasks(1, 1, 4))
    monkeypatch.setattr(module, "_LINE_EVERY_SECONDS", -1.0)
    with steps.step("long"):
        steps.report(StageTasks(done=3, running=1, total=4))
    steps.report(StageTasks(4, 0, 4))  # between two steps
    assert [line.split(" done")[0].strip() for line in file.getvalue().splitlines() if "…" in line] == [
        "… long: 3 of 4 tasks"
    ]
