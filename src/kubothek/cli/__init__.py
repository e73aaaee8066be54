"""The command line: ``kubothek COMMAND``.

Errors that the library raises on purpose are shown as their message alone, in red, and end with exit code 1; usage
errors end with 2, as ever.
"""

from __future__ import annotations

from typing import IO, Any

import click

from kubothek.cli.demo import demo
from kubothek.errors import KubothekError


class _Refused(click.ClickException):
    """An error of the library, on its way to the terminal."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message."""
        click.secho(f"Error: {self.message}", fg="red", err=file is None, file=file)


class Commands(click.Group):
    """A group of commands whose errors are messages."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KubothekError as error:
            raise _Refused(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kubothek", prog_name="kubothek")
def main() -> None:
    """Datasets and cubes of partitioned Parquet files in object stores."""


main.add_command(demo)
