"""Pages of the documentation that need Spark do what they say, as they stand, from the first example to the last."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs"


def examples(page: Path) -> list[tuple[str, str]]:
    """Return the Python blocks of a page, each with the text block below it, empty where there is none."""
    found = re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page.read_text(), re.DOTALL | re.MULTILINE
    )
    assert found, page
    return found


@pytest.mark.parametrize("page", [DOCS / "spark.md"], ids=lambda page: page.name)
def test_the_examples_print_what_the_page_shows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path
) -> None:
    """Each example, run in an empty directory after those before it, prints the text below it, and nothing else."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example, shown in examples(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example, str(page), "exec"), names)  # noqa: S102  our own words
        assert printed.getvalue().strip() == shown.strip(), example
