"""What all pictures of a page are drawn with: strips as wide as the page, bars in them, ticks below, tables beside.

Places along a strip are percentages of its width and letters have one size, so that a picture may be of any width
without being distorted. No element has a style of its own: the page forbids them, and its classes say it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubothek.model.markup import Markup, element, joined

_LETTER = 7.5
"""Pixels of a letter on an axis, on average and generously."""
_GAP = 14
_WIDE, _NARROW = 560, 250
"""Pixels that a strip has at least, on a screen and on a telephone."""
_LONGEST = 18
_LONG = 16


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, from 0 to 1, and its name; ``is_minor`` says that telephones have no room for it."""

    place: float
    text: str
    is_minor: bool


def percent(part: float) -> str:
    """Return a part of a strip's width or height as SVG takes it.

    Examples
    --------
    >>> percent(0.125), percent(1)
    ('12.5%', '100%')
    """
    return f"{100 * part:.3f}".rstrip("0").rstrip(".") + "%"


def bar(start: float, width: float, top: float, height: float, class_: str, title: str | None = None) -> Markup:
    """Return a rectangle in a strip; all measures are parts of it, from 0 to 1."""
    shown = None if title is None else element("title", title)
    place = {"x": percent(start), "width": percent(width), "y": percent(top), "height": percent(height)}
    return element("rect", shown, class_=class_, **place)


def strip(summary: str, marks: Iterable[Markup], class_: str) -> Markup:
    """Return a picture as wide as there is room; ``summary`` says to those who cannot see it what it shows."""
    return element("svg", *marks, class_=f"strip {class_}", role="img", aria_label=summary, tabindex="0")


def lane(name: Markup | str, note: Markup | str, picture: Markup) -> Markup:
    """Return a picture beside what it is about."""
    words = element("div", element("div", name, class_="name"), element("div", note, class_="note"), class_="about")
    return element("div", words, element("div", picture, class_="picture"), class_="lane")


def axis(ticks: Iterable[Tick]) -> Markup:
    """Return the names of places along the strips above it; they are repeated elsewhere for those who cannot see."""
    marks = (
        element(
            "g",
            element("line", x1=percent(tick.place), x2=percent(tick.place), y1="0", y2="5"),
            element("text", tick.text, x=percent(tick.place), y="19", dx="1"),
            class_="minor" if tick.is_minor else None,
        )
        for tick in ticks
    )
    drawn = element("svg", *marks, class_="axis", aria_hidden="true")
    return element("div", element("div", class_="about"), element("div", drawn, class_="picture"), class_="lane")


def spread_ticks(places: Sequence[float], names: Sequence[str]) -> list[Tick]:
    """Return as many ticks as there is room for, each name to the right of its place and apart from the next.

    Examples
    --------
    >>> [(tick.text, tick.is_minor) for tick in spread_ticks([0, 0.1, 0.4, 0.98], ["2013", "2014", "2015", "2016"])]
    [('2013', False), ('2014', True), ('2015', False)]
    """
    texts = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    widths = [len(text) * _LETTER + _GAP for text in texts]
    chosen = _fitting(range(len(texts)), places, widths, _WIDE)
    major = frozenset(_fitting(chosen, places, widths, _NARROW))
    return [Tick(places[one], texts[one], one not in major) for one in chosen]


def _fitting(ticks: Iterable[int], places: Sequence[float], widths: Sequence[float], room: int) -> list[int]:
    """Return those that stand apart from each other, and within so many pixels."""
    end, chosen = 0.0, []
    for one in ticks:
        start = places[one] * room
        if start >= end and start + widths[one] - _GAP <= room:
            end = start + widths[one]
            chosen.append(one)
    return chosen


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Markup | str]], numeric: Iterable[int] = ()
) -> Markup:
    """Return a table that scrolls by itself where the page is too narrow; ``numeric`` are the columns of numbers."""
    right = frozenset(numeric)
    classes = ["number" if place in right else None for place in range(len(headings))]
    heads = (element("th", text, scope="col", class_=class_) for text, class_ in zip(headings, classes, strict=True))
    body = (
        element(
            "tr",
            *(element("td", cell, class_=class_ or _width(cell)) for cell, class_ in zip(row, classes, strict=True)),
        )
        for row in rows
    )
    whole = element(
        "table", element("caption", caption), element("thead", element("tr", *heads)), element("tbody", *body)
    )
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _width(cell: str) -> str | None:
    """Return the class of a cell whose text would become a column of single words on a telephone."""
    return "long" if len(cell) > _LONG and not isinstance(cell, Markup) else None


def section(anchor: str, title: str, *content: Markup | None) -> Markup:
    """Return a part of the page under its heading."""
    return element("section", element("h2", title), *content, id=anchor)


def paragraph(*content: object, class_: str | None = None) -> Markup:
    """Return a paragraph."""
    return element("p", *content, class_=class_)


def details(summary: str, *content: Markup) -> Markup:
    """Return what is shown when asked for."""
    return element("details", element("summary", summary), *content)


def warning(text: str) -> Markup:
    """Return a remark that something should be done."""
    sign = element("span", "!", class_="sign", aria_hidden="true")
    return element("li", sign, element("span", element("b", "Warning: ", class_="spoken"), text), class_="warning")


def warnings(texts: Iterable[str]) -> Markup | None:
    """Return remarks as a list, or nothing where there are none."""
    listed = [warning(text) for text in texts]
    return element("ul", *listed, class_="warnings") if listed else None


def sentence(parts: Iterable[str]) -> str:
    """Return what there is of some parts, with commas."""
    return ", ".join(part for part in parts if part)


def lanes(*rows: Markup) -> Markup:
    """Return pictures one below the other, along one axis."""
    return element("div", joined(rows), class_="lanes")
