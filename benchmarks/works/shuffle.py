"""A shuffled write of many narrow rows on Spark with a small heap: does it end, how long does it take, what memory?

Spark sorts what does not fit on disk. At size large these are 50 million rows in a JVM of 2 GiB.

    python -m benchmarks.works.shuffle STORE ROWS
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import kubothek as kb
from benchmarks.data import Size
from benchmarks.figures import Figures
from benchmarks.memory import peaks_below
from kubothek.spark.session import local_session

UUID = "rows"
PARTITIONS = 64
HEAP = "2g"


def figures(directory: Path, size: Size) -> Figures:
    """Write once, in a process whose JVM is as small as it should be."""
    store = directory / "shuffle"
    shutil.rmtree(store, ignore_errors=True)
    command = [sys.executable, "-m", __name__, str(store), str(size.shuffled)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    found = json.loads(done.stdout)
    shutil.rmtree(store)
    assert found["rows"] == size.shuffled, f"{found['rows']} rows were written, not {size.shuffled}"
    return Figures(
        "shuffle",
        ("rows", "files", "seconds", "Python worker, MiB", "JVM, MiB"),
        ((f"{found['rows']:,}", str(found["files"]), *(f"{found[name]:,.0f}" for name in ("s", "worker", "jvm"))),),
        f"A shuffled write into {PARTITIONS} partitions, sorted and indexed, in a JVM with a heap of {HEAP}.",
    )


def write(store: str, rows: int) -> dict[str, float]:
    """Write rows in no order into partitions, sorted and with an index, and return what it took."""
    spark = local_session("benchmarks", memory=HEAP)
    start = time.perf_counter()
    narrow = spark.range(rows).selectExpr(
        f"pmod(xxhash64(id, 1), {PARTITIONS}) AS p",
        "xxhash64(id, 2) AS x",
        "pmod(xxhash64(id, 3), 1000) AS i1",
        "pmod(xxhash64(id, 4), 1000007) / 1000007D AS v1",
    )
    dataset = kb.write_dataset(
        narrow, UUID, store, partition_on="p", sort_by="x", secondary_indices="i1", shuffle=True
    )
    seconds = time.perf_counter() - start
    worker, machine = peaks_below()
    written = sum(partition.rows or 0 for partition in dataset.partitions.values())
    return {"s": seconds, "rows": written, "files": len(dataset.partitions), "worker": worker, "jvm": machine}


if __name__ == "__main__":
    print(json.dumps(write(sys.argv[1], int(sys.argv[2]))))
