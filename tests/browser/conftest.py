"""One browser for all tests, and the pages that they look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.chromium import running
from tests.browser.looked_at import PAGES, Looked, look

Opener = Callable[..., Looked]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run Chromium."""
    with running() as found:
        yield found


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write each page once."""
    folder = tmp_path_factory.mktemp("pages")
    paths = {name: folder / f"{name}.html" for name in PAGES}
    for name, path in paths.items():
        path.write_text(PAGES[name](), encoding="utf-8")
    return paths


@pytest.fixture
def opened(browser: Browser, pages: dict[str, Path]) -> Iterator[Opener]:
    """Return what opens a page, of whose requests and messages everything is noted; closed after the test."""
    looks: list[Looked] = []

    def open_page(name: str, scheme: str = "light", width: int = 1280) -> Looked:
        looks.append(look(browser, pages[name], scheme, width))
        return looks[-1]

    yield open_page
    for one in looks:
        one.page.close()
