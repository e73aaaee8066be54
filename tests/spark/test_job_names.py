"""What Spark's UI says of our jobs, as its own REST interface and plans tell it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.answers import physical_plan

import kubothek as kb
from kubothek.engine.spark.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUBE = kb.Cube("c", ["x"], ["p"])
ROWS = pa.table({"x": [1, 2, 3], "p": [1, 2, 3], "v1": [1, 1, 2]})
DESCRIPTION = "spark.job.description"


def descriptions(spark: SparkSession, since: int) -> list[str]:
    """Return the descriptions of the jobs that ran since then, oldest first, as Spark's UI shows them."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = {jobs.apply(n).jobId(): jobs.apply(n).description() for n in range(jobs.size())}
    return [found[job].get() if found[job].isDefined() else "" for job in sorted(found) if job > since]


def last_job(spark: SparkSession) -> int:
    """Return the number of the newest job."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return max((int(jobs.apply(n).jobId()) for n in range(jobs.size())), default=-1)


def wait_for_listeners(spark: SparkSession) -> None:
    """Wait until the UI knows of what has happened."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()


def test_jobs_that_run_at_once_are_described(spark: SparkSession, tmp_path: Path) -> None:
    """Writes, indices and sums say which dataset they are about; nothing is left behind for other jobs."""
    before = last_job(spark)
    kb.write_dataset(spark.createDataFrame(ROWS), "d", tmp_path, partition_on="p")
    kb.build_dataset_indices("d", tmp_path, "v1", spark=spark)
    kb.hash_dataset("d", tmp_path, spark=spark)
    spark.range(1).collect()
    wait_for_listeners(spark)
    told = [*dict.fromkeys(descriptions(spark, before))]
    assert told == ["kubothek: write dataset d", "kubothek: build indices of dataset d", "kubothek: hash dataset d", ""]


def test_the_users_own_description_stays(spark: SparkSession) -> None:
    """Whoever has said what a job is for is not talked over."""
    context = spark.sparkContext
    context.setJobDescription("nightly run")
    with described(spark, "write dataset d"):
        assert context.getLocalProperty(DESCRIPTION) == "nightly run"
    assert context.getLocalProperty(DESCRIPTION) == "nightly run"
    context.setLocalProperty(DESCRIPTION, None)  # type: ignore[arg-type]  # takes it away


def test_a_description_goes_when_a_job_fails(spark: SparkSession) -> None:
    """The next job of the thread is not taken for the one that failed."""
    with pytest.raises(ZeroDivisionError), described(spark, "divide"):
        raise ZeroDivisionError
    assert spark.sparkContext.getLocalProperty(DESCRIPTION) is None


def test_plans_say_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """A lazy read is named in the plan, with how much of the whole it reads."""
    kb.build_cube(ROWS, CUBE, tmp_path)
    kb.write_dataset(ROWS, "d", tmp_path, partition_on="p")
    query = kb.query_cube("c", tmp_path, where="p >= 2").to_spark(spark)
    scan = kb.open_dataset("d", tmp_path).scan(where="p == 1 & v1 == 1").to_spark(spark)
    assert "MapInArrow kubothek: query cube c, 2 of 3 partitions(" in physical_plan(query.groupBy().count())
    assert "MapInArrow kubothek: read dataset d, 1 of 3 partitions(" in physical_plan(scan)
