"""How many bytes did a Spark action shuffle? Spark's own stage metrics say it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from pyspark.sql import SparkSession


def shuffled_bytes(spark: SparkSession, action: Callable[[], object]) -> int:
    """Run an action and return the bytes that all of its stages together wrote for a shuffle."""
    context = spark.sparkContext
    group = uuid.uuid4().hex
    context.setJobGroup(group, "shuffled bytes")
    action()
    scala = context._jsc.sc()  # noqa: SLF001  the status store has no Python door
    scala.listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    assert stages, "the action ran no Spark job"
    return sum(scala.statusStore().lastStageAttempt(stage).shuffleWriteBytes() for stage in stages)
