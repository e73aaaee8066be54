"""What Spark's tasks compute of a cube is what this process computes, and as little of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.cube.computing import CUBE, built, features, rebuilt, refresh, rows, seed, stale

import kubothek as kb
from kubothek.errors import DuplicateCellsError, InvalidInputError
from kubothek.store.open import open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def summed(*keys: str) -> Callable[[DataFrame], DataFrame]:
    """Return what sums up the payload in each physical partition of a dataset by ``x``, on Spark."""

    def compute(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as sql

        frame = frame.withColumn("r", sql.col("x") + 10).withColumn("s", sql.col("x") == 0)
        return frame.groupBy(*keys, "x").agg(sql.sum("v1").alias("s1"), sql.sum("f1").alias("s2"))

    return compute


def in_tables(*keys: str) -> Callable[[pa.Table], pa.Table]:
    """Return the same for Arrow tables; it travels to tasks that cannot import tests."""

    def compute(table: pa.Table) -> pa.Table:
        values = {"r": [x + 10 for x in table["x"].to_pylist()], "s": [x == 0 for x in table["x"].to_pylist()]}
        for name, column in values.items():
            table = table.append_column(name, [column])
        sums = table.group_by([*keys, "x"]).aggregate([("v1", "sum"), ("f1", "sum")])
        return sums.select([*keys, "x", "v1_sum", "f1_sum"]).rename_columns([*keys, "x", "s1", "s2"])

    return compute


WAYS: list[tuple[tuple[str, ...], bool]] = [(("p", "q"), False), (("s", "p"), True), ((), False), (("p",), True)]


@pytest.mark.parametrize(("keys", "per_partition"), WAYS, ids=str)
def test_refreshes_on_spark(spark: SparkSession, tmp_path: Path, keys: tuple[str, ...], per_partition: bool) -> None:
    """At first all, then what is stale: the result is that of a full rebuild in this process, and in one commit."""
    store = built(at=tmp_path, features=features(0, 1))
    compute = in_tables(*keys) if per_partition else summed(*keys)
    how: dict[str, Any] = {"datasets": "features", "per_partition": per_partition}
    kb.refresh_cube(CUBE, store, "sums", compute, spark=spark, partition_on=keys, **how)
    assert (rows(store), stale(store)) == (rebuilt(store, *keys, f1=True), [])
    kb.update_cube(seed((1, "b"), v1=7), CUBE, store)
    kb.append_to_cube(seed((3, "a")), CUBE, store)
    kb.remove_partitions(CUBE, store, "p == 0", datasets="seed")
    before = {info.key for info in store.list("c++sums/table/")}
    found = kb.refresh_cube(CUBE, store, "sums", compute, spark=spark, **how)
    assert (rows(store), stale(store)) == (rebuilt(store, *keys, f1=True), [])
    assert kb.open_dataset("c++sums", store).version == 2
    written = {info.key for info in store.list("c++sums/table/")} - before
    computed = sum(one.reason != "vanished" for one in found)
    assert len(written) == computed * (2 if "s" in keys else 1)
    assert len(kb.refresh_cube(CUBE, store, "sums", compute, spark=spark, **how)) == 0


def test_what_spark_computes_reads_stale_partitions_alone(spark: SparkSession, tmp_path: Path) -> None:
    """The function sees their rows, all of one version, however often it looks."""
    store = built(at=tmp_path, features=features(0, 1))
    refresh(store, "p", "q", f1=True, datasets="features")
    kb.update_cube(seed((1, "b"), (2, "a"), v1=7), CUBE, store)
    seen: list[Any] = []

    def compute(frame: DataFrame) -> DataFrame:
        kb.update_cube(seed((2, "a"), v1=9), CUBE, store)
        seen.extend(frame.select("p", "q", "v1").distinct().collect())
        return summed("p", "q")(frame)

    kb.refresh_cube(CUBE, store, "sums", compute, spark=spark, datasets="features")
    assert sorted(map(tuple, seen)) == [(1, "b", 7), (2, "a", 7)]
    assert stale(store) == ["p=2 q=a: changed"]


def next_partition() -> Callable[[pa.Table], pa.Table]:
    """Return what computes the sums of another partition than it is given."""
    sums = in_tables("p", "q")

    def compute(table: pa.Table) -> pa.Table:
        found = sums(table)
        return found.set_column(0, "p", [[p + 1 for p in found["p"].to_pylist()]])

    return compute


WRONG: dict[str, tuple[Any, bool, type[Exception], str]] = {
    "other cells": (
        lambda f: summed("p", "q")(f).selectExpr("p + 1 as p", "q", "x", "s1", "s2"),
        False,
        InvalidInputError,
        "rows of p=2 q=b for dataset 'c",
    ),
    "a table": (lambda f: pa.table({"p": [1]}), False, InvalidInputError, "did not return a Spark DataFrame"),
    "cells twice": (lambda f: summed("p", "q")(f).unionAll(summed("p", "q")(f)), False, DuplicateCellsError, "x"),
    "payload of the seed": (lambda f: f, False, InvalidInputError, "v1"),
    "other cells in a task": (next_partition(), True, InvalidInputError, "rows of p=2 q=b"),
    "what raises in a task": (lambda t: 1 / 0, True, Exception, "division"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_spark_must_not_compute(spark: SparkSession, tmp_path: Path, case: str) -> None:
    """The dataset is as it was, and nothing is staged."""
    compute, per_partition, error, message = WRONG[case]
    store = open_store(built(at=tmp_path, features=features(0, 1)))
    refresh(store, "p", "q", f1=True, datasets="features")
    kb.update_cube(seed((1, "b"), v1=7), CUBE, store)
    before = {info.key for info in store.list()}
    with pytest.raises(error, match=message):
        kb.refresh_cube(CUBE, store, "sums", compute, spark=spark, datasets="features", per_partition=per_partition)
    assert {info.key for info in store.list()} == before
