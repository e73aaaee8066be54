"""``kubothek CUBE pin``: a line that stands for what the cube is now."""

from __future__ import annotations

import click

from kubothek.cli.cube.question import Question, ask, datasets_option
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import json_option
from kubothek.cli.terminal import print_json


@click.command()
@datasets_option
@json_option
@click.pass_obj
def pin(target: CubeTarget, datasets: tuple[str, ...] | None, as_json: bool) -> None:
    """Print which versions a query sees, to ask it of them again later.

    The line goes to `--at` of query and explain, and to `at=` of query_cube.
    """
    pinned = ask(target, Question(datasets=datasets)).pin()
    if as_json:
        print_json({"store": target.store.url, "pin": str(pinned), **pinned.to_dict()})
    else:
        click.echo(str(pinned))
