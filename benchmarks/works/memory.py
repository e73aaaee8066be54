"""The peak memory of a write task on Spark and of a streaming read in this process, as a partition grows twentyfold.

Each figure is that of a process of its own, because a peak stays. The write sorts all rows into one partition, so that
one task writes it; the read drains the batches of a scan of that partition.

    python -m benchmarks.works.memory write STORE ROWS
    python -m benchmarks.works.memory read STORE
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import kubothek as kb
from benchmarks.data import Size
from benchmarks.figures import Figures
from benchmarks.memory import peak_of, peaks_below
from kubothek.spark.session import local_session

UUID = "rows"
TIMES = 20
GROWTH = 1.2
LIMIT = 512
"""MiB for a write task."""


def figures(directory: Path, size: Size) -> Figures:
    """Measure a partition of a twentieth of the rows, and one of all."""
    folder = directory / "memory"
    shutil.rmtree(folder, ignore_errors=True)
    found = {}
    for rows in (size.partition // TIMES, size.partition):
        store = str(folder / str(rows))
        found[rows] = {"write": measured("write", store, str(rows)), "read": measured("read", store)}
    shutil.rmtree(folder)
    few, many = found
    lines = [
        (name, *(f"{found[rows][work]['MiB']:,.0f}" for rows in found), _growth(found[few][work], found[many][work]))
        for work, name in (("write", "Spark's Python worker, write task"), ("read", "this process, scan.batches()"))
    ]
    return Figures(
        "memory",
        ("peak, MiB", f"{few:,} rows", f"{many:,} rows", f"growth, {TIMES} times the rows"),
        tuple(lines),
        f"Goal: at most {GROWTH:.2f} times, and at most {LIMIT} MiB for a write task.",
    )


def _growth(before: dict[str, float], after: dict[str, float]) -> str:
    return f"{after['MiB'] / before['MiB']:.2f}"


def measured(*arguments: str) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", __name__, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return dict(json.loads(done.stdout))


def write(store: str, rows: str) -> dict[str, float]:
    """Write one partition with one task of Spark's and return its Python worker's peak."""
    spark = local_session("benchmarks", memory="2g", cores=1)
    columns = [f"pmod(xxhash64(id, {n}), 1000000007) / 1000000007D AS v{n}" for n in range(1, 7)]
    cells = spark.range(int(rows)).selectExpr("0 AS p", "xxhash64(id) AS x", "concat('code-', id % 1000) AS s1", *columns)
    kb.write_dataset(cells, UUID, store, partition_on="p", sort_by="x", shuffle=True)
    return {"MiB": peaks_below()[0]}


def read(store: str) -> dict[str, float]:
    """Drain a scan and return the peak of this process."""
    rows = sum(batch.num_rows for batch in kb.open_dataset(UUID, store).scan().batches())
    return {"MiB": peak_of(), "rows": rows}


if __name__ == "__main__":
    work, *given = sys.argv[1:]
    print(json.dumps({"write": write, "read": read}[work](*given)))
