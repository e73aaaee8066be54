"""``kubothek CUBE …``: one cube, to look at, to query and to look after."""

from __future__ import annotations

import click

from kubothek.cli.commands import Commands, LazyCommand
from kubothek.cli.invocation import CubeTarget, Invocation

_COMMANDS = (
    LazyCommand("info", "kubothek.cli.cube.info", "Show what a cube is, and its datasets with their columns."),
    LazyCommand("stats", "kubothek.cli.cube.stats", "Count partitions, files, rows and bytes."),
    LazyCommand(
        "query",
        "kubothek.cli.cube.query",
        "Query a cube: cells of its seed with what the other datasets know of them.",
    ),
    LazyCommand("explain", "kubothek.cli.cube.explain", "Say what a query would read, and why."),
    LazyCommand("report", "kubothek.cli.cube.report", "Draw a cube on one page: coverage, sizes, history, a query."),
    LazyCommand("pin", "kubothek.cli.cube.pin", "Print which versions a query sees, to ask it of them again later."),
    LazyCommand("check", "kubothek.cli.cube.check", "Check that all is there and that the datasets form a cube."),
    LazyCommand(
        "stale", "kubothek.cli.cube.stale", "Say which partitions of a computed dataset its sources have changed since."
    ),
    LazyCommand("index", "kubothek.cli.cube.index", "Build, drop or list secondary indices."),
    LazyCommand("copy", "kubothek.cli.cube.copy", "Copy a cube, or some of its datasets, to another store or name."),
    LazyCommand("cleanup", "kubothek.cli.cube.cleanup", "Delete files that nothing refers to any more."),
    LazyCommand("delete", "kubothek.cli.cube.delete", "Delete a cube, or some of its datasets."),
)


@click.group(cls=Commands, commands=_COMMANDS)
@click.pass_obj
@click.pass_context
def cube(ctx: click.Context, invocation: Invocation) -> None:
    """Look at a cube, query it, and look after it.

    The cube is named before the command.
    """
    ctx.obj = CubeTarget(invocation, str(ctx.info_name))
