"""One work in a process of its own, whose peak of memory is asked of Linux at its end; a peak of before would stay.

    python -m benchmarks.peak write STORE ROWS      one partition, sorted, on Spark: its Python worker's peak
    python -m benchmarks.peak read STORE            the batches of a scan, drained in this process: its own peak
    python -m benchmarks.peak plan STORE WHERE      a dataset opened and its files planned: its own peak
    python -m benchmarks.peak shuffle STORE ROWS    narrow rows into many partitions, on Spark with a small heap
    python -m benchmarks.peak cube STORE GROUPS ROWS LARGEST    a cube of so many partitions, on Spark
    python -m benchmarks.peak query STORE           all of that cube, a task at a time: its Python worker's peak

Facts are printed as JSON; memory is in MiB. Nothing is imported that the work does not need.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import kubothek as kb
from benchmarks.usage import descendants
from kubothek.spark.session import local_session

UUID = "rows"
CUBE = kb.Cube(uuid_prefix="groups", dimension_columns="x", partition_columns="p")
PARTITIONS = 64
HEAP = "2g"
_PROC = Path("/proc")


def measured(*arguments: str) -> dict[str, float]:
    """Do a work in a process of its own and return what it tells."""
    command = [sys.executable, "-m", "benchmarks.peak", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603  our own module
    return dict(json.loads(done.stdout))


def write(store: str, rows: str) -> dict[str, float]:
    """Write one partition with one task of Spark's."""
    spark = local_session("benchmarks", memory=HEAP, cores=1)
    columns = [f"pmod(xxhash64(id, {n}), 1000000007) / 1000000007D AS v{n}" for n in range(1, 7)]
    cells = spark.range(int(rows)).selectExpr(
        "0 AS p", "xxhash64(id) AS x", "concat('code-', id % 1000) AS s1", *columns
    )
    dataset = kb.write_dataset(cells, UUID, store, partition_on="p", sort_by="x", shuffle=True)
    return {"rows": rows_of(dataset), "peak": peaks_below()[0]}


def read(store: str) -> dict[str, float]:
    """Drain a scan."""
    rows = sum(batch.num_rows for batch in kb.open_dataset(UUID, store).scan().batches())
    return {"rows": rows, "peak": peak_of("self")}


def plan(store: str, where: str) -> dict[str, float]:
    """Open a dataset and find the files that may hold a row; the seconds are those of the second time."""
    for _ in range(2):
        start = time.perf_counter()
        found = kb.open_dataset(UUID, store).scan(where=where).plan
        seconds = time.perf_counter() - start
    return {"files": found.files[0].num_rows, "seconds": seconds, "peak": peak_of("self")}


def shuffle(store: str, rows: str) -> dict[str, float]:
    """Write rows that lie in no order into many partitions, sorted and with an index."""
    spark = local_session("benchmarks", memory=HEAP)
    narrow = spark.range(int(rows)).selectExpr(
        f"pmod(xxhash64(id, 1), {PARTITIONS}) AS p",
        "xxhash64(id, 2) AS x",
        "pmod(xxhash64(id, 3), 1000) AS i1",
        "pmod(xxhash64(id, 4), 1000007) / 1000007D AS v1",
    )
    start = time.perf_counter()
    layout = {"partition_on": "p", "sort_by": "x", "secondary_indices": "i1"}
    dataset = kb.write_dataset(narrow, UUID, store, shuffle=True, **layout)
    seconds = time.perf_counter() - start
    worker, machine = peaks_below()
    facts = {"rows": rows_of(dataset), "files": len(dataset.partitions), "seconds": seconds}
    return {**facts, "peak": worker, "jvm": machine}


def cube(store: str, groups: str, rows: str, largest: str) -> dict[str, float]:
    """Write a cube of a seed and three enrichments; all partitions have so many rows, only the first has more."""
    spark = local_session("benchmarks", memory=HEAP)
    count = (int(groups) - 1) * int(rows) + int(largest)
    p = f"if(id < {largest}, 0, 1 + (id - {largest}) div {rows})"
    cells = spark.range(count).selectExpr("id AS x", f"{p} AS p", *(f"rand({n}) AS v{n}" for n in range(1, 13)))
    payload = {"seed": (1, 2, 3), "e1": (4, 5, 6), "e2": (7, 8, 9), "e3": (10, 11, 12)}
    data = {name: cells.select("x", "p", *(f"v{n}" for n in numbers)) for name, numbers in payload.items()}
    data["e2"] = data["e2"].where("x % 10 < 7")
    return {"rows": rows_of(kb.build_cube(data, CUBE, store)["seed"])}


def query(store: str) -> dict[str, float]:
    """Read all of that cube, one task at a time."""
    spark = local_session("benchmarks", memory=HEAP, cores=1)
    rows = kb.query_cube(CUBE, store).to_spark(spark).groupBy().count().first()
    assert rows is not None, "Spark counts no rows"
    return {"rows": rows["count"], "peak": peaks_below()[0]}


def rows_of(dataset: kb.Dataset) -> int:
    """Count the rows of a dataset."""
    return sum(partition.rows or 0 for partition in dataset.partitions.values())


def peak_of(process: str) -> float:
    """Return the most memory that a process ever held."""
    status = (_PROC / process / "status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert found, f"Linux does not tell the peak of process {process}"
    return int(found[1]) / 1024


def peaks_below() -> tuple[float, float]:
    """Return the peaks of Spark's largest Python worker and of its JVM."""
    workers, machines = [], []
    for process in descendants(str(os.getpid())):
        command = (_PROC / process / "cmdline").read_bytes().split(b"\0")
        if b"pyspark.worker" in command:
            workers.append(peak_of(process))
        elif command[0].endswith(b"java"):
            machines.append(peak_of(process))
    assert workers, "Spark keeps no Python worker to look at"
    assert machines, "Spark's JVM is not below this process"
    return max(workers), max(machines)


if __name__ == "__main__":
    work, *given = sys.argv[1:]
    works = {"write": write, "read": read, "plan": plan, "shuffle": shuffle, "cube": cube, "query": query}
    print(json.dumps(works[work](*given)))
