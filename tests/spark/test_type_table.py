"""Every row of docs/types.md, from both sides: written from Spark and from Arrow, read in this process and on Spark.

All in a session in New York's time zone. Asks nothing that only a classic session has, so that tests with other
sessions import these as their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.answers import is_native, setting, spark_types, values
from tests.type_table import (
    RefusedRow,
    TypeRow,
    arrow_table,
    arrow_type,
    from_arrow,
    from_spark,
    named,
    padded,
    python_value,
    refused_from_arrow,
    refused_from_spark,
    same_value,
)

from kubothek import Dataset, create_empty_dataset, open_dataset, update_dataset, write_dataset
from kubothek.errors import SchemaError
from kubothek.spark import read_dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FROM_SPARK, FROM_ARROW = named(from_spark()), named(from_arrow())
ON_SPARK = {name: row for name, row in FROM_ARROW.items() if row.back}
READERS = ("to_spark", "to_spark, filtered", "read_dataset", "data source")
Place = tuple[Dataset, str]
Seen = tuple[dict[str, str], pa.Table]
ROWS = arrow_table(FROM_ARROW).num_rows  # one per example, and one of nulls
# What Spark gives as itself, and only where it is told to.
AS_TEXT = ("char", "varchar")


@pytest.fixture(scope="module")
def in_new_york(spark: SparkSession) -> Iterator[SparkSession]:
    """The session in another zone than the stored one, with all types switched on."""
    with (
        setting(spark, "spark.sql.session.timeZone", "America/New_York"),
        setting(spark, "spark.sql.timeType.enabled", "true"),
        setting(spark, "spark.sql.preserveCharVarcharTypeInfo", "true"),
    ):
        yield spark


def spark_column(name: str, row: TypeRow) -> str:
    """Return the expression for a column with one example per row."""
    if row.kind.startswith(AS_TEXT):  # any expression around it makes text of it
        return f"{row.examples[0]} AS {name}"
    cases = " ".join(f"WHEN x = {number} THEN {example}" for number, example in enumerate(row.examples))
    return f"CASE {cases} ELSE NULL END AS {name}"


@pytest.fixture(scope="module")
def frame(in_new_york: SparkSession) -> DataFrame:
    """A column per type of Spark's, a row per example."""
    columns = ", ".join(spark_column(name, row) for name, row in FROM_SPARK.items())
    return in_new_york.sql(f"SELECT x, {columns} FROM (SELECT id AS x FROM range({ROWS}))")  # noqa: S608  our own words


