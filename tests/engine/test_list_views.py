"""List views become lists of the same values, whatever they are nested in and cut from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kubothek import write_dataset
from kubothek.engine.list_views import has_list_views, without_list_views

VIEW = pa.list_view(pa.int8())
CASES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flat": (VIEW, [[1], None, [], [2, None]]),
    "large": (pa.large_list_view(pa.string()), [["a"], None, [], ["b", None]]),
    "in a list": (pa.list_(VIEW), [[[1], None], None, [], [[2, 3], []]]),
    "in a list of fixed size": (pa.list_(VIEW, 2), [[[1], None], None, [[2, 3], []]]),
    "in a struct": (pa.struct([("a", VIEW), ("b", pa.int8())]), [{"a": [1], "b": 1}, None, {"a": None, "b": 2}]),
    "around a struct": (pa.list_view(pa.struct([("a", VIEW)])), [[{"a": [1]}, None], None, []]),
}


@pytest.mark.parametrize("name", CASES)
def test_views_become_lists(name: str) -> None:
    """Values and nulls are the same, from whichever row on an array is taken."""
    kind, values = CASES[name]
    for start in range(len(values)):
        lists = without_list_views(pa.array(values, kind).slice(start))
        lists.validate(full=True)
        assert lists.to_pylist() == values[start:]
        assert not has_list_views(lists.type)


@pytest.mark.parametrize("name", CASES)
def test_views_are_stored(name: str) -> None:
    """Data with list views is written and read back."""
    kind, values = CASES[name]
    dataset = write_dataset(pa.table({"v1": pa.array(values, kind)}), "d", f"memory://list_views {name}")
    assert dataset.scan().to_arrow()["v1"].to_pylist() == values


def test_views_in_no_particular_order() -> None:
    """Views may overlap and lie in any order."""
    views = pa.ListViewArray.from_arrays(
        pa.array([2, 0, 1], pa.int32()), pa.array([1, 3, 0], pa.int32()), pa.array([7, 8, 9])
    )
    assert without_list_views(views).to_pylist() == [[9], [7, 8, 9], []]
