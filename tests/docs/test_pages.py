"""Pages of the documentation that need no JVM do what they say; those that need one are in ``tests/spark``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_site.pages import DOCS, ROOT, all_pages, find_blocks, needs_spark, without_chance
from docs_site.running import run_page

# Why a block may not be run. What follows such a beginning says where the same is run instead.
REASONS = (
    "installs packages",
    "makes environments",
    "needs a bucket",
    "needs a cluster",
    "needs a terminal",
    "needs other software",
    "takes minutes",
)
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in all_pages()}
RUN_HERE = [name for name, text in PAGES.items() if not needs_spark(text) and any(b.is_run for b in find_blocks(text))]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("name", RUN_HERE)
def test_the_examples_print_what_the_page_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block, run in an empty directory after those before it, prints what is below it, and nothing else."""
    for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    for block, printed in run_page(PAGES[name], name, tmp_path):
        shown = block.code if block.language == "console" else block.shown or ""
        assert without_chance(printed) == without_chance(shown), f"{name}:{block.begin + 1}"


def test_what_is_not_run_says_why() -> None:
    """Every block of code that no test runs has one of the known reasons above it."""
    blocks = [(name, block) for name, text in PAGES.items() for block in find_blocks(text)]
    assert len(blocks) > 80
    without = [
        f"{name}:{block.begin + 1}"
        for name, block in blocks
        if not block.is_run and block.language != "text" and not (block.not_run or "").startswith(REASONS)
    ]
    assert without == []


def test_reasons_belong_to_blocks() -> None:
    """Each comment that says why something is not run stands above a block that is not run."""
    texts = {name: text for name, text in PAGES.items() if "<!-- nothing here is run: " not in text}
    given = {name: text.count("<!-- not run: ") for name, text in texts.items()}
    assert given == {name: sum(bool(block.not_run) for block in find_blocks(text)) for name, text in texts.items()}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    """A link to a file names one of the repository, as it is read there."""
    targets = [one or two for one, two in LINK.findall(PAGES[name])]
    for target in targets:
        if ":" not in target and not target.startswith("#"):
            assert ((ROOT / name).parent / target.partition("#")[0]).exists(), target


def test_the_site_lists_every_page() -> None:
    """Each page in ``docs`` but single decisions, which have an index, is in the navigation."""
    listed = set(re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if not page.stem[0].isdigit()}
    assert pages
    assert pages <= listed
