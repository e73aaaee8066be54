"""Tasks that fail, hang or lose their executor: every row is there once, in one commit, and what is left is known."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cluster.standalone import Cluster
from tests.cluster.troubled import TroubledStore

import kubothek as kb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 4000
PATIENCE = 120


@pytest.fixture
def markers(tmp_path: Path) -> Path:
    """Give a folder for the files that tell which trouble was met."""
    (tmp_path / "markers").mkdir()
    return tmp_path / "markers"


def write(spark: SparkSession, folder: Path, markers: Path, troubles: Sequence[str]) -> None:
    """Write two partitions in four tasks that meet troubles when each has written its first file."""
    store = TroubledStore(folder / "store", troubles=troubles, markers=markers)
    frame = spark.range(0, ROWS, 1, 4).selectExpr("id % 2 AS p", "id AS x", "id % 10 AS i1")
    kb.write_dataset(frame, "d", store, partition_on="p", secondary_indices="i1")


def check(folder: Path) -> None:
    """See every row once, one commit, nothing wrong, and leftovers that nothing refers to."""
    dataset = kb.open_dataset("d", folder / "store")
    rows = dataset.scan().to_arrow()
    assert sorted(rows["x"].to_pylist()) == list(range(ROWS))
    assert (dataset.version, len(dataset.history()), len(dataset.partitions)) == (1, 1, 8)
    assert len(dataset.load_index("i1").eval_operator("==", 3)) == 4
    assert kb.verify_dataset("d", folder / "store") == []
    unused = kb.garbage_collect_dataset("d", folder / "store", older_than=timedelta(0), dry_run=True)
    assert any("/p=0/" in key for key in unused)
    assert not [key for key in unused if any(label in key for label in dataset.partitions)]


def test_tasks_that_fail_and_workers_that_die_are_repeated(spark: SparkSession, tmp_path, markers) -> None:
    """The storage refuses once, and a Python worker ends in the middle of another attempt."""
    write(spark, tmp_path, markers, ["refuses", "dies"])
    assert sorted(path.name for path in markers.iterdir()) == ["dies", "refuses"]
    check(tmp_path)


def test_of_two_attempts_that_run_at_once_one_counts(spark: SparkSession, tmp_path, markers) -> None:
    """A task hangs after its first file, and Spark starts a second attempt beside it."""
    write(spark, tmp_path, markers, ["hangs"])
    assert (markers / "hangs").exists()
    check(tmp_path)


def test_the_work_of_a_killed_executor_is_done_by_another(
    spark: SparkSession, cluster: Cluster, tmp_path, markers
) -> None:
    """The JVM is killed while a task of its has written one file of two."""
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write, spark, tmp_path, markers, ["hangs"])
        end = time.monotonic() + PATIENCE
        while not (pid := read_text(markers / "hangs")) and not writing.done() and time.monotonic() < end:
            time.sleep(0.05)
        assert pid, writing.exception(PATIENCE)
        os.kill(cluster.executor_of(int(pid)), signal.SIGKILL)
        writing.result(PATIENCE)
    check(tmp_path)


def read_text(path: Path) -> str:
    """Return what a file holds, nothing where it is not there."""
    return path.read_text() if path.exists() else ""
