"""What commands on cubes say when they cannot do what they were asked to."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.cli.stored import put_cube, run

from kubothek.cli import main

URL = "memory://cube-errors"
COMMANDS = {
    "info": ["info"],
    "stats": ["stats"],
    "explain": ["explain"],
    "pin": ["pin"],
    "check": ["check"],
    "stale": ["stale", "weather"],
    "index list": ["index", "list"],
    "index build": ["index", "build", "seed", "v1"],
    "index drop": ["index", "drop", "seed", "i1", "--yes"],
    "copy": ["copy", "--to-cube", "w"],
    "cleanup": ["cleanup", "--yes"],
    "delete": ["delete", "--yes"],
}


@pytest.fixture(scope="module", autouse=True)
def _stored() -> None:
    """Put a sound cube, and one of whose datasets a header is broken; no test changes them."""
    put_cube(URL, "flights")
    put_cube(URL, "broken").put("broken++weather.by-dataset-metadata.json", b'{"dataset_metadata_version": 4, ')


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_unknown_cube_is_an_error(command: list[str]) -> None:
    """The message says where was looked, and which names are alike."""
    result = run(URL, "flight", *command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: There is no ")
    assert "Did you mean 'flights" in result.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_store_is_needed(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a store the message says both ways to name one."""
    monkeypatch.delenv("KUBOTHEK_STORE", raising=False)
    result = CliRunner().invoke(main, ["flights", *command])
    assert result.exit_code == 2
    assert "--store" in result.stderr
    assert "KUBOTHEK_STORE" in result.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_store_that_cannot_be_reached_is_an_error(command: list[str]) -> None:
    """Nobody answers at the endpoint: a message, no traceback."""
    endpoint = ("endpoint=http://127.0.0.1:9", "allow_http=true", "access_key_id=x", "secret_access_key=x")
    options = [part for one in (*endpoint, "region=eu", "max_retries=0") for part in ("--store-option", one)]
    result = run("s3://nowhere", *options, "flights", *command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["flights", "stats", "--include", "zz"],
            "No dataset of cube 'flights' matches 'zz'; there are names, seed, weather.",
        ),
        (["flights", "stats", "--include", "seed,z*,Q"], "matches 'z*', 'Q';"),
        (["flights", "stats", "--exclude", "zz"], "matches 'zz';"),
        (["flights", "stats", "--include", "seed,"], "matches '';"),
        (
            ["flights", "delete", "--exclude", "*"],
            "--exclude leaves no dataset of cube 'flights', which has names, seed, ",
        ),
        (["flights", "copy", "--to-cube", "w", "--include", "zz"], "matches 'zz';"),
        (["flights", "index", "list", "zz"], "matches 'zz';"),
        (["flights", "index", "build", "seeds", "v1"], "There is no dataset 'flights++seeds'"),
        (["flights", "index", "build", "seed", "w*"], "No column without an index in dataset 'flights++seed' matches"),
        (
            ["flights", "index", "drop", "seed", "y", "--yes"],
            "The cube needs the index on y of 'flights++seed', the seed",
        ),
        (
            ["flights", "index", "drop", "names", "*"],
            "No index in dataset 'flights++names' matches '*'; there is none.",
        ),
        (["flights", "copy", "--to-cube", "a/b"], "'a/b' is not allowed"),
        (["flights", "copy", "--to-cube", "w", "--rename", "zz=a"], "renamed_datasets names 'zz'"),
        (["flights", "copy", "--to-cube", "flights"], "copied onto itself"),
        (["flights", "copy", "--to-store", "ftp://x"], "No store for ftp:// URLs."),
        (["flights", "explain", "--where", "w == 1"], "w"),
        (["flights", "explain", "--where", "v1 =="], "v1 =="),
        (["flights", "explain", "--datasets", "zz"], "zz"),
        (["broken", "info"], "'broken++weather.by-dataset-metadata.json' is not a dataset's metadata header"),
        (["broken", "delete", "--yes"], "nothing was deleted"),
        (["broken", "copy", "--to-cube", "w"], "'broken++weather.by-dataset-metadata.json'"),
        (["broken", "cleanup", "--yes"], "'broken++weather.by-dataset-metadata.json'"),
        (["a/b", "info"], "'a/b' is not allowed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_is_its_message(arguments: list[str], message: str) -> None:
    """The message of the library is all there is, on standard error, and the exit code is 1."""
    result = run(URL, *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cleanup", "--older-than", "5x"], "'5x' is no duration; write a number and a unit, such as 30m, 12h or 7d."),
        (["copy"], "Say where to: with --to-cube, --to-store or both."),
        (["copy", "--to-cube", "w", "--to-store-option", "a=b"], "--to-store-option goes with --to-store"),
        (["copy", "--to-cube", "w", "--rename", "seed"], "'seed' says no new name; write it as old=new."),
        (["index", "build", "seed"], "Missing argument 'COLUMNS...'"),
        (["explain", "--columns", "a,,b"], "'a,,b' is no list of names"),
        (["stat"], "Did you mean 'stats' or 'stale'?"),
        (["zzz"], "No such command 'zzz'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_told_apart(arguments: list[str], message: str) -> None:
    """What cannot be understood ends with 2 before anything is opened."""
    result = run("memory://nothing-here", "flights", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
