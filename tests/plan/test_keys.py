"""Equality of many values as integers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kubothek.plan.keys import ends_differ

NAMES = [f"p=1/{number:032x}" for number in range(1000)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], True),
        (["a"], False),
        (NAMES, True),
        ([*NAMES, NAMES[7]], False),
        ([NAMES[0], NAMES[0].replace("p=1", "p=2")], False),
        ([NAMES[0] + ".parquet", NAMES[1] + ".parquet"], True),
        ([NAMES[0], None], False),
    ],
    ids=["none", "short", "distinct", "twice", "same end", "keys", "null"],
)
def test_ends_prove_that_texts_are_distinct(texts: list[str | None], expected: bool) -> None:
    """They do wherever texts are looked at, in a slice of an array too; what they do not prove is left open."""
    array = pa.array(["x" * 40, *texts], pa.string())
    assert ends_differ(pa.array(texts, pa.string())) is expected
    assert ends_differ(array[1:]) is expected
