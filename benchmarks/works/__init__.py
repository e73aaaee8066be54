"""The works that are measured.

Those on Spark and those in this process give cases, Kubothek first in each; the others give figures of Kubothek alone
and are measured only where they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.data import Data, Size
from benchmarks.figures import Figures
from benchmarks.timing import Case
from benchmarks.works import commits, cube, local, lookup, memory, scan, source, wide, write

ON_SPARK: Mapping[str, Callable[[SparkSession, Data], Iterator[Case]]] = {
    "cube": cube.cases,
    "wide": wide.cases,
    "scan": scan.cases,
    "source": source.cases,
    "write": write.cases,
    "local": local.cases,
}

IN_PROCESS: Mapping[str, Callable[[Path, Size], Iterator[Case]]] = {"lookup": lookup.cases, "commits": commits.cases}
"""Of the directory of a size, where they keep their data, and the size."""

ALONE: Mapping[str, Callable[[Path, Size], Figures]] = {
    "memory": memory.memory,
    "groups": memory.groups,
    "shuffle": memory.shuffle,
}
