"""``kubothek dataset UUID history``: who changed what, and when."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich import box
from rich.table import Table
from rich.text import Text

from kubothek import History, open_dataset
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import Trimmed
from kubothek.cli.options import json_option
from kubothek.cli.terminal import open_console, print_json, waiting
from kubothek.model.display import printable
from kubothek.model.history import HEADINGS, NUMERIC


@click.command()
@json_option
@click.pass_obj
def history(target: DatasetTarget, as_json: bool) -> None:
    """List the commits: who changed what, and when.

    The newest comes first; times are UTC. Each version can be read and brought back, until garbage collection gives it
    up. Added and removed are numbers of partitions, rows those of the added ones.
    """
    store = target.store
    with waiting(f"reading the history of {target.uuid}"):
        commits = open_dataset(target.uuid, store).history()
    if as_json:
        print_json({"uuid": target.uuid, "store": store.url, "commits": [asdict(one) for one in commits]})
        return
    open_console(target.invocation).print(_table(commits))


def _table(commits: History) -> Trimmed:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading, numeric in zip(HEADINGS, NUMERIC, strict=True):
        table.add_column(heading, justify="right" if numeric else "left")
    for one in commits:
        style = "yellow" if one.overwrote else "cyan" if one.is_foreign else ""
        table.add_row(*(Text(printable(cell)) for cell in one.cells), style=style)
    return Trimmed(table)
