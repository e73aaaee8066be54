"""``kubothek CUBE explain``: what a query would read, and which rule spares it the other files."""

from __future__ import annotations

import click

from kubothek.cli.cube.question import Question, ask, question_options
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.options import json_option
from kubothek.cli.terminal import open_console, print_json, waiting


@click.command()
@question_options
@click.option("--analyze", is_flag=True, help="Run the query too, and say what it really read.")
@json_option
@click.pass_obj
def explain(target: CubeTarget, question: Question, analyze: bool, as_json: bool) -> None:
    """Say what a query would read, and why.

    Planning reads headers and index entries only. With --analyze the rows are read as well, and thrown away.
    """
    with waiting("running the query" if analyze else "planning the query"):
        explanation = ask(target, question).explain(analyze=analyze)
    if as_json:
        print_json({"cube": target.uuid_prefix, "store": target.store.url, **explanation.to_dict()})
        return
    open_console(target.invocation).print(explanation)
