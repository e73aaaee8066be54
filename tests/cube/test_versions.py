"""Which version of a cell a query sees, where its versions lie in different files and partitions."""

from __future__ import annotations

import uuid as uuids
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import DuplicateCellsError

CUBE = kb.Cube("c", ["x"], ["p"])
SEED = pa.table({"x": [0, 1], "p": ["a", "a"]})
OWN = {"more": ["r"]}


def moved() -> str:
    """Write a cell of an enrichment in one of its own partitions, and again in another."""
    store = f"memory://{uuids.uuid4().hex}"
    first = pa.table({"x": [0, 1], "r": [0, 0], "v1": [1, 2]})
    kb.build_cube({"seed": SEED, "more": first}, CUBE, store, partition_on=OWN)
    kb.append_to_cube({"more": pa.table({"x": [0], "r": [1], "v1": [3]})}, CUBE, store)
    return store


MOVED: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "everything": ({}, [(0, 1, 3), (1, 0, 2)]),
    "where it was": ({"where": C("r") == 0}, [(1, 0, 2)]),
    "where it is": ({"where": C("r") == 1}, [(0, 1, 3)]),
    "where it was, or what never is": ({"where": (C("r") == 0) | (C("v1") == 9)}, [(1, 0, 2)]),
    "by that column": ({"partition_by": "r"}, [(1, 0, 2), (0, 1, 3)]),
}


@pytest.mark.parametrize("name", MOVED)
def test_a_cell_may_move_between_partitions_of_its_dataset(name: str) -> None:
    """A condition on a column that only an enrichment is partitioned by does not find what was written over."""
    question, expected = MOVED[name]
    found = kb.query_cube(CUBE, moved(), **question).to_arrow()
    assert list(zip(*(found[column].to_pylist() for column in ("x", "r", "v1")), strict=True)) == expected


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_a_cell_is_one_in_all_partitions_of_its_dataset(shuffle: bool) -> None:
    """One write may not give it twice, in different partitions that the cube does not know of either."""
    twice = pa.table({"x": [0, 0], "r": [0, 1], "v1": [1, 2]})
    with pytest.raises(DuplicateCellsError, match="more than once") as caught:
        kb.build_cube({"seed": SEED, "more": twice}, CUBE, "memory://twice", partition_on=OWN, shuffle=shuffle)
    assert caught.value.examples == [{"x": 0}]


def test_own_partitions_of_one_write_are_pruned() -> None:
    """Files of one write hold different cells, so a condition on their partition column leaves out the others."""
    store = f"memory://{uuids.uuid4().hex}"
    rows = pa.table({"x": [0, 1], "r": [0, 1], "v1": [1, 2]})
    kb.build_cube({"seed": SEED, "more": rows}, CUBE, store, partition_on=OWN)
    (_, more) = kb.query_cube(CUBE, store, where=C("r") == 1).explain().sources
    assert (more.files, more.dropped) == (1, {"partition": 1})
