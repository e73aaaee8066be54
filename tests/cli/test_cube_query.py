"""What ``kubothek CUBE query`` answers: tables for people, files for programs, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import uuid as uuids
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import kubothek as kb
from kubothek.cli import main

GOLDEN = Path(__file__).parent / "golden_query"
CUBE = kb.Cube("c", "x", "p", index_columns=["i1"])
SEED = pa.table({"x": [1, 2, 3, 4], "p": [1, 1, 2, 2], "i1": ["a", "[b]", None, "a"], "v1": [1000, -2, None, 4]})
OTHER = pa.table(
    {"x": [2, 3, 4], "p": [1, 2, 2], "v2": [0.1, None, float("inf")], "größe, in m": ["", "\x1b[2J", "é\n"]}
)
COMMANDS: dict[str, list[str]] = {
    "table": [],
    "where": ["--where", "v1 < 0 | v2 > 1"],
    "columns": ["--columns", "v2,`größe, in m`", "--datasets", "seed, other"],
    "groups": ["--partition-by", "i1", "--columns", "v1"],
    "dimensions": ["--dimension-columns", "x", "--columns", ""],
    "limit": ["--limit", "2"],
    "nothing": ["--where", "x > 99"],
    "csv": ["--format", "csv"],
    "json": ["--format", "json"],
    "json-nothing": ["--format", "json", "--limit", "0"],
    "csv-nothing": ["--format", "csv", "--where", "false"],
}


@cache
def stored() -> str:
    """Return the store of a cube that no test changes."""
    url = f"memory://{uuids.uuid4().hex}"
    kb.build_cube({"seed": SEED, "other": OTHER}, CUBE, url)
    return url


def run(*arguments: str, url: str = "", **options: Any) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["--store", url or stored(), "c", "query", *arguments], **options)


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_kept(name: str) -> None:
    """Every character is as it was, in a pipe, without colours."""
    result = run(*(COMMANDS[name] or ["--limit", "9"]))
    assert (result.exit_code, result.stdout, result.stderr) == (0, (GOLDEN / f"{name}.txt").read_text("utf-8"), "")


def test_what_is_kept_is_tested() -> None:
    """Each file belongs to a test."""
    assert {path.stem for path in GOLDEN.iterdir()} == {*COMMANDS}


def test_colours_only_repeat_what_the_text_says() -> None:
    """With colours the text is the same."""
    coloured = CliRunner().invoke(
        main, ["--store", stored(), "--color=always", "c", "query", "--limit", "9"], color=True
    )
    assert "\x1b[1m" in coloured.stdout
    assert click.unstyle(coloured.stdout) == (GOLDEN / "table.txt").read_text("utf-8")


TYPES = {
    "bool": (pa.bool_(), True, "true", True),
    "bytes": (pa.binary(), b"\xff", '"/w=="', "/w=="),
    "date": (pa.date32(), date(2020, 2, 29), "2020-02-29", "2020-02-29"),
    "decimal": (pa.decimal128(6, 2), Decimal("1.10"), "1.10", "1.10"),
    "list": (pa.list_(pa.int64()), [1, None], "[1,null]", [1, None]),
    "struct": (pa.struct({"a": pa.string()}), {"a": 'q"'}, '{"a":"q\\""}', {"a": 'q"'}),
    "time": (pa.time64("us"), time(1, 2, 3, 4), "01:02:03.000004", "01:02:03.000004"),
    "moment": (
        pa.timestamp("us", "UTC"),
        datetime(2020, 1, 1, 5, tzinfo=UTC),
        "2020-01-01 05:00:00.000000Z",
        "2020-01-01T05:00:00Z",
    ),
    "nothing": (pa.null(), None, "", None),
}


@pytest.mark.parametrize("name", TYPES)
def test_values_of_every_type(name: str) -> None:
    """CSV and JSON have a text for each; null is an empty field and null."""
    kind, value, text, plain = TYPES[name]
    url = f"memory://{uuids.uuid4().hex}"
    rows = pa.table({"x": [1, 2], "p": [1, 1], "v1": pa.array([value, None], kind)})
    kb.build_cube(rows, kb.Cube("c", "x", "p"), url)
    lines = csv.DictReader(io.StringIO(run("--format", "csv", url=url).stdout))
    assert [line["v1"] for line in lines] == [text, ""]
    assert [row["v1"] for row in json.loads(run("--format", "json", url=url).stdout)] == [plain, None]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_file_says_its_format(form: str, tmp_path: Path) -> None:
    """It holds what standard output would, and nothing is left beside it."""
    place = tmp_path / f"rows.{form}"
    result = run("--output", str(place), "--where", "x > 1")
    assert (result.exit_code, result.stdout) == (0, f"✓ 3 rows in {place}\n")
    assert place.read_bytes() == run("--format", form, "--where", "x > 1").stdout_bytes
    assert list(tmp_path.iterdir()) == [place]


def test_parquet_keeps_rows_and_types() -> None:
    """What is read is what the query gives."""
    table = pq.read_table(io.BytesIO(run("--format", "parquet").stdout_bytes))
    assert table.equals(pa.Table.from_batches(kb.query_cube("c", stored()).batches()))


def test_a_file_that_fails_half_way_is_not_there(tmp_path: Path) -> None:
    """What stood in its place stays."""
    url = str(tmp_path / "store")
    kb.build_cube(SEED, CUBE, url)
    for path in (tmp_path / "store").rglob("*.parquet"):
        if "by-dataset" not in path.name:
            path.write_bytes(b"")
    place = tmp_path / "rows.csv"
    place.write_text("before")
    assert run("--output", str(place), url=url).exit_code == 1
    assert (place.read_text(), {*tmp_path.iterdir()}) == ("before", {place, tmp_path / "store"})


def test_a_link_stays_and_names_what_is_written(tmp_path: Path) -> None:
    """As a redirection of the shell would have it."""
    place, link = tmp_path / "rows.csv", tmp_path / "latest.csv"
    place.write_text("before")
    link.symlink_to(place.name)
    assert run("--output", str(link)).exit_code == 0
    assert (link.is_symlink(), place.read_text()) == (True, run("--format", "csv").stdout)


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    """So does a device: only files are replaced."""
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(pipe.read_text)
        assert run("--output", str(pipe)).exit_code == 0
    assert (reading.result(), pipe.is_fifo()) == (run("--format", "csv").stdout, True)


REFUSED: dict[str, tuple[list[str], int, str]] = {
    "a condition that is none": (["--where", "v1 <"], 1, r"v1 <\n +\^"),
    "unknown columns, all of them": (["--columns", "a,b", "--where", "zz == 1"], 1, "(?s)a .*b .*zz"),
    "names that are none": (["--columns", "a,,b"], 2, "no list of names"),
    "a negative limit": (["--limit", "-1"], 2, "-1"),
    "a file of no format": (["--output", "rows.xlsx"], 2, "--format"),
    "a table in a file": (["--format", "table", "--output", "x.txt"], 2, "for people"),
    "a folder that is not there": (["--output", "/nowhere/rows.csv"], 1, "Cannot write '/nowhere/rows.csv'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """Messages go to standard error; usage errors end with 2, others with 1."""
    arguments, code, told = REFUSED[name]
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert re.search(told, result.stderr)


@pytest.mark.parametrize("arguments", [[], ["--format", "csv"]], ids=["prompt", "command"])
def test_no_cube(arguments: list[str]) -> None:
    """Without a cube there is nothing to ask."""
    result = run(*arguments, url=f"memory://{uuids.uuid4().hex}")
    assert (result.exit_code, "There is no cube 'c'" in result.stderr) == (1, True)
