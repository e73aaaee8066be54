"""``kubothek dataset UUID verify``: whether all is there and fits together."""

from __future__ import annotations

import click

from kubothek import verify_dataset
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.options import json_option
from kubothek.cli.problems import problem_facts, show_problems
from kubothek.cli.terminal import open_console, print_json, waiting


@click.command()
@click.option("--repair", is_flag=True, help="Repair what can be repaired without loss.")
@json_option
@click.pass_context
def verify(ctx: click.Context, repair: bool, as_json: bool) -> None:
    """Check that all a dataset consists of is there and fits together.

    The exit code is 1 when there are problems that have not been repaired.
    """
    target: DatasetTarget = ctx.obj
    store = target.store
    with waiting(f"checking {target.uuid}"):
        problems = verify_dataset(target.uuid, store, repair=repair)
    if as_json:
        print_json({"uuid": target.uuid, "store": store.url, "problems": problem_facts(problems)})
    else:
        show_problems(open_console(target.invocation), target.uuid, problems)
    if not all(problem.repaired for problem in problems):
        ctx.exit(1)
