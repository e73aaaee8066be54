"""How values look on a terminal."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from kubothek.cli.render import explanation_tree, length_bar, rows_table
from kubothek.plan.explain import Explanation, SourceExplanation

SEED = SourceExplanation("seed", "seed", total=12, files=2, reads=2, bytes=1_200_000, dropped={"alignment": 10})
RESTRICTING = SourceExplanation("a", "inner", total=12, files=2, reads=2, bytes=800, dropped={"index": 9, "no seed": 1})
REPEATED = SourceExplanation("b", "left", total=1, files=1, reads=2, bytes=None, dropped={}, overlaid=2)
UNREAD = SourceExplanation("unread", "unread", total=0, files=0, reads=0, bytes=0, dropped={})


def shown(value: Any) -> str:
    """Render as on a terminal of 80 columns without colours."""
    console = Console(file=io.StringIO(), width=80)
    console.print(value)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def test_an_explanation_is_a_tree() -> None:
    """Each dataset is a branch with the share of its files that is read; rules that drop files hang below."""
    sources = (SEED, RESTRICTING, REPEATED, UNREAD)
    explanation = Explanation("cube x", "v1 < 0", ("v1",), group_by=("p",), units=2, sources=sources)
    assert shown(explanation_tree(explanation)) == (
        "cube x where v1 < 0 by p\n"
        "5 files, read as 2 units\n"
        "├── seed    seed      ■■□□□□□□□□□□   2 of 12 files     1.2 MB\n"
        "│   └── 10 files dropped without partner in a restricting dataset\n"
        "├── a       inner     ■■□□□□□□□□□□   2 of 12 files      800 B\n"
        "│   ├── 9 files dropped by index\n"
        "│   └── 1 file dropped without cells in the seed\n"
        "├── b       left      ■                1 of 1 file\n"
        "│   ├── read 2 times, as several units need the same files\n"
        "│   └── 2 units overlaid: versions of cells are resolved\n"
        "└── unread  not read                  0 of 0 files"
    )


def test_an_explanation_of_nothing_is_shown() -> None:
    """Without a condition, groups and datasets only the subject is left."""
    assert shown(explanation_tree(Explanation("x", "", (), (), 0, ()))) == "x\n0 files, 0 B, read as 0 units"


def test_numbers_stand_right_and_texts_left() -> None:
    """A column of numbers is aligned at its last digit; a null changes nothing."""
    lines = shown(rows_table(("x", "v1"), [("a", 1000), ("bbb", None), ("c", 0.25)])).splitlines()
    assert [line.strip() for line in lines if line.strip()] == [
        "x        v1",
        "─────────────",
        "a     1,000",
        "bbb       -",
        "c       0.2",
    ]


def test_a_bar_is_as_long_as_its_value() -> None:
    """Bars compare; the shortest is still seen, and nothing has no bar."""
    assert [len(length_bar(v, 4.0, 8)) for v in (4.0, 2.0, 0.001)] == [8, 4, 1]
    assert len(length_bar(0.0, 0.0)) == 0
