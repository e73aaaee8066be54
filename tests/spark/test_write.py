"""Datasets written from Spark: what is stored where, how often the input is evaluated, and what failures leave."""

from __future__ import annotations

import pickle
import uuid as uuids
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.answers import Rows, left_behind, rows, setting, spark_rows
from tests.spark.flaky import FlakyStore

from kubothek import (
    Dataset,
    Store,
    commit_dataset,
    create_empty_dataset,
    open_dataset,
    update_dataset,
    write_dataset,
    write_partitions,
)
from kubothek.errors import DatasetNotFoundError, InvalidInputError, NullValueError, SchemaError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 3
VALUES = 7


def numbers(spark: SparkSession, count: int = 200, tasks: int = 4) -> DataFrame:
    """Rows whose other columns follow from ``x``, spread over tasks in no useful order."""
    made = spark.range(0, count, 1, tasks)
    return made.selectExpr("id AS x", f"id % {PARTITIONS} AS p", f"string(id % {VALUES}) AS i1", "id / 2 AS v1")


def expected_numbers(count: int = 200) -> pa.Table:
    """The rows of :func:`numbers`."""
    x = range(count)
    return pa.table(
        {
            "p": [i % PARTITIONS for i in x],
            "i1": [str(i % VALUES) for i in x],
            "v1": [i / 2 for i in x],
            "x": list(x),
        }
    )


