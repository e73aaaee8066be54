"""Cubes on Spark: built as in-process, queried lazily without a shuffle, with cells checked over the whole input."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.spark.answers import left_behind, physical_plan, rows, shuffled_bytes, spark_rows, spark_types

from kubothek import C, Cube, append_to_cube, build_cube, discover_cube, extend_cube, query_cube
from kubothek.errors import CubeNotFoundError, DuplicateCellsError, NullValueError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUBE = Cube(uuid_prefix="c", dimension_columns=["x", "y"], partition_columns=["p"], index_columns=["i1"])


def seed() -> pa.Table:
    """Each cell of eight times four, in three partitions."""
    cells = [(x, f"ü{y}") for x in range(8) for y in range(4)]
    return pa.table(
        {
            "x": [x for x, _ in cells],
            "y": [y for _, y in cells],
            "p": [x % 3 for x, _ in cells],
            "v1": [x * 10.5 for x, _ in cells],
            "i1": [None if x == 5 else x // 2 for x, _ in cells],
        }
    )


def fine() -> pa.Table:
    """Payload for the cells of even ``x`` but one partition, and for cells that the seed has not."""
    cells = [(x, f"ü{y}") for x in range(0, 12, 2) for y in range(3) if x % 3 != 2]
    return pa.table(
        {
            "x": [x for x, _ in cells],
            "y": [y for _, y in cells],
            "p": [x % 3 for x, _ in cells],
            "v2": [None if x == 4 else f"{x}{y}" for x, y in cells],
        }
    )


def coarse() -> pa.Table:
    """Payload per ``x``, in one file for all partitions."""
    return pa.table({"x": [0, 1, 2, 7], "v3": [Decimal("0.5"), None, Decimal("2.5"), Decimal(9)]})


def added() -> pa.Table:
    """New versions of two cells of the seed, and a new cell in a new partition."""
    return pa.table(
        {"x": [0, 1, 99], "y": ["ü0", "ü1", "ü9"], "p": [0, 1, 9], "v1": [-1.0, -2.0, -3.0], "i1": [7, 7, 7]}
    )


def write_cube(store: Path, give: Any) -> None:
    """Build, extend and append to a cube, from data as ``give`` makes it."""
    build_cube({"seed": give(seed()), "fine": give(fine())}, CUBE, store)
    extend_cube({"coarse": give(coarse())}, CUBE, store, partition_on={"coarse": []})
    append_to_cube({"seed": give(added())}, CUBE, store)


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cube that Spark wrote."""
    store = tmp_path_factory.mktemp("on_spark")
    write_cube(store, spark.createDataFrame)
    return store


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same cube, written by this process."""
    store = tmp_path_factory.mktemp("in_process")
    write_cube(store, lambda table: table)
    return store


QUERIES: dict[str, dict[str, Any]] = {
    "everything": {},
    "one dataset": {"datasets": ["seed"]},
    "some columns": {"columns": ["v3"]},
    "by name": {"cube": "c"},
    "partition": {"where": C("p") == 1},
    "no partition": {"where": C("p") == 77},
    "dimension": {"where": (C("x") >= 2) & (C("y") == "ü1")},
    "index": {"where": C("i1") == 7},
    "no index entry": {"where": C("i1").is_null()},
    "seed payload": {"where": C("v1") < 0},
    "restrictive": {"where": C("v2") > "4"},
    "restrictive null": {"where": C("v2").is_null()},
    "coarse": {"where": C("v3") > 1},
    "two datasets": {"where": (C("v2") != "x") & (C("v3") < 5)},
    "either of two": {"where": (C("v2") == "00") | (C("v3") == 9)},
    "fewer dimensions": {"dimension_columns": ["x"], "columns": ["v3"]},
    "regrouped": {"partition_by": ["i1"], "where": C("i1") != 2},
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries_answer_as_in_process(spark: SparkSession, on_spark: Path, in_process: Path, name: str) -> None:
    """A cube written and queried on Spark answers as one written and queried in-process."""
    question = {"cube": CUBE, **QUERIES[name]}
    query = query_cube(store=on_spark, **question)
    frame = query.to_spark(spark)
    expected = query_cube(store=in_process, **question).to_arrow()
    assert frame.columns == expected.column_names
    assert spark_rows(frame) == rows(expected) == rows(query.to_arrow())


@pytest.mark.parametrize("how", ["left", "inner"])
def test_queries_answer_as_sql_joins(spark: SparkSession, in_process: Path, how: str) -> None:
    """A query is the join that one would write in SQL over the last versions of the cells."""
    old = spark.createDataFrame(seed()).where("NOT (x = 0 AND y = 'ü0' OR x = 1 AND y = 'ü1')")
    left = old.unionByName(spark.createDataFrame(added()))
    joined = left.join(spark.createDataFrame(fine()), ["x", "y", "p"], how)
    joined = joined.join(spark.createDataFrame(coarse()), ["x"], "left").where("v2 < '4'" if how == "inner" else "true")
    query = query_cube(CUBE, in_process, where=C("v2") < "4" if how == "inner" else None)
    assert spark_rows(query.to_spark(spark)) == spark_rows(joined.select(*query.schema.names))


def test_indices_and_files_are_those_of_an_in_process_build(on_spark: Path, in_process: Path) -> None:
    """Both cubes have the same datasets, partitions and indices."""

    def facts(store: Path) -> dict[str, Any]:
        found = {}
        for name, dataset in discover_cube("c", store)[1].items():
            postings = {column: index.table.to_pydict() for column, index in dataset.load_all_indices().items()}
            found[name] = (
                dataset.schema,
                sorted(label.rpartition("/")[0] for label in dataset.partitions),
                {
                    column: [
                        index[column],
                        [sorted(label.rpartition("/")[0] for label in labels) for labels in index["partition"]],
                    ]
                    for column, index in postings.items()
                },
            )
        return found

    assert facts(on_spark) == facts(in_process)


@pytest.mark.parametrize("name", ["everything", "restrictive", "either of two", "regrouped"])
def test_nothing_is_shuffled(spark: SparkSession, on_spark: Path, name: str) -> None:
    """A query has no exchange and no join of Spark's in its plan, and running it moves no byte between tasks."""
    frame = query_cube(CUBE, on_spark, **QUERIES[name]).to_spark(spark)
    plan = physical_plan(frame)
    assert "MapInArrow" in plan
    assert not [word for word in ("Exchange", "Join", "Sort", "Union") if word in plan]
    before = shuffled_bytes(spark)
    frame.write.format("noop").mode("overwrite").save()
    assert shuffled_bytes(spark) == before


