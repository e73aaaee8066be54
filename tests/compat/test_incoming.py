"""What stands for partitions is written whole, or refused before anything is lost."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import kubothek as kb
from kubothek.compat.core.cube.cube import Cube
from kubothek.compat.io.eager import read_table, store_dataframes_as_dataset, update_dataset_from_dataframes
from kubothek.compat.io.eager_cube import append_to_cube, build_cube, query_cube
from kubothek.errors import InvalidInputError

CUBE = Cube(["x"], ["p"], "c")


def frame(number: int) -> pd.DataFrame:
    """Return a frame of one row."""
    return pd.DataFrame({"x": [number]})


def cell(number: int, column: str = "v1") -> pd.DataFrame:
    """Return one cell of a cube."""
    return pd.DataFrame({"x": [number], "p": [1], column: [number]})


WRITTEN: dict[str, tuple[Any, dict[str, list[int]]]] = {
    "pairs of one table": ([("table", frame(1)), ("table", frame(2))], {"table": [1, 2]}),
    "pairs of two tables, twice": (
        [("a", frame(1)), ("b", frame(2)), ("a", frame(3)), ("b", frame(4))],
        {"a": [1, 3], "b": [2, 4]},
    ),
    "pairs below data": ({"data": [("core", frame(1)), ("core", frame(2))]}, {"core": [1, 2]}),
    "no indices": ({"data": [("core", frame(1))], "indices": None}, {"core": [1]}),
    "empty indices": ({"data": {"core": frame(1)}, "indices": {"x": {}}}, {"core": [1]}),
    "a table called data": ([{"data": frame(1)}, {"data": frame(2)}], {"data": [1, 2]}),
    "tables called label and data": ({"label": frame(1), "data": frame(2)}, {"label": [1], "data": [2]}),
}
REFUSED: dict[str, tuple[Any, str]] = {
    "a table more": ([{"table": frame(1)}, {"table": frame(2), "b": frame(3)}], "Partition 1 is for 'table', 'b'"),
    "another table": ([frame(1), {"a": frame(2)}], "Partition 1 is for 'a'"),
    "no table": ([frame(1), {}], "Partition 1 is for no table"),
    "a pair without its other": ([("a", frame(1)), ("b", frame(2)), ("a", frame(3))], "Element 1"),
    "beside data": ({"data": {"core": frame(1)}, "other": frame(2)}, "'other' besides"),
    "no pairs": ({"data": [frame(1)]}, "pairs of table and frame"),
    "indices of a kind": ({"data": {"core": frame(1)}, "indices": ["x"]}, "secondary_indices"),
}
CELLS: dict[str, tuple[Any, list[int]]] = {
    "frames and dictionaries": ([{"seed": [cell(1), cell(2)]}, cell(3), {"other": cell(1, "v2")}], [1, 2, 3]),
    "lists of frames": ([[cell(1)], None, [cell(2), None]], [1, 2]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_all_rows_are_written(name: str) -> None:
    """Every frame that is given can be read again."""
    given, expected = WRITTEN[name]
    url = f"memory://compat_incoming_{name}"
    stored = store_dataframes_as_dataset(url, "d", given)
    assert {table: sorted(read_table("d", url, table=table)["x"]) for table in stored.tables} == expected


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_lost(name: str) -> None:
    """What cannot be written is refused, by a first write and by an update, and nothing is left."""
    given, expected = REFUSED[name]
    url = f"memory://compat_incoming_refused_{name}"
    with pytest.raises(InvalidInputError, match=expected):
        store_dataframes_as_dataset(url, "d", given)
    with pytest.raises(InvalidInputError, match=expected):
        update_dataset_from_dataframes(given, url, "d")
    assert [*kb.Store(url).list()] == []


def test_labels_that_are_no_text() -> None:
    """A frame in place of a label is not printed."""
    with pytest.warns(UserWarning, match=r"^The label \(a DataFrame\) is not used"):
        store_dataframes_as_dataset("memory://compat_label", "d", {"label": frame(1), "data": {"a": frame(2)}})


@pytest.mark.parametrize("name", CELLS)
def test_cells_of_any_form(name: str) -> None:
    """Frames without a dataset are the seed's, among dictionaries as well."""
    given, expected = CELLS[name]
    url = f"memory://compat_cells_{name}"
    build_cube(given, CUBE, url)
    assert query_cube(CUBE, url, datasets=["seed"])[0]["x"].tolist() == expected


@pytest.mark.parametrize(("given", "expected"), [(None, "no data"), (7, "builtins.int"), ([7], "builtins.int")])
def test_what_is_no_cell(given: Any, expected: str) -> None:
    """What is no rows at all is an error that says so."""
    build_cube(cell(1), CUBE, "memory://compat_no_cells", overwrite=True)
    with pytest.raises(InvalidInputError, match=expected):
        append_to_cube(given, CUBE, "memory://compat_no_cells")
