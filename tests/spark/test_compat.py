"""Kartothek's functions for Dask's collections take and give Spark DataFrames."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.compat import guides

from kubothek.compat.api.cube import (
    C,
    Cube,
    append_to_cube_from_dataframe,
    build_cube_from_dataframe,
    extend_cube_from_dataframe,
    query_cube,
    query_cube_dataframe,
    update_cube_from_dataframe,
)
from kubothek.compat.api.dataset import (
    collect_dataset_metadata,
    hash_dataset,
    read_dataset_as_ddf,
    store_dataset_from_ddf,
)
from kubothek.compat.serialization import ParquetSerializer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWERS = json.loads((Path(guides.__file__).with_name("kartothek_answers.json")).read_text(encoding="utf-8"))
ROWS = pd.DataFrame({"p": [1, 1, 2], "x": [1, 2, 3], "v1": [0.5, 1.5, 2.5]})
CUBE = Cube(dimension_columns=["x"], partition_columns=["p"], uuid_prefix="c")


def load(path: str) -> Any:
    """Import a module by its path below the package."""
    return importlib.import_module(f"kubothek.compat.{path}")


def test_the_partitioning_guide(spark: SparkSession, tmp_path: Path) -> None:
    """A frame of ten partitions is stored without a shuffle, with one, and in buckets, as Dask's is by Kartothek."""

    def in_ten(frame: pd.DataFrame) -> Any:
        return spark.createDataFrame(frame).repartitionByRange(10, "B")

    found = guides.shuffling(load, f"hfs://{tmp_path}", frames=in_ten)
    assert json.loads(json.dumps(found)) == ANSWERS["shuffling"]


def test_datasets(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is written before ``compute``; what is read is a DataFrame of the active session."""
    url = f"hfs://{tmp_path}"
    serializer = ParquetSerializer("ZSTD")
    task = store_dataset_from_ddf(
        spark.createDataFrame(ROWS), url, "d", partition_on=["p"], sort_partitions_by="x", df_serializer=serializer
    )
    assert list(tmp_path.iterdir()) == []
    assert task.compute().partition_keys == ["p"]
    frame = read_dataset_as_ddf("d", url, "table", columns=["x", "v1"], predicates=[[("p", "==", 1)]])
    assert sorted(map(tuple, frame.collect())) == [(1, 0.5), (2, 1.5)]
    assert collect_dataset_metadata(url, "d", spark=spark).compute()["number_rows_total"].sum() == 3
    assert len(hash_dataset(url, "d", group_key="p", spark=spark).compute()) == 2


def test_cubes(spark: SparkSession, tmp_path: Path) -> None:
    """Cubes are built, extended, appended to, updated and queried as DataFrames, with equal answers in-process."""
    url = f"hfs://{tmp_path}"
    seed = spark.createDataFrame(ROWS)
    more = spark.createDataFrame(pd.DataFrame({"p": [1], "x": [2], "v2": ["a"]}))
    assert list(build_cube_from_dataframe(seed, CUBE, url, shuffle=True).compute()) == ["seed"]
    assert list(extend_cube_from_dataframe({"more": more}, CUBE, url).compute()) == ["more"]
    late = spark.createDataFrame(pd.DataFrame({"p": [3], "x": [4], "v1": [3.5]}))
    append_to_cube_from_dataframe(late, CUBE, url).compute()
    again = spark.createDataFrame(pd.DataFrame({"p": [2], "x": [3], "v1": [9.5]}))
    update_cube_from_dataframe(again, CUBE, url).compute()
    found = query_cube_dataframe(CUBE, url, conditions=C("x") > 1, payload_columns=["v1", "v2"], spark=spark)
    expected = query_cube(CUBE, url, conditions=C("x") > 1, payload_columns=["v1", "v2"])[0]
    rows = sorted(map(tuple, found.collect()))
    assert rows == [(1, 1.5, "a", 2), (2, 9.5, None, 3), (3, 3.5, None, 4)]
    assert list(found.columns) == list(expected.columns)
    assert expected["v1"].tolist() == [1.5, 9.5, 3.5]


def test_frames_of_dask_are_refused() -> None:
    """A frame of Dask is an error that says what to pass instead."""
    kind = type("DataFrame", (), {"__module__": "dask.dataframe.core"})
    with pytest.raises(ValueError, match="Spark DataFrame"):
        build_cube_from_dataframe(kind(), CUBE, "memory://compat_dask")
