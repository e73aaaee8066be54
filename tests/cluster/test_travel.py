"""Executors without the package say what to do, and so do those of another version; sent there, it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import Cube
from kubothek.engine.spark import travel
from kubothek.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_executors_without_the_package_say_what_to_do(refusal: str) -> None:
    """What is missing, on which machine, for which Python, and both remedies."""
    for part in (
        "needs Kubothek, and there is none on ",
        "Python 3.",
        "kubothek.spark.ship(spark)",
        "install kubothek==",
    ):
        assert part in refusal
    assert "ModuleNotFoundError" not in refusal


def test_executors_with_another_version_name_both(spark: SparkSession, tmp_path, monkeypatch) -> None:
    """Whether they write or read, and nothing is committed."""
    kb.build_cube(pa.table({"p": [0], "x": [1]}), Cube("c", "x", "p"), tmp_path)
    monkeypatch.setattr(travel, "__version__", "9.9.9")
    both = rf"The driver has Kubothek 9\.9\.9, and this task found {__version__} on "
    with pytest.raises(Exception, match=both):
        kb.append_to_cube(spark.createDataFrame([(0, 2)], "p long, x long"), "c", tmp_path)
    with pytest.raises(Exception, match=both):
        kb.query_cube("c", tmp_path).to_spark(spark).collect()
    assert kb.open_dataset("c++seed", tmp_path).version == 1
