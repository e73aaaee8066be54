"""The browser of these tests: Chromium as the machine has it, without network and without a profile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Return the path of the browser: what ``CHROMIUM`` names, else what is on the path."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "there is no Chromium on this machine: `make browser-env` installs it, or CHROMIUM names one"
    return found


@contextmanager
def running() -> Iterator[Browser]:
    """Run the browser until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        yield browser
        browser.close()
