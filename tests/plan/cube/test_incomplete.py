"""Which calls for several datasets of a cube are known not to have come to their end, and may be repeated."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kubothek.model.header import CubeCall
from kubothek.plan.cube.incomplete import Incomplete, find_incomplete, resumable
from kubothek.plan.cube.members import Member

CALL = CubeCall("1", "extend_cube", ("e", "f", "g"))


def member(dataset_id: str, *recent: str, call: CubeCall | None = None) -> Member:
    """Describe a dataset by its last commits."""
    return Member(dataset_id, f"c++{dataset_id}", pa.schema([]), (), (), pa.table({}), recent=recent, cube_call=call)


DONE, LACKS = member("e", "0", "1", call=CALL), member("f", "0")
CASES: dict[str, tuple[list[Member], tuple[str, ...] | None]] = {
    "nothing": ([], None),
    "no calls": ([LACKS], None),
    "all have it": ([DONE, member("f", "1", call=CALL), member("g", "1", call=CALL)], None),
    "others came on top": ([DONE, member("f", "1", "2"), member("g", "1", "3")], None),
    "two are absent": ([DONE], ("f", "g")),
    "one lacks it, one is absent": ([DONE, LACKS], ("f", "g")),
    "the last one lacks it": ([DONE, member("f", "1", call=CALL), member("g", "0")], ("g",)),
    "one was deleted since": ([DONE, member("g", "1", call=CALL)], None),
    "the first one was deleted since": ([member("f", "1", call=CALL)], ("g",)),
    "other software came on top": ([DONE, member("f", "1", call=CALL), member("g")], None),
    "so many came on top that nobody knows": ([DONE, member("f", "1"), member("g", *map(str, range(100, 164)))], None),
}


@pytest.mark.parametrize("case", CASES)
def test_incomplete_calls(case: str) -> None:
    """Datasets are committed in order, so what is missing comes after what is done."""
    members, missing = CASES[case]
    found = find_incomplete(members)
    done = tuple(m.dataset_id for m in members if "1" in m.recent)
    assert found == (() if missing is None else (Incomplete("extend_cube", "1", done, missing),))


def test_several_incomplete_calls() -> None:
    """Each is told: one that was begun twice leaves two."""
    second = CubeCall("2", "extend_cube", ("e", "f", "g"))
    members = [member("e", "1", "2", call=second), member("f", "1", call=CALL)]
    assert [(one.call_id, one.done) for one in find_incomplete(members)] == [("2", ("e",)), ("1", ("e", "f"))]
    assert resumable(members, "extend_cube", "gfe") == {"e", "f"}


@pytest.mark.parametrize(
    ("operation", "datasets", "free"),
    [
        ("extend_cube", "efg", {"e"}),
        ("extend_cube", "ef", set()),
        ("extend_cube", "efgh", set()),
        ("build_cube", "efg", set()),
    ],
    ids=["the same call", "less", "more", "another function"],
)
def test_only_the_same_call_again_may_replace(operation: str, datasets: str, free: set[str]) -> None:
    """It is for the same datasets, and what it finds holds nothing but its own rows."""
    assert resumable([DONE, LACKS], operation, datasets) == free
