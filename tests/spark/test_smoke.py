"""What everybody does on Spark works with the oldest and the newest versions: a part of `make versions-test`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import kubothek as kb
from kubothek import Cube
from kubothek.spark import read_dataset, register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_cube_is_built_and_asked(spark: SparkSession, tmp_path: Path) -> None:
    """Two datasets of DataFrames are one DataFrame."""
    cube = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p")
    seed = spark.createDataFrame([(1, "a"), (2, "a"), (3, "b")], "x long, p string")
    extra = spark.createDataFrame([(1, "a", 1.5), (3, "b", None)], "x long, p string, v1 double")
    kb.build_cube({"seed": seed, "e": extra}, cube, tmp_path)
    rows = kb.query_cube(cube, tmp_path).to_spark(spark).orderBy("x").collect()
    assert [tuple(row) for row in rows] == [("a", 1.5, 1), ("a", None, 2), ("b", None, 3)]


def test_hive_partitioned_files_are_taken_in(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark has written for others is written as a dataset, with an index, and read in three ways."""
    rows = spark.createDataFrame([(1, "a/b", 0.5), (2, "ü", None), (3, "a/b", 1.0)], "x long, p string, v1 double")
    rows.write.partitionBy("p").parquet(str(tmp_path / "old"))
    ds = kb.write_dataset(
        spark.read.parquet(str(tmp_path / "old")), "u", tmp_path, partition_on="p", shuffle=True, secondary_indices="x"
    )
    register(spark)
    ways = [
        ds.scan(where="x > 1").to_spark(spark),
        read_dataset(spark, "u", tmp_path, where="x > 1"),
        spark.read.format("kubothek").option("store", str(tmp_path)).option("dataset", "u").load().where("x > 1"),
    ]
    for way in ways:
        assert [tuple(row) for row in way.select("x", "p").orderBy("x").collect()] == [(2, "ü"), (3, "a/b")]
