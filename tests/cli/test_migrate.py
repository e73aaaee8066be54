"""What ``kubothek migrate check`` prints of a store that other software has written, compared as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pyarrow as pa
import pytest
from tests.cli.stored import SCHEMA, put_cube, put_dataset, put_foreign_dataset, run

from kubothek import Store, write_dataset
from kubothek.codec.header import encode_header
from kubothek.codec.keys import header_key, schema_key
from kubothek.codec.schema import encode_schema
from kubothek.model.header import Header, partitions_schema

GOLDEN = Path(__file__).parent / "golden_migrate"
URL = "memory://migrate"
COMMANDS = {
    "check": [],
    "check-json": ["--json", "slash"],
    "check-no-files": ["--no-files"],
    "check-cube": ["c", "--no-files"],
    "check-dataset": ["foreign"],
}


def put_slashes(store: Store) -> None:
    """Put a dataset with a slash in a partition value, and what may be a null in another one."""
    labels = ["p=1/q=a/b/f1", "p=2/q=None/f2"]
    keys = [f"slash/table/{label}.parquet" for label in labels]
    partitions = pa.table([labels, [None] * 2, [None] * 2, keys], schema=partitions_schema(("table",)))
    store.put(schema_key("slash", "table"), encode_schema(SCHEMA))
    store.put(header_key("slash", "json"), encode_header(Header("slash", ("p", "q"), partitions)))


@pytest.fixture(scope="module", autouse=True)
def _stored() -> None:
    """Put datasets of all kinds; no test changes them."""
    store = put_dataset(URL, "ours")
    put_foreign_dataset(URL, "foreign")
    put_cube(URL)
    put_slashes(store)
    store.put("slash.by-dataset-metadata.msgpack.zstd", store.get("foreign.by-dataset-metadata.msgpack.zstd").data)
    store.put("old.by-dataset-metadata.json", b'{"dataset_metadata_version": 3, "dataset_uuid": "old"}')
    store.put("a b.by-dataset-metadata.json", b"{}")
    store.put("left/table/f.parquet", b"")


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_kept(name: str) -> None:
    """Every character is as it was, in a pipe, without colours, and the exit code says that all is not well."""
    result = run(URL, "migrate", "check", *COMMANDS[name])
    kept = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert (result.exit_code, result.stdout, result.stderr) == (1, kept, "")


def test_what_is_kept_is_tested() -> None:
    """Each file belongs to a test."""
    assert {path.stem for path in GOLDEN.iterdir()} == COMMANDS.keys()


def test_colours_only_repeat_what_the_text_says() -> None:
    """With colours the text is the same."""
    shown = run(URL, "--color=always", "migrate", "check", color=True).stdout
    assert click.unstyle(shown) == (GOLDEN / "check.txt").read_text(encoding="utf-8")
    assert "\x1b[31m" in shown


def test_all_is_well() -> None:
    """Where nothing is to be said, there is one line for each dataset and one for all, and the exit code is 0."""
    write_dataset(pa.table({"x": [1]}), "d", "memory://migrate_fine")
    result = run("memory://migrate_fine", "migrate", "check")
    assert (result.exit_code, result.stdout) == (
        0,
        "✓ d\n1 dataset in memory://migrate_fine: 1 fine, 0 suspicious, 0 broken\n",
    )


def test_nothing_is_there() -> None:
    """An empty store is fine, and a name that nothing has is an error."""
    empty = run("memory://migrate_empty", "migrate", "check", "--json")
    assert (empty.exit_code, json.loads(empty.stdout)["subjects"]) == (0, [])
    assert run("memory://migrate_empty", "migrate", "check", "zz").exit_code == 1
