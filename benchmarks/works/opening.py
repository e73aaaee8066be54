"""Opening a dataset of many partitions and finding one of them, in this process, against everyone else.

Three steps are told apart: opening and planning alone, which every one of them does for every question, and with the
read of the one file that was found. All know the same files (:mod:`benchmarks.works.metadata`), of which only the one
that is read is there. Plateau and Kartothek open the very dataset that Kubothek opens, delta-rs reads a checkpoint, and
PyIceberg has manifests that it can pass over, as a table has that was compacted. What delta-rs plans with is the log's
own search; its rows are read by DataFusion, which is the fastest of its ways.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import EqualTo
from pyiceberg.table import DataScan

import kubothek as kb
from benchmarks.curves import Curve
from benchmarks.data import Size
from benchmarks.figures import Figures, Goal
from benchmarks.peak import measured
from benchmarks.timing import Case, Contender
from benchmarks.works.growth import curves
from benchmarks.works.metadata import File, Known, tell_delta, tell_iceberg, tell_kubothek
from benchmarks.works.others import Other, running
from benchmarks.works.peers import in_sql, plain

SCHEMA = pa.schema([("p", pa.int64()), ("x", pa.int64()), ("v1", pa.float64())])
ROWS = 20
_AGAINST_OTHERS = 100_000
"""Above this many partitions the others take minutes, so that Kubothek is alone."""
SECONDS = {100_000: 0.5, 1_000_000: 5.0}
"""In which the dataset is to be opened and planned."""
MEBIBYTES = {1_000_000: 2_048}
"""That a process may need for it at most."""


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """The largest number of partitions that others can do with, planned alone and read."""
    count = max(count for count in size.many if count <= _AGAINST_OTHERS)
    with running() as others:
        yield planning(directory, count, others)
        yield reading(directory, count, others)


def growth(directory: Path, size: Size) -> Iterator[Curve]:
    """Opening and planning against partitions."""
    with running() as others:
        places = ((count, planning(directory, count, others)) for count in size.many)
        yield from curves("open and plan one partition", "partitions", places, "The header is read as a whole.")


def memory(directory: Path, size: Size) -> Figures:
    """What opening and planning needs of memory and time in a process of its own."""
    lines, goals = [], []
    for count in size.many:
        found = measured("plan", str(many(directory, count).folder), f"p == {count // 2}")
        assert found["files"] == 1, f"{found['files']} files were planned, not 1"
        lines.append((f"{count:,}", f"{found['seconds']:.3f}", f"{found['peak']:,.0f}"))
        if count in SECONDS:
            took, most = found["seconds"], SECONDS[count]
            goals.append(Goal(f"{count:,} partitions", "time", f"{took:.3f} s", f"≤ {most} s", took <= most))
        if count in MEBIBYTES:
            peak, most = found["peak"], MEBIBYTES[count]
            goals.append(Goal(f"{count:,} partitions", "memory", f"{peak:,.0f} MiB", f"≤ {most:,} MiB", peak <= most))
    return Figures(
        "planning",
        ("partitions", "seconds to open and plan", "peak in MiB"),
        tuple(lines),
        "Of a process that does nothing else, and does it twice; the seconds are those of the second time.",
        tuple(goals),
    )


def planning(directory: Path, count: int, others: tuple[Other, ...] = ()) -> Case:
    """Open and find the file of one partition."""
    known, p = many(directory, count), count // 2
    contenders = [Contender("Kubothek", lambda: files(known.open().scan(where=kb.C("p") == p).plan.files[0].num_rows))]
    if count <= _AGAINST_OTHERS:
        request = {"store": str(known.folder), "predicates": [[["p", "==", p]]]}
        contenders += [one.contender(1, known.folder / f"{one.name}.parquet", "plan", **request) for one in others]
        contenders += [
            Contender(
                "delta-rs", lambda: files(len(known.open_delta().file_uris(file_pruning_predicate=f"p = {p}"))), goal=1
            ),
            Contender("PyIceberg", lambda: files(len(list(scan_iceberg(known, p).plan_files()))), goal=1),
        ]
    return Case("opening", f"open and plan 1 of {count:,} partitions", tuple(contenders))


def reading(directory: Path, count: int, others: tuple[Other, ...]) -> Case:
    """Open, find the file of one partition, and read it."""
    known, p = many(directory, count), count // 2
    request = {"store": str(known.folder), "predicates": [[["p", "==", p]]]}
    return Case(
        "opening",
        f"open, plan and read 1 of {count:,} partitions",
        (
            Contender("Kubothek", lambda: known.open().scan(where=kb.C("p") == p).to_arrow()),
            *(one.contender(1, known.folder / f"{one.name}.parquet", "find", **request) for one in others),
            Contender("delta-rs", lambda: in_sql(known.open_delta(), "p", [p]), plain, goal=1),
            Contender("PyIceberg", lambda: scan_iceberg(known, p).to_arrow(), goal=1),
        ),
    )


def scan_iceberg(known: Known, p: int) -> DataScan:
    """Open the Iceberg table and ask for one partition."""
    return known.open_iceberg().scan(row_filter=EqualTo("p", p))


def files(count: int) -> pa.Table:
    """Return how many files were found, to be compared."""
    return pa.table({"files": [count]})


def many(directory: Path, count: int) -> Known:
    """Return a dataset of so many partitions, and what others know of it; it is made where it is not there yet."""
    known = Known(directory / "many" / f"{count}", SCHEMA, ("p",))
    made = known.folder / "made"
    if not made.is_file():
        shutil.rmtree(known.folder, ignore_errors=True)
        size = write_rows(known, count // 2)
        partitions = [File(f"{p:032x}", ROWS, size, p) for p in range(count)]
        tellers: list[Callable[[Known, list[File]], None]] = [tell_kubothek]
        if count <= _AGAINST_OTHERS:
            tellers += [tell_delta, tell_iceberg]
        for tell in tellers:
            tell(known, partitions)
        made.touch()
    return known


def write_rows(known: Known, p: int) -> int:
    """Write the file of one partition and return its bytes."""
    path = known.files / f"p={p}" / f"{p:032x}.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(rows(p).drop_columns("p"), path, compression="zstd")
    return path.stat().st_size


def rows(p: int) -> pa.Table:
    """Return the rows of a partition."""
    x = np.arange(ROWS)
    return pa.table({"p": np.full(ROWS, p), "x": x, "v1": x / 8}, SCHEMA)
