"""The append of one partition to a dataset that has many, in this process, against everyone else.

Each appends twenty rows of a partition that is not there yet, to a table that it opens first, as a job does that runs
every hour. Kubothek brings the commit to the disk; the others leave that to the system. The tables are made for each
case anew. Plateau and Kartothek have a copy of the dataset each, since they would take what Kubothek notes out of the
header. What was appended is read back before a time counts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

import kubothek as kb
from benchmarks.curves import Curve
from benchmarks.data import Size
from benchmarks.timing import Case, Contender
from benchmarks.works.growth import curves
from benchmarks.works.metadata import UUID, Known
from benchmarks.works.opening import many, rows, scan_iceberg
from benchmarks.works.others import Other, running, told
from benchmarks.works.peers import in_sql, plain


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """Every number of partitions."""
    with running() as others:
        for count in counts(size):
            yield case(directory, count, others)


def growth(directory: Path, size: Size) -> Iterator[Curve]:
    """An append against the partitions that are there; the other two do the same as Plateau, so that one will do."""
    with running("Plateau") as others:
        places = ((count, case(directory, count, others)) for count in counts(size))
        yield from curves("append one partition", "partitions", places, "The header is read and written as a whole.")


def counts(size: Size) -> tuple[int, ...]:
    """Return the numbers of partitions that are appended to."""
    return tuple(count for count in size.many if count <= size.appended)


def case(directory: Path, count: int, others: tuple[Other, ...]) -> Case:
    """Let everyone append one partition in each round, the same for all."""
    folder = directory / "append"
    shutil.rmtree(folder, ignore_errors=True)
    known, first = many(folder, count), time.time_ns()

    def contender(
        name: str, append: Callable[[pa.Table], Any], found: Callable[[int], pa.Table], **more: Any
    ) -> Contender:
        partitions = numbers(first)

        def run() -> tuple[int, Any]:
            p = next(partitions)
            return p, append(rows(p))

        return Contender(name, run, lambda result: found(result[0]), **more)

    def through(other: Other) -> Contender:
        folder, frame = copy_of(known, other.name), known.folder / f"{other.name}.parquet"

        def append(table: pa.Table) -> Any:
            pq.write_table(table, frame)  # off the clock: the other process takes the time
            other.ask("load", rows=str(frame))
            return other.ask("append", store=str(folder), partition_on=["p"])

        def found(p: int) -> pa.Table:
            other.ask("find", store=str(folder), predicates=[[["p", "==", p]]])
            return other.fetch(frame)

        return contender(other.name, append, found, goal=1, seconds=lambda result: told(result[1]))

    return Case(
        "append",
        f"one partition to {count:,}",
        (
            contender(
                "Kubothek",
                lambda table: kb.update_dataset(table, UUID, str(known.folder)),
                lambda p: known.open().scan(where=kb.C("p") == p).to_arrow(),
            ),
            *map(through, others),
            contender(
                "delta-rs",
                lambda table: write_deltalake(str(known.files), table, mode="append"),
                lambda p: plain(in_sql(known.open_delta(), "p", [p])),
                goal=1,
            ),
            contender(
                "PyIceberg",
                lambda table: known.open_iceberg().append(table),
                lambda p: scan_iceberg(known, p).to_arrow(),
                goal=1,
            ),
        ),
    )


def copy_of(known: Known, name: str) -> Path:
    """Copy our dataset, as it is now, for one that would not leave it so."""
    folder = known.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    others = shutil.ignore_patterns("_delta_log", "iceberg", "Plateau", "Kartothek", "_kubothek")
    shutil.copytree(known.folder, folder, ignore=others)
    return folder
