"""``kubothek dataset UUID …``: one dataset, to look at and to look after."""

from __future__ import annotations

import click

from kubothek.cli.commands import Commands, LazyCommand
from kubothek.cli.completion import complete_dataset
from kubothek.cli.invocation import DatasetTarget, Invocation

_COMMANDS = (
    LazyCommand("info", "kubothek.cli.dataset.info", "Show schema, partitions, indices and metadata."),
    LazyCommand("partitions", "kubothek.cli.dataset.partitions", "List partitions with their rows and sizes."),
    LazyCommand("history", "kubothek.cli.dataset.history", "List the commits: who changed what, and when."),
    LazyCommand("rollback", "kubothek.cli.dataset.rollback", "Bring back an old version, as a new commit."),
    LazyCommand("index", "kubothek.cli.dataset.index", "Build, drop or list secondary indices."),
    LazyCommand(
        "verify", "kubothek.cli.dataset.verify", "Check that all a dataset consists of is there and fits together."
    ),
    LazyCommand("gc", "kubothek.cli.dataset.gc", "Delete files that nothing refers to any more."),
    LazyCommand("copy", "kubothek.cli.dataset.copy", "Copy a dataset to another name or store."),
    LazyCommand("export-delta", "kubothek.cli.dataset.export_delta", "Make a dataset readable as a Delta table."),
    LazyCommand("delete", "kubothek.cli.dataset.delete", "Delete a dataset."),
)


@click.group(cls=Commands, commands=_COMMANDS)
@click.argument("uuid", shell_complete=complete_dataset)
@click.pass_obj
@click.pass_context
def dataset(ctx: click.Context, invocation: Invocation, uuid: str) -> None:
    """Look at a dataset, and look after it."""
    ctx.obj = DatasetTarget(invocation, uuid)
