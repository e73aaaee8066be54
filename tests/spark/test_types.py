"""Types between Spark, Arrow and the format, beyond what each does by itself (test_type_table)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.answers import is_native, rows, setting, spark_rows, spark_types, values
from tests.type_table import arrow_table, from_arrow, named, refused_from_spark

from kubothek import C, Dataset, write_dataset
from kubothek.errors import InvalidInputError, SchemaError
from kubothek.testing.conditions import matches
from kubothek.testing.datasets import DatasetCase, dataset_cases, questions, same_rows
from kubothek.testing.kinds import FLAT, flat_kinds, partition_kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)

ZONE = "spark.sql.session.timeZone"

FROM_ARROW = {name: row for name, row in named(from_arrow()).items() if row.back}


def test_all_refused_columns_are_named_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """One error lists every column that cannot be stored."""
    refused = {f"c{number}": row.example for number, row in enumerate(refused_from_spark())}
    columns = ", ".join(f"{example} AS {name}" for name, example in refused.items())
    with pytest.raises(SchemaError) as caught:
        write_dataset(spark.sql(f"SELECT 1 AS x, {columns}"), "d", tmp_path)
    assert caught.value.columns == tuple(refused)


def test_user_defined_types_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A user-defined type has no place, whatever it is made of."""
    from pyspark.sql.types import StructType
    from pyspark.testing.objects import ExamplePointUDT

    frame = spark.createDataFrame([], StructType().add("v1", ExamplePointUDT()))
    with pytest.raises(SchemaError, match=r"'v1'.*its parts"):
        write_dataset(frame, "d", tmp_path)


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["no filter", "filter"])
def test_dictionaries_become_plain_values(spark: SparkSession, tmp_path: Path, where: str | None) -> None:
    """Columns that are wanted as dictionaries have the types and values that they have without."""
    flat = [name for name, row in FROM_ARROW.items() if "<" not in row.record]
    dataset = write_dataset(arrow_table(FROM_ARROW).select(["x", *flat]), "d", tmp_path)
    plain = dataset.scan(where=where).to_spark(spark).orderBy("x")
    encoded = dataset.scan(where=where, categoricals=["x", *flat]).to_spark(spark).orderBy("x")
    assert spark_types(encoded) == spark_types(plain)
    assert str(encoded.toArrow().to_pylist()) == str(plain.toArrow().to_pylist())  # where NaN is itself


SHOWN = {
    "UTC": ("2024-07-01 12:00:00", "2024-07-01 12:00:00"),
    "Europe/Berlin": ("2024-07-01 14:00:00", "2024-07-01 12:00:00"),
    "America/New_York": ("2024-07-01 08:00:00", "2024-07-01 12:00:00"),
}


@pytest.mark.parametrize("where", [None, "x == 0"], ids=["native", "tasks"])
@pytest.mark.parametrize("zone", SHOWN)
def test_the_session_zone_only_shows_instants(
    spark: SparkSession, tmp_path: Path, zone: str, where: str | None
) -> None:
    """An instant is shown in the session's zone and stays the same; a zone-free timestamp is shown as it is."""
    noon = datetime(2024, 7, 1, 12)
    rows = pa.table({"x": [0], "t": pa.array([noon.replace(tzinfo=UTC)], pa.timestamp("ns", "UTC")), "n": [noon]})
    dataset = write_dataset(rows, "d", tmp_path)
    with setting(spark, ZONE, zone):
        frame = dataset.scan(where=where).to_spark(spark)
        assert is_native(frame) == (where is None)
        assert tuple(frame.selectExpr("string(t)", "string(n)").first()) == SHOWN[zone]
        assert frame.where("t = TIMESTAMP'2024-07-01 12:00:00Z'").count() == 1


@pytest.mark.parametrize("where", ["p == 1", "x < 0"], ids=["no file", "no row"])
def test_empty_results_have_their_types(spark: SparkSession, tmp_path: Path, where: str) -> None:
    """Where nothing is found, columns and types are as promised."""
    rows = arrow_table(FROM_ARROW)
    rows = rows.append_column("p", pa.nulls(rows.num_rows, pa.int64()).fill_null(0))
    frame = write_dataset(rows, "d", tmp_path, partition_on="p").scan(where=where).to_spark(spark)
    expected = {name: row.back for name, row in FROM_ARROW.items()}
    assert spark_types(frame) == expected | {"x": "bigint", "p": "bigint"}
    assert frame.toArrow().num_rows == 0


