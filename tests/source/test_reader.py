"""Readers of the data source without Spark: which files they plan for which filters, and what travels to the tasks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import datasource as sql
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructType

from kubothek import Cube, build_cube, open_dataset, query_cube, update_dataset, write_dataset
from kubothek.engine.spark_types import spark_schema
from kubothek.errors import SchemaError, UnknownColumnError
from kubothek.spark.source.data_source import KubothekSource
from kubothek.spark.source.options import read_options
from kubothek.spark.source.reader import FilteredReader, Piece, make_reader, plan_tasks, read_schema

PUSH_DOWN = "pyspark.sql.worker.data_source_pushdown_filters"
CUBE = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p", index_columns="i1")
ROWS = pa.table({"x": range(12), "p": [x % 4 for x in range(12)], "i1": [x // 2 for x in range(12)]})
SEED = ROWS.append_column("v1", pa.array([None if x == 5 else x / 2 for x in range(12)]))
OTHER = pa.table({"x": range(0, 12, 2), "p": [x % 4 for x in range(0, 12, 2)], "v2": [*range(5), None]})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of four files, and a cube with an enrichment that has half of the cells, in two files."""
    folder = tmp_path_factory.mktemp("reader")
    write_dataset(SEED, "d", folder, partition_on="p", secondary_indices="i1")
    build_cube({"seed": SEED, "other": OTHER}, CUBE, folder)
    return folder


def planned(reader: Any) -> list[set[str]]:
    """Return the labels that the pieces of a reader read, per dataset."""
    pieces = [piece.plan for piece in reader.partitions()]
    return [{label for plan in pieces for label in plan.files[i]["label"].to_pylist()} for i in range(_inputs(pieces))]


def _inputs(pieces: Sequence[Any]) -> int:
    return len(pieces[0].inputs) if pieces else 0


def filtered(store: Path, options: dict[str, str], *filters: sql.Filter) -> FilteredReader:
    """Return a reader that has been handed filters."""
    given = {"store": str(store)} | options
    schema, _ = read_schema(given)
    reader = FilteredReader(schema, read_options(given), None)
    assert reader.pushFilters(list(filters)) == list(filters)
    return reader


SAME = {
    "partition": ([sql.EqualTo(("p",), 1)], "p == 1"),
    "other partitions": ([sql.Not(sql.EqualTo(("p",), 1))], "p != 1"),
    "range of partitions": ([sql.GreaterThan(("p",), 0), sql.LessThan(("p",), 3)], "p > 0 & p < 3"),
    "index": ([sql.IsNotNull(("i1",)), sql.EqualTo(("i1",), 2)], "i1 == 2"),
    "some of an index": ([sql.In(("i1",), (0, 5, None))], "i1 in (0, 5)"),
    "not in": ([sql.Not(sql.In(("p",), (0, 1)))], "not p in (0, 1)"),
    "payload": ([sql.IsNull(("v1",))], "v1 is null"),
    "nothing": ([sql.EqualTo(("p",), 9)], "p == 9"),
}


@pytest.mark.parametrize(("filters", "where"), SAME.values(), ids=SAME)
def test_filters_read_the_files_that_conditions_read(store: Path, filters: list[sql.Filter], where: str) -> None:
    """What Spark pushes leaves out the files that the same condition leaves out of a scan or a query."""
    scan = open_dataset("d", store).scan(where=where)
    expected = [{*scan.plan.files[0]["label"].to_pylist()}] if scan.plan.units.num_rows else []
    assert planned(filtered(store, {"dataset": "d"}, *filters)) == expected
    query = query_cube("c", store, where=where)
    expected = [{*files["label"].to_pylist()} for files in query.plan.files] if query.plan.units.num_rows else []
    assert planned(filtered(store, {"cube": "c"}, *filters)) == expected


JOINED = {
    "value": (sql.EqualTo(("v2",), 1), 1, {"inner"}),
    "end of values": (sql.Not(sql.GreaterThan(("v2",), 0)), 1, {"inner"}),
    "null": (sql.IsNull(("v2",)), 4, {"left"}),
    "other or null": (sql.Not(sql.EqualNullSafe(("v2",), 1)), 4, {"left"}),
}


@pytest.mark.parametrize(("pushed", "units", "joins"), JOINED.values(), ids=JOINED)
def test_only_filters_that_reject_null_ask_for_a_partner(
    store: Path, pushed: sql.Filter, units: int, joins: set[str]
) -> None:
    """Cells without partner stay where null passes the filter."""
    plans = [piece.plan for piece in filtered(store, {"cube": "c"}, pushed).partitions()]
    assert {join.how for plan in plans for join in plan.joins} == joins
    assert sum(plan.units.num_rows for plan in plans) >= units


