"""A streaming query is killed at random points and started again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.stream_kills import run_trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS = 12


def test_every_row_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever is killed, stopped or unanswered, each row of the input is in the dataset exactly once."""
    trial = run_trial(spark, tmp_path, KILLS)
    assert sum(trial.kills.values()) == KILLS
    assert len(trial.kills) == 4