# Two Spark expressions, evaluated in New York's zone; type of record; their values, in order. All may name partitions.
KEYS: dict[str, tuple[str, str, pa.DataType, list[Any]]] = {
    "boolean": ("false", "true", pa.bool_(), [False, True]),
    "byte": ("cast(-128 as tinyint)", "cast(127 as tinyint)", pa.int64(), [-128, 127]),
    "short": ("cast(-1 as smallint)", "cast(1 as smallint)", pa.int64(), [-1, 1]),
    "integer": ("-2147483647", "2147483647", pa.int64(), [-(2**31) + 1, 2**31 - 1]),
    "long": ("-9223372036854775807L", "9223372036854775807L", pa.int64(), [-(2**63) + 1, 2**63 - 1]),
    "float": ("cast(0.1 as float)", "cast(2 as float)", pa.float64(), [0.10000000149011612, 2.0]),
    "double": ("-1e300D", "0.1D", pa.float64(), [-1e300, 0.1]),
    "decimal": (
        "cast(-1.5 as decimal(38, 18))",
        "cast(0 as decimal(38, 18))",
        pa.decimal128(38, 18),
        [Decimal("-1.5"), Decimal(0)],
    ),
    "string": ("''", "'a/b %=+ü 🙂'", pa.string(), ["", "a/b %=+ü 🙂"]),
    "binary": ("cast('a/b' as binary)", "cast('ü' as binary)", pa.binary(), [b"a/b", "ü".encode()]),
    "date": ("DATE'0001-01-01'", "DATE'9999-12-31'", pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "timestamp_ntz": (
        "TIMESTAMP_NTZ'2024-03-10 02:30:00'",
        "TIMESTAMP_NTZ'2024-07-01 12:00:00.000001'",
        pa.timestamp("us"),
        [datetime(2024, 3, 10, 2, 30), datetime(2024, 7, 1, 12, 0, 0, 1)],
    ),
}
INDEXED = KEYS | {
    "timestamp": (
        "TIMESTAMP'2024-01-01 00:00:00'",
        "TIMESTAMP'2024-07-01 00:00:00'",
        pa.timestamp("us", "UTC"),
        [datetime(2024, 1, 1, 5, tzinfo=UTC), datetime(2024, 7, 1, 4, tzinfo=UTC)],
    ),
    "time": ("TIME'00:00:00'", "TIME'23:59:59'", pa.time64("us"), [time(0), time(23, 59, 59)]),
}


def two_rows(spark: SparkSession, names: Any) -> DataFrame:
    """Return a frame of two rows, each in a task of its own, with a column of each of these types."""
    columns = ", ".join(f"if(x = 0, {INDEXED[name][0]}, {INDEXED[name][1]}) AS {name}" for name in names)
    return spark.sql(f"SELECT x, {columns} FROM (SELECT id AS x FROM range(0, 2, 1, 2))")  # noqa: S608  our own words


@pytest.fixture(scope="module")
def by_every_type(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    """Two rows that Spark wrote in New York: partitioned by columns of every type, and with an index on each."""
    with setting(spark, ZONE, "America/New_York"), setting(spark, "spark.sql.timeType.enabled", "true"):
        folder = tmp_path_factory.mktemp("keys")
        rows = two_rows(spark, KEYS)
        return {
            "partition": write_dataset(rows, "p", folder, partition_on=list(KEYS)),
            "shuffled": write_dataset(rows, "s", folder, partition_on=list(KEYS), shuffle=True),
            "index": write_dataset(two_rows(spark, INDEXED), "i", folder, secondary_indices=list(INDEXED)),
        }


@pytest.mark.parametrize(
    ("layout", "name"),
    [(layout, name) for layout in ("partition", "shuffled") for name in KEYS] + [("index", name) for name in INDEXED],
)
def test_spark_types_as_partition_and_index(by_every_type: dict[str, Dataset], layout: str, name: str) -> None:
    """Values have the type of record, and conditions on them read the files that hold them, no others."""
    ds = by_every_type[layout]
    _, _, kind, expected = INDEXED[name]
    assert ds.schema.field(name).type == kind
    assert values(ds.scan([name]).to_arrow()[name]) in (expected, expected[::-1])
    for where, found in [(C(name) == expected[0], 0), (C(name).isin(expected[1:]), 1), (C(name) < expected[1], 0)]:
        scan = ds.scan("x", where=where)
        assert (scan.to_arrow()["x"].to_pylist(), scan.explain().files) == ([found], 1)


@pytest.mark.parametrize("layout", ["partition", "index"])
def test_spark_reads_back_what_partitions_and_indices_find(
    spark: SparkSession, by_every_type: dict[str, Dataset], layout: str
) -> None:
    """A Spark session in another zone gets the same rows, all at once and those that a condition finds."""
    ds = by_every_type[layout]
    with setting(spark, ZONE, "Asia/Kolkata"):
        for where in (None, C("long") == 2**63 - 1, C("decimal") < 0, C("date") == date(1, 1, 1)):
            scan = ds.scan(["x", *sorted(KEYS)], where=where)
            assert spark_rows(scan.to_spark(spark)) == rows(scan.to_arrow())


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("TIMESTAMP'2024-01-01 00:00:00'", "timestamp_ntz"),
        ("null", "partition by"),
        ("array(1)", "partition by"),
        ("named_struct('a', 1)", "partition by"),
    ],
    ids=["timestamp", "void", "array", "struct"],
)
def test_spark_types_that_are_no_partition_columns(
    spark: SparkSession, tmp_path: Path, expression: str, advice: str
) -> None:
    """The error names the column and the way out before any task runs."""
    with pytest.raises(SchemaError, match=f"(?s)'p'.*{advice}") as caught:
        write_dataset(spark.sql(f"SELECT 1 AS x, {expression} AS p"), "d", tmp_path, partition_on="p")
    assert caught.value.columns == ("p",)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("if(id = 0, null, 'a')", "no value"),
        ("if(id = 0, cast('NaN' as double), 1D)", "NaN"),
        ("if(id = 0, X'FF', X'61')", "UTF-8"),
        ("if(id = 0, DATE'2020-01-01', DATE'2020-01-01' + 5000000)", "9999"),
    ],
    ids=["null", "NaN", "bytes", "far day"],
)
def test_spark_values_that_name_no_partition(spark: SparkSession, tmp_path: Path, expression: str, told: str) -> None:
    """The write fails with the column and the reason, and leaves no file."""
    frame = spark.sql(f"SELECT id AS x, {expression} AS p FROM range(0, 2, 1, 2)")  # noqa: S608  our own words
    with pytest.raises(InvalidInputError, match=f"(?s)'p'.*{told}"):
        write_dataset(frame, "d", tmp_path, partition_on="p")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_nulls_inside_of_nested_columns_survive(spark: SparkSession, tmp_path: Path) -> None:
    """Nulls of an array, of its items, and of the fields in them stay apart, written and read by Spark."""
    cases = ["null", "array()", "array(null)", "array(named_struct('a', null, 'b', array(null)))"]
    one = "array(named_struct('a', 1, 'b', array('x')))"
    column = " ".join(f"WHEN x = {n} THEN {case}" for n, case in enumerate(cases))
    frame = spark.sql(f"SELECT x, CASE {column} ELSE {one} END AS v1 FROM (SELECT id AS x FROM range(5))")  # noqa: S608  our own words
    ds = write_dataset(frame, "d", tmp_path)
    expected = [None, [], [None], [{"a": None, "b": [None]}], [{"a": 1, "b": ["x"]}]]
    assert dict(rows(ds.scan(["x", "v1"]).to_arrow())) == dict(enumerate(expected))
    for where in (None, "x >= 0"):
        assert dict(rows(ds.scan(["x", "v1"], where=where).to_spark(spark).toArrow())) == dict(enumerate(expected))


