"""How contenders are timed and compared, with a clock that a test winds."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from benchmarks.figures import Figures
from benchmarks.report import figures_table, markdown, table_of
from benchmarks.timing import Case, Contender, assert_same_rows, measure
from rich.console import Console

SUMS = pa.table({"p": [1, 2], "v1": [0.3, 1.0]})


class Clock:
    """Seconds that pass only when a contender takes them."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float, rows: pa.Table = SUMS) -> Callable[[], pa.Table]:
        def run() -> pa.Table:
            self.now += seconds
            return rows

        return run


def test_ratios() -> None:
    """A contender's ratio is its time over the first contender's; the round that warms up is not timed."""
    clock = Clock()
    case = Case("scan", "all", (Contender("ours", clock.takes(2)), Contender("theirs", clock.takes(7), goal=3.5)))
    ours, theirs = measure(case, 3, clock).timed
    assert (ours.seconds, theirs.seconds) == ((2, 2, 2), (7, 7, 7))
    assert (ours.ratio, ours.reached) == (1, None)
    assert (theirs.ratio, theirs.reached) == (3.5, True)


def test_own_clock() -> None:
    """A contender in another process says itself how long it took."""
    clock = Clock()
    there = Contender("theirs", clock.takes(5), seconds=lambda rows: float(rows.num_rows))
    measurement = measure(Case("scan", "all", (Contender("ours", clock.takes(1)), there)), 2, clock)
    assert measurement.timed[1].seconds == (2.0, 2.0)


def test_contenders_take_turns() -> None:
    """Each round runs every contender once."""
    order: list[str] = []
    contenders = tuple(Contender(name, lambda n=name: order.append(n), lambda _: SUMS) for name in "ab")
    measure(Case("scan", "all", contenders), 2)
    assert order == ["a", "b"] * 3


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(SUMS.slice(1), id="row missing"),
        pytest.param(SUMS.set_column(1, "v1", [[0.3, 1.1]]), id="other double"),
        pytest.param(SUMS.set_column(0, "p", [[1, 3]]), id="other number"),
        pytest.param(SUMS.rename_columns(["p", "v2"]), id="other column"),
    ],
)
def test_other_rows(found: pa.Table) -> None:
    """A contender that gives other rows is no contender."""
    clock = Clock()
    case = Case("scan", "all", (Contender("ours", clock.takes(1)), Contender("theirs", clock.takes(1, found))))
    with pytest.raises(AssertionError, match="theirs gives"):
        measure(case, 1, clock)


def test_same_rows() -> None:
    """Order of rows, width of numbers and the last digits of a sum make no difference."""
    found = pa.table({"v1": [1.0, 0.1 + 0.2], "p": pa.array([2, 1], pa.int32())})
    assert_same_rows(found, SUMS, "theirs")


def test_rival_fails() -> None:
    """A rival's failure is reported and ends its turns; the others go on."""
    clock = Clock()
    case = Case("scan", "all", (Contender("ours", clock.takes(1)), Contender("theirs", lambda: 1 // 0, goal=2.0)))
    measurement = measure(case, 2, clock)
    assert [(len(t.seconds), t.ratio) for t in measurement.timed] == [(2, 1), (0, None)]
    assert "theirs failed: ZeroDivisionError" in markdown("tiny", {}, [measurement])


def test_report() -> None:
    """Figures appear in the terminal and in Markdown alike."""
    clock = Clock()
    case = Case("scan", "all", (Contender("ours", clock.takes(2)), Contender("theirs", clock.takes(7), goal=4.0)))
    measurement = measure(case, 1, clock)
    console = Console(record=True, width=100)
    console.print(table_of("scan", [measurement]))
    for text in (console.export_text(), markdown("tiny", {"cores": "2"}, [measurement])):
        assert all(word in text for word in ("theirs", "7.00", "3.50", "≥ 4.00", "missed"))


def test_figures() -> None:
    """Figures of Kubothek alone come after the races."""
    found = Figures("memory", ("peak in MiB", "20 rows"), (("read", "7"),), "Goal: at most 8.")
    console = Console(record=True, width=100)
    console.print(figures_table(found))
    for text in (console.export_text(), markdown("tiny", {}, [], [found])):
        assert all(word in text for word in ("peak in MiB", "read", "7", "Goal: at most 8."))
