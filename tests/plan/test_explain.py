"""Explanations: facts that can be counted, and a text that reads well."""

from __future__ import annotations

import pytest

from kubothek.plan.explain import Explanation, SourceExplanation, human_bytes

SEED = SourceExplanation("flights", "seed", 12, 2, 2, 1_200_000, {"alignment": 10})
WEATHER = SourceExplanation("weather", "inner", 12, 2, 2, 80_100, {"index": 9, "no seed": 1}, overlaid=1)
AIRPORTS = SourceExplanation("airports", "left", 1, 1, 2, None, {})
OTHER = SourceExplanation("other", "unread", 1, 0, 0, 0, {})


def explanation(*sources: SourceExplanation, **more: object) -> Explanation:
    """Return what a cube query might tell."""
    facts = {"condition": "TEMP < 0", "columns": ("A", "B", "C"), "group_by": (), "units": 2, **more}
    return Explanation(subject="cube flights", sources=sources, **facts)  # type: ignore[arg-type]


def test_as_text() -> None:
    """Each dataset is one line: how it is joined, what is read, and why the rest is not."""
    assert str(explanation(SEED, WEATHER, AIRPORTS, OTHER, group_by=("A",))).splitlines() == [
        "cube flights: 2 units, 3 columns",
        "where TEMP < 0",
        "grouped by A",
        "├─ flights   seed              2 of 12 files, 1.2 MB                    dropped: 10 without partner in a"
        " restricting dataset",
        "├─ weather   inner, restricts  2 of 12 files, 80.1 kB, 1 unit overlaid  dropped: 9 by index,"
        " 1 without cells in the seed",
        "├─ airports  left              1 of 1 file, read 2 times",
        "└─ other     not read          0 of 1 file",
    ]  # fmt: skip


def test_sums() -> None:
    """Files and bytes add up; an unknown size makes the sum unknown."""
    assert (explanation(SEED, WEATHER).files, explanation(SEED, WEATHER).bytes) == (4, 1_280_100)
    assert explanation(SEED, AIRPORTS).bytes is None
    assert explanation().bytes == 0


def test_one_is_no_plural() -> None:
    """One unit and one column are not units and columns."""
    assert str(explanation(condition="", columns=("A",), units=1)) == "cube flights: 1 unit, 1 column"


def test_in_a_notebook() -> None:
    """The text is shown as it is, signs of HTML included."""
    assert "TEMP &lt; 0" in explanation(SEED)._repr_html_()
    assert repr(explanation(SEED)) == str(explanation(SEED))


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (10**6, "1.0 MB"), (2 * 10**12, "2000.0 GB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    """Sizes are told in decimal units."""
    assert human_bytes(size) == text