# What Spark holds under the same type; the others are told of in the tables above.
IN_SPARK = tuple(
    kind
    for kind in FLAT.values()
    if not any(test(kind.record) for test in (pa.types.is_decimal256, pa.types.is_uint64, pa.types.is_time))
)


@settings(max_examples=max(settings.default.max_examples // 6, 1))
@given(dataset_cases(kinds=flat_kinds(IN_SPARK), keys=partition_kinds(IN_SPARK), max_steps=1), st.data())
def test_spark_writes_and_reads_any_dataset(spark: SparkSession, case: DatasetCase, data: st.DataObject) -> None:
    """Whatever the layout, what Spark wrote is what went in, and conditions find the same rows on Spark."""
    schema = pa.schema([(name, kind.record) for name, kind in case.kinds.items()])
    given_rows = list(case.steps[0].rows)
    layout = {**case.steps[0].options, "partition_on": case.partition_on, "secondary_indices": case.secondary_indices}
    with TemporaryDirectory() as folder, setting(spark, "spark.sql.timestampType", "TIMESTAMP_NTZ"):
        frame = spark.createDataFrame(pa.Table.from_pylist(given_rows, schema))
        ds = write_dataset(frame, "d", folder, **layout)
        assert same_rows(ds.scan().to_arrow(), given_rows, zeros=case.partition_on)
        question = data.draw(questions(case))
        found = ds.scan(where=question.asked).to_spark(spark).toArrow()
        expected = [row for row in given_rows if matches(question.meant, row)]
        assert same_rows(found.cast(ds.schema), expected, zeros=case.partition_on), question
