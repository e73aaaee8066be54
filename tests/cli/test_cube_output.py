"""What the commands on a cube print, compared as a whole with what is kept in ``golden_cube``."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import pytest
from tests.cli.stored import put_cube, run

GOLDEN = Path(__file__).parent / "golden_cube"
URL = "memory://cubes"
COMMANDS = {
    "info": ["info"],
    "info-json": ["info", "--json"],
    "stats": ["stats"],
    "stats-json": ["stats", "--json"],
    "stats-chosen": ["stats", "--include", "s*, weather", "--exclude", "we*"],
    "index-list": ["index", "list"],
    "index-list-json": ["index", "list", "se*", "--json"],
    "index-drop-dry": ["index", "drop", "seed", "*", "--dry-run"],
    "explain": ["explain", "--where", 'i1 == "N1" & v3 > 2', "--columns", "v1"],
    "explain-json": ["explain", "--where", 'i1 == "N1" & v3 > 2', "--columns", "v1", "--json"],
    "cleanup-dry": ["cleanup", "--dry-run", "--older-than", "0s"],
    "cleanup-json": ["cleanup", "--dry-run", "--older-than", "0s", "--json"],
    "cleanup-nothing": ["cleanup"],
    "delete-dry": ["delete", "--dry-run"],
    "delete-json": ["delete", "--dry-run", "--json", "--include", "weather"],
}
OTHERS = {
    "small-stats": ["small", "stats"],
    "kartothek-info": ["suppress", "info"],
    "kartothek-stats": ["suppress", "stats"],
    "kartothek-index-list": ["suppress", "index", "list"],
    "kartothek-check": ["suppress", "check"],
    "kartothek-explain": ["suppress", "explain", "--where", "v3 is not null & i1 != 'a'"],
    "broken-delete-dry": ["broken", "delete", "--dry-run"],
}
BROKEN = {
    "missing-check": ["c", "check"],
    "missing-check-json": ["c", "check", "--json"],
    "broken-check": ["broken", "check"],
}


@pytest.fixture(scope="module", autouse=True)
def _stored(corpus: Path) -> None:
    """Put a cube and some garbage, one of small files, a broken one, and one of Kartothek; no test changes them."""
    store = put_cube(URL)
    store.put("c++weather/table/p=9/left.parquet", b"x" * 1500)
    store.put(f"c++gone/table/p=北京/{'4e' * 16}.parquet", b"x" * 20)
    put_cube(URL, "small", files=120)
    put_cube(URL, "broken").put("broken++weather.by-dataset-metadata.json", b'{"dataset_metadata_version": 4, ')
    foreign = corpus / "cube_suppress" / "store"
    for file in foreign.rglob("*"):
        if file.is_file():
            store.put(file.relative_to(foreign).as_posix(), file.read_bytes())


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explanations tell how many tasks Spark would have for as many cores as this machine."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def golden(name: str) -> str:
    """Read what a command is to print."""
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def codes(shown: str) -> set[str]:
    """Return the colours and weights that a text has."""
    return {code for codes in re.findall(r"\x1b\[([\d;]+)m", shown) for code in codes.split(";")}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_kept(name: str) -> None:
    """Every character is as it was, in a pipe, without colours."""
    result = run(URL, "c", *COMMANDS[name])
    assert (result.exit_code, result.stdout, result.stderr) == (0, golden(name), "")


@pytest.mark.parametrize("name", OTHERS)
def test_other_cubes_are_shown(name: str) -> None:
    """Many small files are warned of, Kartothek's cubes are like ours, and what cannot be read is a dash."""
    result = run(URL, *OTHERS[name])
    assert (result.exit_code, result.stdout, result.stderr) == (0, golden(name), "")


@pytest.mark.parametrize("name", BROKEN)
def test_problems_are_shown_and_fail(name: str) -> None:
    """A broken cube can be checked; the exit code says that there is something."""
    result = run(URL, *BROKEN[name])
    assert (result.exit_code, result.stdout, result.stderr) == (1, golden(name), "")


def test_what_is_kept_is_tested() -> None:
    """Each file belongs to a test."""
    assert {path.stem for path in GOLDEN.iterdir()} == {*COMMANDS, *OTHERS, *BROKEN}


@pytest.mark.parametrize("name", ["info", "stats", "explain", "index-list", "cleanup-dry", "delete-dry"])
def test_colours_only_repeat_what_the_text_says(name: str) -> None:
    """With colours the text is the same, and there are few of them."""
    shown = run(URL, "--color=always", "c", *COMMANDS[name], color=True).stdout
    assert click.unstyle(shown) == golden(name)
    assert codes(shown) <= {"0", "1", "2", "32", "33", "36"}
    assert "\x1b[" in shown


@pytest.mark.parametrize("name", ["small-stats", "missing-check", "broken-check"])
def test_warnings_and_problems_are_coloured(name: str) -> None:
    """What is wrong is yellow or red, and is told without colours too."""
    shown = run(URL, "--color=always", *{**OTHERS, **BROKEN}[name], color=True).stdout
    assert click.unstyle(shown) == golden(name)
    assert {"31", "33"} & codes(shown)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.endswith("json")])
def test_json_is_one_document(name: str) -> None:
    """Nothing but JSON is on standard output, and it says which cube it is about."""
    facts = json.loads(run(URL, "c", *COMMANDS[name]).stdout)
    assert (facts["cube"], facts["store"]) == ("c", URL)
