"""A streaming query that is killed at random points and started again: in the end every row is there once.

What is killed is drawn: the query at some moment (``stop``), a write task or the process that commits at some step of
its work, an answer of the store, or the driver between the commit of a batch and its own note of that (``forget``). One
JVM lives through all of that. With ``--drivers`` whole drivers, JVM included, are killed at any moment, too.

``python -m tests.spark.stream_kills 50 --drivers 5`` does it as often as that, and tells what it did.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Literal

from pyspark.errors import StreamingQueryException
from pyspark.sql.types import StructType
from tests.spark.faulty_directory import ACTS, FaultyDirectory, Order
from tests.spark.streams import fed, feed, forget_commit, start, written

import kubothek as kb
from kubothek.spark.session import local_session
from kubothek.spark.source.data_source import KubothekSource
from kubothek.spark.source.stream_sink import StreamWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROWS_PER_FILE = 20
STEPS = {"task": 6, "commit": 8}
"""About as many calls of the store as a task and a commit make."""
WAYS: tuple[Literal["stop", "task", "commit", "forget"], ...] = ("stop", "task", "commit", "commit", "forget")
DRIVER = """
import sys, time
from pathlib import Path
from tests.spark.stream_kills import Trial, new_session
trial = Trial(Path(sys.argv[1]), 0)
spark = new_session()
print("started", flush=True)
while True:
    trial.start(spark).awaitTermination()
"""


class FaultySource(KubothekSource):
    """The format ``kubothek`` under another name, with a directory that carries out orders."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return "kubothek-faulty"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802  Spark's name
        """Return what writes to that directory."""
        made = super().streamWriter(schema, overwrite)
        assert isinstance(made, StreamWriter)
        store = made._job.store
        path = store.local_path("order")
        assert path is not None
        made._job = replace(made._job, store=FaultyDirectory(store.url, order=str(Path(path).parent.parent / "order")))
        return made


@dataclass
class Trial:
    """One query that copies files of rows to a dataset, in a folder of its own."""

    folder: Path
    seed: int
    fed: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    usual: float = 1.0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def start(self, spark: SparkSession) -> StreamingQuery:
        """Start the query, or start it again."""
        frame = fed(spark, self.folder / "in")
        return start(
            frame,
            self.folder / "checkpoint",
            self.folder / "store",
            partition_on="p",
            secondary_indices="i1",
            source=FaultySource.name(),
        )

    def feed(self) -> None:
        """Put one to three more files into the input."""
        for _ in range(self.chance.randint(1, 3)):
            feed(self.folder / "in", self.fed, range(ROWS_PER_FILE * self.fed, ROWS_PER_FILE * (self.fed + 1)))
            self.fed += 1

    def run_and_kill(self, spark: SparkSession) -> None:
        """Run the query once, and have it killed if that comes about."""
        self.feed()
        self.runs += 1
        way = self.chance.choice(WAYS)
        if way == "stop":
            self._stop(spark)
            return
        if way == "forget":
            self.kills[way] += self._forget()
        else:
            Order(way, self.chance.randint(1, STEPS[way]), self.chance.choice(ACTS)).give(self._order)
        began = time.monotonic()
        try:
            self.start(spark).awaitTermination()
            self.usual = time.monotonic() - began
        except StreamingQueryException:
            if way == "forget":
                raise
        if way != "forget":
            self.kills[way] += not self._order.exists()
            self._order.unlink(missing_ok=True)

    @property
    def _order(self) -> Path:
        return self.folder / "order"

    def _forget(self) -> bool:
        """Take from the checkpoint that the last batch was committed, if it was."""
        checkpoint = self.folder / "checkpoint"
        if self._batches("commits") < max(self._batches(), 0):
            return False
        forget_commit(checkpoint)
        return True

    def _batches(self, log: str = "offsets") -> int:
        """Return the number of the last batch that the checkpoint has begun, or committed."""
        return max((int(path.name) for path in (self.folder / "checkpoint" / log).glob("[0-9]*")), default=-1)

    def _stop(self, spark: SparkSession) -> None:
        query = self.start(spark)
        time.sleep(self.chance.uniform(0, self.usual))
        self.kills["stop"] += query.isActive
        query.stop()

    def kill_driver(self) -> None:
        """Run the query in a driver of its own, which is killed with its JVM, wherever it is."""
        self.feed()
        command = [sys.executable, "-c", DRIVER, str(self.folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == b"started\n"
            before = self._batches()
            while self._batches() == before and driver.poll() is None:
                time.sleep(0.05)
            self.feed()
            time.sleep(self.chance.uniform(0, 4 * self.usual))
            os.killpg(driver.pid, signal.SIGKILL)
        self.kills["driver"] += 1

    def check(self) -> None:
        """Compare what was fed with what is there, and with what is left of all that was killed."""
        store = self.folder / "store"
        assert written(store) == [*range(ROWS_PER_FILE * self.fed)], "rows are missing or there twice"
        assert kb.verify_dataset("d", store) == []
        kb.garbage_collect_dataset("d", store, older_than=timedelta(0), keep=1)
        assert written(store) == [*range(ROWS_PER_FILE * self.fed)], "garbage was none"
        left = len([*(store / "d" / "table").rglob("*.parquet")])
        assert left == len(kb.open_dataset("d", store).partitions), "files are left"


def run_trial(spark: SparkSession, folder: Path, kills: int, *, drivers: int = 0, seed: int = 0) -> Trial:
    """Kill a query so many times, and whole drivers besides; then let it come to its end, and check what it wrote."""
    trial = Trial(folder, seed)
    for _ in range(drivers):
        trial.kill_driver()
    spark.dataSource.register(FaultySource)
    while sum(trial.kills.values()) < kills + drivers:
        trial.run_and_kill(spark)
    trial.start(spark).awaitTermination()
    trial.check()
    return trial


def new_session() -> SparkSession:
    """Return a session like that of the tests."""
    config = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}
    spark = local_session("stream-kills", master="local[2,2]", memory="1g", config=config)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(FaultySource)
    return spark


def main() -> None:
    """Run a trial as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, help="how often the query is killed")
    parser.add_argument("--drivers", type=int, default=0, help="how often the whole driver is killed besides")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    folder, began = Path(mkdtemp(prefix="stream-kills-")), time.monotonic()
    try:
        trial = run_trial(new_session(), folder, asked.kills, drivers=asked.drivers, seed=asked.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(
        f"{sum(trial.kills.values())} kills {dict(trial.kills)} in {trial.runs} runs, "
        f"{ROWS_PER_FILE * trial.fed:,} rows each there once, {time.monotonic() - began:.0f} s\n"
    )


if __name__ == "__main__":
    main()
