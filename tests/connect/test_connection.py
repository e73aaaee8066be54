"""What only Spark Connect has: a server elsewhere, its limits, its own process, and what it tells of its work."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kubothek import open_dataset, write_dataset
from kubothek.engine.spark.session import attempts, context, cores
from kubothek.errors import StoreError
from kubothek.spark import ship
from kubothek.spark.progress import StageTasks, watch_tasks
from kubothek.store.directory import DirectoryStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_SERVER = """
import sys
from kubothek import open_dataset, write_dataset
from kubothek.spark import local_session

spark = local_session(remote="local[1]", memory="512m", config={"spark.sql.shuffle.partitions": "1"})
assert type(spark).__module__.startswith("pyspark.sql.connect")
frame = spark.createDataFrame([(1, 2.0), (2, 3.0)], "x long, v1 double")
write_dataset(frame, "d", sys.argv[1], partition_on="x")
print(open_dataset("d", sys.argv[1]).scan(where="v1 > 2").to_spark(spark).collect())
spark.stop()
"""


class Elsewhere(DirectoryStore):
    """A directory that is another one on any machine that it is sent to."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Arrive as the other directory."""
        return DirectoryStore, (f"{self.root}-elsewhere",)


def test_the_session_is_a_clients(spark: SparkSession) -> None:
    """It has no JVM of its own; how many tasks the server runs at once and how often it tries is known all the same."""
    assert context(spark) is None
    assert (cores(spark), attempts(spark)) == (2, 2)


def test_a_server_on_this_machine_needs_only_its_name(tmp_path: Path) -> None:
    """``local_session(remote="local[1]")`` starts one that finds Java and this Python, and ends with the program."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    command = [sys.executable, "-W", "error::UserWarning", "-c", LOCAL_SERVER, str(tmp_path)]
    done = subprocess.run(command, env=ours, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[Row(x=2, v1=3.0)]"


def test_a_directory_that_the_server_does_not_share(spark: SparkSession, tmp_path: Path) -> None:
    """Files that its tasks wrote to a directory of the same name elsewhere are missed before the commit."""
    store = Elsewhere(str(tmp_path))
    with pytest.raises(StoreError, match="another directory"):
        write_dataset(spark.range(4).withColumnRenamed("id", "x"), "d", store)
    assert not list(tmp_path.rglob("*.by-dataset-metadata.*"))


def test_hundreds_of_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """More units than tasks, a task with many of them, and files that are named in no message of their own."""
    rows_in = pa.table({"x": range(600), "p": [x // 2 for x in range(600)]})
    data = write_dataset(rows_in, "d", tmp_path, partition_on="p")
    frame = data.scan(where="x != 1").to_spark(spark)
    assert frame.agg({"x": "sum", "p": "max"}).collect()[0].asDict() == {"sum(x)": sum(range(600)) - 1, "max(p)": 299}


def test_progress_is_told(spark: SparkSession) -> None:
    """The server tells of the tasks of a job that takes some seconds, and of none afterwards."""
    seen: list[StageTasks] = []

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(2.5)
        yield from batches

    with watch_tasks(spark, seen.append):
        spark.range(0, 4, 1, 4).mapInArrow(wait, "id long").count()
    assert max(tasks.total for tasks in seen) == 4
    assert 0 < max(tasks.done for tasks in seen) < 4
    assert seen[-1] == StageTasks(0, 0, 0)


def test_the_package_is_sent_to_the_server_for_one_session(spark: SparkSession, server: str, tmp_path: Path) -> None:
    """Tasks of the session that sent it run what was sent, those of others what is installed there."""

    def places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"place": [importlib.import_module("kubothek").__file__]})

    sender = type(spark).builder.remote(server).create()
    ship(sender)
    used = [one.range(1).mapInArrow(places, "place string").collect()[0].place for one in (sender, spark)]
    write_dataset(sender.range(5).withColumnRenamed("id", "x"), "d", tmp_path)
    sender.stop()
    assert [".zip/" in place for place in used] == [True, False]
    assert open_dataset("d", tmp_path).scan().to_arrow().num_rows == 5
