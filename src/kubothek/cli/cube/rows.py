"""How a command reads the rows of a query: partition by partition, with a bar that shows how far it is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import click
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from kubothek.cube.query import Query
from kubothek.engine.local import read_units
from kubothek.store.interface import Store


def read_rows(query: Query, store: Store, limit: int | None = None) -> Generator[pa.Table, None, None]:
    """Yield the rows of a query in the order of its plan, and no more than ``limit``; nothing else is read.

    A terminal shows on standard error how many partitions are read; elsewhere nothing is shown.
    """
    left = limit
    with _progress() as progress, closing(read_units(store, query.plan)) as tables:
        for table in progress.track(tables, total=query.plan.units.num_rows, description="reading"):
            rows = table if left is None else table.slice(0, left)
            if rows.num_rows:
                yield rows
            if left is not None:
                left -= rows.num_rows
                if left == 0:
                    return


def _progress() -> Progress:
    """Return the bar; it goes away when it is done."""
    coloured = click.get_current_context().color is not False
    console = Console(stderr=True, highlight=False, no_color=None if coloured else True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
