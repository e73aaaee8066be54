"""What memory a work needs at its peak: figures of Kubothek alone.

``memory`` lets a partition grow twentyfold and looks at the Spark task that writes it, and at a streaming read in this
process. ``groups`` lets the number of a cube's partitions grow, then the largest of them, and looks at the Spark tasks
that query it. ``shuffle`` writes many narrow rows with a JVM of 2 GiB: at size large these are 50 million.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.data import Size
from benchmarks.figures import Figures, Goal
from benchmarks.peak import HEAP, PARTITIONS, measured

TIMES = 20
GROWTH = 1.2
LIMIT = 512
"""MiB for a write task."""


def memory(directory: Path, size: Size) -> Figures:
    """The peak of a write task and of a streaming read, of a twentieth of a partition and of all of it."""
    folder = directory / "memory"
    shutil.rmtree(folder, ignore_errors=True)
    peaks: dict[str, list[float]] = {"write": [], "read": []}
    sizes = (size.partition // TIMES, size.partition)
    for rows in sizes:
        store = str(folder / str(rows))
        for work, found in (("write", measured("write", store, str(rows))), ("read", measured("read", store))):
            assert found["rows"] == rows, f"{work} has {found['rows']} rows, not {rows}"
            peaks[work].append(found["peak"])
    shutil.rmtree(folder)
    growth = {work: most / least for work, (least, most) in peaks.items()}
    most = peaks["write"][-1]
    names = {"write": "write task on Spark, Python worker", "read": "scan.batches() in a process"}
    return Figures(
        "memory",
        ("peak in MiB", *(f"{rows:,} rows" for rows in sizes), f"growth, {TIMES} times the rows"),
        tuple((names[work], *(f"{peak:,.0f}" for peak in p), f"{growth[work]:.2f}") for work, p in peaks.items()),
        goals=(
            Goal(
                "write task",
                f"its own at 1/{TIMES} of the rows",
                f"{growth['write']:.2f}",
                f"≤ {GROWTH}",
                growth["write"] <= GROWTH,
            ),
            Goal("write task", "memory", f"{most:,.0f} MiB", f"≤ {LIMIT} MiB", most <= LIMIT),
        ),
    )


def groups(directory: Path, size: Size) -> Figures:
    """The peak of tasks that query cubes with one ever larger partition, and one with many partitions."""
    folder = directory / "groups"
    rows = size.partition // 80
    lines = []
    for count, times in ((8, 1), (64, 1), (8, 4), (8, 16)):
        shutil.rmtree(folder, ignore_errors=True)
        made = measured("cube", str(folder), str(count), str(rows), str(times * rows))
        found = measured("query", str(folder))
        assert made["rows"] == found["rows"] == (count - 1 + times) * rows, f"the query has {found['rows']} rows"
        lines.append((f"{count}", f"{times * rows:,}", f"{found['rows']:,}", found["peak"]))
    shutil.rmtree(folder)
    return Figures(
        "groups",
        ("partitions", "rows of the largest", "rows", "Python worker, peak in MiB", "÷ the first"),
        tuple((*facts, f"{peak:,.0f}", f"{peak / lines[0][-1]:.2f}") for *facts, peak in lines),
        "A query of a seed and three enrichments, 14 columns; the largest partition makes the peak, not their number.",
    )


def shuffle(directory: Path, size: Size) -> Figures:
    """The peak of a shuffle of many narrow rows in a JVM of 2 GiB."""
    store = directory / "shuffle"
    shutil.rmtree(store, ignore_errors=True)
    found = measured("shuffle", str(store), str(size.shuffled))
    shutil.rmtree(store)
    assert found["rows"] == size.shuffled, f"{found['rows']} rows were written, not {size.shuffled}"
    return Figures(
        "shuffle",
        ("rows", "files", "seconds", "Python worker, peak in MiB", "JVM, peak in MiB"),
        (tuple(f"{found[name]:,.0f}" for name in ("rows", "files", "seconds", "peak", "jvm")),),
        f"Into {PARTITIONS} partitions, sorted, with an index, in a JVM with a heap of {HEAP}.",
    )
