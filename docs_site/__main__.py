"""``python -m docs_site PAGE…``: runs pages and writes what their code prints below it, into the pages."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from docs_site.pages import Block, replace_lines, without_chance
from docs_site.running import run_page


def fill(page: Path) -> None:
    """Run a page and write the outputs that have changed."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        ran = list(run_page(text, str(page), Path(directory)))
    if any(without_chance(out) != without_chance(_before(block)) for block, out in ran):
        # all of them, so that ids that are named twice stay the same
        page.write_text(replace_lines(text, [_filled(block, out) for block, out in ran]), encoding="utf-8")


def _before(block: Block) -> str:
    return block.code if block.language == "console" else block.shown or ""


def _filled(block: Block, printed: str) -> tuple[int, int, str]:
    printed = "\n".join(line.rstrip() for line in printed.rstrip().splitlines()) + "\n" if printed.strip() else ""
    if block.language == "console":
        return block.begin, block.end, f"```console\n{printed}```\n"
    return block.end, block.shown_end or block.end, f"\n```text\n{printed}```\n" if printed else ""


for name in sys.argv[1:]:
    fill(Path(name))
