"""What a check has found, kind by kind, with the first findings of each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kubothek.display.drawing import paragraph, section
from kubothek.model.display import plural
from kubothek.model.markup import Markup, element
from kubothek.model.problem import Problem

_SHOWN = 10


def problems_section(problems: Sequence[Problem]) -> Markup:
    """List what is wrong with the cube."""
    if not problems:
        return section("problems", "Problems", paragraph("check_cube has found no problem.", class_="good"))
    ordered = sorted(problems, key=lambda problem: problem.kind)
    kinds = [_kind(kind, list(found)) for kind, found in groupby(ordered, key=lambda problem: problem.kind)]
    lead = f"check_cube has found {plural(len(problems), 'problem')}."
    return section("problems", "Problems", paragraph(lead, class_="lead"), *kinds)


def _kind(kind: str, found: Sequence[Problem]) -> Markup:
    more = len(found) - _SHOWN
    rest = element("li", f"and {more:,} more; check lists them all", class_="note") if more > 0 else None
    title = element("h3", kind.replace("_", " "), " ", element("span", f"{len(found):,}", class_="count"))
    return element("div", title, element("ul", *map(_item, found[:_SHOWN]), rest), class_="problem")


def _item(problem: Problem) -> Markup:
    place = problem.subject if problem.key is None else problem.key
    return element("li", element("code", place), " ", problem.message)
