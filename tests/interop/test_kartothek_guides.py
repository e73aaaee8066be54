"""The answers that ``tests/compat`` expects of programs from Kartothek's guides are Kartothek's own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.interop.other import KARTOTHEK

GUIDES = Path(__file__).parents[1] / "compat" / "guides.py"


def test_kartothek_finds_what_is_kept() -> None:
    """Run on Kartothek, the programs print what is kept."""
    asked = [KARTOTHEK.python, "-W", "ignore", GUIDES, "kartothek"]
    told = subprocess.run(asked, capture_output=True, check=True, text=True).stdout
    assert json.loads(told) == json.loads(GUIDES.with_name("kartothek_answers.json").read_text(encoding="utf-8"))
