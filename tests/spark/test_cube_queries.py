"""Cube queries on Spark give what they give in-process, whatever the layout of the cube and its types."""

from __future__ import annotations

import uuid as uuids
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.answers import rows, setting, shuffled_bytes, spark_rows, spark_types

from kubothek import C, Cube, append_to_cube, build_cube, extend_cube, open_dataset, query_cube, update_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUBE = Cube(uuid_prefix="c", dimension_columns=["x", "y"], partition_columns=["p", "q"], index_columns=["i1"])


def rows_of(cells: list[tuple[int, int]], **columns: Any) -> pa.Table:
    """Rows of cells; each further column is a function of a cell."""
    made = {name: [make(x, y) for x, y in cells] for name, make in columns.items()}
    return pa.table({"x": [x for x, _ in cells], "y": [y for _, y in cells], **made})


def p(x: int, _: int) -> int:
    """Return the first partition value of a cell."""
    return x % 3


def q(_: int, y: int) -> str:
    """Return the second partition value of a cell."""
    return "ab"[y % 2]


CELLS = [(x, y) for x in range(6) for y in range(4)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cube whose enrichments are fine, coarse, partitioned less, more and not at all, with versions of cells."""
    folder = tmp_path_factory.mktemp("cube")
    seed = rows_of(CELLS, p=p, q=q, i1=lambda x, y: None if x == y else x * y % 4, v1=lambda x, y: x / 2 - y)
    build_cube({"seed": seed}, CUBE, folder)
    data = {
        "fine": rows_of([*CELLS[::2], (77, 7)], p=p, q=q, v2=lambda x, y: None if x == 2 else f"{x}/{y}"),
        "coarse": pa.table({"x": [0, 1, 4, 9], "v3": [Decimal("0.5"), None, Decimal(4), Decimal(9)]}),
        "by_p": rows_of(CELLS[5:], p=p, v4=lambda x, y: x * y),
        "own": rows_of(CELLS[:17], r=lambda x, _: x // 2, v5=lambda x, y: date(2024, 1, 1 + x + y)),
        "rows": pa.table({"y": [3, 1], "q": ["b", "b"], "v6": [[1], []]}),
    }
    extend_cube(data, CUBE, folder, partition_on={"coarse": [], "by_p": "p", "own": "r", "rows": "q"})
    again = [(0, 0), (5, 3)]
    more = {
        "seed": rows_of([*again, (8, 8)], p=p, q=q, i1=lambda x, _: x, v1=lambda *_: 99.0),
        "fine": rows_of(again, p=p, q=q, v2=lambda *_: "new"),
        "by_p": rows_of(CELLS[6:8], p=p, v4=lambda *_: -1),
    }
    append_to_cube(more, CUBE, folder)
    return folder


QUERIES: dict[str, dict[str, Any]] = {
    "everything": {},
    "no payload": {"columns": []},
    "seed alone": {"datasets": "seed"},
    "one column": {"columns": "v5"},
    "index column": {"columns": "i1", "datasets": ["seed", "by_p"]},
    "projection": {"dimension_columns": "x", "columns": "v3"},
    "other order": {"dimension_columns": ["y", "x"], "columns": "v2"},
    "by partition": {"partition_by": ["q"]},
    "by index": {"partition_by": ["i1"]},
    "by both": {"partition_by": ["q", "i1"], "columns": "v3"},
    "by dimension": {"partition_by": "x", "datasets": ["seed", "coarse"]},
    "by partition, projected": {"partition_by": "q", "dimension_columns": "x", "columns": "v3"},
    "fine restricts": {"where": C("v2") >= "3"},
    "coarse restricts": {"where": C("v3") < 5},
    "less partitioned restricts": {"where": C("v4") <= 4},
    "own partition restricts": {"where": C("r") == 1},
    "all restrict": {"where": (C("v2") != "x") & (C("v3") < 5) & (C("v4") != 7) & (C("v5") < date(2024, 1, 9))},
    "seed and fine": {"where": (C("v1") < 0) & C("v2").is_null()},
    "versions": {"where": C("v1") == 99},
    "stale versions": {"where": (C("x") == 0) & (C("y") == 0) & (C("v1") == 0)},
    "after the joins": {"where": (C("v4") == -1) | C("v6").is_null() | (C("i1") > 2)},
    "partition": {"where": (C("p") == 1) & (C("q") == "b")},
    "dimension": {"where": C("y").in_interval(1, 3), "partition_by": "p"},
    "no such partition": {"where": C("p") == 77},
    "no such row": {"where": C("v2") == "nowhere"},
    "no such index value": {"where": C("i1") == 77, "partition_by": "i1"},
}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_those_of_this_process(spark: SparkSession, store: Path, name: str) -> None:
    """Rows, their order within a unit, columns and types are those of the in-process batches; nothing is shuffled."""
    query = query_cube(CUBE, store, **QUERIES[name])
    before = shuffled_bytes(spark)
    frame = query.to_spark(spark)
    found = frame.toArrow()
    assert shuffled_bytes(spark) == before
    assert frame.columns == query.schema.names
    assert found.to_pylist() == [row for batch in query.batches() for row in batch.to_pylist()]
    assert rows(found) == rows(query.to_arrow())
    assert (found.num_rows == 0) == (name.startswith(("no such", "stale")))


def test_groups_are_partitions_of_the_frame(spark: SparkSession, store: Path) -> None:
    """The rows of each in-process group are those that Spark has for its values."""
    query = query_cube(CUBE, store, partition_by=["i1", "q"])
    frame = spark_rows(query.to_spark(spark).selectExpr("i1", "q", "x", "y", "v2"))
    groups = dict(query.groups())
    assert list(groups) == sorted(groups)
    assert sorted({row[:2] for row in frame}) == list(groups)
    for key, table in groups.items():
        assert [row for row in frame if row[:2] == key] == rows(table.select(["i1", "q", "x", "y", "v2"]))


def test_an_empty_cube(spark: SparkSession, store: Path, tmp_path: Path) -> None:
    """A cube without rows has all its columns, with their types, and no task to run."""
    table = rows_of(CELLS, p=p, q=q, i1=lambda x, _: x, v1=lambda x, _: x)
    build_cube({"seed": table, "more": table.drop("i1").rename_columns(["x", "y", "p", "q", "v2"])}, CUBE, tmp_path)
    types = spark_types(query_cube(CUBE, tmp_path).to_spark(spark))
    for dataset in ("c++seed", "c++more"):
        update_dataset(None, dataset, tmp_path, delete_scope=[{"p": value} for value in range(3)])
        assert not open_dataset(dataset, tmp_path).partitions
    for question in ({}, {"columns": []}, {"partition_by": "i1"}, {"where": C("v2") == 1}):
        frame = query_cube(CUBE, tmp_path, **question).to_spark(spark)
        assert frame.collect() == []
        assert spark_types(frame).items() <= types.items()


def test_an_enrichment_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Its columns are there, null; a condition on one of them leaves no cell."""
    table = rows_of(CELLS, p=p, q=q, i1=lambda x, _: x, v1=lambda x, _: x)
    build_cube(
        {"seed": table, "more": table.select(["x", "y", "p", "q"]).append_column("v2", table["x"])}, CUBE, tmp_path
    )
    update_dataset(None, "c++more", tmp_path, delete_scope=[{"p": value} for value in range(3)])
    frame = query_cube(CUBE, tmp_path).to_spark(spark)
    assert spark_rows(frame.select("v2").distinct()) == [(None,)]
    assert frame.count() == len(CELLS)
    assert query_cube(CUBE, tmp_path, where="v2 >= 0").to_spark(spark).collect() == []


NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)
KINDS: dict[str, tuple[pa.DataType, Any, str, Any]] = {
    "uint64": (pa.uint64(), 2**64 - 1, "decimal(20,0)", Decimal(2**64 - 1)),
    "uint8": (pa.uint8(), 255, "decimal(20,0)", Decimal(255)),
    "int8": (pa.int8(), -128, "bigint", -128),
    "float": (pa.float32(), 0.5, "double", 0.5),
    "bool": (pa.bool_(), False, "boolean", False),
    "decimal": (pa.decimal128(12, 3), Decimal("-1.250"), "decimal(12,3)", Decimal("-1.250")),
    "time": (pa.time64("us"), time(23, 59, 59, 999999), "string", "23:59:59.999999"),
    "time of milliseconds": (pa.time32("ms"), time(1, 2, 3, 4000), "string", "01:02:03.004000"),
    "date": (pa.date32(), date(1, 1, 1), "date", date(1, 1, 1)),
    "naive": (pa.timestamp("us"), datetime(1582, 10, 4), "timestamp_ntz", datetime(1582, 10, 4)),  # noqa: DTZ001  no zone
    "zoned": (pa.timestamp("us", "Europe/Berlin"), NOON, "timestamp", NOON),
    "nanoseconds": (pa.timestamp("ns"), NOON.replace(tzinfo=None), "timestamp_ntz", NOON.replace(tzinfo=None)),
    "zoned nanoseconds": (pa.timestamp("ns", "UTC"), NOON, "timestamp", NOON),
    "text": (pa.large_string(), "ü\0\n", "string", "ü\0\n"),
    "category": (pa.dictionary(pa.int8(), pa.string()), "ü", "string", "ü"),
    "bytes": (pa.binary(), b"\0\xff", "binary", b"\0\xff"),
    "list": (pa.list_(pa.uint16()), [1, None], "array<decimal(20,0)>", [Decimal(1), None]),
    "struct": (pa.struct([("a", pa.time64("us"))]), {"a": time(1)}, "struct<a:string>", {"a": "01:00:00.000000"}),
    "nothing": (pa.null(), None, "void", None),
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_types(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    """Every type comes as Spark's own for it: a value, a null that was stored, and one for lack of a partner."""
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    seed = pa.table({"x": [0, 1, 2], "p": [0, 0, 0], "v1": [True, True, True]})
    values = {name: pa.array([value, None], kind) for name, (kind, value, _, _) in KINDS.items()}
    build_cube({"seed": seed, "kinds": pa.table({"x": [2, 1], "p": [0, 0], **values})}, cube, tmp_path)
    with setting(spark, "spark.sql.session.timeZone", zone):
        frame = query_cube(cube, tmp_path).to_spark(spark).drop("p", "v1")
        found = dict(zip(frame.columns, zip(*spark_rows(frame.orderBy("x")), strict=True), strict=True))
    types = spark_types(frame)
    order = [found["x"].index(x) for x in range(3)]
    for name, (_, _, kind, expected) in KINDS.items():
        assert (name, types[name]) == (name, kind)
        assert (name, [found[name][place] for place in order]) == (name, [None, None, expected])


DIMENSIONS: dict[str, list[Any]] = {
    "instants": [NOON, NOON.replace(hour=13)],
    "nanoseconds": [NOON.replace(tzinfo=None), NOON.replace(tzinfo=None, year=1960)],
    "decimals": [Decimal("1.50"), Decimal("-0.25")],
    "unsigned": [2**64 - 1, 0],
    "times": [time(1), time(0)],
    "text": ["ü", "", "u\u0308"],
    "days": [date(2024, 2, 29), date(1, 1, 1)],
}


@pytest.mark.parametrize("name", DIMENSIONS)
def test_dimensions_of_other_types(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Cells meet whatever the type of their dimensions, and come in its order."""
    kinds = {"nanoseconds": pa.timestamp("ns"), "unsigned": pa.uint64(), "instants": pa.timestamp("ms", "Asia/Tokyo")}
    x = pa.array(DIMENSIONS[name], kinds.get(name))
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    numbers = pa.array(range(len(x)))
    seed = pa.table({"x": x, "p": [0] * len(x), "v1": numbers})
    more = pa.table({"x": x.take(numbers[1:]), "p": [0] * (len(x) - 1), "v2": numbers[1:]})
    build_cube({"seed": seed, "more": more}, cube, tmp_path)
    found = query_cube(cube, tmp_path).to_spark(spark).select("v1", "v2").collect()
    order = sorted(range(len(x)), key=DIMENSIONS[name].__getitem__)
    assert [tuple(row) for row in found] == [(number, number or None) for number in order]


def test_fifty_enrichments(spark: SparkSession, tmp_path: Path) -> None:
    """Fifty datasets, some with the seed's keys and some with others, join in one pass without a shuffle."""
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    data = {"seed": pa.table({"x": range(12), "p": [x % 2 for x in range(12)]})}
    for n in range(1, 51):
        own = list(range(0, 12, n % 3 + 1))
        data[f"e{n}"] = pa.table({"x": own, "p": [x % 2 for x in own], f"v{n}": [x * n for x in own]})
    build_cube(data, cube, tmp_path)
    query = query_cube(cube, tmp_path)
    before = shuffled_bytes(spark)
    found = query.to_spark(spark).toArrow()
    assert shuffled_bytes(spark) == before
    for n in range(1, 51):
        expected = [x * n if x % (n % 3 + 1) == 0 else None for x in found["x"].to_pylist()]
        assert found[f"v{n}"].to_pylist() == expected
    assert rows(found) == rows(query.to_arrow())
    assert spark_rows(query_cube(cube, tmp_path, where="v49 >= 0 AND v50 >= 66").to_spark(spark).select("x")) == [(6,)]


def test_coarse_data_for_many_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Files without partitions serve every partition of the seed, several of them at once, wherever a task begins."""
    cube = Cube(uuid_prefix=uuids.uuid4().hex, dimension_columns=["x", "y"], partition_columns=["p"])
    cells = [(x, y) for x in range(40) for y in range(3)]
    build_cube({"seed": rows_of(cells, p=lambda x, _: x)}, cube, tmp_path)
    data = {f"e{n}": pa.table({"y": [0, 2], f"v{n}": [n, -n]}) for n in range(1, 4)}
    data["by_x"] = pa.table({"x": range(0, 40, 2), "v9": range(20)})
    extend_cube(data, cube, tmp_path, partition_on=dict.fromkeys(data, ()))
    found = query_cube(cube, tmp_path).to_spark(spark).select("x", "y", "v1", "v2", "v3", "v9").collect()
    fine = {0: (1, 2, 3), 1: (None, None, None), 2: (-1, -2, -3)}
    assert [tuple(row) for row in found] == [(x, y, *fine[y], None if x % 2 else x // 2) for x, y in cells]
