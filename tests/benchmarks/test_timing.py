"""How contenders are timed and compared, with a clock that a test winds."""

from __future__ import annotations

import pyarrow as pa
import pytest
from benchmarks.figures import Goal
from benchmarks.timing import Case, Contender, assert_same_rows, measure
from tests.benchmarks.invented import SUMS, Clock, NoMeter, failing


def test_ratios() -> None:
    """A contender's ratio is its time over the first contender's; the round that warms up is not timed."""
    clock = Clock()
    ours, theirs = measure(clock.case(Contender("theirs", clock.takes(7), goal=3.5)), 3, clock, NoMeter).timed
    assert (ours.seconds, theirs.seconds) == ((2, 2, 2), (7, 7, 7))
    assert (ours.ratio, theirs.ratio) == (1, 3.5)
    assert (list(ours.goals("all")), list(theirs.goals("all"))) == ([], [Goal("all", "theirs", "3.50", "≥ 3.50", True)])


def test_goal_of_a_group() -> None:
    """Of the ways to use the same software, the fastest one's goal counts, alone."""
    clock = Clock()
    ways = [Contender(name, clock.takes(took), goal=2.0, group="Spark") for name, took in (("a", 9), ("b", 3))]
    fails = Contender("c", failing, goal=2.0, group="Spark")
    found = measure(clock.case(*ways, fails, Contender("other", clock.takes(8), goal=3.0)), 1, clock, NoMeter)
    assert [(goal.against, goal.found, goal.reached) for goal in found.goals()] == [
        ("b", "1.50", False),
        ("other", "4.00", True),
    ]


def test_no_goal() -> None:
    """A case without a goal says why."""
    with pytest.raises(ValueError, match="scan, all: no contender has a goal, and no reason is given"):
        Case("scan", "all", (Contender("ours", lambda: SUMS),))
    assert measure(Clock().case(), 1, meter=NoMeter).note == "A test."


def test_own_clock() -> None:
    """A contender in another process says itself how long it took, and how often its store was asked."""
    clock = Clock()
    there = Contender("theirs", clock.takes(5), seconds=lambda rows: float(rows.num_rows), requests=lambda rows: 7)
    (one,) = measure(clock.case(there), 1, clock, NoMeter).timed[1].rounds
    assert (one.seconds, one.requests) == (2.0, 7)


def test_contenders_take_turns() -> None:
    """Each round runs every contender once and begins with the next of them, after one in the order given."""
    order: list[str] = []
    contenders = tuple(Contender(name, lambda n=name: order.append(n), lambda _: SUMS) for name in "abc")
    measure(Case("scan", "all", contenders, reason="A test."), 3, meter=NoMeter)
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"


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
    with pytest.raises(AssertionError, match="theirs gives"):
        measure(clock.case(Contender("theirs", clock.takes(1, found))), 1, clock, NoMeter)


def test_same_rows() -> None:
    """Order of rows, width of numbers and the last digits of a sum make no difference."""
    found = pa.table({"v1": [1.0, 0.1 + 0.2], "p": pa.array([2, 1], pa.int32())})
    assert_same_rows(found, SUMS, "theirs")


def test_rival_fails() -> None:
    """A rival's failure is reported and ends its turns; the others go on."""
    clock = Clock()
    measurement = measure(clock.case(Contender("theirs", failing, goal=2.0)), 2, clock, NoMeter)
    assert [(len(t.seconds), t.ratio) for t in measurement.timed] == [(2, 1), (0, None)]
    assert measurement.timed[1].failure == "MemoryError: no more of it"
    assert list(measurement.goals()) == [Goal("all columns", "theirs", "failed", "≥ 2.00", None)]


def test_what_java_says() -> None:
    """Of an error of the JVM the last cause is told, without where it came from."""

    def failing_in_java() -> pa.Table:
        raise RuntimeError("Exception thrown in awaitResult\n\tat a.b(c.scala:1)\nCaused by: No heap\n\tat d\n\tat e")

    clock = Clock()
    measurement = measure(clock.case(Contender("theirs", failing_in_java)), 1, clock, NoMeter)
    assert measurement.timed[1].failure == "RuntimeError: No heap"


def test_rival_fails_late() -> None:
    """A rival that fails in a later round has no figure."""
    clock, turns = Clock(), iter([SUMS, SUMS])
    measurement = measure(clock.case(Contender("theirs", lambda: next(turns))), 2, clock, NoMeter)
    assert [(len(t.seconds), t.ratio) for t in measurement.timed] == [(2, 1), (0, None)]


def test_kubothek_fails() -> None:
    """Where Kubothek fails there is nothing to compare with."""
    with pytest.raises(MemoryError):
        measure(Case("scan", "all", (Contender("ours", failing, goal=1.0),)), 1, meter=NoMeter)
