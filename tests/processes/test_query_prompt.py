"""The prompt of a cube on a terminal, which is a pair of connected files here."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import kubothek as kb

START = "from kubothek.cli import main; main(prog_name='kubothek')"


def read_until(outer: int, text: bytes) -> bytes:
    """Read what the terminal shows until it has shown a text."""
    shown = b""
    while text not in shown:
        shown += os.read(outer, 10_000)
    return shown


def test_a_terminal(tmp_path: Path) -> None:
    """There is a prompt, names are completed, the table fits, Ctrl-D ends it, and lines are remembered."""
    wide = {f"v{n}": [n] for n in range(20)}
    kb.build_cube(pa.table({"x": [3], "p": [1], "DELAY": [5], **wide}), kb.Cube("c", "x", "p"), tmp_path / "store")
    outer, inner = pty.openpty()
    command = [sys.executable, "-c", START, "--store", str(tmp_path / "store"), "c", "query"]
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "40", "LINES": "20"}
    with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=environment) as process:
        os.close(inner)
        assert b"help tells more" in read_until(outer, b"c> ")
        os.write(outer, b"DEL\t == 5\n")
        assert b"without v" in read_until(outer, b"c> ")
        os.write(outer, b"\x04")
        assert process.wait(10) == 0
    os.close(outer)
    assert (tmp_path / "kubothek" / "query_history").read_text() == "DELAY == 5\n"
