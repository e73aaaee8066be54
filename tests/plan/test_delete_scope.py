from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kubothek.errors import AmbiguousDeleteScopeError, UnindexedColumnError, UnknownColumnError
from kubothek.model.condition import C, Condition
from kubothek.plan.delete_scope import bind_scope, deleted_labels

SCHEMA = pa.schema([("p", pa.int64()), ("i1", pa.int64()), ("v1", pa.int64())])
FILES = pa.table({"label": ["a", "b", "c", "d"], "partition/p": [1, 1, 2, 2]})
CONSTANTS = {"i1": (pa.array([7, 8, None, None]), np.array([True, True, True, False]))}
"""Files a and b hold 7 and 8 throughout, c only nulls, d anything."""


def delete(*scope: Condition) -> list[str]:
    """Return the labels that a scope deletes."""
    bound = bind_scope(scope, SCHEMA, ["p"], ["i1"], "d")
    found: list[str] = deleted_labels(bound, FILES, CONSTANTS, "d").to_pylist()
    return found


@pytest.mark.parametrize(
    ("scope", "labels"),
    [
        ((C("p") == 1,), "ab"),
        ((C("p") == 1, C("p") == 2), "abcd"),
        ((C("p") == 1, C("p") < 2), "ab"),
        ((C("p") == 3,), ""),
        (((C("p") == 1) & (C("i1") == 7),), "a"),
        (((C("p") == 1) & ~(C("i1") == 7),), "b"),
        (((C("p") == 1) & C("i1").is_null(),), ""),
        ((C("p") == 2, C("i1") == 7), "acd"),
        (((C("p") == 3) & (C("i1") == 7),), ""),
    ],
    ids=str,
)
def test_whole_files(scope: tuple[Condition, ...], labels: str) -> None:
    """A file goes where all its rows match any part of the scope, and stays where none does."""
    assert delete(*scope) == list(labels)


@pytest.mark.parametrize("scope", [C("i1") == 7, C("i1").is_null(), (C("p") == 2) & (C("i1") != 7)], ids=str)
def test_files_that_cannot_be_judged(scope: Condition) -> None:
    """A file that may hold rows of both kinds is named, and nothing is deleted."""
    with pytest.raises(AmbiguousDeleteScopeError, match="other rows too") as caught:
        delete(scope)
    assert caught.value.labels == ("d",)


def test_columns_that_say_nothing() -> None:
    """A scope on a column without index would have to guess; one on no column is a mistake."""
    with pytest.raises(UnindexedColumnError) as caught:
        delete(C("v1") == 0, C("p") == 1)
    assert caught.value.columns == ("v1",)
    with pytest.raises(UnknownColumnError):
        delete(C("nope") == 0)