def test_shuffled_bytes_are_seen(spark: SparkSession) -> None:
    """The measure of the test above sees a shuffle where there is one."""
    before = shuffled_bytes(spark)
    spark.range(100).repartition(3).write.format("noop").mode("overwrite").save()
    assert shuffled_bytes(spark) > before


def test_queries_are_lazy(spark: SparkSession, in_process: Path, tmp_path: Path) -> None:
    """Data is not looked at before the frame runs: it may be away until then."""
    folders = [path for path in in_process.glob("c++*/table") if path.is_dir()]
    assert len(folders) == 3
    for number, folder in enumerate(folders):
        folder.rename(tmp_path / str(number))
    frame = query_cube(CUBE, in_process, where=C("v2") > "4").to_spark(spark).where("p = 0").groupBy("p").count()
    for number, folder in enumerate(folders):
        (tmp_path / str(number)).rename(folder)
    assert [tuple(row) for row in frame.collect()] == [(0, 3)]


def test_rows_of_a_partition_come_sorted(spark: SparkSession, on_spark: Path) -> None:
    """Within each physical partition rows come in the order of the dimensions."""
    found = [(row.p, row.x, row.y) for row in query_cube(CUBE, on_spark).to_spark(spark).collect()]
    assert found == sorted(found)
    assert len(found) == 33


def test_types_survive_the_join(spark: SparkSession, tmp_path: Path) -> None:
    """Instants as dimensions join, and payload types are Spark's for the types of record, nulls where no partner is."""
    noon = datetime(2024, 7, 1, 12, tzinfo=UTC)
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    data = pa.table({"x": [noon, noon.replace(hour=13)], "p": ["a/b", "a/b"]})
    nested = pa.array([[{"b": 1}]], pa.list_(pa.struct([("b", pa.int8())])))
    more = pa.table({"x": [noon], "p": ["a/b"], "u": pa.array([2**64 - 1], pa.uint64()), "t": [time(1)], "n": nested})
    build_cube({"seed": data.append_column("v1", pa.array([1, 2])), "more": more}, cube, tmp_path)
    frame = query_cube(cube, tmp_path).to_spark(spark)
    kinds = {"n": "array<struct<b:bigint>>", "p": "string", "t": "string", "u": "decimal(20,0)", "v1": "bigint"}
    assert spark_types(frame) == kinds | {"x": "timestamp"}
    assert spark_rows(frame) == [
        (None, "a/b", None, None, 2, noon.replace(hour=13)),
        ([{"b": 1}], "a/b", "01:00:00.000000", Decimal(2**64 - 1), 1, noon),
    ]


