"""A cube's page in a browser: complete, quiet, legible on any screen in any light, and usable by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from tests.browser.looked_at import CLIPPED, FAINT, OUTSIDE, OVERLAPPING, PAGES

VIEWS = [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 768)]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched_and_nothing_goes_wrong(opened: Any, name: str) -> None:
    """The page asks for itself alone, and the browser has nothing to say of it."""
    looked = opened(name)
    assert (len(looked.requests), looked.messages) == (1, [])
    assert looked.page.title().startswith("Cube c")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("scheme", "width"), VIEWS)
def test_all_text_can_be_read(opened: Any, name: str, scheme: str, width: int) -> None:
    """No text is out of the page, cut, over other text, or too faint on its ground; tables scroll by themselves."""
    looked = opened(name, scheme, width)
    looked.find("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = {what: looked.find(script) for what, script in CHECKS.items()}
    assert found == {what: [] for what in CHECKS}


CHECKS = {"outside": OUTSIDE, "clipped": CLIPPED, "overlapping": OVERLAPPING, "faint": FAINT}


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ("h2 { width: 3000px; text-align: right }", "outside"),
        ("h2 { width: 20px; overflow: hidden; white-space: nowrap }", "clipped"),
        ("h2 { height: 1px; margin: 0 }", "overlapping"),
        ("h2 { color: #ccc }", "faint"),
    ],
)
def test_what_cannot_be_read_is_found(opened: Any, change: str, check: str) -> None:
    """Each check sees what it is there for."""
    looked = opened("ten")
    looked.find(
        f"() => {{ const s = new CSSStyleSheet(); s.replaceSync('{change}'); document.adoptedStyleSheets = [s]; }}"
    )
    assert looked.find(CHECKS[check])


@pytest.mark.parametrize("name", ["ten", "many"])
def test_every_part_is_seen(opened: Any, name: str) -> None:
    """Each part has a height, each picture its marks, and each state its pattern."""
    looked = opened(name)
    boxes = looked.find(
        "() => [...document.querySelectorAll('section, header, .strip')].map((e) => e.getBoundingClientRect().height)"
    )
    assert len(boxes) > 30
    assert min(boxes) >= 10
    fills = looked.find("() => [...document.querySelectorAll('.map rect')].map((e) => getComputedStyle(e).fill)")
    assert {f'url("#pattern-{state}")' for state in ("stale", "missing", "extra")} < set(fills)
    assert (
        looked.find(
            "() => Math.min(...[...document.querySelectorAll('.map rect')].map((e) => e.getBoundingClientRect().width))"
        )
        > 2
    )


def test_the_map_answers_to_the_keyboard(opened: Any) -> None:
    """A lane that has the focus says of one column after the other what it is; leaving it, the hint is back."""
    page = opened("ten").page
    readout = page.locator(".readout")
    hint = readout.inner_text()
    page.locator(".map").nth(1).focus()
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == "e1, p=2000 q=0: covered"
    page.keyboard.press("End")
    assert "e1, p=2999 q=1" in readout.inner_text()
    page.keyboard.press("Tab")
    assert readout.inner_text() == hint


def test_the_map_answers_to_the_pointer(opened: Any) -> None:
    """A column that is pointed at says what it is, and is marked."""
    page = opened("many").page
    page.locator(".map").nth(1).hover(position={"x": 5, "y": 15})
    assert page.locator(".readout").inner_text().startswith("e1, p=2000 q=0 to p=2000 q=")
    assert page.locator(".chosen").count() == 1


def test_scripts_of_others_do_not_run(opened: Any) -> None:
    """The page's policy refuses what gets into it after all."""
    looked = opened("ten")
    looked.find("() => document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title = 1\">')")
    looked.page.wait_for_timeout(50)
    assert looked.page.title() == "Cube c"
    refused = [message for message in looked.messages if "Content Security Policy" in message]
    assert len(refused) == 2, "one for the image, one for what it was to run"


def test_light_and_dark_and_paper(opened: Any) -> None:
    """The ground follows the system, and paper has no links to its parts."""
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert opened("ten", "light").find(ground) != opened("ten", "dark").find(ground)
    page = opened("ten").page
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
