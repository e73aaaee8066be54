"""The command line in a process of its own: what it imports, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from tests.cli.stored import put_dataset

from kubothek import Cube, build_cube

START = "from kubothek.cli import main; main(prog_name='kubothek')"


def test_help_needs_little() -> None:
    """Help and completion import neither Rich nor anything of a single command."""
    code = "import sys\ntry: from kubothek.cli import main; main(['-h'])\nfinally: print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert "kubothek.cli.commands" in loaded
    assert not {"rich", "pyspark", "pandas"} & set(loaded)
    assert not {f"kubothek.cli.{name}" for name in ("demo", "dataset", "cube")} & set(loaded)


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """Who reads only the first line, as head does, sees no traceback."""
    url = put_dataset(str(tmp_path), times=1000).url
    command = [sys.executable, "-c", START, "--store", url, "dataset", "u", "partitions"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == " rows    size  partition\n"
        process.stdout.close()
        assert process.stderr.read() == ""


def test_a_full_disk_ends_with_a_message(tmp_path: Path) -> None:
    """Facts, and rows in pieces, that cannot be written are no traceback."""
    build_cube(pa.table({"x": [1], "p": [1]}), Cube("c", "x", "p"), str(tmp_path))
    for words in (["info", "--json"], ["query", "--format", "csv"]):
        command = [sys.executable, "-c", START, "--store", str(tmp_path), "c", *words]
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (ended.returncode, "No space left" in ended.stderr, "Traceback" in ended.stderr) == (1, True, False)
