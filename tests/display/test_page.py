"""The page of a cube: well-formed, safe whatever names say, complete, and small however many partitions there are."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from tests.display.pictures import NOW, TEN, picture

import kubothek as kb
from kubothek import C
from kubothek.display.page import report_page
from kubothek.model.problem import Problem
from kubothek.plan.cube.coverage import State

EVIL = "</title><script>alert(1)</script><img src=//e.example onerror=alert(2)>\"'"
VOID = {"meta"}
PROBLEMS = [Problem("missing_file", EVIL, EVIL, EVIL)] * 12


class Page(HTMLParser):
    """Reads a page: attributes of its elements by tag, and its text; each tag is closed where it was opened."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: dict[str, list[dict[str, Any]]] = {}
        self.open: list[str] = []
        self.text = ""
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.setdefault(tag, []).append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & {*self.open}:
            self.tables[-1][-1][-1] += data

    def table(self, *headings: str) -> list[list[str]]:
        """Return the rows of the table that begins with these headings."""
        [found] = [table for table in self.tables if table[0][: len(headings)] == [*headings]]
        return found[1:]


def evil_picture() -> Any:
    """Make a picture in which every name that others choose tries to get out."""
    cube = kb.Cube("c", [EVIL, "y"], [f"p{EVIL}", "q"], index_columns=[f"i{EVIL}"])
    names = ["seed", *(f"e{n}{EVIL}" for n in range(6))]
    return picture(10, names, cube=cube, problems=PROBLEMS, condition=C(EVIL) == EVIL, author=EVIL)


@pytest.mark.parametrize("partitions", [1, 10, 50, 120, 121, 3000])
def test_a_page_is_well_formed(partitions: int) -> None:
    """Tags are closed, ids are unique, links lead to what is there, each part has a heading."""
    page = Page(report_page(picture(partitions)))
    ids = [one["id"] for found in page.found.values() for one in found if "id" in one]
    assert len(ids) == len(set(ids))
    assert {one["href"] for one in page.found["a"]} <= {f"#{name}" for name in ids}
    assert [len(page.found[tag]) for tag in ("html", "head", "body", "main", "h1")] == [1] * 5
    assert len(page.found["h2"]) == len(page.found["section"]) == 6


def test_names_cannot_leave_their_place() -> None:
    """There is one script, no image and no handler, whatever columns, datasets, authors and problems are called."""
    html = report_page(evil_picture())
    page = Page(html)
    assert len(page.found["script"]) == 1
    assert "img" not in page.found
    attributes = {name for found in page.found.values() for one in found for name in one}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "xlink:href")]
    assert page.text.count("alert(1)") > 20


def test_nothing_is_fetched() -> None:
    """The page names no other place, and forbids every request and every style and script but its own."""
    html = report_page(picture(10))
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", html.replace("memory://pictures", ""))
    [policy] = [m["content"] for m in Page(html).found["meta"] if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_the_map_counts_what_there_is() -> None:
    """The numbers of the map's table are those of the states, counted one by one."""
    given = picture(1000)
    page = Page(report_page(given))
    rows = page.table("dataset", "covered")
    assert [row[0] for row in rows] == [*given.coverage.datasets]
    for row, states in zip(rows, given.coverage.states.tolist(), strict=True):
        counts = Counter(states)
        order = (State.COVERED, State.STALE, State.MISSING, State.EXTRA)
        assert row[1:] == [f"{counts[state]:,}" for state in order]


def test_every_state_has_a_pattern_of_its_own() -> None:
    """States are told apart by classes that are filled with patterns, and by the titles of their columns."""
    page = Page(report_page(picture(200)))
    classes = {one.get("class", "") for one in page.found["rect"]}
    assert {f"state-{name}" for name in ("covered", "stale", "missing", "extra")} <= classes
    assert {one["id"] for one in page.found["pattern"]} == {"pattern-stale", "pattern-missing", "pattern-extra"}


def test_a_single_partition_among_many_is_seen() -> None:
    """A state has at least a sixth of its column's height, and heights fill the column."""
    heights = [float(one["height"].rstrip("%")) for one in Page(report_page(picture(10_000))).found["rect"]
               if one.get("class") == "state-missing"]  # fmt: skip
    assert min(heights) > 100 / 6


def test_the_worst_partitions_come_first() -> None:
    """The table lists those in which most datasets lack something, as a count of each column of the states tells."""
    given = picture(1000)
    needs = np.isin(given.coverage.states, [State.STALE, State.MISSING, State.EXTRA]).sum(axis=0)
    rows = Page(report_page(given)).table("partition", "stale")
    assert [sum(len(cell.split(", ")) for cell in row[1:] if cell) for row in rows] == sorted(needs.tolist())[:-16:-1]


def test_ten_thousand_partitions_of_ten_datasets_stay_small() -> None:
    """The page does not grow with the partitions: it has as many columns as a screen shows."""
    html = report_page(picture(10_000, condition=C("i1") == "a"))
    assert len(html.encode()) < 600_000
    assert "10,001" in html
    assert len(Page(html).found["rect"]) < 5000


def test_the_funnel_loses_what_rules_drop() -> None:
    """What is left after each rule is what there was before without what the rule drops, down to what is read."""
    given = picture(100, condition=C("i1") == "a")
    sources = given.query.sources
    by_partition = sum(source.dropped["partition"] for source in sources)
    text = Page(report_page(given)).text
    total = sum(source.total for source in sources)
    assert f"{total - by_partition:,} left, {by_partition:,} dropped" in text
    assert f"{given.query.files:,} left" in text


def test_many_problems_are_counted_and_cut() -> None:
    """Ten of a kind are told, and how many there are."""
    page = Page(report_page(picture(10, problems=PROBLEMS)))
    assert "check_cube has found 12 problems." in page.text
    assert "and 2 more" in page.text


def test_a_cube_in_order_says_so() -> None:
    """Where there is nothing to do, the head and each part say that."""
    text = Page(report_page(picture(3, ["seed"]))).text
    assert "all partitions covered, no problem found" in text
    assert "Every dataset covers every partition of the seed." in text
    assert "check_cube has found no problem." in text


def test_the_head_tells_the_last_commit() -> None:
    """Who committed last, when, and what."""
    text = Page(report_page(picture(10, TEN[:2], author="Zoë"))).text
    assert f"{NOW:%Y-%m-%d %H:%M}update_cube of seed by Zoë" in text
