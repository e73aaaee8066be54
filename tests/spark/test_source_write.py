"""DataFrames written by ``format("kubothek")``: what is stored, what the modes do, and what failures leave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark.answers import left_behind, rows, setting, spark_rows

import kubothek as kb
from kubothek import Cube
from kubothek.spark import register
from kubothek.spark.source.writer import OVERWRITE_MODE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

Row = tuple[Any, ...]
ZONE = "spark.sql.session.timeZone"
MIDNIGHT = datetime(2024, 1, 1, 5, tzinfo=UTC)
"""In New York."""


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    """Make the format known to the session."""
    register(spark)


def numbers(spark: SparkSession, start: int = 0, stop: int = 60, partitions: int = 3) -> DataFrame:
    """Rows ``p``, ``v1``, ``x`` whose columns follow from ``x``, in four tasks, in no useful order."""
    made = spark.range(start, stop, 1, 4)
    return made.selectExpr(f"id % {partitions} AS p", "id / 2 AS v1", "id AS x")


def expected(start: int = 0, stop: int = 60, partitions: int = 3) -> list[Row]:
    """The rows of :func:`numbers`, by plain Python."""
    return sorted((x % partitions, x / 2, x) for x in range(start, stop))


def found(place: Path, uuid: str = "d") -> list[Row]:
    """All rows of a dataset, read in this process."""
    table = kb.open_dataset(uuid, place).scan().to_arrow()
    return sorted(zip(*(table[name].to_pylist() for name in ("p", "v1", "x")), strict=True))


def writer(frame: DataFrame, mode: str = "append", **options: Any) -> DataFrameWriter:
    """Return the writer of a frame to dataset ``d``."""
    return frame.write.format("kubothek").mode(mode).options(**{"dataset": "d", **options})


def slow_frame(spark: SparkSession, marks: Path, *, fails: bool = False) -> DataFrame:
    """Rows of three tasks, of which the first ends at once and says so; the others wait for a file ``go``, or fail."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            x = batch.column(0).to_pylist()[0]
            give_up = time.monotonic() + 120
            while x and not (marks / "go").exists() and time.monotonic() < give_up:
                time.sleep(0.05)
            if x and fails:
                raise ValueError("this task fails")
            yield pa.record_batch({"p": pa.array([x % 2]), "v1": [x / 2], "x": pa.array([x])})

    return spark.range(0, 3, 1, 3).mapInArrow(make, "p long, v1 double, x long")


@contextmanager
def meanwhile(act: Callable[[], object], place: Path) -> Iterator[None]:
    """Act once the first task of :func:`slow_frame` has written its file, and let the others go on.

    The job itself is run by this thread, as Spark finds formats only where the session is active.
    """
    before = len(data_files(place))

    def run() -> None:
        give_up = time.monotonic() + 100
        while len(data_files(place)) == before and time.monotonic() < give_up:
            time.sleep(0.05)
        act()
        (place / "go").touch()

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(run)
        yield
        done.result()


def data_files(place: Path) -> list[Path]:
    """All data files that are there."""
    return list(place.rglob("*.parquet"))


def test_modes_and_options(spark: SparkSession, tmp_path: Path) -> None:
    """Append creates and adds, overwrite replaces partitions or everything, a delete scope goes along, each at once."""
    place = str(tmp_path)
    writer(numbers(spark), partition_on="p", secondary_indices="x", metadata='{"who": "me"}').save(place)
    assert found(tmp_path) == expected()
    writer(numbers(spark, 60, 80)).save(place)
    assert found(tmp_path) == expected(0, 80)
    writer(numbers(spark, 100, 110).where("p < 2"), "overwrite", partitionOverwriteMode="dynamic").save(place)
    left = [row for row in expected(0, 80) if row[0] == 2] + [row for row in expected(100, 110) if row[0] < 2]
    assert found(tmp_path) == sorted(left)
    writer(numbers(spark, 200, 210), delete_scope="p in (0, 1)").save(place)
    assert found(tmp_path) == sorted([row for row in left if row[0] == 2] + expected(200, 210))
    dataset = kb.open_dataset("d", tmp_path)
    assert (dataset.version, dataset.metadata["who"]) == (4, "me")
    assert len(dataset.load_index("x").eval_operator("==", 203)) == 1
    writer(numbers(spark, 300, 310), "overwrite").save(place)
    dataset = kb.open_dataset("d", tmp_path)
    assert (found(tmp_path), dataset.version, dataset.partition_keys) == (expected(300, 310), 5, ())