def test_filters_go_with_the_condition_of_the_options(store: Path) -> None:
    """Option ``where`` and the filters must both hold."""
    reader = filtered(store, {"dataset": "d", "where": "p < 2"}, sql.GreaterThan(("p",), 0))
    assert [len(labels) for labels in planned(reader)] == [1]


@pytest.mark.parametrize("asked", [{"dataset": "d"}, {"cube": "c"}], ids=["dataset", "cube"])
@pytest.mark.parametrize("columns", ["v1", "v1,x", "p,i1"])
def test_tasks_read_the_columns_asked_for(store: Path, asked: dict[str, str], columns: str) -> None:
    """What has travelled to a task reads these columns in this order, from pieces that travelled too."""
    source = KubothekSource({"store": str(store), "columns": columns} | asked)
    schema = source.schema()
    reader = source.reader(schema)
    arrived, pieces = cloudpickle.loads(cloudpickle.dumps((reader, reader.partitions())))
    rows = pa.Table.from_batches([batch for piece in pieces for batch in arrived.read(piece)])
    expected = SEED.select(columns.split(","))
    assert rows.column_names == expected.column_names == schema.fieldNames()
    assert sorted(map(repr, rows.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_a_reader_travels_without_the_plan(store: Path) -> None:
    """Each task gets the reader, which is small whatever the dataset is; pieces hold their own files only."""
    source = KubothekSource({"store": str(store), "dataset": "d"})
    assert len(cloudpickle.dumps(source.reader(source.schema()))) < 10_000


def test_no_rows_are_no_pieces(store: Path) -> None:
    """Spark then asks for one partition that is none of ours, which has no rows."""
    source = KubothekSource({"store": str(store), "dataset": "d", "where": "p == 9"})
    reader = source.reader(source.schema())
    assert list(reader.partitions()) == []
    assert list(reader.read(sql.InputPartition(None))) == []


@pytest.mark.parametrize("asked", [{"dataset": "d"}, {"cube": "c"}], ids=["dataset", "cube"])
def test_what_was_loaded_stays_as_it_was(tmp_path: Path, asked: dict[str, str]) -> None:
    """A reader sees the version that was current when the schema was asked for."""
    write_dataset(SEED, "d", tmp_path, partition_on="p")
    build_cube(SEED, CUBE, tmp_path)
    source = KubothekSource({"store": str(tmp_path)} | asked)
    schema = source.schema()
    more = SEED.slice(0, 1).set_column(1, "p", pa.array([9]))
    update_dataset(more, "d", tmp_path)
    update_dataset(more, "c++seed", tmp_path)
    arrived = cloudpickle.loads(cloudpickle.dumps(source))
    assert len(planned(arrived.reader(schema))[0]) == 4
    assert len(planned(make_reader(schema, source.options, None))[0]) == 5


def test_a_schema_of_the_user_is_checked(store: Path) -> None:
    """Other types than those of record are refused, with all columns that have them; unknown columns too."""
    source = KubothekSource({"store": str(store), "dataset": "d"})
    wrong = StructType().add("x", IntegerType()).add("p", LongType(), False).add("v1", DoubleType())
    with pytest.raises(SchemaError, match=r"'x' is bigint and may be null, not int; 'p' .* not bigint not null"):
        source.reader(wrong).partitions()
    with pytest.raises(UnknownColumnError, match="no column 'z'"):
        source.reader(StructType().add("z", LongType())).partitions()


def test_filters_are_taken_where_asked_for_and_switched_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark refuses a reader that takes filters where the switch is off; where it is on, another module asks for it."""
    options = {"store": str(store), "dataset": "d"}
    schema = spark_schema(SEED.schema)
    monkeypatch.delitem(sys.modules, PUSH_DOWN, raising=False)
    assert not isinstance(make_reader(schema, options | {"pushdown": "true"}, None), FilteredReader)
    monkeypatch.setitem(sys.modules, PUSH_DOWN, sys)
    assert isinstance(make_reader(schema, options | {"pushdown": "true"}, None), FilteredReader)
    assert not isinstance(make_reader(schema, options | {"pushdown": "false"}, None), FilteredReader)


def test_pieces_follow_the_bytes(store: Path) -> None:
    """A small read is cut into as many pieces as this machine has cores, and not more than there are files."""
    plan = open_dataset("d", store).scan().plan
    pieces = KubothekSource({"store": str(store), "dataset": "d"}).reader(spark_schema(plan.schema)).partitions()
    assert all(isinstance(piece, Piece) for piece in pieces)
    assert len(pieces) == min(plan_tasks(plan), 4)
