"""Tasks in threads: results in order, a bounded lead, and errors that stop the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.engine import local
from kubothek.engine.local import map_in_threads


def test_results_come_in_order() -> None:
    """A slow task holds back those after it, not their work."""

    def task(number: int) -> int:
        time.sleep(0.01 if number == 0 else 0)
        return number

    assert list(map_in_threads(task, range(9), threads=3)) == list(range(9))


def test_the_lead_over_the_consumer_is_bounded() -> None:
    """At most twice as many inputs as threads are taken before the consumer wants a result."""
    taken: list[int] = []

    def inputs() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = map_in_threads(lambda number: number, inputs(), threads=2)
    assert next(results) == 0
    assert len(taken) == 4


def test_an_error_stops_the_rest() -> None:
    """The error of a task comes out where its result would, and what has not begun never does."""
    begun, go = [], threading.Event()

    def task(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError("the first")
        go.wait(0.02)

    with pytest.raises(ValueError, match="the first"):
        list(map_in_threads(task, range(100), threads=1))
    assert len(begun) <= 2


@pytest.mark.parametrize("most", [2, 2**18], ids=["column by column", "at once"])
def test_groups_of_any_size_are_sorted(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of several partitions is sorted by its dimensions, with all columns, however large it is."""
    monkeypatch.setattr(local, "ROWS_PER_BATCH", most)
    rows = pa.table({"x": [3, 1, 2, 0], "p": [1, 1, 2, 2], "v1": ["d", "b", None, "a"]})
    kb.build_cube(rows, kb.Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p"), f"memory://sort{most}")
    found = kb.query_cube("c", f"memory://sort{most}").to_arrow()
    assert found.to_pydict() == {"p": [2, 1, 2, 1], "v1": ["a", "b", None, "d"], "x": [0, 1, 2, 3]}
