"""Explanations: facts that can be counted, and texts, trees and tables that read well."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from rich.console import Console

from kubothek.model.condition import EVERYTHING, C
from kubothek.model.condition_json import condition_from_json
from kubothek.plan.explanation import RULES, Explanation, SourceExplanation
from kubothek.plan.measured import Measured, MeasuredRead

COLD = C("TEMP") < 0
SEED = SourceExplanation("flights", "seed", 12, 2, 2, 1_200_000, {"alignment": 10}, rows=40_000, requests=4)
WEATHER = SourceExplanation(
    "weather",
    "inner",
    12,
    2,
    2,
    80_100,
    {"index": 9, "no seed": 1},
    overlaid=1,
    joined_on=("ORIGIN", "HOUR"),
    condition=COLD,
    lookups=(str(COLD),),
)
AIRPORTS = SourceExplanation("airports", "left", 1, 1, 2, None, {}, joined_on=("ORIGIN",))
OTHER = SourceExplanation("other", "unread", 1, 0, 0, 0, {})


def explanation(*sources: SourceExplanation, **more: Any) -> Explanation:
    """Return what a cube query might tell."""
    facts = {"condition": COLD, "columns": ("A", "B", "C"), "group_by": (), "units": 2, **more}
    return Explanation(subject="cube flights", sources=sources, **facts)


def measured() -> Explanation:
    """Return an explanation of two datasets that were read."""
    told = explanation(SEED, replace(WEATHER, lookups=(), overlaid=0), largest_unit=640_000, tasks=1, cores=1)
    seed = Measured(1, 0, 2, 0, 2, 600_000, 20_000, 20_000, 20_000, 20_000, 0.012)
    weather = Measured(2, 1, 4, 3, 3, 20_000, 4_000, 1_000, 77, 50, 0.003)
    return told.with_measured(MeasuredRead((seed, weather), rows=50, seconds=0.02, units_emptied=1))


def test_as_text() -> None:
    """Each dataset is a line with its numbers; below it stands how it is joined, and why the rest is not read."""
    assert str(explanation(SEED, WEATHER, AIRPORTS, OTHER, group_by=("A",))).splitlines() == [
        "cube flights: 2 units, 3 columns",
        "where TEMP < 0",
        "grouped by A",
        "|- flights   seed      2 of 12 files   1.2 MB  40,000 rows  4 requests",
        f"|    10 files dropped {RULES['alignment']}",
        "|- weather   inner     2 of 12 files  80.1 kB",
        "|    joined on ORIGIN, HOUR",
        "|    restricted to TEMP < 0",
        "|    index asked for TEMP < 0",
        f"|    9 files dropped {RULES['index']}",
        f"|    1 file dropped {RULES['no seed']}",
        "|    1 unit overlaid: versions of cells are resolved",
        "|- airports  left        1 of 1 file",
        "|    joined on ORIGIN",
        "|    read 2 times, as several units need the same files",
        "`- other     not read    0 of 1 file",
        "in all 5 files",
    ]


def test_measured_stands_beside_expected() -> None:
    """What was read is a line below what was expected, in the same columns; what conditions and joins left follows."""
    assert str(measured()).splitlines() == [
        "cube flights: 2 units, 3 columns",
        "where TEMP < 0",
        "|- flights  seed      2 of 12 files    1.2 MB  40,000 rows  4 requests",
        "|           measured         1 file  600.0 kB  20,000 rows  2 requests",
        f"|    10 files dropped {RULES['alignment']}",
        "|    20,000 rows matched in its units; 20,000 rows to begin with; 12 ms",
        "`- weather  inner     2 of 12 files   80.1 kB",
        "            measured        2 files   20.0 kB   1,000 rows  3 requests",
        "     joined on ORIGIN, HOUR",
        "     restricted to TEMP < 0",
        f"     9 files dropped {RULES['index']}",
        f"     1 file dropped {RULES['no seed']}",
        "     3 of 4 row groups skipped by statistics, 1 file altogether",
        "     77 rows matched in its units; 50 rows after this join; 3 ms",
        "in all 4 files, 1.3 MB; largest unit 640.0 kB; 1 task on Spark with 1 core",
        "measured: 50 rows in 20 ms; 1 unit found empty before all was read",
    ]


def test_text_is_ascii_and_steers_no_terminal() -> None:
    """Lines are drawn in ASCII, and control characters in names are shown as what they are."""
    text = str(explanation(replace(SEED, name="a\x1b[2Jb"), OTHER))
    assert text.isascii()
    assert "|- a\\x1b[2Jb  seed" in text


def test_as_a_tree() -> None:
    """On a terminal each dataset is a branch, and nothing needs more than 80 columns."""
    console = Console(file=io.StringIO(), width=80)
    console.print(measured())
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]  # a StringIO
    assert lines[:7] == [
        "cube flights: 2 units, 3 columns",
        "where TEMP < 0",
        "in all 4 files, 1.3 MB; largest unit 640.0 kB; 1 task on Spark with 1 core",
        "measured: 50 rows in 20 ms; 1 unit found empty before all was read",
        "├── flights  seed      2 of 12 files    1.2 MB  40,000 rows  4 requests",
        "│            measured         1 file  600.0 kB  20,000 rows  2 requests",
        "│   ├── 10 files dropped without partner: a dataset that restricts the result",
    ]


def test_colours_of_a_tree() -> None:
    """Roles have colours of their own, and the reasons below are dim; a name in brackets is no markup."""
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(explanation(replace(SEED, name="[red]s"), WEATHER))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "\x1b[1;32m[red]s " in text
    assert "\x1b[1;33mweather" in text
    assert "\x1b[2mjoined on ORIGIN, HOUR\x1b[0m" in text


class Table(HTMLParser):
    """Checks that tags are closed in order, and collects the texts of cells by row."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag == "br":
            self.rows[-1][-1] += "\n"
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


