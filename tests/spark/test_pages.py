"""Pages of the documentation that need Spark do what they say, as they stand, from the first example to the last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from docs_site.pages import ROOT, all_pages, needs_spark, without_chance
from docs_site.running import run_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = [page for page in all_pages() if needs_spark(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_print_what_the_page_shows(spark: SparkSession, tmp_path: Path, page: Path) -> None:
    """Each example, run in an empty directory after those before it, prints the text below it, and nothing else."""
    for block, printed in run_page(page.read_text(encoding="utf-8"), str(page), tmp_path):
        shown = block.code if block.language == "console" else block.shown or ""
        assert without_chance(printed) == without_chance(shown), block.code
    spark.catalog.dropTempView("nyc")  # two pages make one of this name
