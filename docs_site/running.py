"""What the code of a page prints: run in an empty directory, from its first block to its last, in one namespace."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from docs_site.pages import Block, find_blocks
from kubothek.cli import main

# What pages call the directory that they were run in.
_HOME = "/home/ada"
# Who commits, whoever runs the page.
_WORLD = {"KUBOTHEK_AUTHOR": "ada", "KUBOTHEK_STORE": "", "COLUMNS": "100"}


def run_page(text: str, name: str, directory: Path, *, coloured: bool = False) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page one after the other and yield each with what it printed.

    Parameters
    ----------
    text
        The page.
    name
        How tracebacks call it.
    directory
        Where it runs, which should be empty.
    coloured
        Whether commands print colours.
    """
    names: dict[str, Any] = {"__name__": name}
    for block in find_blocks(text):
        if not block.is_run:
            continue
        with contextlib.chdir(directory), same_environment():
            if block.language == "python":
                printed = _run_python(block.code, name, names)
            else:
                printed = "".join(_run_console(block.code, coloured=coloured))
        yield block, printed.replace(str(directory.resolve()), _HOME)


@contextlib.contextmanager
def same_environment() -> Iterator[None]:
    """Set what pages depend on in the environment, for as long as the block runs."""
    before = {name: os.environ.get(name) for name in _WORLD}
    os.environ.update(_WORLD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _run_python(code: str, name: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), names)  # noqa: S102  our own words
    return printed.getvalue()


def _run_console(code: str, *, coloured: bool) -> Iterator[str]:
    for line in code.splitlines():
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(line.removeprefix("$ "))
        if program != "kubothek":
            raise ValueError(f"Only kubothek is run in pages, not {line!r}: say above the block why it is not run.")
        yield f"{line}\n{run_command(arguments, coloured=coloured)}\n"


def run_command(arguments: list[str], *, coloured: bool) -> str:
    """Run the command line in this process and return what it writes, errors included."""
    colours = ["--color=always"] if coloured else []
    result = CliRunner().invoke(main, [*colours, *arguments], prog_name="kubothek", color=coloured)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output
