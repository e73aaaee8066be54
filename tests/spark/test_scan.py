"""Scans as Spark DataFrames: who reads the files, which of them, and that the answer is the in-process one."""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.foreign import parquet, put_dataset
from tests.spark.answers import is_native, rows, setting, spark_rows, spark_types

from kubothek import C, Condition, Dataset, open_dataset, update_dataset, write_dataset
from kubothek.store.open import open_store
from kubothek.testing.conditions import matches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"


def table(count: int = 60) -> pa.Table:
    """Rows with two partition columns, an index column, and payload with nulls."""
    x = range(count)
    return pa.table(
        {
            "p": [i % 3 for i in x],
            "q": ["ab"[i % 2] for i in x],
            "i1": [None if i % 9 == 0 else i % 10 for i in x],
            "v1": pa.array([None if i % 7 == 0 else i / 4 for i in x], pa.float64()),
            "x": list(x),
        }
    )


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The rows of :func:`table` in six partitions."""
    return write_dataset(table(), "d", tmp_path_factory.mktemp("scan"), partition_on=["p", "q"], secondary_indices="i1")


def planned_files(data: Dataset, frame: DataFrame) -> set[str]:
    """Labels of the files that Spark's own reader was given."""
    labels = {
        part.files["table"].removesuffix(".parquet").split("/")[-1]: label for label, part in data.partitions.items()
    }
    return {labels[name.removesuffix(".parquet").split("/")[-1]] for name in frame.inputFiles()}


ONLY_PARTITIONS = {
    "everything": None,
    "one value": C("p") == 1,
    "either": (C("p") == 1) | (C("q") == "b"),
    "not": ~(C("p").isin([0, 2])),
    "range of text": C("q") < "b",
    "nothing": C("p") == 7,
}
ON_ROWS = {
    "payload": C("v1") > 3.5,
    "null": C("v1").is_null(),
    "not null": ~C("v1").is_null(),
    "other than, with nulls": C("v1") != 0.25,
    "index": C("i1") == 3,
    "index without a hit": C("i1") == 77,
    "index or partition": (C("i1") == 3) | (C("p") == 0),
    "partition and payload": (C("p") == 2) & (C("x").in_interval(10, 30)),
    "some with null": C("i1").isin([1, None]),
}


@pytest.mark.parametrize("name", [*ONLY_PARTITIONS, *ON_ROWS])
def test_answers_are_the_in_process_ones(spark: SparkSession, dataset: Dataset, name: str) -> None:
    """Spark gives the rows that match, by the same rules as this process and as plain Python."""
    where: Condition | None = (ONLY_PARTITIONS | ON_ROWS)[name]
    scan = dataset.scan(where=where)
    expected = [tuple(row.values()) for row in table().to_pylist() if where is None or matches(where, row)]
    assert spark_rows(scan.to_spark(spark)) == rows(scan.to_arrow()) == sorted(expected, key=repr)


@pytest.mark.parametrize("name", [name for name in ONLY_PARTITIONS if name != "nothing"])
def test_spark_reads_the_planned_files_itself(spark: SparkSession, dataset: Dataset, name: str) -> None:
    """Where no row has to be filtered, Spark's own reader gets the files of the plan and no others."""
    where = ONLY_PARTITIONS[name]
    frame = dataset.scan(where=where).to_spark(spark)
    assert is_native(frame)
    values = {label: dict(part.split("=") for part in label.split("/")[:2]) for label in dataset.partitions}
    expected = {
        label
        for label, keys in values.items()
        if where is None or matches(where, {"p": int(keys["p"]), "q": keys["q"]})
    }
    assert planned_files(dataset, frame) == expected


@pytest.mark.parametrize("name", ON_ROWS)
def test_tasks_filter_rows(spark: SparkSession, dataset: Dataset, name: str) -> None:
    """Where rows have to be filtered, Kubothek's tasks read."""
    assert not is_native(dataset.scan(where=ON_ROWS[name]).to_spark(spark))


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["native", "tasks"])
@pytest.mark.parametrize("columns", [["x"], ["v1", "p", "x"], ["p"], ["q", "p"], []], ids=str)
def test_columns_come_in_the_order_asked_for(
    spark: SparkSession, dataset: Dataset, columns: list[str], where: str | None
) -> None:
    """A projection has these columns in this order, also when it names partition columns alone, or nothing."""
    scan = dataset.scan(columns, where=where)
    frame = scan.to_spark(spark)
    assert frame.columns == columns
    assert sorted(map(tuple, frame.collect()), key=repr) == (rows(scan.to_arrow()) if columns else [()] * 60)


