"""Which pages are looked at, and what is looked for in them: text that is cut, covered, faint or out of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page
from tests.display.pictures import picture

import kubothek as kb
from kubothek import C
from kubothek.display.page import report_page
from kubothek.model.problem import Problem

LONG = "a_name_that_goes_on_for_longer_than_anybody_would_like_it_to_go_on_" * 2
EVIL = "</style><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"


def _odd() -> str:
    """Return the page of a cube whose names are long, or try to get out of their place."""
    cube = kb.Cube("c" * 120, [EVIL, LONG], [f"{LONG}p", "q"], index_columns=[f"{LONG}i"])
    names = ["seed", *(f"{LONG}{n}" for n in range(6)), EVIL]
    problems = [Problem("missing_file", LONG, f"{LONG}/table/{LONG}.parquet", f"{EVIL} {LONG}")] * 12
    return report_page(picture(30, names, cube=cube, problems=problems, condition=C(LONG) == EVIL, author=EVIL))


PAGES: Mapping[str, Callable[[], str]] = {
    "ten": lambda: report_page(picture(10, condition=(C("i1") == "a") & (C("v_e1") < 0))),
    "many": lambda: report_page(picture(10_000, condition=C("i1") == "a")),
    "empty": lambda: report_page(picture(1, ["seed"])),
    "odd": _odd,
}


@dataclass(frozen=True, slots=True)
class Looked:
    """A page in a window, with what it asked for and what it complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def find(self, script: str) -> Any:
        """Ask the page something."""
        return self.page.evaluate(script)


def look(browser: Browser, path: Path, scheme: str, width: int) -> Looked:
    """Open a page in a window of this width."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    looked = Looked(page)
    page.on("request", lambda request: looked.requests.append(request.url))
    page.on("console", lambda message: looked.messages.append(message.text))
    page.on("pageerror", lambda error: looked.messages.append(str(error)))
    page.goto(path.as_uri())
    return looked


TEXTS = """
// Each visible piece of text: its words, its element, and its box within what shows it.
function texts() {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, title, nav, .spoken") || !element.checkVisibility()) continue;
    // Text in SVG does not tell that its group is not shown.
    if (getComputedStyle(element.closest("g") ?? element).display === "none") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const shown = element.closest(".scroll")?.getBoundingClientRect();
    for (const box of range.getClientRects()) {
      const right = shown ? Math.min(box.right, shown.right) : box.right;
      const { left, top, bottom } = box;
      if (right - left > 1) found.push({ text: node.data, element, left, right, top, bottom });
    }
  }
  return found;
}
"""

OUTSIDE = f"""() => {{ {TEXTS}
  const wide = texts().filter((one) => one.left < -0.5 || one.right > innerWidth + 0.5).map((one) => one.text);
  return document.documentElement.scrollWidth > innerWidth ? [...wide, "the page scrolls sideways"] : wide;
}}"""

CLIPPED = """() => [...document.querySelectorAll("main *")]
  .filter((one) => ["hidden", "clip"].includes(getComputedStyle(one).overflowX) && !one.closest("svg, .spoken"))
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""

OVERLAPPING = f"""() => {{ {TEXTS}
  const all = texts().sort((a, b) => a.top - b.top), found = [];
  for (let i = 0; i < all.length; i++) {{
    for (let k = i + 1; k < all.length && all[k].top < all[i].bottom - 2; k++) {{
      const wide = Math.min(all[i].right, all[k].right) - Math.max(all[i].left, all[k].left);
      const high = Math.min(all[i].bottom, all[k].bottom) - Math.max(all[i].top, all[k].top);
      if (wide > 1 && high > 4) found.push([all[i].text, all[k].text]);
    }}
  }}
  return found;
}}"""

FAINT = f"""() => {{ {TEXTS}
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => channels(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {{
    for (let one = element; one; one = one.parentElement) {{
      const colour = getComputedStyle(one).backgroundColor;
      if ((channels(colour)[3] ?? 1) > 0.99) return colour;
    }}
    return "rgb(255, 255, 255)";
  }};
  const ratio = (one) => {{
    const style = getComputedStyle(one.element);
    const [a, b] = [light(one.element.closest("svg") ? style.fill : style.color), light(ground(one.element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }};
  return [...new Set(texts().filter((one) => ratio(one) < 4.5).map((one) => one.text + " " + ratio(one).toFixed(1)))];
}}"""
