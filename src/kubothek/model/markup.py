"""How HTML is put together such that no name or value from a store is ever taken for markup.

An element is made of its name, its content and its attributes. Content is escaped unless it is :class:`Markup`, which
only :func:`element` and its callers make; attribute values always are. In a notebook, tables bring their own few
styles, which inherit colours, so that they can be read on light and dark backgrounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from kubothek.model.display import printable

_VOID = frozenset({"br", "meta"})
FAINT = "opacity:0.7"
CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;border-top:1px solid rgba(128,128,128,0.35)"
NUMBER = f"{CELL};text-align:right;white-space:nowrap"
TABLE = "border-collapse:collapse;margin:6px 0;color:inherit;background:none"
_ROW = "background:none"
"""Styles of tables in a notebook, which has rules of its own for them."""


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element; its content is escaped, but for what is markup already, and so are its attributes.

    Parameters
    ----------
    name
        Of the element.
    content
        Texts, numbers and elements, one after the other; ``None`` is left out.
    attributes
        Underscores stand for hyphens, and one at the end for nothing, as in ``class_``. An attribute that is ``None``
        or ``False`` is left out, one that is ``True`` has no value.

    Examples
    --------
    >>> element("p", "1 < 2", element("b", "!"), class_="sum", hidden=True)
    '<p class="sum" hidden>1 &lt; 2<b>!</b></p>'
    """
    opening = f"<{name}{''.join(_attribute(*given) for given in attributes.items())}>"
    return Markup(opening if name in _VOID else f"{opening}{joined(content)}</{name}>")


def joined(content: Iterable[object]) -> Markup:
    """Return texts and elements one after the other, texts escaped."""
    return Markup("".join(one if isinstance(one, Markup) else _escaped(one) for one in content if one is not None))


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_escaped(value)}"'


def _escaped(value: object) -> str:
    return escape(printable(str(value)))


def notebook_facts(title: str, facts: Mapping[str, object]) -> str:
    """Return what is known of something as a small table under its name, for a notebook.

    Examples
    --------
    >>> "<b>weather</b>" in notebook_facts("weather", {"rows": 12})
    True
    """
    rows = (
        element("tr", element("td", name, style=f"{CELL};{FAINT}"), element("td", value, style=CELL), style=_ROW)
        for name, value in facts.items()
    )
    return _framed(title, element("table", element("tbody", *rows), style=TABLE))


def notebook_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], numeric: Sequence[bool] = (), more: str = ""
) -> str:
    """Return rows as a table for a notebook, with what is left out below it.

    Parameters
    ----------
    title, headings, rows
        What is shown.
    numeric
        Which columns stand right; none where it is empty.
    more
        A remark below the table.
    """
    styles = [NUMBER if number else CELL for number in numeric or [False] * len(headings)]
    heads = (element("th", text, style=style) for text, style in zip(headings, styles, strict=True))
    body = (
        element("tr", *(element("td", c, style=s) for c, s in zip(cells, styles, strict=True)), style=_ROW)
        for cells in rows
    )
    head = element("thead", element("tr", *heads, style=f"{FAINT};{_ROW}"))
    table = element("table", head, element("tbody", *body), style=TABLE)
    return _framed(title, joined([table, element("div", more, style=FAINT) if more else None]))


def _framed(title: str, body: Markup) -> str:
    """Return a title and what belongs to it, in the letters of an interface."""
    heading = element("div", element("b", title)) if title else None
    return str(element("div", heading, body, style="font-family:system-ui,sans-serif;font-size:13px"))
