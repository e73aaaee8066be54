"""What the commands of a dataset print, compared as a whole with what is kept in ``golden``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.stored import METADATA, put_dataset, put_foreign_dataset, put_history, run

from kubothek.cli import main

GOLDEN = Path(__file__).parent / "golden"
URL = "memory://golden"
COMMANDS = {
    "info": ["info"],
    "info-json": ["info", "--json"],
    "partitions": ["partitions"],
    "partitions-json": ["partitions", "--json", "--limit", "1"],
    "partitions-where": ["partitions", "--where", 'i1 == 7 & q != "a"'],
    "partitions-limit": ["partitions", "--limit", "2"],
    "index-list": ["index", "list"],
    "index-list-json": ["index", "list", "--json"],
    "index-drop-dry": ["index", "drop", "i*", "--dry-run"],
    "gc-dry": ["gc", "--dry-run", "--older-than", "0s"],
    "gc-json": ["gc", "--dry-run", "--older-than", "0s", "--json"],
    "gc-nothing": ["gc"],
    "delete-dry": ["delete", "--dry-run"],
    "delete-json": ["delete", "--dry-run", "--json"],
}
HISTORY = {
    "history": ["history"],
    "history-json": ["history", "--json"],
    "rollback-dry": ["rollback", "1", "--dry-run"],
    "rollback-json": ["rollback", "2026-07-02T14:30:01+02:00", "--dry-run", "--json"],
}


@pytest.fixture(scope="module", autouse=True)
def _stored() -> None:
    """Put a dataset, some garbage, and a dataset of other software; no test changes them."""
    store = put_dataset(URL)
    store.put("u/table/p=9/q=ü/left.parquet", b"x" * 1500)
    store.put("u/table/left.parquet", b"x" * 20)
    put_foreign_dataset(URL, "foreign")
    put_history(URL, "h")


def golden(name: str) -> str:
    """Read what a command is to print."""
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_kept(name: str) -> None:
    """Every character is as it was, in a pipe, without colours."""
    result = run(URL, "dataset", "u", *COMMANDS[name])
    assert (result.exit_code, result.stdout, result.stderr) == (0, golden(name), "")


@pytest.mark.parametrize("name", HISTORY)
def test_versions_are_shown(name: str) -> None:
    """Who made which version, newest first; what came of other software, and what it has overwritten, is said."""
    result = run(URL, "dataset", "h", *HISTORY[name])
    assert (result.exit_code, result.stdout, result.stderr) == (0, golden(name), "")


def test_what_was_overwritten_stands_out() -> None:
    """In colours the commit of other software is another one; without them nothing is lost."""
    shown = run(URL, "--color=always", "dataset", "h", "history", color=True).stdout
    assert click.unstyle(shown) == golden("history")
    assert "\x1b[33m" in shown


@pytest.mark.parametrize("command", ["info", "partitions"])
def test_what_is_not_recorded_is_said_to_be(command: str) -> None:
    """Headers of other software know no rows, bytes or versions, and may have several tables."""
    result = run(URL, "dataset", "foreign", command)
    assert (result.exit_code, result.stdout) == (0, golden(f"foreign-{command}"))


def test_what_is_kept_is_tested() -> None:
    """Each file belongs to a test."""
    kept = {path.stem for path in GOLDEN.iterdir()}
    assert kept == {*COMMANDS, *HISTORY, "foreign-info", "foreign-partitions"}


@pytest.mark.parametrize("name", ["info", "partitions", "gc-dry"])
def test_colours_only_repeat_what_the_text_says(name: str) -> None:
    """With colours the text is the same, and there are few of them."""
    shown = run(URL, "--color=always", "dataset", "u", *COMMANDS[name], color=True).stdout
    assert click.unstyle(shown) == golden(name)
    assert set(re.findall(r"\x1b\[([\d;]+)m", shown)) <= {"0", "1", "2", "36"}
    assert "\x1b[" in shown


@pytest.mark.parametrize(("option", "owner"), [([], r"Zo\xeb"), (["--json"], "Zo\xc3\xab")], ids=["text", "json"])
def test_what_the_locale_cannot_write_is_shown(option: list[str], owner: str) -> None:
    """Text is escaped; JSON is UTF-8 wherever it is written."""
    result = CliRunner(charset="ascii").invoke(main, ["--store", URL, "dataset", "u", "info", *option])
    assert (result.exit_code, owner in result.stdout_bytes.decode("latin-1")) == (0, True)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.endswith("json")])
def test_json_is_one_document(name: str) -> None:
    """Nothing but JSON is on standard output, and it says which dataset it is about."""
    facts = json.loads(run(URL, "dataset", "u", *COMMANDS[name]).stdout)
    assert (facts["uuid"], facts["store"]) == ("u", URL)
    assert facts.get("metadata", METADATA) == METADATA
