"""What the first word means: a command, a cube, or a typing error; and what the shell proposes in its place."""

from __future__ import annotations

import os

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from tests.cli.stored import put_cube, put_dataset

from kubothek.cli import main

URL = "memory://root"


@pytest.fixture(scope="module", autouse=True)
def _stored() -> None:
    """Put cubes, one of them called almost like a command, and a dataset of no cube."""
    for prefix in ("flights", "flocks", "datasets"):
        put_cube(URL, prefix)
    put_dataset(URL, "flat")


def run(*arguments: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(main, arguments, prog_name="kubothek")


@pytest.mark.parametrize("arguments", [["flights"], ["flights", "--help"], ["nowhere", "-h"]], ids=" ".join)
def test_a_cube_lists_its_commands(arguments: list[str]) -> None:
    """Whatever cube is named, there or not: what could be done with it."""
    output = run(*arguments).output
    assert output.startswith(f"Usage: kubothek {arguments[0]} [OPTIONS] COMMAND [ARGS]...\n")
    commands = {"info", "stats", "query", "explain", "check", "stale", "index", "copy", "cleanup", "delete"}
    assert commands <= {line.split()[0] for line in output.splitlines() if line.strip()}


def test_help_explains_both_forms() -> None:
    """The names of cubes and datasets have their places, and the lists of commands are pointed to."""
    output = run("--help").output
    assert "Usage: kubothek [OPTIONS] CUBE COMMAND [ARGS]...\n" in output
    for example in ("URL flights info", "URL dataset flights++seed info", "kubothek CUBE --help", "  CUBE     Look at"):
        assert example in output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["datset", "u", "info"], 2, "No such command 'datset'. Did you mean 'dataset'?"),
        (["--store", URL, "datset", "u", "info"], 2, "Did you mean 'dataset'?"),
        (["--store", "ftp://x", "datset"], 2, "Did you mean 'dataset'?"),
        (["--store", URL, "datasets", "info"], 0, ""),
        (["--store", URL, "flight", "info"], 1, "There is no cube 'flight' in memory://root: "),
        (["--store", URL, "flight", "info"], 1, "Did you mean 'flights'?"),
        (["--store", URL, "flat", "info"], 1, "There is no cube 'flat'"),
        (["--store", URL, "flights++seed", "info"], 2, "name of a dataset: kubothek dataset flights++seed."),
        (["--store", URL, "info"], 2, "'info' is a command on a cube; name the cube before it: kubothek CUBE info."),
        (["flights", "inf"], 2, "No such command 'inf'. Did you mean 'info' or 'pin'?"),
        (["flights", "info"], 2, "KUBOTHEK_STORE"),
        (["--nothing"], 2, "No such option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_first_word_is_understood(
    arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command, else a cube; what looks like a command and is no cube is a typing error."""
    monkeypatch.delenv("KUBOTHEK_STORE", raising=False)
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr


@pytest.mark.parametrize("command", ["info", "stats"])
def test_the_command_may_come_first(command: str) -> None:
    """What is to be done may be said before the name of the cube or after it."""
    ways = (run("--store", URL, command, "flights", "--json"), run("--store", URL, "flights", command, "--json"))
    assert ways[0].output == ways[1].output
    assert [one.exit_code for one in ways] == [0, 0]


@pytest.mark.parametrize(
    ("before", "typed", "proposed"),
    [
        (["--store", URL], "fl", ["flights", "flocks"]),
        (["--store", URL], "da", ["datasets", "dataset"]),
        (["--store", URL], "flights++", []),
        (["--store", URL], "--col", ["--color"]),
        (["--store", URL, "flights"], "c", ["check", "copy", "cleanup"]),
        (["--store", URL, "dataset"], "flights++n", ["flights++names"]),
        (["--store", "ftp://host"], "d", ["dataset", "demo"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_the_shell_completes_cubes_and_commands(before: list[str], typed: str, proposed: list[str]) -> None:
    """Proposed are cubes of the store and commands that begin as typed; without a store the commands alone."""
    completed = ShellComplete(main, {}, "kubothek", "_KUBOTHEK_COMPLETE").get_completions(before, typed)
    assert [item.value for item in completed] == proposed


@pytest.mark.skipif("KUBOTHEK_STORE" in os.environ, reason="the environment names a store")
def test_without_a_store_commands_are_proposed() -> None:
    """There are no names of cubes then, and no error."""
    completed = ShellComplete(main, {}, "kubothek", "_KUBOTHEK_COMPLETE").get_completions([], "")
    assert [item.value for item in completed] == ["dataset", "migrate", "demo"]
