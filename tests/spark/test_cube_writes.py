"""Cubes written from Spark DataFrames: every operation and layout, and what failures and retries leave behind."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.answers import rows, spark_rows
from tests.spark.flaky import FlakyStore

from kubothek import C, Cube, append_to_cube, build_cube, discover_cube, extend_cube, query_cube, update_cube
from kubothek.errors import DuplicateCellsError, NullValueError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUBE = Cube(uuid_prefix="c", dimension_columns=["x", "y"], partition_columns=["p"], index_columns=["i1"])
LAYOUTS: list[dict[str, Any]] = [
    {"shuffle": True},
    {"shuffle": True, "num_buckets": 3},
    {"shuffle": True, "bucket_by": "y", "num_buckets": 2},
    {"shuffle": False},
]


def seed(spark: SparkSession, start: int = 0, stop: int = 60, version: int = 0) -> DataFrame:
    """Cells in three partitions, spread over the tasks in no useful order."""
    cells = spark.range(start, stop, 1, 4)
    return cells.selectExpr(
        "id div 5 AS x", "id % 5 AS y", "id div 5 % 3 AS p", "id % 4 AS i1", f"id + {version} AS v1"
    )


def more(spark: SparkSession, start: int = 0, stop: int = 60, version: int = 0) -> DataFrame:
    """Payload for every other cell."""
    cells = spark.range(start, stop, 2, 4)
    return cells.selectExpr("id div 5 AS x", "id % 5 AS y", "id div 5 % 3 AS p", f"concat('v', id + {version}) AS v2")


def coarse() -> pa.Table:
    """Payload by ``y``, from Arrow."""
    return pa.table({"y": [0, 3], "v3": [0.5, None]})


def expected(seed_versions: dict[int, int], more_versions: dict[int, int]) -> list[tuple[Any, ...]]:
    """Rows of a query as ``(i1, p, v1, v2, v3, x, y)``, of the cells and versions that there should be."""
    found: list[tuple[Any, ...]] = []
    for number, version in seed_versions.items():
        x, y = divmod(number, 5)
        v2 = f"v{number + more_versions[number]}" if number in more_versions else None
        found.append((number % 4, x % 3, number + version, v2, 0.5 if y == 0 else None, x, y))
    return sorted(found, key=repr)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_life_of_a_cube(spark: SparkSession, tmp_path: Path, layout: dict[str, Any]) -> None:
    """Build, extend, append and update from Spark and Arrow together, in every layout, leave the last versions."""
    build_cube({"seed": seed(spark), "more": more(spark)}, CUBE, tmp_path, **layout)
    extend_cube(
        {"coarse": coarse()}, CUBE, tmp_path, partition_on={"coarse": ()}, **({} if "bucket_by" in layout else layout)
    )
    cells, payload = dict.fromkeys(range(60), 0), dict.fromkeys(range(0, 60, 2), 0)
    assert spark_rows(query_cube(CUBE, tmp_path).to_spark(spark)) == expected(cells, payload)

    append_to_cube({"seed": seed(spark, 40, 70, 1000), "more": more(spark, 0, 10, 500)}, CUBE, tmp_path, **layout)
    cells |= dict.fromkeys(range(40, 70), 1000)
    payload |= dict.fromkeys(range(0, 10, 2), 500)
    assert spark_rows(query_cube(CUBE, tmp_path).to_spark(spark)) == expected(cells, payload)

    replaced = update_cube({"seed": seed(spark, 30, 35, 7), "more": more(spark, 50, 60, 9)}, CUBE, tmp_path, **layout)
    assert set(replaced) == {"seed", "more"}
    cells = {n: v for n, v in cells.items() if n // 5 % 3 != 0} | dict.fromkeys(range(30, 35), 7)
    payload = {n: v for n, v in payload.items() if n // 5 % 3 not in {1, 2}} | dict.fromkeys(range(50, 60, 2), 9)
    query = query_cube(CUBE, tmp_path)
    assert spark_rows(query.to_spark(spark)) == rows(query.to_arrow()) == expected(cells, payload)


@pytest.mark.parametrize(("layout", "files"), [*zip(LAYOUTS, [3, 9, 6, None], strict=True)], ids=str)
def test_files(spark: SparkSession, tmp_path: Path, layout: dict[str, Any], files: int | None) -> None:
    """Partitions have a file, or one per bucket, sorted by the dimensions; without a shuffle each task has its own."""
    dataset = build_cube(seed(spark), CUBE, tmp_path, **layout)["seed"]
    stored = [pq.read_table(tmp_path / part.files["table"], partitioning=None) for part in dataset.partitions.values()]
    assert sum(table.num_rows for table in stored) == 60
    assert files is None or len(stored) <= files
    assert len(stored) > 3 or files == 3
    for table in stored:
        cells = list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))
        assert cells == sorted(cells)


def test_an_update_that_removes_by_condition(spark: SparkSession, tmp_path: Path) -> None:
    """Partitions that match are removed although the data has no rows for them."""
    build_cube({"seed": seed(spark), "more": more(spark)}, CUBE, tmp_path)
    update_cube({"seed": seed(spark, 60, 65)}, CUBE, tmp_path, remove=C("p") <= 1)
    query = query_cube(CUBE, tmp_path, columns="v1")
    kept = [n for n in range(60) if n // 5 % 3 == 2]
    assert sorted(row.v1 for row in query.to_spark(spark).collect()) == [*kept, *range(60, 65)]


def test_what_spark_reads_it_can_write(spark: SparkSession, tmp_path: Path) -> None:
    """Unsigned dimensions and times, which Spark shows as decimals and texts, get back the types that the cube has."""
    cube = Cube(uuid_prefix="u", dimension_columns=["x"], partition_columns=["p"])
    times = pa.array([1, 86_399_999_999], pa.time64("us"))
    build_cube(pa.table({"x": pa.array([0, 2**64 - 1], pa.uint64()), "p": [0, 1], "t": times}), cube, tmp_path)
    before = rows(query_cube(cube, tmp_path).to_arrow())
    frame = query_cube(cube, tmp_path).to_spark(spark)
    update_cube(frame, cube, tmp_path)
    extend_cube({"late": frame.selectExpr("x", "p", "t AS v1")}, cube, tmp_path)
    assert rows(query_cube(cube, tmp_path, columns="t").to_arrow()) == before
    assert discover_cube("u", tmp_path)[1]["late"].schema.field("x").type == pa.uint64()


def headers(store: Path) -> dict[str, bytes]:
    """What a cube is: the headers of its datasets."""
    return {path.name: path.read_bytes() for path in store.glob("*.by-dataset-metadata.*")}


def state(store: Path) -> tuple[Any, ...]:
    """What a cube is, and all data files there are."""
    return headers(store), sorted(path for path in store.rglob("*.parquet") if "indices" not in path.parts)


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    """A cube that is there already, written by this process."""
    cells = [divmod(n, 5) for n in range(60)]
    table = pa.table({"x": [x for x, _ in cells], "y": [y for _, y in cells], "p": [x % 3 for x, _ in cells]})
    table = table.append_column("i1", table["y"]).append_column("v1", table["x"])
    build_cube(
        {"seed": table, "more": table.select(["x", "y", "p"]).append_column("v2", table["p"].cast("string"))},
        CUBE,
        tmp_path,
    )
    return tmp_path


OPERATIONS = {
    "extend": lambda data, store, **layout: extend_cube({"late": data["more"]}, CUBE, store, **layout),
    "append": lambda data, store, **layout: append_to_cube(data, CUBE, store, **layout),
    "update": lambda data, store, **layout: update_cube(data, CUBE, store, **layout),
}


CALLS = [("extend", True), ("append", False), ("update", True), ("update", False)]


@pytest.mark.parametrize(("operation", "shuffle"), CALLS)
def test_cells_given_twice(spark: SparkSession, cube: Path, operation: str, shuffle: bool) -> None:
    """Cells whose rows are in different tasks are found and named; the cube stays as it was."""
    before = state(cube)
    again = more(spark).union(more(spark, 30, 32))
    again = again.withColumnRenamed("v2", "v9") if operation == "extend" else again
    with pytest.raises(DuplicateCellsError, match="more than once") as caught:
        OPERATIONS[operation]({"seed": seed(spark), "more": again}, cube, shuffle=shuffle)
    assert [(row["x"], row["y"]) for row in caught.value.examples] == [(6, 0)]
    assert state(cube) == before


@pytest.mark.parametrize("column", ["x", "y", "p"])
def test_nulls_in_keys(spark: SparkSession, cube: Path, column: str) -> None:
    """A null in a dimension or partition column of any dataset is refused; the cube stays as it was."""
    before = state(cube)
    holed = more(spark).selectExpr(*(f"nullif({c}, 1) AS {c}" if c == column else c for c in ("x", "y", "p", "v2")))
    with pytest.raises(NullValueError, match=repr(column)):
        append_to_cube({"seed": seed(spark), "more": holed}, CUBE, cube)
    assert state(cube) == before


@pytest.mark.parametrize(("operation", "shuffle"), CALLS)
def test_rows_that_fail_half_way(spark: SparkSession, cube: Path, operation: str, shuffle: bool) -> None:
    """An error in the caller's own function leaves the cube as it was, whatever other tasks have written meanwhile."""
    from pyspark.errors import PythonException

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 5)
            if 55 in batch["v1"].to_pylist():
                raise ZeroDivisionError("rows cannot be divided")

    before = headers(cube)
    broken = seed(spark).mapInArrow(fail, "x long, y long, p long, i1 long, v1 long")
    data = {
        "seed": broken,
        "more": broken.selectExpr("x", "y", "p", "string(v1) AS v9" if operation == "extend" else "string(v1) AS v2"),
    }
    with pytest.raises(PythonException, match="rows cannot be divided"):
        OPERATIONS[operation](data, cube, shuffle=shuffle)
    assert headers(cube) == before


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
@pytest.mark.parametrize("operation", ["append", "update"])
def test_tasks_that_are_tried_again(spark: SparkSession, cube: Path, operation: str, shuffle: bool) -> None:
    """A task that fails once and is run again leaves one copy of its rows, and indices that know them."""
    marker = cube / "marker"
    marker.mkdir()
    store = FlakyStore(cube, fails="c++seed/table/p=1", times=1, marker=str(marker), error=StoreError)
    OPERATIONS[operation]({"seed": seed(spark, version=5), "more": more(spark)}, store, shuffle=shuffle)
    assert (marker / "1").exists()
    found = query_cube(CUBE, cube, columns="v1").to_spark(spark)
    assert sorted(row.v1 for row in found.collect()) == list(range(5, 65))
    assert sorted(row.v1 for row in found.where("false").collect()) == []
    by_index = query_cube(CUBE, cube, where=C("i1") == 3, columns="v1").to_arrow()
    assert sorted(by_index["v1"].to_pylist()) == [n + 5 for n in range(60) if n % 4 == 3]


