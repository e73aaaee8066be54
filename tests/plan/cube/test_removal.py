"""Which partitions of each dataset a condition on a cube's partitions removes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kubothek.errors import InvalidInputError
from kubothek.model.condition import C
from kubothek.model.cube import Cube
from kubothek.plan.cube.removal import removal_condition, removal_scope, same_partitions

CUBE = Cube("c", "x", ["p", "q"])
SCOPES: dict[str, tuple[str, str, str]] = {
    "one part": ("p == 1", "p", "p == 1"),
    "of another column": ("p == 1", "q", "true"),
    "no columns": ("p == 1", "", "true"),
    "one of two parts": ("p == 1 & q == 2", "q", "q == 2"),
    "parts of both": ("p == 1 & (p == 2 | q == 3)", "p", "p == 1"),
    "all of them": ("p == 1 & (p == 2 | q == 3)", "pq", "(p == 1) & ((p == 2) | (q == 3))"),
    "not": ("~(p == 1 & q == 2)", "p", "true"),
    "a part that never holds": ("p == 1 & false", "", "false"),
}


@pytest.mark.parametrize("case", SCOPES)
def test_parts_that_a_dataset_can_answer(case: str) -> None:
    """Of the parts that must all hold those count whose columns the dataset is partitioned by."""
    where, keys, expected = SCOPES[case]
    assert str(removal_scope(removal_condition(where, CUBE), tuple(keys))) == expected


@pytest.mark.parametrize("where", [None, "true", "false", "x == 1", "p == 1 & v1 == 2", 3])
def test_conditions_that_are_refused(where: Any) -> None:
    """They name no column, or others than the cube's partition columns."""
    with pytest.raises(InvalidInputError):
        removal_condition(where, CUBE)


def test_partitions_by_their_values() -> None:
    """Values are listed in the column that has the most; the others are compared one by one."""
    r = C("r") == Decimal("1.5")
    values = {"p": pa.array([1, 1, 1, 1, 2]), "q": pa.array(list("abcaa")), "r": pa.array([Decimal("1.5")] * 5)}
    expected = ((C("p") == 1) & r & C("q").isin(["a", "b", "c"])) | ((C("p") == 2) & r & C("q").isin(["a"]))
    assert same_partitions(values) == expected