PARTITION_TYPES: dict[str, tuple[pa.DataType, list[Any], bool]] = {
    "int": (pa.int32(), [-(2**31), 0, 7], True),
    "long": (pa.int64(), [-(2**63), 2**63 - 1], True),
    "unsigned": (pa.uint64(), [0, 2**64 - 1], False),
    "bool": (pa.bool_(), [True, False], True),
    "date": (pa.date32(), [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)], True),
    "text": (pa.string(), ["a", "01", "1.0", "1e3", "true", "null", "2024-01-01", "A", "_a", ".a"], True),
    "Spark's null": (pa.string(), ["a", "__HIVE_DEFAULT_PARTITION__"], False),
    "odd text": (pa.string(), ["a b", "a/b", "ü", "%41", ""], False),
    "float": (pa.float64(), [0.1, -1.0, 1e300, float("inf")], False),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-0.01")], False),
    "timestamp": (pa.timestamp("us"), [datetime(2024, 3, 31, 2, 30), datetime(1, 1, 1)], False),  # noqa: DTZ001
    "binary": (pa.binary(), [b"a", "ü".encode()], False),
}


@pytest.mark.parametrize("name", PARTITION_TYPES)
def test_partition_values_of_every_type(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Values of a partition column come back with its type, whoever takes them from where they are."""
    kind, values, native = PARTITION_TYPES[name]
    data = pa.table({"p": pa.array(values, kind), "x": range(len(values))})
    scan = write_dataset(data, "d", tmp_path, partition_on="p").scan()
    frame = scan.to_spark(spark)
    assert is_native(frame) == native
    expected = scan.to_arrow()
    assert expected["p"].cast(kind).to_pylist() == [values[x] for x in expected["x"].to_pylist()]
    assert spark_rows(frame) == sorted(zip(map(as_spark, values), range(len(values)), strict=True), key=repr)


def as_spark(value: Any) -> Any:
    """Return a value as Spark has it: it knows no unsigned integers."""
    return Decimal(value) if value == 2**64 - 1 else value


FOLDERS = ["a b", "a%20b", "ü", "p=7", "a+b", "#", "?", "*", "[a]", "{a,b}", "a\\b", "a:b", "a'b"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_any_folder_can_be_the_store(spark: SparkSession, tmp_path: Path, folder: str) -> None:
    """Names that Spark would take for a pattern or a partition are just names."""
    data = table(4).select(["p", "x"])
    write_dataset(data, "d", tmp_path / folder, partition_on="p")
    write_dataset(table(6), "d", tmp_path / "a", partition_on="p")
    assert spark_rows(open_dataset("d", tmp_path / folder).scan().to_spark(spark)) == rows(data)


def test_a_plan_of_many_files_runs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    """Spark does not list the files that the plan names, and the setting for it is as before."""
    data = pa.table({"p": range(40), "x": range(40)})
    scan = write_dataset(data, "d", tmp_path, partition_on="p").scan()
    tracker = spark.sparkContext.statusTracker()
    before = spark.conf.get(LISTING), len(tracker.getJobIdsForGroup(None))
    frame = scan.to_spark(spark)
    assert is_native(frame)
    assert (spark.conf.get(LISTING), len(tracker.getJobIdsForGroup(None))) == before
    assert frame.count() == 40


def test_updates_of_ours_stay_readable_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Files of several commits with the types of record are read by Spark itself."""
    write_dataset(table(10), "d", tmp_path, partition_on="p")
    data = update_dataset(table(20).slice(10), "d", tmp_path)
    frame = data.scan().to_spark(spark)
    assert is_native(frame)
    assert spark_rows(frame) == rows(table(20).select(data.schema.names))


@pytest.mark.parametrize("where", [None, "x > 0"], ids=["no filter", "filter"])
def test_a_column_that_was_empty_at_first(spark: SparkSession, tmp_path: Path, where: str | None) -> None:
    """Files from before a column had values are read with the type that it has now."""
    write_dataset(pa.table({"x": [1], "v1": pa.nulls(1)}), "d", tmp_path)
    data = update_dataset(pa.table({"x": [2], "v1": [1.5]}), "d", tmp_path)
    frame = data.scan(where=where).to_spark(spark)
    assert spark_types(frame)["v1"] == "double"
    assert spark_rows(frame) == [(1.5, 2), (None, 1)]


def test_files_of_others_are_read_with_the_types_of_record(spark: SparkSession, tmp_path: Path) -> None:
    """After a commit of other software files may have other types, which tasks widen."""
    data = write_dataset(pa.table({"x": [1, 2], "v1": ["a", "b"]}), "d", tmp_path)
    header = tmp_path / "d.by-dataset-metadata.json"
    header.write_text(json.dumps({k: v for k, v in json.loads(header.read_text()).items() if k != "kubothek"}))
    (part,) = data.partitions.values()
    narrow = pa.table(
        {"v1": pa.array(["a", "b"]).dictionary_encode(), "x": pa.array([1, 2], pa.int8()), "extra": [0, 0]}
    )
    pq.write_table(narrow, tmp_path / part.files["table"])
    frame = open_dataset("d", tmp_path).scan().to_spark(spark)
    assert not is_native(frame)
    assert spark_types(frame) == {"v1": "string", "x": "bigint"}
    assert spark_rows(frame) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["native", "tasks"])
