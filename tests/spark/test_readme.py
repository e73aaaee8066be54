"""The README's example prints what the README says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    """Return the README's fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


def masked(text: str) -> str:
    """Leave out file sizes, which depend on the version of the Parquet writer."""
    return re.sub(r" *[\d.]+ k?B\b *", " SIZE ", text).strip()


def test_the_example_prints_what_the_readme_shows(spark, tmp_path, monkeypatch):
    """The first example, run as it stands in an empty directory, gives the first output."""
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(blocks("python")[0], str(README), "exec"), {})  # noqa: S102
    assert masked(printed.getvalue()) == masked(blocks("text")[0])
