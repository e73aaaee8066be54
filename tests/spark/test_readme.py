"""The README's examples print what the README says they print."""

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


def test_the_examples_print_what_the_readme_shows(spark, tmp_path, monkeypatch):
    """The examples, run as they stand one after the other in an empty directory, each give the output below it."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for example, shown in zip(blocks("python")[:2], blocks("text"), strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example, str(README), "exec"), names)  # noqa: S102  our own words
        assert masked(printed.getvalue()) == masked(shown)
