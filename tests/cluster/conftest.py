"""One cluster and one session on it, whose executors run a Python that has everything but Kubothek."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cluster.standalone import LOOPBACK, SETTINGS, Cluster, standalone

import kubothek as kb
from kubothek.spark import local_session, ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# It is copied for the executors; here it would hide the package.
collect_ignore = ["only_in_zips.py"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run the cluster."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a Python that has what Kubothek requires and the tests; in executors Kubothek itself is in zips only."""
    folder = tmp_path_factory.mktemp("python")
    (folder / "sitecustomize.py").write_bytes((Path(__file__).parent / "only_in_zips.py").read_bytes())
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH:{ROOT}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture(scope="session")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder in which Spark notes what happens in the session."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="session")
def bare(cluster: Cluster, python: Path, events: Path) -> Iterator[SparkSession]:
    """Start a session whose executors lack the package."""
    noted = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", str(python))
        patch.setenv("SPARK_LOCAL_IP", LOOPBACK)
        session = local_session("kubothek-cluster-tests", master=cluster.url, memory="1g", config=SETTINGS | noted)
        yield session
        session.stop()


@pytest.fixture(scope="session")
def refusal(bare: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give what a write says where executors lack the package."""
    with pytest.raises(Exception, match="Kubothek") as caught:
        kb.write_dataset(bare.range(1), "d", tmp_path_factory.mktemp("refused"))
    return str(caught.value)


@pytest.fixture(scope="session")
def spark(bare: SparkSession, refusal: str) -> SparkSession:
    """Send the package to the executors."""
    ship(bare)
    return bare