@pytest.mark.parametrize(("operation", "shuffle"), CALLS)
def test_input_is_evaluated_once(spark: SparkSession, cube: Path, operation: str, shuffle: bool) -> None:
    """Checks, indices and replaced partitions come from the one pass in which rows are written."""
    made = cube / "made"
    made.mkdir()

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            (made / f"{batch.num_rows}-{uuids.uuid4().hex}").touch()
            yield batch

    name = "v9" if operation == "extend" else "v2"
    counted = more(spark).mapInArrow(count, f"x long, y long, p long, {name} string")
    OPERATIONS[operation]({"seed": seed(spark), "more": counted}, cube, shuffle=shuffle)
    assert sum(int(path.name.split("-")[0]) for path in made.iterdir()) == 30


def test_written_by_spark_is_written_in_process(spark: SparkSession, tmp_path: Path) -> None:
    """The same rows give the same datasets, partitions, schemas and indices, whoever writes them."""
    found = {}
    for where, give in (("spark", lambda frame: frame), ("here", lambda frame: frame.toArrow())):
        build_cube({"seed": give(seed(spark)), "more": give(more(spark))}, CUBE, tmp_path / where)
        update_cube({"seed": give(seed(spark, 60, 70))}, CUBE, tmp_path / where)
        found[where] = facts(tmp_path / where)
    assert found["spark"] == found["here"]


def facts(store: Path) -> dict[str, Any]:
    """Return per dataset its schema, partitions and index entries, without the names of files."""
    datasets = discover_cube("c", store)[1]
    return {
        name: (
            dataset.schema,
            sorted(label.rpartition("/")[0] for label in dataset.partitions),
            {
                column: [
                    (row[column], sorted(label.rpartition("/")[0] for label in row["partition"]))
                    for row in index.table.to_pylist()
                ]
                for column, index in dataset.load_all_indices().items()
            },
        )
        for name, dataset in datasets.items()
    }
