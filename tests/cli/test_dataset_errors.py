"""What commands on datasets say when they cannot do what they were asked to."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.cli.stored import put_dataset, run

from kubothek.cli import main

URL = "memory://errors"


@pytest.fixture(scope="module", autouse=True)
def _stored() -> None:
    """Put a sound dataset and one whose header is broken; no test changes them."""
    store = put_dataset(URL, "flights")
    store.put("broken.by-dataset-metadata.json", b'{"dataset_metadata_version": 4, ')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flight", "info"], "There is no dataset 'flight' in memory://errors. Did you mean 'flights'?"),
        (["flight", "delete", "--yes"], "Did you mean 'flights'?"),
        (["flight", "gc"], "There is no dataset 'flight'"),
        (["broken", "info"], "'broken.by-dataset-metadata.json' is not a dataset's metadata header"),
        (["broken", "partitions"], "'broken.by-dataset-metadata.json' is not a dataset's metadata header"),
        (["a/b", "info"], "A dataset uuid consists of ASCII letters"),
        (["flights", "partitions", "--where", "w == 1"], "w"),
        (["flights", "partitions", "--where", "p == 'a'"], "p"),
        (["flights", "partitions", "--where", "p =="], "p =="),
        (["flights", "partitions", "--where", "v1 is null"], "here p, q, i1."),
        (["flights", "index", "build", "w"], "w"),
        (["flights", "index", "build", "w*"], "No column without an index in dataset 'flights' matches 'w*'"),
        (["flights", "index", "drop", "p", "--yes"], "no secondary index on 'p'"),
        (["flights", "index", "drop", "v*"], "No index in dataset 'flights' matches 'v*'; there is i1."),
        (["flights", "rollback", "9"], "Dataset 'flights' has no version 9: they count from 1 to 3."),
        (["flights", "rollback", "2020-01-01", "--yes"], "was not there"),
        (["broken", "history"], "'broken.by-dataset-metadata.json' is not a dataset's metadata header"),
        (["flights", "copy", "--to-uuid", "flights"], "onto itself"),
        (["flights", "copy", "--to-store", "ftp://x"], "No store for ftp:// URLs."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_is_its_message(arguments: list[str], message: str) -> None:
    """The message of the library is all there is, on standard error, and the exit code is 1."""
    result = run(URL, "dataset", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gc", "--older-than", "5x"], "'5x' is no duration; write a number and a unit, such as 30m, 12h or 7d."),
        (["gc", "--older-than", "-1d"], "'-1d' is no duration"),
        (["gc", "--older-than", "1e9d"], "'1e9d' is no duration"),
        (["gc", "--older-than", "9999999999d"], "is longer than"),
        (["gc", "--keep", "0"], "'0' is neither a number of versions nor a duration; write 20, 12h or 7d."),
        (["gc", "--keep", "-3"], "'-3' is neither a number"),
        (["gc", "--keep", "9" * 99], "is neither a number"),
        (["rollback"], "Missing argument 'VERSION'"),
        (["rollback", "yesterday"], "is no number of a version, and 'yesterday' is no time; write 2026-07-01 or"),
        (["copy"], "--to-uuid, --to-store or both"),
        (["copy", "--to-uuid", "w", "--to-store-option", "a=b"], "--to-store-option goes with --to-store"),
        (["partitions", "--limit", "-1"], "-1 is not in the range"),
        (["index", "build"], "Missing argument 'COLUMNS...'"),
        (["inf"], "Did you mean 'info'?"),
        ([], "Missing command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_told_apart(arguments: list[str], message: str) -> None:
    """What cannot be understood ends with 2 before anything is opened."""
    result = run("memory://nothing-here", "dataset", "flights", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("command", [["info"], ["gc"], ["delete", "--yes"], ["verify"], ["copy", "--to-uuid", "w"]])
def test_a_store_is_needed(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a store the message says both ways to name one."""
    monkeypatch.delenv("KUBOTHEK_STORE", raising=False)
    result = CliRunner().invoke(main, ["dataset", "flights", *command])
    assert result.exit_code == 2
    assert "--store" in result.stderr
    assert "KUBOTHEK_STORE" in result.stderr


def test_the_environment_names_a_store() -> None:
    """KUBOTHEK_STORE stands for --store."""
    result = CliRunner().invoke(main, ["dataset", "flights", "info"], env={"KUBOTHEK_STORE": URL})
    assert result.exit_code == 0
    assert URL in result.stdout


@pytest.mark.parametrize(
    ("option", "code", "message"),
    [
        ("fsync", 2, "'fsync' is no option; write it as key=value."),
        ("url=x", 2, "'url' is no option of a store."),
        ("region=eu", 1, "A directory has the options 'fsync' and 'unsafe_single_writer' only, not region."),
        ("fsync=false", 1, "There is no dataset 'u'"),
    ],
    ids=["no value", "no option", "of another store", "known"],
)
def test_options_reach_the_store(option: str, code: int, message: str, tmp_path) -> None:
    """What the store does not know is its own error; what is no option is wrong usage."""
    result = CliRunner().invoke(main, ["--store", str(tmp_path), "--store-option", option, "dataset", "u", "info"])
    assert result.exit_code == code
    assert message in result.stderr


def test_an_unknown_scheme_is_an_error() -> None:
    """The schemes that there are are listed."""
    result = run("ftp://host/x", "dataset", "flights", "info")
    assert result.exit_code == 1
    assert "s3://" in result.stderr
