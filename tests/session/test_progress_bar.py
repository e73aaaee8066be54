"""The bar that shows how many tasks are done: on terminals, or wherever it is forced, and nowhere else."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tests.session.test_progress import Tracker, session

from kubothek.spark import show_progress
from kubothek.spark.progress import StageTasks
from kubothek.spark.progress_bar import task_bar


def test_a_terminal_sees_how_many_tasks_are_done() -> None:
    """The title and the counts are beside the bar, whatever signs the title has."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100)
    with task_bar(console, "query [fast]") as report:
        report(StageTasks(done=3, running=1, total=12))
    assert "query [fast]" in file.getvalue()
    assert "3 of 12 tasks" in file.getvalue()


@pytest.mark.parametrize(("force", "shown"), [(True, True), (False, False)])
def test_only_terminals_show_it(capsys: pytest.CaptureFixture[str], force: bool, shown: bool) -> None:
    """A file or a log gets no control codes unless they are asked for."""
    with show_progress(session(Tracker({1: (3, 2, 8)})), "build", force=force):
        pass
    assert ("build" in capsys.readouterr().out) is shown
