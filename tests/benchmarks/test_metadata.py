from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.timing import Measurement, measure
from benchmarks.works.metadata import File, Known, files_of
from benchmarks.works.opening import SCHEMA, planning, reading, rows

from kubothek import write_dataset

PARTITIONS = 10


def failed(found: Measurement) -> list[str]:
    """Who could not do it."""
    return [f"{one.name}: {one.failure}" for one in found.timed if one.failure]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the others
def test_everyone_knows_of_the_same_files(tmp_path: Path) -> None:
    """Who is told of files finds the one that holds a partition, and its rows, which are compared."""
    assert failed(measure(planning(tmp_path, PARTITIONS), 0)) == []
    assert failed(measure(reading(tmp_path, PARTITIONS, ()), 0)) == []


def test_files_are_looked_into(tmp_path: Path) -> None:
    """What others should know of a file is what it holds."""
    dataset = write_dataset(rows(3), "rows", tmp_path, partition_on="p")
    (found,) = files_of(Known(tmp_path, SCHEMA, ("p",)), ["x"])
    (label,) = dataset.partitions
    assert (found.p, found.rows, found.label, list(found.bounds())) == (3, 20, label, [("x", 0, 19)])


def test_labels_have_the_partition() -> None:
    """A file is named by its partition, where there is one."""
    assert (File("a", 1, 1).label, File("a", 1, 1, 0).label) == ("a", "p=0/a")
