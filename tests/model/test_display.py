"""How numbers and foreign texts are told to people."""

from __future__ import annotations

import pytest

from kubothek.model.display import duration, human_bytes, plural, printable


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (10**6, "1.0 MB"), (2 * 10**12, "2000.0 GB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    """Sizes are told in decimal units."""
    assert human_bytes(size) == text


def test_counts_and_durations_for_people() -> None:
    """One is no plural, thousands stand apart, and a duration has the digits that matter."""
    assert (plural(0, "row"), plural(1, "row"), plural(1000, "row")) == ("0 rows", "1 row", "1,000 rows")
    assert (duration(0.0009), duration(0.999), duration(59.96)) == ("1 ms", "999 ms", "60.0 s")


def test_control_characters_are_shown() -> None:
    """Nothing in a name moves the cursor, rings a bell or turns the direction of the text."""
    assert printable("a\x1b\x07\u202eb") == r"a\x1b\x07\u202eb"