def test_a_session_that_replaces_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own setting decides what an overwrite replaces where no option does."""
    writer(numbers(spark), partition_on="p").save(str(tmp_path))
    with setting(spark, OVERWRITE_MODE, "dynamic"):
        writer(numbers(spark, 90, 99).where("p = 1"), "overwrite").save(str(tmp_path))
    assert found(tmp_path) == sorted(row for row in expected() + expected(90, 99) if (row[0] == 1) == (row[2] >= 90))


def test_sql_inserts_into_a_view(spark: SparkSession, tmp_path: Path) -> None:
    """A view of the format takes rows by INSERT INTO, and others in their place by INSERT OVERWRITE."""
    place = str(tmp_path)
    writer(numbers(spark), partition_on="p").save(place)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW d USING kubothek OPTIONS (store '{place}', dataset 'd')")
    spark.sql("INSERT INTO d VALUES (1, 0.5, 1000)")
    assert found(tmp_path) == sorted([*expected(), (1, 0.5, 1000)])
    spark.sql("INSERT OVERWRITE d SELECT 1L, 7D, 7L")
    assert found(tmp_path) == [(1, 7.0, 7)]
    spark.sql("DROP VIEW d")


def test_modes_that_spark_refuses(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself says that a mode must be chosen, and that partitions are not its own to choose."""
    plain = numbers(spark).write.format("kubothek").option("dataset", "d")
    for mode in ("errorifexists", "ignore"):
        with pytest.raises(Exception, match='Please use either the "Append" or "Overwrite" mode'):
            plain.mode(mode).save(str(tmp_path))
    with pytest.raises(Exception, match="partitioning or clustering columns do not match"):
        plain.mode("append").partitionBy("p").save(str(tmp_path))
    assert not list(tmp_path.iterdir())


TYPES = {
    "instant": ("TIMESTAMP'2024-07-01 12:00:00.000001'", datetime(2024, 7, 1, 16, 0, 0, 1, tzinfo=UTC)),
    "clock": ("TIMESTAMP_NTZ'2024-03-10 02:30:00'", datetime(2024, 3, 10, 2, 30)),  # noqa: DTZ001  what is tested
    "day": ("DATE'0001-01-01'", date(1, 1, 1)),
    "time": ("TIME'23:59:59.999999'", clock_time(23, 59, 59, 999999)),
    "decimal": ("CAST(-1.50 AS DECIMAL(10, 2))", Decimal("-1.50")),
    "byte": ("-128Y", -128),
    "float": ("float(0.1)", 0.10000000149011612),
    "text": ("CAST('ab' AS VARCHAR(3))", "ab"),
    "bytes": ("X'00FF'", b"\x00\xff"),
    "nothing": ("null", None),
    "list": ("array(TIME'01:02:03', null)", [clock_time(1, 2, 3), None]),
    "struct": ("named_struct('b', 1Y, 'a', array(TIMESTAMP'2024-01-01 00:00:00'))", {"b": 1, "a": [MIDNIGHT]}),
}


