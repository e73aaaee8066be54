"""The command line: ``kubothek CUBE COMMAND`` and ``kubothek COMMAND``.

This module only says which commands there are and what holds for all of them; each is imported when it is used
(:mod:`kubothek.cli.commands`), so that help and completion come at once.
"""

from __future__ import annotations

import io
import sys

import click

from kubothek.cli.commands import LazyCommand
from kubothek.cli.invocation import Color, Invocation
from kubothek.cli.options import parse_key_value
from kubothek.cli.root import CommandsAndCubes

_CUBE = LazyCommand("cube", "kubothek.cli.cube", "Look at a cube, query it, and look after it.")
_COMMANDS = (
    LazyCommand("dataset", "kubothek.cli.dataset", "Look at a dataset, and look after it."),
    LazyCommand("migrate", "kubothek.cli.migrate", "Look over what other software has written."),
    LazyCommand("demo", "kubothek.cli.demo", "Build a cube of 336,776 flights on Spark, append to it and query it."),
)
_HELP = """\
Datasets and cubes of partitioned Parquet files in object stores.

\b
A word that is no command is the name of a cube, before a command on it:
  kubothek --store URL flights info
Datasets are named after the word dataset:
  kubothek --store URL dataset flights++seed info
What there is to do with them is listed by
  kubothek CUBE --help
  kubothek dataset --help
"""
_COMPLETION = """\b
Completion of commands and of the names of cubes and datasets, for one session of your shell:
  bash  eval "$(_KUBOTHEK_COMPLETE=bash_source kubothek)"
  zsh   eval "$(_KUBOTHEK_COMPLETE=zsh_source kubothek)"
  fish  _KUBOTHEK_COMPLETE=fish_source kubothek | source
"""


@click.group(
    cls=CommandsAndCubes,
    commands=_COMMANDS,
    cube=_CUBE,
    help=_HELP,
    epilog=_COMPLETION,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="kubothek", prog_name="kubothek")
@click.option(
    "--store",
    metavar="URL",
    envvar="KUBOTHEK_STORE",
    show_envvar=True,
    help="Where the data is: a directory, or s3://bucket/prefix, gs://…, az://….",
)
@click.option(
    "--store-option",
    "store_options",
    metavar="KEY=VALUE",
    multiple=True,
    type=parse_key_value,
    help="An option of the store, such as region=eu-west-1; may be given several times.",
)
@click.option(
    "--color",
    type=click.Choice([choice.value for choice in Color]),
    default=Color.AUTO.value,
    show_default=True,
    help="Colours: auto has them on a terminal.",
)
@click.pass_context
def main(ctx: click.Context, store: str | None, store_options: tuple[tuple[str, str | bool], ...], color: str) -> None:
    """Datasets and cubes of partitioned Parquet files in object stores."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names that the locale cannot write are shown all the same
            stream.reconfigure(errors="backslashreplace")
    invocation = Invocation(store, dict(store_options), Color(color))
    ctx.obj = invocation
    ctx.color = invocation.coloured