def files(dataset: Dataset, folder: Path) -> dict[str, pa.Table]:
    """The stored files by label, read without Kubothek."""
    found = {label: pq.ParquetFile(folder / part.files["table"]).read() for label, part in dataset.partitions.items()}
    assert found
    return found


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_rows_are_written_and_read(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """All rows are there once; with a shuffle each partition is one file, without at most one per task."""
    dataset = write_dataset(numbers(spark), "d", tmp_path, partition_on="p", shuffle=shuffle)
    assert rows(dataset.scan().to_arrow()) == rows(expected_numbers())
    counts = Counter(label.split("/")[0] for label in dataset.partitions)
    assert counts == {f"p={p}": 1 if shuffle else 4 for p in range(PARTITIONS)}
    assert sum(part.rows for part in dataset.partitions.values()) == 200


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_unpartitioned_rows(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """Without partition columns a shuffle gives one file; tasks that have no row write none."""
    frame = numbers(spark, tasks=5).where("x >= 80")
    dataset = write_dataset(frame, "d", tmp_path, shuffle=shuffle)
    assert len(dataset.partitions) == (1 if shuffle else 3)
    assert sorted(dataset.scan("x").to_arrow()["x"].to_pylist()) == list(range(80, 200))


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_index_names_the_files_that_hold_a_value(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """An index from Spark says what the files say, and after an update too."""
    settings = {"partition_on": "p", "secondary_indices": ["i1", "x"], "shuffle": shuffle}
    write_dataset(numbers(spark), "d", tmp_path, **settings)
    dataset = update_dataset(numbers(spark).where("x < 50"), "d", tmp_path, shuffle=shuffle)
    stored = files(dataset, tmp_path)
    for column in ("i1", "x"):
        index = dataset.load_index(column).table.to_pydict()
        found = {(value, label) for label, table in stored.items() for value in table[column].to_pylist()}
        assert index[column] == sorted(index[column])
        assert {
            (v, label) for v, some in zip(index[column], index["partition"], strict=True) for label in some
        } == found


def test_indices_are_those_of_an_in_process_write(spark: SparkSession, tmp_path: Path) -> None:
    """Spark and this process give the same index over the same partitions, nulls left out in both."""
    frame = numbers(spark).selectExpr("p", "x", "if(x < 20, null, i1) AS i1")
    settings = {"partition_on": "p", "secondary_indices": "i1", "shuffle": True}
    found = []
    for uuid, data in (("s", frame), ("a", frame.toArrow())):
        index = write_dataset(data, uuid, tmp_path, **settings).load_index("i1").table.to_pydict()
        found.append({v: {n.split("/")[0] for n in names} for v, names in zip(*index.values(), strict=True)})
    assert found[0] == found[1]
    assert None not in found[0]


def test_long_index_values_are_staged_and_cleared(spark: SparkSession, tmp_path: Path) -> None:
    """More distinct values than fit a task's answer reach the index as well, and nothing of them stays behind."""
    dataset = write_dataset(
        numbers(spark, 20_000, 2), "d", tmp_path, partition_on="p", secondary_indices="x", shuffle=True
    )
    assert dataset.load_index("x").table["x"].to_pylist() == list(range(20_000))
    assert len(dataset.load_index("x").eval_operator("==", 7)) == 1
    assert not [path for path in tmp_path.rglob("*.staged") if "staged" in path.parts]


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_files_are_sorted_in_row_groups(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """Rows of every file come in the order of ``sort_by``, nulls included, in row groups of the size asked for."""
    frame = numbers(spark).selectExpr("p", "if(x % 10 = 0, null, -x) AS x", "i1")
    dataset = write_dataset(
        frame, "d", tmp_path, partition_on="p", sort_by=["i1", "x"], shuffle=shuffle, rows_per_row_group=10
    )
    for label, table in files(dataset, tmp_path).items():
        cells = [(i1, x is None, x or 0) for i1, x in zip(table["i1"].to_pylist(), table["x"].to_pylist(), strict=True)]
        assert cells == sorted(cells)
        metadata = pq.read_metadata(tmp_path / dataset.partitions[label].files["table"])
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        assert set(sizes[:-1]) <= {10}
        assert sizes[-1] <= 10


@pytest.mark.parametrize("bucket_by", ["i1", ()], ids=["i1", "all columns"])
def test_buckets(spark: SparkSession, tmp_path: Path, bucket_by: Any) -> None:
    """A partition has at most so many files, more than one is used, and equal values share one."""
    dataset = write_dataset(
        numbers(spark), "d", tmp_path, partition_on="p", shuffle=True, bucket_by=bucket_by, num_buckets=3
    )
    counts = Counter(label.split("/")[0] for label in dataset.partitions)
    assert set(counts.values()) <= {2, 3}
    assert rows(dataset.scan().to_arrow()) == rows(expected_numbers())
    if bucket_by:
        places = Counter(
            (label.split("/")[0], value)
            for label, table in files(dataset, tmp_path).items()
            for value in set(table["i1"].to_pylist())
        )
        assert set(places.values()) == {1}


@pytest.mark.parametrize("partition_on", [(), ("p",)], ids=["unpartitioned", "partitioned"])
def test_empty_frames(spark: SparkSession, tmp_path: Path, partition_on: tuple[str, ...]) -> None:
    """A frame without rows makes a dataset with its types, to which rows can be added."""
    empty = numbers(spark).where("x < 0")
    dataset = write_dataset(empty, "d", tmp_path, partition_on=partition_on, secondary_indices="i1", shuffle=True)
    assert len(dataset.partitions) == (0 if partition_on else 1)
    assert dataset.scan().to_arrow().num_rows == 0
    assert dataset.schema.field("v1").type == pa.float64()
    dataset = update_dataset(numbers(spark), "d", tmp_path)
    assert dataset.scan().to_arrow().num_rows == 200
    assert len(dataset.load_index("i1")) == VALUES


TEXTS = ["a/b", "50%", "%2F", "k=v", "a b", " ", "ü", "東京", "+", "", "..", "a\nb", "a'b\"c", "*?[x]{y}", "None"]


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_any_text_can_be_a_partition_value(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """Values with slashes, percent signs, spaces and the like come back, in-process and on Spark."""
    table = pa.table({"p": TEXTS, "q": TEXTS[::-1], "v1": range(len(TEXTS))})
    dataset = write_dataset(
        spark.createDataFrame(table), "d", tmp_path, partition_on=["p", "q"], secondary_indices="v1", shuffle=shuffle
    )
    assert rows(dataset.scan().to_arrow()) == rows(table)
    assert spark_rows(dataset.scan().to_spark(spark)) == rows(table)
    assert spark_rows(dataset.scan(where=[[("p", "in", ["a/b", "ü"])]]).to_spark(spark)) == rows(
        table.filter(pa.array([text in ("a/b", "ü") for text in TEXTS]))
    )


def test_text_that_sorts_as_equal_stays_apart(spark: SparkSession, tmp_path: Path) -> None:
    """Partition values that a collation takes for equal are separate partitions of one file each."""
    made = numbers(spark).selectExpr("if(x % 2 = 0, 'a', 'A') COLLATE utf8_lcase AS p", "x")
    dataset = write_dataset(made, "d", tmp_path, partition_on="p", shuffle=True)
    assert sorted(label.split("/")[0] for label in dataset.partitions) == ["p=A", "p=a"]


NAMES = ["a.b", "a`b", "ü", "x y", "select", "a/b", "a=b", "100%", "#"]


@pytest.mark.parametrize("role", ["payload", "partition", "index and order", "bucket"])
def test_any_text_can_be_a_column_name(spark: SparkSession, tmp_path: Path, role: str) -> None:
    """Names that SQL has to quote work as columns of every kind, and are read back."""
    table = pa.table({name: [1, 2, 2] for name in NAMES} | {"v1": [1, 2, 3]})
    roles: dict[str, dict[str, Any]] = {
        "payload": {},
        "partition": {"partition_on": NAMES},
        "index and order": {"secondary_indices": NAMES, "sort_by": NAMES},
        "bucket": {"bucket_by": NAMES, "num_buckets": 2},
    }
    dataset = write_dataset(spark.createDataFrame(table), "d", tmp_path, shuffle=True, **roles[role])
    expected = rows(table.select(dataset.schema.names))
    assert rows(dataset.scan().to_arrow()) == expected
    assert spark_rows(dataset.scan().to_spark(spark)) == expected


def test_many_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """A task writes hundreds of partitions one after the other."""
    frame = spark.range(0, 1200, 1, 2).selectExpr("id % 300 AS p", "id AS x")
    dataset = write_dataset(frame, "d", tmp_path, partition_on="p", sort_by="x", shuffle=True, secondary_indices="x")
    assert len(dataset.partitions) == 300
    assert {part.rows for part in dataset.partitions.values()} == {4}
    found = dataset.scan(where="x in (7, 1199)").to_arrow()
    assert rows(found) == [(299, 1199), (7, 7)]


def test_update_adds_and_deletes_in_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    """New rows replace the partitions that the scope selects; the others stay as they were."""
    first = write_dataset(numbers(spark), "d", tmp_path, partition_on="p", secondary_indices="i1", shuffle=True)
    new = numbers(spark).where("p = 1").selectExpr("p", "i1", "v1 + 1000 AS v1", "x")
    dataset = update_dataset(new, "d", tmp_path, delete_scope=[{"p": 1}], shuffle=True)
    assert dataset.version == first.version + 1
    expected = [(p, i1, v1 + 1000 if p == 1 else v1, x) for p, i1, v1, x in rows(expected_numbers())]
    assert rows(dataset.scan().to_arrow()) == sorted(expected, key=repr)


def both(spark: SparkSession) -> dict[str, DataFrame]:
    """Rows of two tables that share p, i1 and, in another width, x."""
    core = numbers(spark)
    return {"core": core, "helper": core.where("x < 30 OR p = 2").selectExpr("p", "i1", "CAST(x AS INT) AS x")}


def table_rows(dataset: Dataset, table: str, columns: Sequence[str]) -> Rows:
    """Rows of a table, in-process."""
    return rows(dataset.scan(columns, table=table).to_arrow())


def test_tables_are_paired(spark: SparkSession, tmp_path: Path) -> None:
    """Each partition has every table, and an index covers them all; updates too."""
    tables = {**both(spark), "other": numbers(spark).where("p = 0").selectExpr("p", "v1 AS w1")}
    write_dataset(tables, "d", tmp_path, partition_on="p", secondary_indices=["i1", "w1"], shuffle=True, sort_by="x")
    dataset = update_dataset(tables, "d", tmp_path, delete_scope=[{"p": 0}, {"p": 2}], shuffle=True)
    counts = Counter(label.split("/")[0] for label in dataset.partitions)
    assert counts == {"p=0": 1, "p=1": 2, "p=2": 1}
    assert all(set(part.files) == {"core", "helper", "other"} for part in dataset.partitions.values())
    once = rows(tables["core"].select("p", "i1", "x").toArrow())
    assert table_rows(dataset, "core", ["p", "i1", "x"]) == sorted(once + [r for r in once if r[0] == 1], key=repr)
    assert {row[0] for row in table_rows(dataset, "other", ["p"])} == {0}
    assert len(dataset.load_index("i1")) == VALUES


def test_buckets_of_several_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Equal values are in one partition whatever their table and their width there."""
    tables = both(spark)
    settings = {"partition_on": "p", "shuffle": True, "bucket_by": "x", "num_buckets": 3}
    dataset = write_dataset(tables, "d", tmp_path, secondary_indices="x", **settings)
    assert set(Counter(label.split("/")[0] for label in dataset.partitions).values()) <= {2, 3}
    assert all(len(labels) == 1 for labels in dataset.load_index("x").table["partition"].to_pylist())
    assert table_rows(dataset, "helper", ["p", "i1", "x"]) == rows(tables["helper"].toArrow())


def test_tables_that_cannot_be_paired(spark: SparkSession, tmp_path: Path) -> None:
    """Without a shuffle, or where some tables are no Spark DataFrames, nothing is written."""
    tables = both(spark)
    with pytest.raises(InvalidInputError, match="shuffle=True"):
        write_dataset(tables, "d", tmp_path, partition_on="p")
    with pytest.raises(InvalidInputError, match="core only"):
        write_dataset({**tables, "helper": expected_numbers()}, "d", tmp_path, partition_on="p", shuffle=True)
    with pytest.raises(InvalidInputError, match="one mapping"):
        write_dataset([tables], "d", tmp_path, partition_on="p", shuffle=True)
    with pytest.raises(InvalidInputError, match="Element 0"):
        write_dataset([tables["core"]], "d", tmp_path, partition_on="p", shuffle=True)
    assert not left_behind(tmp_path)


def test_tables_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    """An unpartitioned dataset has one partition with a file per table, a partitioned one none."""
    empty = {table: frame.where("x < 0") for table, frame in both(spark).items()}
    for uuid, partition_on, partitions in (("a", (), 1), ("b", "p", 0)):
        dataset = write_dataset(empty, uuid, tmp_path, partition_on=partition_on, shuffle=True)
        assert (dataset.tables, len(dataset.partitions)) == (("core", "helper"), partitions)
        assert dataset.scan(table="helper").schema.field("x").type == pa.int64()


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_zeros_are_one_partition(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """Zeros of either sign are equal, so they are cut as one partition; buckets take them for equal too."""
    frame = spark.range(0, 40, 1, 1).selectExpr(
        "if(id % 4 < 2, double(id % 4), -0.0D) AS p", "if(id % 2 = 0, 0D, -0D) AS x"
    )
    buckets: dict[str, Any] = {"shuffle": True, "bucket_by": "x", "num_buckets": 5} if shuffle else {}
    dataset = write_dataset(frame, "d", tmp_path, partition_on="p", **buckets)
    assert [label.split("/")[0] for label in dataset.partitions] == ["p=0.0", "p=1.0"]
    assert [part.rows for part in dataset.partitions.values()] == [30, 10]


def test_buckets_of_nulls(spark: SparkSession, tmp_path: Path) -> None:
    """Null is a value like any other to buckets, also where all of them are."""
    frame = numbers(spark).selectExpr("p", "x", "if(x % 3 = 0, null, x % 5) AS i1", "null AS v1")
    dataset = write_dataset(frame, "d", tmp_path, shuffle=True, bucket_by=["i1", "v1"], num_buckets=4)
    places = [(i1, label) for label, t in files(dataset, tmp_path).items() for i1 in set(t["i1"].to_pylist())]
    assert len(dataset.partitions) > 1
    assert len(places) == 6


def test_partitions_are_staged_and_committed(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark has staged is pickled, and committed with what this process has staged."""
    empty = create_empty_dataset(numbers(spark).schema, "d", tmp_path, partition_on="p", secondary_indices="i1")
    assert empty.schema.field("x").type == pa.int64()
    first = write_partitions(numbers(spark).where("x < 100"), "d", tmp_path, shuffle=True)
    second = write_partitions(expected_numbers().slice(100), "d", tmp_path)
    dataset = commit_dataset("d", tmp_path, new_partitions=[pickle.loads(pickle.dumps(first)), second])
    assert rows(dataset.scan().to_arrow()) == rows(expected_numbers())
    assert len(dataset.load_index("i1")) == VALUES


def test_update_creates_what_is_absent(spark: SparkSession, tmp_path: Path) -> None:
    """An update of a dataset that is not there writes it."""
    dataset = update_dataset(numbers(spark), "d", tmp_path, partition_on="p", secondary_indices="i1")
    assert (dataset.version, dataset.partition_keys, dataset.index_columns) == (1, ("p",), ("i1",))


def test_update_with_other_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """An update that does not fit the schema says how they differ, before any task runs."""
    dataset = write_dataset(numbers(spark), "d", tmp_path)
    with pytest.raises(SchemaError, match=r"-v1: double\n\+v1: string"):
        update_dataset(numbers(spark).selectExpr("x", "p", "i1", "string(v1) AS v1"), "d", tmp_path)
    assert open_dataset("d", tmp_path).version == dataset.version


def test_a_dataset_can_be_rewritten_from_itself(spark: SparkSession, tmp_path: Path) -> None:
    """The old files stay, so that a frame over them can replace them."""
    dataset = write_dataset(numbers(spark), "d", tmp_path)
    again = write_dataset(dataset.scan().to_spark(spark), "d", tmp_path, partition_on="p", shuffle=True, overwrite=True)
    assert rows(again.scan().to_arrow()) == rows(expected_numbers())


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffle", "as is"])
def test_input_is_evaluated_once(spark: SparkSession, tmp_path: Path, shuffle: bool) -> None:
    """Every row is made once, so that rows that come out differently each time are stored consistently."""
    made = tmp_path / "made"
    made.mkdir()

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            (made / f"{batch.num_rows}-{uuids.uuid4().hex}").touch()
            yield batch

    frame = (
        numbers(spark, tasks=2)
        .mapInArrow(count, "x long, p long, i1 string, v1 double")
        .selectExpr("p", "uuid() AS i1")
    )
    dataset = write_dataset(
        frame, "d", tmp_path / "store", partition_on="p", secondary_indices="i1", sort_by="i1", shuffle=shuffle
    )
    assert sum(int(path.name.split("-")[0]) for path in made.iterdir()) == 200
    stored = [value for table in files(dataset, tmp_path / "store").values() for value in table["i1"].to_pylist()]
    assert sorted(stored) == dataset.load_index("i1").table["i1"].to_pylist()


def failing_after(batches_before: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A step that passes on so many batches and then fails."""

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number >= batches_before:
                raise ZeroDivisionError("the next batch has bad rows")
            yield batch

    return fail


@pytest.mark.parametrize("settings", [{}, {"partition_on": "p"}, {"partition_on": "p", "shuffle": True}], ids=str)
def test_a_failing_input_leaves_nothing(spark: SparkSession, tmp_path: Path, settings: dict[str, Any]) -> None:
    """Where a step before the write fails half-way, no dataset and no data file is left, and settings are as before."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    with setting(spark, name, "70000"):
        steps = numbers(spark, 200_000, 1).drop("i1", "v1").mapInArrow(failing_after(1), "x long, p long")
        with pytest.raises(Exception, match="the next batch has bad rows"):
            write_dataset(steps, "d", tmp_path, **settings)
        assert spark.conf.get(name) == "70000"
    with pytest.raises(DatasetNotFoundError):
        open_dataset("d", tmp_path)
    assert not left_behind(tmp_path)


def test_nulls_in_a_partition_column_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The error says which column and comes typed to the driver; files of other tasks are taken back."""
    frame = numbers(spark).selectExpr("if(x = 150, null, p) AS p", "x")
    with pytest.raises(NullValueError, match="'p'") as caught:
        write_dataset(frame, "d", tmp_path, partition_on="p")
    assert caught.value.column == "p"
    assert not left_behind(tmp_path)


@pytest.mark.parametrize("error", [OSError, StoreError], ids=lambda kind: kind.__name__)
def test_a_retried_task_is_committed_once(spark: SparkSession, tmp_path: Path, error: type[Exception]) -> None:
    """A task that fails after its first files is run again by Spark; each row is in the dataset once."""
    store = FlakyStore(tmp_path / "store", fails="p=2", times=1, marker=str(tmp_path), error=error)
    dataset = write_dataset(numbers(spark, tasks=1), "d", store, partition_on="p")
    assert (tmp_path / "1").exists()
    assert rows(dataset.scan().to_arrow()) == rows(expected_numbers())
    assert len(dataset.partitions) == PARTITIONS


def test_a_store_that_stays_broken_is_a_typed_error(spark: SparkSession, tmp_path: Path) -> None:
    """When Spark gives up, the store's error arrives as what it is, and files of all attempts are taken back."""
    store = FlakyStore(tmp_path / "store", fails="p=2", times=99, marker=str(tmp_path), error=StoreError)
    with pytest.raises(StoreError, match="refused"):
        write_dataset(numbers(spark, tasks=1), "d", store, partition_on="p")
    assert (tmp_path / "2").exists()
    assert not left_behind(tmp_path / "store")


def test_a_store_in_memory_is_refused(spark: SparkSession) -> None:
    """Tasks cannot reach this process's memory, and the error says so before any of them starts."""
    store = Store(f"memory://{uuids.uuid4().hex}")
    with pytest.raises(StoreError, match="lives in this process"):
        write_dataset(numbers(spark), "d", store)
    assert not list(store.list())
