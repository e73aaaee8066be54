"""A Spark cluster on this machine: a master and two workers of the installed package, in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from kubothek.spark.java import java_environment

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
ONLY_IN_ZIPS = "KUBOTHEK_ONLY_IN_ZIPS"
"""Where this variable is set, the Python of the tests finds the package in zips only; executors have it."""
START_SECONDS = 300
STOP_SECONDS = 30
# To Spark each worker is a machine of its own: a second attempt of a task runs on another one than the first.
WORKERS = ("127.0.0.2", "127.0.0.3")
# For programs on the cluster.
SETTINGS = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.executor.memory": "768m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    # A second attempt for tasks that take long where half of them have ended.
    "spark.speculation": "true",
    "spark.speculation.minTaskRuntime": "4s",
    "spark.speculation.quantile": "0.5",
}


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs: the URL of its master, and the process ids of its workers."""

    url: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """Return the process ids of the executors that the workers have started."""
        return [pid for worker in self.workers for pid in children(worker)]

    def executor_of(self, pid: int) -> int:
        """Return the executor that started a process, or the one that started its starter, and so on."""
        executors = self.executors()
        while pid not in executors:
            pid = parent(pid)
        return pid


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """Run a cluster for the length of the context; two cores per worker, so that two programs get two each.

    Raises
    ------
    RuntimeError
        A process ended or was not ready in five minutes; what it logged is in the message.
    """
    with ExitStack() as running:
        log = folder / "master.log"
        master = running.enter_context(_daemon("master.Master", LOOPBACK, [], log))
        url = _await(master, log, r"Starting Spark master at (spark://\S+)")
        workers = []
        for host in WORKERS:
            log, work = folder / f"worker-{host}.log", str(folder / f"work-{host}")
            size = ["--cores", "2", "--memory", "3g", "--work-dir", work]
            workers.append((running.enter_context(_daemon("worker.Worker", host, [*size, url], log)), log))
        for worker, log in workers:
            _await(worker, log, r"(Successfully registered with master)")
        yield Cluster(url, tuple(worker.pid for worker, _ in workers))


@contextmanager
def _daemon(name: str, host: str, arguments: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of Spark's; at the end it stops its own and then itself, or is killed with them."""
    place = ["--host", host, "--port", "0", "--webui-port", "0"]
    command = [SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *place, *arguments]
    environment = os.environ | java_environment(os.environ) | {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": host}
    environment |= {
        "SPARK_DAEMON_MEMORY": "256m",
        ONLY_IN_ZIPS: "yes",
        "SPARK_DAEMON_JAVA_OPTS": "-Dspark.master.rest.enabled=false",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield process
    finally:
        own = descendants(process.pid)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pid, begun in own.items():
            if start_time(pid) == begun:  # and not another process that has got this number since
                os.kill(pid, signal.SIGKILL)


def _await(process: subprocess.Popen[bytes], log: Path, ready: str) -> str:
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        found = re.search(ready, said := log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"{process.args} ended or was not ready after {START_SECONDS} s. It said:\n{said}")


def children(pid: int) -> list[int]:
    """Return the processes that one has started and that run still."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if parent(int(path.name)) == pid]


def descendants(pid: int) -> dict[int, str]:
    """Return all that a process has started, directly or not, with the time at which each was."""
    below = children(pid)
    found = {child: start_time(child) for child in below}
    for child in below:
        found |= descendants(child)
    return found


def parent(pid: int) -> int:
    """Return which process started this one; 0 where it is gone."""
    return int((_stat(pid) or ["", "0"])[1])


def start_time(pid: int) -> str:
    """Return when a process was started, in ticks since the machine was; empty where it is gone."""
    return (_stat(pid) or [""] * 20)[19]


def _stat(pid: int) -> list[str]:
    """Return what Linux tells about a process after its name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
