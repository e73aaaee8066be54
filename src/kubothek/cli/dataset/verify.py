"""``kubothek dataset UUID verify``: whether all is there and fits together."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kubothek import verify_dataset
from kubothek.cli.invocation import DatasetTarget
from kubothek.cli.layout import Trimmed
from kubothek.cli.options import json_option
from kubothek.cli.render import plural, printable
from kubothek.cli.terminal import done, open_console, print_json, waiting
from kubothek.model.problem import Problem


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
        print_json({"uuid": target.uuid, "store": store.url, "problems": [asdict(problem) for problem in problems]})
    else:
        _show(open_console(target.invocation), target.uuid, problems)
    if not all(problem.repaired for problem in problems):
        ctx.exit(1)


def _show(console: Console, uuid: str, problems: list[Problem]) -> None:
    for problem in problems:
        mark = ("✓ repaired ", "green") if problem.repaired else ("✗ ", "red")
        place = "" if problem.key is None else f"  {printable(problem.key)}"
        console.print(Text.assemble(mark, (problem.kind.replace("_", " "), "bold"), place), soft_wrap=True)
        console.print(Trimmed(Padding(Text(printable(problem.message)), (0, 0, 1, 2), expand=False)))
    repaired = sum(problem.repaired for problem in problems)
    if not problems:
        done(console, f"no problems in {uuid}")
    elif repaired == len(problems):
        done(console, f"{plural(repaired, 'problem')} of {uuid} repaired")
    else:
        more = f", {repaired:,} repaired" if repaired else ""
        console.print(Text(f"{plural(len(problems), 'problem')} in {uuid}{more}", style="bold"))
