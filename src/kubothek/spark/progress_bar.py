"""A bar that shows how many tasks of Spark are done: in a terminal, in notebooks, and beside a command's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kubothek.model.display import plural
from kubothek.spark.progress import StageTasks, watch_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console


@contextmanager
def show_progress(spark: SparkSession, title: str = "Spark", *, force: bool = False) -> Iterator[None]:
    """Show how many tasks of the running Spark stages are done, while the block runs.

    The bar goes when the block ends. Where the output is neither a terminal nor a notebook, nothing is shown. Notebooks
    need the package ``ipywidgets``, and say so.

    Parameters
    ----------
    spark
        The session whose jobs are watched, classic or Connect. A classic one shows those of all its threads, Connect
        those that this client waits for.
    title
        What stands before the bar.
    force
        Show the bar whatever the output is, as in an editor that is no terminal but understands its control codes.

    Examples
    --------
    >>> from kubothek.spark import local_session
    >>> spark = local_session()
    >>> with show_progress(spark, "count"):
    ...     spark.range(10).count()
    10
    """
    from rich.console import Console

    console = Console(force_terminal=True if force else None)
    if not (console.is_terminal or console.is_jupyter):
        yield
        return
    with task_bar(console, title) as report, watch_tasks(spark, report):
        yield


@contextmanager
def task_bar(console: Console, title: str) -> Iterator[Callable[[StageTasks], None]]:
    """Show a bar on a console while the block runs, and yield the function that takes the tasks to show."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TextColumn("[dim]{task.fields[counts]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        shown = bar.add_task(title, total=None, counts="")

        def report(tasks: StageTasks) -> None:
            bar.update(shown, completed=tasks.done, total=tasks.total or None, counts=told(tasks))

        yield report


def told(tasks: StageTasks) -> str:
    """Say how many tasks are done, if there are any.

    Examples
    --------
    >>> told(StageTasks(done=3, running=2, total=12)), told(StageTasks(0, 0, 0))
    ('3 of 12 tasks', '')
    """
    return f"{tasks.done:,} of {plural(tasks.total, 'task')}" if tasks.total else ""
