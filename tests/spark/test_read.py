"""Reading as Spark users do: the columns that were asked for, or that their query needs, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.answers import rows, spark_rows

import kubothek as kb
from kubothek.errors import InvalidInputError, KubothekError, UnknownColumnError
from kubothek.plan import heavy_units
from kubothek.spark import read_cube, read_dataset
from kubothek.spark.pruning import needed_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUBE = kb.Cube("c", ["x"], ["p"])
NUMBERS = range(20)
SEED = pa.table({"x": NUMBERS, "p": [x % 4 for x in NUMBERS], "v1": [x / 2 for x in NUMBERS], "a.b": ["q"] * 20})
FINE = pa.table({"x": [1, 2, 3], "p": [1, 2, 3], "v2": ["one", "two", "three"]})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cube of two datasets, and a dataset."""
    path: Path = tmp_path_factory.mktemp("read")
    kb.build_cube({"seed": SEED, "fine": FINE}, CUBE, path)
    kb.write_dataset(SEED.slice(0, 10), "d", path, partition_on="p")
    kb.update_dataset(SEED.slice(10), "d", path)
    return str(path)


READ: dict[str, Callable[..., DataFrame]] = {
    "cube": lambda spark, store, **options: read_cube(spark, "c", store, **options),
    "dataset": lambda spark, store, **options: read_dataset(spark, "d", store, **options),
}


@pytest.mark.parametrize("what", READ)
@pytest.mark.parametrize("columns", [["v1", "p", "x"], ["p"], ["a.b"], []], ids=repr)
def test_columns_are_those_asked_for(spark: SparkSession, store: str, what: str, columns: list[str]) -> None:
    """They come in the order in which they were named, dimension and partition columns only if they were."""
    frame = READ[what](spark, store, columns=columns, where="x < 7")
    assert frame.columns == columns
    assert frame.count() == 7
    assert not columns or spark_rows(frame) == rows(SEED.slice(0, 7).select(columns))


@pytest.mark.parametrize("what", READ)
def test_all_columns(spark: SparkSession, store: str, what: str) -> None:
    """Without a choice the rows are those that are read in-process."""
    lazy = kb.query_cube("c", store) if what == "cube" else kb.open_dataset("d", store).scan()
    frame = READ[what](spark, store)
    assert (frame.columns, spark_rows(frame)) == (lazy.schema.names, rows(lazy.to_arrow()))


def test_versions_and_datasets_are_chosen(spark: SparkSession, store: str) -> None:
    """An old version is read by its number, and a cube without some of its datasets."""
    assert read_dataset(spark, "d", store, at=1).count() == 10
    assert "v2" not in read_cube(spark, CUBE, store, datasets=["seed"]).columns


REFUSED: dict[str, tuple[dict[str, Any], type[KubothekError], str]] = {
    "unknown column": ({"columns": ["x", "v9"]}, UnknownColumnError, "v9"),
    "column named twice": ({"columns": ["x", "x"]}, InvalidInputError, "more than once"),
    "columns and a query": ({"columns": ["x"], "using": lambda frame: frame}, InvalidInputError, "columns and using"),
    "no DataFrame": ({"using": lambda frame: 7}, InvalidInputError, "must return a Spark DataFrame, but it returned 7"),
}


@pytest.mark.parametrize("what", READ)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(spark: SparkSession, store: str, what: str, name: str) -> None:
    """Wrong questions are refused before anything is read."""
    options, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        READ[what](spark, store, **options)


def test_a_session_is_needed(store: str) -> None:
    """Whoever forgot it is told so."""
    with pytest.raises(InvalidInputError, match="SparkSession"):
        read_dataset("d", "u", store)  # type: ignore[arg-type]  # wrong on purpose


# A query, and the columns that it needs.
USING: dict[str, tuple[Callable[[DataFrame], DataFrame], list[str]]] = {
    "count": (lambda frame: frame.groupBy().count(), []),
    "aggregate": (lambda frame: frame.groupBy("p").sum("v1"), ["p", "v1"]),
    "named and dropped": (lambda frame: frame.select("x", "v1", "v2").where("v1 > 3").select("x"), ["v1", "x"]),
    "all but one": (lambda frame: frame.drop("v2"), ["a.b", "p", "v1", "x"]),
    "distinct": (lambda frame: frame.drop("v1").distinct().groupBy().count(), ["a.b", "p", "v2", "x"]),
    "joined with itself": (
        lambda frame: frame.select("x", "v1").join(frame.selectExpr("x", "p AS q"), "x").groupBy("q").count(),
        ["p", "x"],
    ),
    "in Python": (
        lambda frame: frame.select("x", "p").mapInArrow(lambda b: b, "x long, p long").select("x"),
        ["p", "x"],
    ),
    "a name with a dot": (lambda frame: frame.select("`a.b`"), ["a.b"]),
    "everything": (lambda frame: frame, ["a.b", "p", "v1", "v2", "x"]),
}


@pytest.mark.parametrize("name", USING)
def test_columns_that_a_query_needs(spark: SparkSession, store: str, name: str) -> None:
    """Only they are read, and the answer is that to the query of the whole."""
    query, needed = USING[name]
    assert list(needed_columns(spark, kb.query_cube("c", store).schema, query)) == needed
    assert spark_rows(read_cube(spark, "c", store, using=query)) == spark_rows(query(read_cube(spark, "c", store)))


def test_a_query_of_a_dataset_reads_what_it_needs(spark: SparkSession, store: str) -> None:
    """The rows are those of the query, whichever way the files are read."""
    for where in (None, "x > 3"):
        frame = read_dataset(spark, "d", store, where=where, using=lambda rows: rows.groupBy("p").sum("v1"))
        assert spark_rows(frame) == spark_rows(read_dataset(spark, "d", store, where=where).groupBy("p").sum("v1"))


def test_a_query_may_not_run_jobs(spark: SparkSession, store: str) -> None:
    """What it would find out is not what it will be asked about, so it is told."""
    with pytest.raises(Exception, match="runs a job"):
        read_cube(spark, "c", store, using=lambda frame: frame.limit(frame.count()))


def test_a_query_that_changes_its_mind_is_found_out(spark: SparkSession, store: str) -> None:
    """A column that was not read is an error where it is needed after all, not null."""
    wanted = iter(["x", "v1"])
    frame = read_cube(spark, "c", store, using=lambda frame: frame.select(next(wanted)))
    with pytest.raises(Exception, match="'v1' was not read"):
        frame.collect()


def test_a_heavy_partition_is_read_by_several_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of tasks is foretold, and the rows are the same."""
    monkeypatch.setattr(heavy_units, "_WORTH_CUTTING", 0)
    frames = [pa.table({"x": range(n * 5000, (n + 1) * 5000), "p": [0] * 5000}) for n in range(4)]
    kb.build_cube({"seed": frames}, CUBE, str(tmp_path), shuffle=False)
    query = kb.query_cube("c", str(tmp_path))
    frame = query.to_spark(spark)
    tasks = frame.selectExpr("spark_partition_id()").distinct().count()
    assert tasks == query.explain(spark=spark).tasks > 1
    assert spark_rows(frame) == rows(query.to_arrow())
