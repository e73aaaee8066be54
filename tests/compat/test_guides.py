"""Programs of Kartothek's guides run on ``kubothek.compat`` with changed imports alone, and find what Kartothek finds.

``kartothek_answers.json`` is what ``guides.py`` prints on Kartothek 5.3; ``tests/interop`` asks Kartothek again.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.compat import guides

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "kartothek_answers.json").read_text(encoding="utf-8"))


def load(path: str) -> Any:
    """Import a module by its path below the package."""
    return importlib.import_module(f"kubothek.compat.{path}")


def in_ten(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Cut a frame into ten, as Dask would."""
    size = len(frame) // 10
    return [frame.iloc[start : start + size] for start in range(0, len(frame), size)]


@pytest.mark.parametrize("name", guides.GUIDES)
def test_guides_find_what_kartothek_finds(name: str, tmp_path: Path) -> None:
    """Labels, values, kinds of types, errors and indices are those that Kartothek gave."""
    more = {"frames": in_ten} if name == "shuffling" else {}
    found = guides.GUIDES[name](load, f"hfs://{tmp_path}", **more)
    assert json.loads(json.dumps(found)) == ANSWERS[name]


def test_all_guides_are_kept() -> None:
    """The answers are those of all programs."""
    assert ANSWERS.keys() == guides.GUIDES.keys()
