"""The page of a cube: its parts in order, with styles and script inside, and nothing that it would have to fetch.

The page allows exactly its own styles and its own script, told by their hashes, and no request at all. So even a name
that got through unescaped could neither run anything nor tell anybody.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from kubothek.display.coverage import coverage_section
from kubothek.display.funnel import funnel_section
from kubothek.display.history import history_section
from kubothek.display.indices import indices_section
from kubothek.display.overview import overview
from kubothek.display.problems import problems_section
from kubothek.display.sizes import sizes_section
from kubothek.model.markup import Markup, element, joined
from kubothek.plan.cube.picture import CubePicture

_PARTS = {
    "overview": "Overview",
    "coverage": "Coverage",
    "sizes": "Files and rows",
    "indices": "Indices",
    "history": "History",
    "query": "Query",
    "problems": "Problems",
}


def report_page(picture: CubePicture) -> str:
    """Return the page of a cube, complete."""
    title = f"Cube {picture.cube.uuid_prefix}"
    links = (element("a", name, href=f"#{anchor}") for anchor, name in _PARTS.items())
    body = element(
        "body",
        _patterns(),
        element("nav", *links, aria_label="Parts of the page"),
        element(
            "main",
            overview(picture),
            coverage_section(picture),
            sizes_section(picture),
            indices_section(picture),
            history_section(picture),
            funnel_section(picture.query),
            problems_section(picture.problems),
        ),
        element("footer", "Drawn by kubothek report from headers, index footers and a plan; no data file was read."),
        element("script", _asset("report.js")),
    )
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def _patterns() -> Markup:
    """Return what fills the states of a map, told apart by form as well as by colour; the page does not show it."""
    marks = {
        "stale": element("rect", class_="stale-line", width="2.4", height="6"),
        "missing": element("circle", class_="missing-dot", cx="3", cy="3", r="1.3"),
        "extra": element("path", class_="extra-line", d="M0,3 H6 M3,0 V6"),
    }
    patterns = (
        element(
            "pattern",
            element("rect", class_=f"{state}-ground", width="6", height="6"),
            mark,
            id=f"pattern-{state}",
            width="6",
            height="6",
            patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)" if state == "stale" else None,
        )
        for state, mark in marks.items()
    )
    return element("svg", element("defs", *patterns), class_="patterns", aria_hidden="true")


def _head(title: str) -> Markup:
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", joined([title])),
        element("style", style),
    )


@cache
def _asset(name: str) -> Markup:
    """Return a file that lies beside this module."""
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _source(content: str) -> str:
    """Return what a policy calls exactly this content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
