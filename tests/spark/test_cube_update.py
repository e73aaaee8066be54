"""Partitions of cubes replaced by Spark DataFrames: the same answers as in-process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.errors import DuplicateCellsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUBE = kb.Cube("c", ["x"], ["p", "q"], index_columns=["i1"])
OLD = {
    "seed": pa.table({"p": [0, 0, 1], "q": ["a/b", "b", "b"], "x": [0, 1, 2], "i1": [1, 2, 3], "v1": [1.5, 2.5, 3.5]}),
    "e": pa.table({"x": [0, 1], "v2": ["u", "w"]}),
}
NEW = {
    "seed": pa.table({"p": [0, 2], "q": ["a/b", "b"], "x": [5, 6], "i1": [4, 5], "v1": [-1.5, -2.5]}),
    "e": pa.table({"x": [5], "v2": ["-u"]}),
}


@pytest.mark.parametrize("remove", [None, "p < 2"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_updates_are_those_of_an_in_process_call(
    spark: SparkSession, tmp_path: Path, shuffle: bool, remove: Any
) -> None:
    """Partitions of the data, or of the condition, are replaced; a dataset without any as a whole."""
    answers = []
    for folder, give in (("spark", spark.createDataFrame), ("process", lambda table: table)):
        store = tmp_path / folder
        kb.build_cube(OLD, CUBE, store, partition_on={"e": []})
        kb.update_cube({name: give(t) for name, t in NEW.items()}, CUBE, store, remove=remove, shuffle=shuffle)
        answers.append(kb.query_cube("c", store).to_arrow())
    assert answers[0] == answers[1]
    assert answers[0]["x"].to_pylist() == ([1, 2, 5, 6] if remove is None else [5, 6])


def test_a_cell_given_twice_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Uniqueness holds over the whole input of the call, and its data without rows only removes."""
    kb.build_cube(OLD["seed"], CUBE, tmp_path)
    twice = spark.createDataFrame(pa.concat_tables([NEW["seed"], NEW["seed"]]))
    with pytest.raises(DuplicateCellsError):
        kb.update_cube(twice, CUBE, tmp_path)
    assert kb.query_cube("c", tmp_path).to_arrow().num_rows == 3
    kb.update_cube(twice.limit(0), CUBE, tmp_path, remove="q == 'a/b'")
    assert kb.query_cube("c", tmp_path).to_arrow()["x"].to_pylist() == [1, 2]