@pytest.fixture(scope="module")
def written(frame: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The frame as a dataset."""
    folder = str(tmp_path_factory.mktemp("types"))
    return write_dataset(frame, "written", folder, sort_by="x", shuffle=True), folder


@pytest.fixture(scope="module", params=["write_dataset", "data source"])
def by_spark(request: pytest.FixtureRequest, frame: DataFrame, written: Place) -> Dataset:
    """The frame as a dataset, by each of the ways to write one."""
    if request.param == "write_dataset":
        return written[0]
    frame.write.format("kubothek").mode("append").options(store=written[1], dataset="saved").save()
    return open_dataset("saved", written[1])


@pytest.fixture(scope="module")
def by_arrow(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A column per type of Arrow's, a row per example, written in this process."""
    folder = str(tmp_path_factory.mktemp("types"))
    return write_dataset(arrow_table(FROM_ARROW), "given", folder), folder


def read(spark: SparkSession, reader: str, dataset: Dataset, folder: str, columns: list[str]) -> DataFrame:
    """Return these columns on Spark, read in one of the ways that there are."""
    match reader:
        case "to_spark":
            return dataset.scan(columns).to_spark(spark)
        case "to_spark, filtered":
            return dataset.scan(columns, where="x >= 0").to_spark(spark)
        case "read_dataset":
            return read_dataset(spark, dataset.uuid, folder, columns=columns)
        case _:
            options = {"store": folder, "dataset": dataset.uuid, "columns": ",".join(columns)}
            return spark.read.format("kubothek").options(**options).load()


def types_and_rows(spark: SparkSession, reader: str, place: Place, columns: list[str]) -> Seen:
    """Return what one of the ways to read gives: Spark's names of types, and rows."""
    frame = read(spark, reader, *place, columns).orderBy("x")
    return spark_types(frame), frame.toArrow()


@pytest.fixture(scope="module", params=READERS)
def spark_to_spark(request: pytest.FixtureRequest, in_new_york: SparkSession, written: Place) -> Seen:
    """What Spark reads of what Spark wrote."""
    return types_and_rows(in_new_york, request.param, written, ["x", *FROM_SPARK])


@pytest.fixture(scope="module", params=READERS)
def arrow_to_spark(request: pytest.FixtureRequest, in_new_york: SparkSession, by_arrow: Place) -> Seen:
    """What Spark reads of what this process wrote."""
    return types_and_rows(in_new_york, request.param, by_arrow, ["x", *ON_SPARK])


def check(found: pa.ChunkedArray, expected: tuple[Any, ...], kind: str = "") -> None:
    """Compare a column with the examples, and what is left of it with null."""
    wanted = list(expected) * ROWS if kind.startswith(AS_TEXT) else padded(expected, ROWS)
    assert len(found) == ROWS
    assert all(map(same_value, values(found), wanted)), (values(found), wanted)


def kinds(rows: dict[str, TypeRow]) -> list[Any]:
    """Return the names of columns as parameters, with their types as ids."""
    return [pytest.param(name, id=row.kind) for name, row in rows.items()]


@pytest.mark.parametrize("name", kinds(FROM_SPARK))
def test_the_example_has_the_type(frame: DataFrame, name: str) -> None:
    """Spark says of each example that it has the type of its row."""
    assert frame.schema[name].dataType.simpleString() == FROM_SPARK[name].kind


@pytest.mark.parametrize("name", kinds(FROM_SPARK))
def test_what_spark_wrote_is_stored(by_spark: Dataset, name: str) -> None:
    """The type of record and the values, read in this process, are those of the table."""
    dataset, row = by_spark, FROM_SPARK[name]
    assert str(dataset.schema.field(name).type) == row.record
    check(dataset.scan(["x", name]).to_arrow().sort_by("x")[name], row.stored, row.kind)


@pytest.mark.parametrize("name", kinds(FROM_SPARK))
def test_what_spark_wrote_comes_back(spark_to_spark: Seen, name: str) -> None:
    """Each way to read on Spark gives the type and the values of the table."""
    (types, rows), row = spark_to_spark, FROM_SPARK[name]
    assert types[name] == row.back
    check(rows[name], row.seen, row.kind)


@pytest.mark.parametrize("name", kinds(FROM_ARROW))
def test_what_arrow_has_is_stored(by_arrow: Place, name: str) -> None:
    """The type of record and the values, read in this process, are those of the table."""
    dataset, row = by_arrow[0], FROM_ARROW[name]
    assert str(dataset.schema.field(name).type) == row.record
    check(dataset.scan(["x", name]).to_arrow()[name], row.stored)


@pytest.mark.parametrize("name", kinds(ON_SPARK))
def test_what_arrow_has_is_seen_on_spark(arrow_to_spark: Seen, name: str) -> None:
    """Each way to read on Spark gives the type and the values of the table."""
    (types, rows), row = arrow_to_spark, ON_SPARK[name]
    assert types[name] == row.back
    check(rows[name], row.seen)


@pytest.mark.parametrize("origin", ["Spark", "Arrow"])
def test_spark_reads_most_types_itself(in_new_york: SparkSession, written: Place, by_arrow: Place, origin: str) -> None:
    """Spark's own Parquet reader, where it is used, gives the types and the values of the table."""
    rows, dataset = (FROM_SPARK, written[0]) if origin == "Spark" else (FROM_ARROW, by_arrow[0])
    exact = {name: row for name, row in rows.items() if row.same}
    frame = dataset.scan(["x", *exact]).to_spark(in_new_york)
    assert is_native(frame)
    assert {name: spark_types(frame)[name] for name in exact} == {name: row.back for name, row in exact.items()}
    found = frame.orderBy("x").toArrow()
    for name, row in exact.items():
        check(found[name], row.seen, row.kind)


def test_what_was_read_is_taken_back(in_new_york: SparkSession, tmp_path: Path) -> None:
    """What Spark shows as another type becomes again what it was, by each way to write."""
    rows = {name: row for name, row in ON_SPARK.items() if not re.search("<.*time64", row.record)}
    first = write_dataset(arrow_table(rows), "d", tmp_path)
    frame = first.scan().to_spark(in_new_york)
    update_dataset(frame, "d", tmp_path)
    frame.write.format("kubothek").mode("append").options(store=str(tmp_path), dataset="d").save()
    last = open_dataset("d", tmp_path)
    assert last.schema == first.schema
    found = last.scan().to_arrow().sort_by("x")
    for name, row in rows.items():
        stored = padded(row.stored, ROWS)
        assert all(map(same_value, values(found[name]), [value for value in stored for _ in range(3)])), name


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", [name for name in FROM_ARROW if name not in ON_SPARK])
def test_types_that_spark_lacks_are_named(in_new_york: SparkSession, by_arrow: Place, name: str, reader: str) -> None:
    """A column that only Arrow can hold is an error that names it, on each way to read."""
    with pytest.raises(Exception, match=f"(?s)'{name}': Spark has no type for decimal256"):
        read(in_new_york, reader, *by_arrow, ["x", name]).collect()


@pytest.mark.parametrize("writer", ["write_dataset", "data source"])
@pytest.mark.parametrize("row", refused_from_spark(), ids=lambda row: row.kind)
def test_spark_types_without_a_place(in_new_york: SparkSession, tmp_path: Path, row: RefusedRow, writer: str) -> None:
    """The error says what to store instead, and nothing is written."""
    frame = in_new_york.sql(f"SELECT 1 AS x, {row.example} AS v1")
    assert frame.schema["v1"].dataType.simpleString() == row.kind
    with pytest.raises(SchemaError if writer == "write_dataset" else Exception) as caught:  # noqa: PT012  one of two
        if writer == "write_dataset":
            write_dataset(frame, "d", tmp_path)
        else:
            frame.write.format("kubothek").mode("append").options(store=str(tmp_path), dataset="d").save()
    by_spark = 'Cannot use "INTERVAL" type in the table schema'  # before the data source is asked
    assert row.advice in str(caught.value) or by_spark in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("row", refused_from_arrow(), ids=lambda row: f"{row.kind} {row.example}")
def test_arrow_types_and_values_without_a_place(tmp_path: Path, row: RefusedRow) -> None:
    """The error says what to store instead or why not, and no file is left."""
    kind = arrow_type(row.kind)
    with pytest.raises(SchemaError) as caught:  # noqa: PT012  one of two
        if row.example:
            write_dataset(pa.table({"v1": pa.array([python_value(row.example)], kind)}), "d", tmp_path)
        else:
            create_empty_dataset(pa.schema([("v1", kind)]), "d", tmp_path)
    assert row.advice in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
