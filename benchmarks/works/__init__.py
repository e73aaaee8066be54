"""The works that are measured; each gives cases, Kubothek first in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pyspark.sql import SparkSession

from benchmarks.data import Data
from benchmarks.timing import Case
from benchmarks.works import cube, local, scan, write

WORKS: Mapping[str, Callable[[SparkSession, Data], Iterator[Case]]] = {
    "cube": cube.cases,
    "scan": scan.cases,
    "write": write.cases,
    "local": local.cases,
}