def test_in_a_notebook() -> None:
    """A table with a row per dataset, which brings its styles along and leaves colours of the text to the notebook."""
    html = measured()._repr_html_()
    table = Table(html)
    head, seed, weather = table.rows
    assert head == ["dataset", "", "files", "bytes", "rows", "requests", ""]
    assert seed[:3] == ["flights", "seed\nmeasured", "2 of 12 files\n1 file"]
    assert weather[3:6] == ["80.1 kB\n20.0 kB", "\n1,000 rows", "\n3 requests"]
    assert table.tags == {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "br"}
    assert "color:inherit;background:none" in html


def test_html_of_one_dataset() -> None:
    """The whole of it, for a dataset without anything special: what others chose is escaped."""
    cell = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;border-top:1px solid rgba(128,128,128,0.35)"
    number = f"{cell};text-align:right;white-space:nowrap"
    scan = SourceExplanation("<u>", "scan", 1, 1, 1, 80, {})
    html = Explanation("dataset <u>", C("a") < "&", ("a",), (), 1, (scan,))._repr_html_()
    heads = [(cell, "dataset"), (cell, ""), *((number, n) for n in ("files", "bytes", "rows", "requests")), (cell, "")]
    assert html == (
        '<div style="font-family:system-ui,sans-serif;font-size:13px">'
        "<div><b>dataset &lt;u&gt;</b>: 1 unit, 1 column</div><div>where a &lt; &quot;&amp;&quot;</div>"
        '<table style="border-collapse:collapse;margin:6px 0;color:inherit;background:none">'
        '<thead><tr style="opacity:0.7;background:none">'
        + "".join(f'<th style="{style}">{text}</th>' for style, text in heads)
        + '</tr></thead><tbody><tr style="background:none">'
        f'<td style="{cell}"><b>&lt;u&gt;</b></td><td style="{cell};white-space:nowrap">scan</td>'
        f'<td style="{number}">1 of 1 file</td><td style="{number}">80 B</td>'
        f'<td style="{number}"></td><td style="{number}"></td><td style="{cell};opacity:0.7"></td>'
        "</tr></tbody></table></div>"
    )


def test_as_json() -> None:
    """Everything is a JSON value; conditions have the form in which they can be asked again."""
    told = json.loads(json.dumps(measured().to_dict()))
    seed, weather = told["sources"]
    assert condition_from_json(weather["condition"]) == condition_from_json(told["condition"]) == COLD
    assert (told["files"], told["bytes"], told["tasks"], told["cores"]) == (4, 1_280_100, 1, 1)
    assert (weather["position"], weather["joined_on"], weather["dropped"]) == (1, ["ORIGIN", "HOUR"], WEATHER.dropped)
    assert (seed["measured"]["files"], weather["measured"]["rows_joined"]) == (1, 50)
    assert told["measured"] == {"rows": 50, "seconds": 0.02, "units_emptied": 1}
    assert list(told["rules"]) == ["index", "no seed", "alignment", "statistics"]


def test_sums() -> None:
    """Files, bytes and requests add up; what is unknown somewhere is unknown in all."""
    assert (explanation(SEED, WEATHER).files, explanation(SEED, WEATHER).bytes) == (4, 1_280_100)
    assert explanation(SEED, AIRPORTS).bytes is None
    assert (explanation(SEED, OTHER).requests, explanation(SEED, WEATHER).requests) == (4, None)
    assert explanation().bytes == 0


def test_one_is_no_plural() -> None:
    """One unit and one column are not units and columns."""
    assert str(explanation(condition=EVERYTHING, columns=("A",), units=1)) == "cube flights: 1 unit, 1 column"
