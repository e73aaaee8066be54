"""The migration guide names everything that there is, so that it cannot fall behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import kubothek as kb
from kubothek.compat.api import cube, dataset
from kubothek.compat.arguments import REFUSED
from kubothek.compat.stores import as_store

GUIDE = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
NAMES = json.loads((Path(__file__).parent / "kartothek_names.json").read_text(encoding="utf-8"))
HEADINGS = {
    "Kartothek's name, in `api.dataset`": ["api.dataset"],
    "Kartothek's name, in `api.cube`": ["api.cube"],
    "Kartothek's name, in `api.discover`, `api.consistency`, `api.serialization`": [
        "api.discover",
        "api.consistency",
        "api.serialization",
    ],
}


def rows_of(heading: str) -> list[list[str]]:
    """Return the rows of the table whose first column has this heading."""
    (table,) = re.findall(rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", GUIDE, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!`)\|(?!`)", line)[1:-1]] for line in table.splitlines()]


def code_in(cell: str) -> list[str]:
    """Return what stands in back quotes."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_name_is_in_a_table(heading: str) -> None:
    """Each public name of Kartothek is in one row, and no row has another one."""
    listed = [name for row in rows_of(heading) for name in code_in(row[0])]
    assert sorted(listed) == sorted(name for module in HEADINGS[heading] for name in NAMES[module])


@pytest.mark.parametrize("heading", HEADINGS)
def test_native_names_exist(heading: str) -> None:
    """What stands in the last column is a public function or class of Kubothek, or a method or argument of one."""
    named = {code for row in rows_of(heading) for code in code_in(row[2]) if re.fullmatch(r"\w+(\(.*)?", code)}
    assert named
    assert {name.partition("(")[0] for name in named} <= set(kb.__all__)


def test_refused_parameters() -> None:
    """The table of parameters that are refused is that of the code, defaults included."""
    listed = {code_in(name)[0]: code_in(default)[0] for name, default, _ in rows_of("parameter")}
    assert listed == {name: repr(default) for name, (default, _) in REFUSED.items()}


def test_stores_that_the_guide_names() -> None:
    """URLs of the guide are understood."""
    urls = [code for row in rows_of("given") for code in code_in(row[0]) if "://" in code and "host" not in code]
    assert urls == ["hfs:///data", "hazure://account:key@container", "memory://name", "hmemory://name"]
    assert [as_store(url).url for url in urls if "azure" not in url] == [
        "file:///data",
        "memory://name",
        "memory://name",
    ]


def test_what_is_written_for_spark_is_named() -> None:
    """What is here and not in Kartothek is in the guide, too."""
    more = {*cube.__all__, *dataset.__all__} - NAMES["api.cube"].keys() - NAMES["api.dataset"].keys()
    assert {name for name in more if not name.startswith("KTK_")} == {"update_cube_from_dataframe"}
    assert "`update_cube_from_dataframe`" in GUIDE
