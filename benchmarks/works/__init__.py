"""The works that are measured.

Those on Spark and those in this process give cases, Kubothek first in each. Others give figures of Kubothek alone, such
as the memory that it needs, or curves: how the cost of a case grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.curves import Curve
from benchmarks.data import Data, Size
from benchmarks.figures import Figures
from benchmarks.timing import Case
from benchmarks.works import (
    append,
    commits,
    cube,
    cube_growth,
    index,
    local,
    lookup,
    memory,
    opening,
    reading,
    remote,
    scan,
    source,
    wide,
    write,
)

ON_SPARK: Mapping[str, Callable[[SparkSession, Data], Iterator[Case]]] = {
    "cube": cube.cases,
    "wide": wide.cases,
    "scan": scan.cases,
    "source": source.cases,
    "write": write.cases,
    "local": local.cases,
}

IN_PROCESS: Mapping[str, Callable[[Path, Size], Iterator[Case]]] = {
    "lookup": lookup.cases,
    "opening": opening.cases,
    "reading": reading.cases,
    "index": index.cases,
    "append": append.cases,
    "remote": remote.cases,
    "commits": commits.cases,
}
"""Of the directory of a size, where they keep their data, and the size."""

ALONE: Mapping[str, Callable[[Path, Size], Figures]] = {
    "planning": opening.memory,
    "memory": memory.memory,
    "groups": memory.groups,
    "shuffle": memory.shuffle,
}

CURVES: Mapping[str, Callable[[Path, Size], Iterator[Curve]]] = {
    "opening-growth": opening.growth,
    "index-growth": index.growth,
    "append-growth": append.growth,
    "commits-growth": commits.growth,
}
"""How cost grows, in this process; of the directory of a size and the size."""

SPARK_CURVES: Mapping[str, Callable[[SparkSession, Data], Iterator[Curve]]] = {
    "rows-growth": cube_growth.rows,
    "enrichments-growth": cube_growth.enrichments,
}
"""How cost grows on Spark."""
