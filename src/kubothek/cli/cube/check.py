"""``kubothek CUBE check``: whether all is there and the datasets form a cube."""

from __future__ import annotations

import click

from kubothek import check_cube
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import json_option
from kubothek.cli.problems import problem_facts, show_problems
from kubothek.cli.terminal import open_console, print_json, waiting


@click.command()
@json_option
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Check that all is there and that the datasets form a cube.

    The exit code is 1 when there are problems.
    """
    target: CubeTarget = ctx.obj
    cube, store = target.uuid_prefix, target.store
    with waiting(f"checking {cube}"):
        problems = check_cube(cube, store)
    if as_json:
        print_json({"cube": cube, "store": store.url, "problems": problem_facts(problems)})
    else:
        show_problems(open_console(target.invocation), cube, problems)
    if problems:
        ctx.exit(1)
