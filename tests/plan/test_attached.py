"""Which value each file has of a column that only an index has."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kubothek.errors import InvalidInputError
from kubothek.plan.attached import attach_column

FILES = pa.table({"label": ["a", "b", "c"]})


def attached(values: pa.Array, labels: list[list[str]]) -> pa.ChunkedArray:
    """Attach the column of an index."""
    return attach_column(FILES, "x", pa.table({"x": values, "partition": labels}))["partition/x"]


def test_each_file_has_the_value_it_is_listed_under() -> None:
    """Files that are not listed, and those listed under null, have no value; other labels do not matter."""
    found = attached(pa.array([5, None, 6]), [["c", "gone"], ["b"], ["a"]])
    assert (found.to_pylist(), found.type) == ([6, None, 5], pa.int64())


def test_an_empty_index() -> None:
    """Without entries all values are null, and the type is kept."""
    found = attached(pa.array([], pa.date32()), [])
    assert (found.to_pylist(), found.type) == ([None] * 3, pa.date32())


def test_the_same_value_again() -> None:
    """An index that lists a file under one value more than once says the same as one that does not."""
    assert attached(pa.array([5, 5]), [["a", "a"], ["a"]]).to_pylist() == [5, None, None]


def test_several_values() -> None:
    """A file with several values is an error that names it, and all others like it."""
    with pytest.raises(InvalidInputError, match=r"'x'.*'a'.*\(5, 6\).*2 file") as caught:
        attached(pa.array([5, 6]), [["a", "c"], ["a", "c"]])
    assert caught.value.labels == ("a", "c")
