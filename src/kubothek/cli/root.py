"""What the first word on the command line means: a command, and else the name of a cube.

A word that looks like a command with a typing error is taken for one, unless there is a cube of this name.
"""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from kubothek.cli.commands import Commands, LazyCommand
from kubothek.cli.completion import find_cubes
from kubothek.model.cube import SEPARATOR


class CommandsAndCubes(Commands):
    """The commands at the root, beside which each cube is a group of commands that has its name.

    ``cube`` is that group; its ``info_name`` is the name of the cube.
    """

    def __init__(self, *args: Any, cube: LazyCommand, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cube = cube

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or those of cubes; ``None`` for a typing error."""
        command = super().get_command(ctx, cmd_name)
        if command is not None or cmd_name.startswith("-"):
            return command
        wrong = not ctx.resilient_parsing and self.similar(ctx, cmd_name) and cmd_name not in find_cubes(ctx, cmd_name)
        return None if wrong else self.cube.load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command or cube that the first argument names; hints at the word before it that was left out.

        What is to be done may come before the cube too: ``report flights`` is ``flights report``.
        """
        name, command, rest = super().resolve_command(ctx, args)
        if ctx.resilient_parsing or name is None or name in self.lazy or not isinstance(command, click.Group):
            return name, command, rest
        if SEPARATOR in name:
            ctx.fail(f"{name!r} is the name of a dataset: {ctx.command_path} dataset {name}.")
        if name in command.list_commands(ctx) and name not in find_cubes(ctx, name):
            if rest and not rest[0].startswith("-"):
                return rest[0], command, [name, *rest[1:]]
            ctx.fail(f"{name!r} is a command on a cube; name the cube before it: {ctx.command_path} CUBE {name}.")
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Propose commands, cubes and options that begin so."""
        cubes = [] if incomplete.startswith("-") else find_cubes(ctx, incomplete)
        return [*(CompletionItem(cube, help="a cube") for cube in cubes), *super().shell_complete(ctx, incomplete)]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both forms: a cube and what to do with it, or a command."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] CUBE COMMAND [ARGS]...")
        formatter.write_usage(ctx.command_path, "[OPTIONS] COMMAND [ARGS]...", " " * len("Usage: "))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, cubes first."""
        with formatter.section("Commands"):
            lines = [("CUBE", self.cube.help), *((command.name, command.help) for command in self.lazy.values())]
            formatter.write_dl(lines)