def test_a_frame_keeps_its_version(spark: SparkSession, dataset: Dataset, tmp_path: Path, where: str | None) -> None:
    """What is committed after a frame was made does not change it, however often it is run."""
    data = write_dataset(table(), "d", tmp_path, partition_on="p")
    frame = data.scan(where=where).to_spark(spark)
    assert frame.count() == 60
    update_dataset(table(), "d", tmp_path, delete_scope=[{"p": 0}, {"p": 1}])
    assert frame.count() == 60
    assert spark_rows(frame.select("p", "q", "i1", "v1", "x")) == rows(table())


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["native", "tasks"])
def test_old_days_in_any_calendar(spark: SparkSession, tmp_path: Path, where: str | None) -> None:
    """Days before 1582 are what they say, also in a session that takes others' files to be in the old calendar."""
    days = pa.table({"d": [date(1, 1, 1), date(1500, 3, 1)], "x": [0, 1]})
    scan = write_dataset(days, "d", tmp_path).scan(where=where)
    with setting(spark, "spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"):
        assert spark_rows(scan.to_spark(spark)) == rows(days)


def test_names_that_differ_in_case(spark: SparkSession, tmp_path: Path) -> None:
    """Columns whose names differ in case alone stay apart, in a session that can tell them apart."""
    data = pa.table({"A": [1], "a": [2], "B": [3], "b": [4]})
    with setting(spark, "spark.sql.caseSensitive", "true"):
        stored = write_dataset(spark.createDataFrame(data), "d", tmp_path, partition_on="A", sort_by="b")
        frame = stored.scan(["a", "A", "b", "B"]).to_spark(spark)
        assert spark_rows(frame) == [(2, 1, 4, 3)]


def test_spark_filters_and_projects_further(spark: SparkSession, dataset: Dataset) -> None:
    """A scan is a DataFrame like any other: joins, filters and aggregates go on from it."""
    frame = dataset.scan().to_spark(spark)
    found = frame.where("v1 IS NULL").groupBy("p").count().orderBy("p").collect()
    expected = [sum(p == key and v1 is None for p, _, _, v1, _ in rows(table())) for key in range(3)]
    assert [tuple(row) for row in found] == list(enumerate(expected))


@pytest.mark.parametrize("where", [None, "q == 'a'", "v1 > 3.5", "i1 == null"], ids=str)
def test_dictionaries_change_nothing(spark: SparkSession, dataset: Dataset, where: str | None) -> None:
    """A scan with categoricals is read by the same reader and has the same rows, partition columns included."""
    plain = dataset.scan(where=where).to_spark(spark)
    frame = dataset.scan(where=where, categoricals=["q", "i1", "v1"]).to_spark(spark)
    assert is_native(frame) == is_native(plain)
    assert (spark_types(frame), spark_rows(frame)) == (spark_types(plain), spark_rows(plain))


@pytest.mark.parametrize("where", [None, "x > 1", "p == 2", "i1 == null"], ids=str)
def test_text_files(spark: SparkSession, tmp_path: Path, where: str | None) -> None:
    """CSV files are read by tasks, beside Parquet files, with the types of record."""
    record = pa.schema([("p", pa.int64()), ("i1", pa.string()), ("x", pa.uint64())])
    files = {
        "p=1/a.csv": b"i1;x\nu;1\n;18446744073709551615\n",
        "p=2/b.csv.gz": gzip.compress(b'x;i1\n3;"v;\nw"\n'),
        "p=2/c.parquet": parquet(pa.table({"i1": ["w"], "x": [4]})),
        "p=3/d.csv": b"i1;x\n",
    }
    scan = put_dataset(open_store(tmp_path), record, files, partition_keys=["p"]).scan(where=where)
    frame = scan.to_spark(spark)
    assert not is_native(frame)
    assert spark_types(frame) == {"p": "bigint", "i1": "string", "x": "decimal(20,0)"}
    assert spark_rows(frame) == rows(scan.to_arrow().cast(record.set(2, pa.field("x", pa.decimal128(20, 0)))))


@pytest.mark.parametrize("where", [None, "x > 2"], ids=["native", "tasks"])
@pytest.mark.parametrize("name", ["main", "more"])
def test_each_table_is_a_frame(spark: SparkSession, tmp_path: Path, name: str, where: str | None) -> None:
    """Tables of one dataset are read one by one, each with its own columns."""
    tables = {"main": table(12).select(["p", "x"]), "more": table(6).select(["p", "x", "v1"])}
    scan = write_dataset(tables, "d", tmp_path, partition_on="p").scan(where=where, table=name)
    frame = scan.to_spark(spark)
    assert is_native(frame) == (where is None)
    expected = [row for row in rows(tables[name]) if where is None or row[1] > 2]
    assert (
        spark_rows(frame.select(tables[name].column_names))
        == expected
        == rows(scan.to_arrow().select(tables[name].column_names))
    )


def test_a_large_row_group_passes_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    """A file whose only row group has more rows than fit in memory at once is read batch by batch, in order."""
    numbers = pa.table({"x": pa.array(range(1_200_000), pa.int64())})
    store = open_store(tmp_path)
    frame = (
        put_dataset(store, numbers.schema, {"a.parquet": parquet(numbers, row_group_size=2**26)}).scan().to_spark(spark)
    )
    assert not is_native(frame)
    assert frame.toArrow()["x"].to_pylist() == numbers["x"].to_pylist()
