"""Draws the pictures of ``docs/report.md``: ``python -m tests.browser.screenshots FOLDER``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.browser.chromium import running
from tests.browser.looked_at import look
from tests.display.pictures import picture

import kubothek as kb
from kubothek import C
from kubothek.display.page import report_page

CUBE = kb.Cube("flights", ["FLIGHT", "TIME_HOUR"], ["YEAR", "DAY"], index_columns=["ORIGIN"])
TEN = ("seed", "weather", "radar", "delays", "airports", "planes", "crews", "fuel", "gates", "fares")
SHOTS = {
    "coverage": (10_000, "#coverage", "#coverage :is(.scroll, .scroll ~ *)"),
    "query": (1000, "#query", "#query .scroll"),
}
"""For each picture: the partitions of the cube, which part of its page is shown, and what of that is left out."""


def main(folder: str) -> None:
    """Draw all pictures."""
    question = (C("ORIGIN") == "JFK") & (C("TEMP") < 0)
    with running() as browser, tempfile.TemporaryDirectory() as scratch:
        for name, (partitions, part, left_out) in SHOTS.items():
            page = Path(scratch) / f"{name}.html"
            page.write_text(report_page(picture(partitions, TEN, cube=CUBE, condition=question)), encoding="utf-8")
            looked = look(browser, page, "light", 1000)
            hide = f"document.querySelectorAll('nav, {left_out}').forEach((one) => {{ one.hidden = true; }})"
            looked.find(f"() => {hide}")
            looked.page.locator(part).screenshot(path=Path(folder) / f"report-{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
