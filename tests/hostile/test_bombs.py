"""Small objects that would fill the memory, or never end, are refused at once and in little memory."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.hostile.bomb import BOMBS

SECONDS = 120
MEBIBYTES = 400


def test_bombs() -> None:
    """A process of its own meets them all, which could not get more than a few GiB."""
    command = [sys.executable, "-m", "tests.hostile.bomb"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    found = json.loads(done.stdout)
    assert found["said"] == dict.fromkeys(BOMBS, "CorruptDatasetError")
    assert found["peak"] < MEBIBYTES
