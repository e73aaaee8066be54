"""What commands say, and where: facts on standard output, questions and waiting on standard error.

On a terminal tables fit its width. In a file or a pipe nothing is wrapped or cut, whatever its length, and there are no
colours unless they were asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from kubothek.cli.invocation import Invocation
from kubothek.model.display import printable

_UNBOUNDED = 100_000


def open_console(invocation: Invocation, width: int = _UNBOUNDED) -> Console:
    """Return what writes to standard output; ``width`` is that of files and pipes."""
    columns = None if sys.stdout.isatty() else width
    if invocation.coloured is False:
        return Console(color_system=None, highlight=False, width=columns)
    always = invocation.coloured is True  # the same bytes then, whatever the terminal and the environment
    return Console(
        force_terminal=always or None,
        color_system="standard" if always else "auto",
        no_color=False,
        highlight=False,
        width=columns,
    )


def print_json(facts: Any) -> None:
    """Print one JSON document."""
    click.echo(msgspec.json.format(msgspec.json.encode(facts, enc_hook=str)))


def confirm(question: str) -> None:
    """Ask on standard error, and go on only after a yes.

    Raises
    ------
    click.Abort
        The answer is no.
    click.ClickException
        Nobody can answer.
    """
    try:
        answer = click.confirm(question, err=True)
    except click.Abort as abort:
        click.echo(err=True)
        if isinstance(abort.__context__, EOFError):
            raise click.ClickException("Nobody answered, so nothing was done. Say --yes in scripts.") from abort
        raise
    if not answer:
        raise click.Abort


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show on a terminal that something is going on for as long as the block runs, and elsewhere nothing."""
    coloured = click.get_current_context().color is not False
    console = Console(stderr=True, highlight=False, no_color=None if coloured else True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(f"{printable(doing)} …"), spinner_style="cyan"):
        yield


def done(console: Console, message: str) -> None:
    """Say that something was done."""
    console.print(Text.assemble(("✓ ", "green"), printable(message)), soft_wrap=True)
