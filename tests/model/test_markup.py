"""HTML made of elements: whatever is said of stored names and values stays text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.model.markup import element, notebook_facts, notebook_table
from kubothek.model.problem import Problem, Problems
from kubothek.model.stale import StalePartitions

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[2J"


class Read(HTMLParser):
    """Reads HTML: its tags and its text; each tag is closed where it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize(
    "html",
    [
        element("p", EVIL, title=EVIL),
        notebook_facts(EVIL, {EVIL: EVIL}),
        notebook_table(EVIL, [EVIL], [[EVIL]], more=EVIL),
        Problem("missing_file", EVIL, EVIL, EVIL)._repr_html_(),
        StalePartitions(EVIL, pa.table({EVIL: [EVIL]}), pa.array(["changed"]), 1)._repr_html_(),
    ],
    ids=["element", "facts", "table", "problem", "stale"],
)
def test_what_others_chose_is_text(html: str) -> None:
    """No tag and no attribute comes from a name or value, and control characters are shown."""
    read = Read(html)
    assert read.tags <= {"p", "div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "alert(1)" in "".join(read.texts) or "title=" in html
    assert "\x1b" not in html


def test_datasets_in_a_notebook() -> None:
    """A dataset and a scan of it tell what their texts tell; its names, columns and metadata stay text."""
    rows = pa.table({EVIL: [1, 2], "p": ["<b>", "c"]})
    data = kb.write_dataset(rows, "u", "memory://notebook", partition_on="p", metadata={EVIL: EVIL})
    told = Read(data._repr_html_())
    assert told.tags == {"div", "b", "table", "tbody", "tr", "td"}
    assert told.texts[3:9] == ["version", "1", "partitions", "2", "rows", "2"]
    for html in (data.scan()._repr_html_(), data.scan().plan._repr_html_(), data.history()._repr_html_()):
        assert {"script", "img"}.isdisjoint(Read(html).tags)


def test_cubes_in_a_notebook() -> None:
    """A specification is a table of its columns, and a query is what it explains."""
    cube = kb.Cube("c", ["x", "y"], ["p"])
    kb.build_cube(pa.table({"x": [1], "y": [1], "p": [1], "<i>": [1]}), cube, "memory://notebook_cube")
    assert Read(cube._repr_html_()).texts[1:] == ["seed", "seed", "dimension columns", "x, y", "partition columns", "p"]
    query = kb.query_cube("c", "memory://notebook_cube", where="`<i>` == 1")
    assert query._repr_html_() == query.explain()._repr_html_()
    assert "i" not in Read(query._repr_html_()).tags | Read(query.plan._repr_html_()).tags


def test_problems_in_a_notebook() -> None:
    """They stay a list; fifty of them are shown, and how many more there are."""
    found = Problems([Problem("missing_file", "u", f"k{n}", "gone") for n in range(52)])
    assert Read(found._repr_html_()).texts[0] == "52 problems"
    assert "… and 2 more" in found._repr_html_()
    assert Read(Problems()._repr_html_()).texts == ["no problems"]