def test_data_of_several_kinds(spark: SparkSession, tmp_path: Path) -> None:
    """The seed may come from Spark and an enrichment from Arrow, in one call."""
    build_cube({"seed": spark.createDataFrame(seed()), "fine": fine()}, CUBE, tmp_path, num_buckets=2)
    assert query_cube(CUBE, tmp_path, where=C("v2") == "00").to_spark(spark).count() == 0
    assert query_cube(CUBE, tmp_path, where=C("v2") == "0ü0").to_spark(spark).count() == 1


def cells(spark: SparkSession, count: int, tasks: int, x: str = "id") -> DataFrame:
    """Rows of a seed, ``x`` from an expression."""
    return spark.range(0, count, 1, tasks).selectExpr(f"{x} AS x", "'a' AS y", "id % 2 AS p", "id AS v1", "1 AS i1")


@pytest.mark.parametrize(
    ("tasks", "settings"), [(1, {"shuffle": False}), (2, {"shuffle": False}), (2, {}), (2, {"num_buckets": 2})], ids=str
)
def test_cells_given_twice_are_refused(
    spark: SparkSession, tmp_path: Path, tasks: int, settings: dict[str, Any]
) -> None:
    """A cell that occurs twice is found wherever its rows are, named in the error, and nothing is left of the write."""
    with pytest.raises(DuplicateCellsError, match="more than once") as caught:
        build_cube(
            {
                "seed": cells(spark, 20, tasks, "id % 10"),
                "fine": cells(spark, 4, 1).drop("v1", "i1").selectExpr("*", "1 AS v2"),
            },
            CUBE,
            tmp_path,
            **settings,
        )
    assert caught.value.examples
    assert {row["y"] for row in caught.value.examples} == {"a"}
    assert {row["x"] for row in caught.value.examples} <= set(range(10))
    with pytest.raises(CubeNotFoundError):
        discover_cube("c", tmp_path)
    assert not left_behind(tmp_path)


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_cells_of_two_partitions_are_two_cells(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """The same dimensions in two physical partitions are no duplicate."""
    build_cube(cells(spark, 20, 2, "id div 2"), CUBE, tmp_path, shuffle=shuffle)
    assert query_cube(CUBE, tmp_path).to_spark(spark).count() == 20


def test_cells_that_a_collation_takes_for_equal_are_two(spark: SparkSession, tmp_path: Path) -> None:
    """Text is compared as it is stored: letters of either case are different cells, and repeated ones are found."""
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    text = "substring('aAbB', id % 4 + 1, 1) COLLATE utf8_lcase AS x"
    build_cube(spark.range(0, 4, 1, 1).selectExpr(text, "0 AS p", "id AS v1"), cube, tmp_path / "1")
    assert query_cube(cube, tmp_path / "1").to_arrow()["x"].to_pylist() == ["A", "B", "a", "b"]
    with pytest.raises(DuplicateCellsError):
        build_cube(spark.range(0, 8, 1, 1).selectExpr(text, "0 AS p", "id AS v1"), cube, tmp_path / "2")


@pytest.mark.parametrize(("column", "shuffle"), [("x", True), ("y", True), ("p", True), ("x", False)])
def test_nulls_in_keys_are_refused(spark: SparkSession, tmp_path: Path, column: str, shuffle: bool) -> None:
    """A null in a dimension or partition column arrives typed on the driver, with the column's name."""
    frame = cells(spark, 20, 2).withColumn(column, _null_at(13, column))
    with pytest.raises(NullValueError, match=repr(column)) as caught:
        build_cube(frame, CUBE, tmp_path, shuffle=shuffle)
    assert caught.value.column == column
    assert not left_behind(tmp_path)


def _null_at(number: int, column: str) -> Any:
    from pyspark.sql import functions as sql

    return sql.when(sql.col("v1") != number, sql.col(column))


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_input_is_evaluated_once(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """Checking that cells are unique does not make the rows again."""
    made = tmp_path / "made"
    made.mkdir()

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            (made / f"{batch.num_rows}-{uuids.uuid4().hex}").touch()
            yield batch

    frame = cells(spark, 40, 2).mapInArrow(count, "x long, y string, p long, v1 long, i1 int")
    build_cube(frame, CUBE, tmp_path / "store", shuffle=shuffle)
    assert sum(int(path.name.split("-")[0]) for path in made.iterdir()) == 40


def test_append_overlays_cells(spark: SparkSession, on_spark: Path) -> None:
    """The version of a cell that was appended last is the one that Spark sees, conditions included."""
    last = query_cube(CUBE, on_spark, where=(C("x") == 0) & (C("y") == "ü0")).to_spark(spark)
    assert [row.v1 for row in last.collect()] == [-1.0]
    stale = query_cube(CUBE, on_spark, where=(C("x") == 0) & (C("y") == "ü0") & (C("v1") == 0.0)).to_spark(spark)
    assert stale.count() == 0
    assert pc.sum(pc.equal(seed()["v1"], 0.0)).as_py() == 4
