"""``kubothek dataset UUID export-delta``: makes a dataset readable as a Delta table."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import click

from kubothek import export_delta as export
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import json_option, parse_version
from kubothek.cli.terminal import done, open_console, print_json, waiting
from kubothek.model.display import plural


@click.command("export-delta")
@click.option("--at", metavar="VERSION", type=parse_version, help="Which version: a number, or a time (UTC).")
@click.option("--table", metavar="NAME", help="Which table; the only one if not given.")
@click.option("--statistics", is_flag=True, help="Put bounds of columns into the log: one request for each new file.")
@json_option
@click.pass_obj
def export_delta(
    target: DatasetTarget, at: int | datetime | None, table: str | None, statistics: bool, as_json: bool
) -> None:
    """Make a dataset readable as a Delta table.

    No file is copied: a log in the dataset's folder names those that are there. Export again after each update. The
    Delta table is for reading only; never run VACUUM on it.
    """
    with waiting(f"exporting {target.uuid}"):
        made = export(target.uuid, target.store, at=at, table=table, statistics=statistics)
    if as_json:
        print_json(asdict(made))
        return
    files = f"{plural(made.added, 'new file')}, {made.removed:,} gone" if made.added or made.removed else "nothing new"
    done(open_console(target.invocation), f"{made.url} is version {made.version} of a Delta table: {files}")
