"""``kubothek CUBE query``: one query, or a prompt for many of them."""

from __future__ import annotations

import sys

import click

from kubothek.cli.cube.formats import WRITERS, format_of, new_file
from kubothek.cli.cube.preview import show_rows
from kubothek.cli.cube.prompt import Prompt
from kubothek.cli.cube.question import Question, ask, question_options
from kubothek.cli.cube.rows import read_rows
from kubothek.cli.invocation import CubeTarget
from kubothek.cli.terminal import done, open_console
from kubothek.model.display import plural

_TABLE = "table"


@click.command()
@question_options
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most this many rows.")
@click.option("--format", "form", type=click.Choice([_TABLE, *WRITERS]), help="How rows are written.")
@click.option("--output", metavar="FILE", type=click.Path(dir_okay=False), help="Where they are written to.")
@click.pass_obj
def query(target: CubeTarget, question: Question, limit: int | None, form: str | None, output: str | None) -> None:
    """Query a cube: cells of its seed with what the other datasets know of them.

    Without any option a prompt takes conditions and commands, one per line; it reads a pipe as well.

    A table is for people and shows as much as fits. The other formats have all rows, written while they are read:
    partition by partition, sorted by dimensions within each.
    """
    if (question, limit, form, output) == (Question(), None, None, None):
        Prompt(target).run()
        return
    chosen = form or (format_of(output) if output else _TABLE)
    _check_destination(chosen, output)
    console = open_console(target.invocation)
    asked = ask(target, question)
    rows = read_rows(asked, target.store, limit)
    if chosen == _TABLE:
        show_rows(console, asked, rows, limit)
    elif output is None:
        WRITERS[chosen](asked.schema, rows, sys.stdout.buffer)
    else:
        with new_file(output) as file:
            count = WRITERS[chosen](asked.schema, rows, file)
        done(console, f"{plural(count, 'row')} in {output}")


def _check_destination(form: str, output: str | None) -> None:
    if form == _TABLE and output is not None:
        raise click.UsageError("A table is for people; write a file with --format csv, json or parquet.")
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is no text for a terminal; name a file with --output, or redirect.")
