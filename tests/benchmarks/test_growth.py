from __future__ import annotations

import pyarrow as pa
from benchmarks.timing import Case, Contender
from benchmarks.works.growth import curves


def case(rows: int, *, rival_fails: bool = False) -> Case:
    """Two contenders that make as many rows; the second may fail."""

    def table() -> pa.Table:
        return pa.table({"x": range(rows)})

    def rival() -> pa.Table:
        if rival_fails:
            raise MemoryError("too many rows")
        return table()

    return Case("a work", "a case", (Contender("Kubothek", table), Contender("rival", rival, goal=0)))


def test_each_contender_has_a_curve() -> None:
    """A curve has a point per place, and what is to be said of it stands at the first contender's."""
    ours, theirs = curves("cost", "rows", [(10, case(10)), (20, case(20))], "It grows.")
    assert (ours.work, ours.name, ours.x, ours.contender, ours.note) == (
        "a work",
        "cost",
        "rows",
        "Kubothek",
        "It grows.",
    )
    assert ([point.x for point in theirs.points], theirs.contender, theirs.note) == ([10, 20], "rival", "")


def test_a_rival_that_fails_has_no_point() -> None:
    """Where a rival fails there is no point, and the others have theirs."""
    ours, theirs = curves("cost", "rows", [(10, case(10)), (20, case(20, rival_fails=True))])
    assert ([point.x for point in ours.points], [point.x for point in theirs.points]) == ([10, 20], [10])
