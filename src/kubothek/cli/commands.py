"""Groups of commands that start quickly and fail politely.

A group knows the names of its commands and one line of help for each. The module of a command is imported when the
command is used, because the library, Rich and whatever a command needs besides take longer than most answers. What
the library refuses, or the system (as with a full disk), ends as its message on standard error and exit code 1; usage
errors end with 2; Ctrl-C ends without a word and with 130, as the shell expects of an interrupted program.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click
from click.shell_completion import CompletionItem

from kubothek.errors import KubothekError

_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command before it is imported: its name, the module that has it (``-`` as ``_``), and its line of help."""

    name: str
    module: str
    help: str

    def load(self) -> click.Command:
        """Import the command. By name, as an import statement would run at the start or be hidden in a function."""
        command: click.Command = getattr(importlib.import_module(self.module), self.name.replace("-", "_"))
        return command


class Commands(click.Group):
    """A group whose commands are imported on use and whose errors are messages.

    Its ``commands`` are what belongs to it by name. A group that also takes names of another kind (of cubes) overrides
    ``get_command`` for those that are none of these.
    """

    def __init__(self, *args: Any, commands: Sequence[LazyCommand] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.lazy = {command.name: command for command in commands}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which they were listed."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; ``None`` where there is none of this name."""
        if cmd_name in self.lazy:
            return self.lazy[cmd_name].load()
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names; a typing error gets a hint."""
        similar = self.similar(ctx, args[0])
        if similar and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, similar))}?")
        return super().resolve_command(ctx, args)

    def similar(self, ctx: click.Context, name: str) -> list[str]:
        """Return the commands whose names look like this one."""
        return difflib.get_close_matches(name, self.list_commands(ctx))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Propose commands and options that begin so, without importing any command."""
        if not self.lazy:
            return super().shell_complete(ctx, incomplete)
        commands = [CompletionItem(name, help=c.help) for name, c in self.lazy.items() if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        if not self.lazy:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(command.name, command.help) for command in self.lazy.values()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()  # what cannot be written shows here, and not when Python ends
        except KubothekError as error:
            raise _Refused(str(error)) from error
        except KeyboardInterrupt as interrupt:
            click.echo(err=True)  # the prompt of the shell begins a line of its own
            raise click.exceptions.Exit(_INTERRUPTED) from interrupt
        except OSError as error:
            if error.errno == errno.EPIPE:  # who reads has had enough; click ends quietly
                raise
            _discard_output()
            raise _Refused(str(error)) from error


def _discard_output() -> None:
    """Let what is still buffered go nowhere; Python would try to write it once more when it ends."""
    with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


class _Refused(click.ClickException):
    """An error of the library or the system, on its way to the terminal."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message; only the word before it is red."""
        before = click.style("Error:", fg="red", bold=True)
        click.echo(f"{before} {self.message}", err=file is None, file=file, color=self.show_color)
