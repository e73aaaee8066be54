"""A server of Spark Connect in a process of its own, as a cluster has it: on loopback, ended with the tests.

It knows nothing of the client but what comes over the connection; its Python workers find the test doubles by
``PYTHONPATH``, as they would find packages that are installed on a cluster.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from kubothek.spark.java import java_environment
from kubothek.spark.session import session_settings

ROOT = Path(__file__).parents[2]
SECONDS_TO_START = 120
SECONDS_TO_END = 30


@contextmanager
def connect_server(folder: Path, config: Mapping[str, str]) -> Iterator[str]:
    """Run a server while the block runs and yield its address; what it says is in ``folder/server.log``."""
    port = free_port()
    config = {"spark.python.daemon.module": "pyspark.daemon"} | config  # as where our helper has not started it
    settings = session_settings(memory="2g", config=config) | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    spark_home = Path(pyspark.__file__).parent
    command = [spark_home / "bin" / "spark-class", "org.apache.spark.deploy.SparkSubmit", "--class"]
    command += ["org.apache.spark.sql.connect.service.SparkConnectServer", "--driver-memory", "2g"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "spark-internal"], cwd=folder, env=environment(), stdout=output, stderr=output, process_group=0
        )
        try:
            wait_for(port, server, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            stop(server)


def stop(server: subprocess.Popen[bytes]) -> None:
    """End a server and its Python workers."""
    os.killpg(server.pid, signal.SIGTERM)
    try:
        server.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def environment() -> dict[str, str]:
    """Return the variables of the server: as on a machine of its own, with the Python that has the packages."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    own = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    return ours | own | {"SPARK_CONNECT_MODE": "0"} | java_environment(os.environ)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers, and tell what it said if it ended."""
    give_up = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < give_up:
        assert server.poll() is None, log.read_text(errors="replace")[-4000:]
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"no answer from the server: {log.read_text(errors='replace')[-4000:]}")