def test_values_of_all_kinds_are_stored_as_by_the_api(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the session's zone, values and schema are those that ``write_dataset`` stores of the same DataFrame."""
    with setting(spark, ZONE, "America/New_York"), setting(spark, "spark.sql.timeType.enabled", "true"):
        frame = spark.sql("SELECT " + ", ".join(f"{how} AS `{name}`" for name, (how, _) in TYPES.items()))
        writer(frame).save(str(tmp_path))
        api = kb.write_dataset(frame, "api", tmp_path)
    dataset = kb.open_dataset("d", tmp_path)
    assert dataset.schema == api.schema
    assert rows(dataset.scan(sorted(TYPES)).to_arrow()) == [tuple(TYPES[name][1] for name in sorted(TYPES))]


def test_what_spark_reads_it_can_append(spark: SparkSession, tmp_path: Path) -> None:
    """Unsigned integers and times, which Spark shows as decimals and texts, come back to their columns as they were."""
    noon = datetime(2024, 7, 1, 12, tzinfo=UTC)
    data = pa.table(
        {
            "u": pa.array([0, 2**64 - 1], pa.uint64()),
            "l": pa.array([[2**64 - 1], None], pa.list_(pa.uint64())),
            "t": pa.array([1, 86_399_999_999], pa.time64("us")),
            "i": pa.array([noon, None], pa.timestamp("us", "UTC")),
            "d": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        }
    )
    kb.write_dataset(data, "d", tmp_path)
    with setting(spark, ZONE, "Asia/Kathmandu"):
        frame = spark.read.format("kubothek").option("dataset", "d").load(str(tmp_path))
        writer(frame).save(str(tmp_path))
    dataset = kb.open_dataset("d", tmp_path)
    assert rows(dataset.scan().to_arrow()) == sorted([*rows(dataset.scan().to_arrow())[::2]] * 2, key=repr)
    assert dataset.scan(["u"]).to_arrow()["u"].to_pylist().count(2**64 - 1) == 2


def test_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """A frame without rows makes an empty dataset with its columns, or makes one empty."""
    none = spark.createDataFrame([], "p long, v1 double, x long")
    writer(none).save(str(tmp_path))
    assert found(tmp_path) == []
    kb.write_dataset(numbers(spark).toArrow(), "d", tmp_path, partition_on="p", overwrite=True)
    writer(none, "overwrite", partition_on="p").save(str(tmp_path))
    dataset = kb.open_dataset("d", tmp_path)
    assert (found(tmp_path), dataset.partition_keys, dataset.version) == ([], ("p",), 3)


def test_many_partitions_from_every_task(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks that have rows of all partitions write one file for each, sorted as asked, whatever order rows come in."""
    frame = numbers(spark, 0, 4000, 100).orderBy("v1", ascending=False).repartition(4)
    writer(frame, partition_on="p", sort_by="x").save(str(tmp_path))
    dataset = kb.open_dataset("d", tmp_path)
    assert found(tmp_path) == expected(0, 4000, 100)
    counts = Counter(label.split("/")[0] for label in dataset.partitions)
    assert len(counts) == 100
    assert max(counts.values()) <= 4
    for values in (table["x"].to_pylist() for _, table in dataset.scan(["x"]).groups()):
        assert values == sorted(values)


def test_rows_that_cannot_be_stored(spark: SparkSession, tmp_path: Path) -> None:
    """The error of the first task that met them is told with its type and what to do; nothing is left."""
    frame = numbers(spark).selectExpr("if(x = 41, null, p) AS p", "v1", "x")
    with pytest.raises(Exception, match=r"NullValueError: The partition column 'p' of 'd' has no value") as caught:
        writer(frame, partition_on="p").save(str(tmp_path))
    assert "nothing was committed" in str(caught.value)
    assert left_behind(tmp_path) == []


def test_what_does_not_fit_is_told_before_the_job(spark: SparkSession, tmp_path: Path) -> None:
    """Types, columns and options are refused without a job."""
    kb.write_dataset(pa.table({"p": ["a"], "x": [1]}), "d", tmp_path)
    before = spark.sparkContext.statusTracker().getJobIdsForGroup()
    for options, says in (
        ({}, "SchemaError.*does not fit"),
        ({"delete_scop": "p == 1"}, "did you mean 'delete_scope'"),
    ):
        with pytest.raises(Exception, match=rf"(?s){says}"):
            writer(numbers(spark), **options).save(str(tmp_path))
    assert spark.sparkContext.statusTracker().getJobIdsForGroup() == before


def test_a_task_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """What other tasks had written is found and removed, and the dataset is as it was."""
    with meanwhile(lambda: None, tmp_path), pytest.raises(Exception, match="this task fails"):
        writer(slow_frame(spark, tmp_path, fails=True), partition_on="p").save(str(tmp_path))
    assert left_behind(tmp_path) == []


def test_a_task_that_is_tried_again_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of an attempt that failed after it had given all of them are not committed."""

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and context.partitionId() == 1:
            raise ValueError("another attempt will do")

    frame = numbers(spark)
    writer(frame.mapInArrow(fail_once, frame.schema), partition_on="p").save(str(tmp_path))
    assert found(tmp_path) == expected()
    assert kb.open_dataset("d", tmp_path).version == 1


def test_what_others_append_during_the_job_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """A commit of the API while tasks run is there afterwards, and so are the rows of the job."""
    kb.write_dataset(pa.table({"p": [5], "v1": [5.0], "x": [5]}), "d", tmp_path, partition_on="p")
    more = pa.table({"p": [6], "v1": [6.0], "x": [6]})
    with meanwhile(lambda: kb.update_dataset(more, "d", tmp_path), tmp_path):
        writer(slow_frame(spark, tmp_path)).save(str(tmp_path))
    assert found(tmp_path) == [(0, 0.0, 0), (0, 1.0, 2), (1, 0.5, 1), (5, 5.0, 5), (6, 6.0, 6)]
    assert [entry.operation for entry in kb.open_dataset("d", tmp_path).history()].count("update_dataset") == 2


def test_another_dataset_in_its_place_is_a_conflict(spark: SparkSession, tmp_path: Path) -> None:
    """Who appends to what was overwritten meanwhile is told so, and leaves nothing."""
    kb.write_dataset(pa.table({"p": [5], "v1": [5.0], "x": [5]}), "d", tmp_path, partition_on="p")
    with (
        meanwhile(lambda: kb.write_dataset(pa.table({"z": [1]}), "d", tmp_path, overwrite=True), tmp_path),
        pytest.raises(Exception, match="CommitConflictError: 'update_dataset'"),
    ):
        writer(slow_frame(spark, tmp_path)).save(str(tmp_path))
    assert len(data_files(tmp_path)) == 2


def test_a_job_that_is_cancelled_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """What the tasks that had ended have written is removed, and nothing is committed."""
    seen: list[Path] = []

    def cancel() -> None:
        seen.extend(data_files(tmp_path))
        spark.sparkContext.cancelAllJobs()

    with meanwhile(cancel, tmp_path), pytest.raises(Exception, match=r"(?i)cancel"):
        writer(slow_frame(spark, tmp_path), partition_on="p").save(str(tmp_path))
    # A task that is being killed may write one more file, which is garbage.
    assert seen
    assert not any(path.exists() for path in seen)
    assert not list(tmp_path.glob("*.by-dataset-metadata.*"))


def test_a_cube_gets_rows_and_enrichments(spark: SparkSession, tmp_path: Path) -> None:
    """Datasets of a cube are appended to, replaced by partition and created; a cell of two tasks is refused."""
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    kb.build_cube(numbers(spark).toArrow(), cube, tmp_path)
    place, more = str(tmp_path), {"cube": "c", "dataset": "seed"}
    writer(numbers(spark, 60, 70), **more).save(place)
    dynamic = {**more, "partitionOverwriteMode": "dynamic"}
    writer(numbers(spark, 90, 99).where("p = 1"), "overwrite", **dynamic).save(place)
    late = numbers(spark, 0, 70).selectExpr("p", "x", "x > 50 AS late")
    writer(late.repartition("p").sortWithinPartitions("p", "x"), "overwrite", cube="c", dataset="late").save(place)
    with pytest.raises(Exception, match="DuplicateCellsError"):
        writer(numbers(spark, 0, 9).union(numbers(spark, 0, 9)), **more).save(place)
    cells = [row for row in expected(0, 70) if row[0] != 1] + [row for row in expected(90, 99) if row[0] == 1]
    answer = kb.query_cube(cube, tmp_path).to_arrow()
    assert sorted(zip(*(answer[n].to_pylist() for n in ("p", "v1", "x", "late")), strict=True), key=repr) == sorted(
        ((*row, None if row[2] >= 70 else row[2] > 50) for row in cells), key=repr
    )
    assert kb.check_cube(cube, tmp_path) == []
    assert len(spark_rows(spark.read.format("kubothek").option("cube", "c").load(place))) == len(cells)
