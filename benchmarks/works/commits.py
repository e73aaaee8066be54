"""Appends of one row by several processes to one local dataset, against delta-rs.

Kubothek brings every commit to the disk before it acknowledges it, delta-rs leaves that to the system. The processes
are there before the clock starts; every row that was acknowledged must be there, once, before a time counts.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa

from benchmarks.appending import make, rows
from benchmarks.curves import Curve
from benchmarks.data import Size
from benchmarks.timing import Case, Contender
from benchmarks.works.growth import curves

KINDS = {"Kubothek": "kubothek", "delta-rs": "delta", "delta-rs, table kept open": "opened"}


@dataclass(frozen=True, slots=True)
class Ended:
    """Where the rows are that were appended, and how long that took."""

    kind: str
    where: Path
    seconds: float


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """One process, four and eight, without and with an index."""
    for processes in (1, 4, 8):
        for indices in ((), ("i1",)):
            yield case(directory / "commits", processes, size.commits // processes, indices)


def growth(directory: Path, size: Size) -> Iterator[Curve]:
    """The time of as many commits against the writers that make them."""
    count = size.commits // 2
    places = ((writers, case(directory / "commits", writers, count // writers, ())) for writers in (1, 2, 4, 8))
    yield from curves(f"{count} commits", "writers", places, "Commits follow one another, whoever makes them.")


def case(folder: Path, processes: int, each: int, indices: tuple[str, ...]) -> Case:
    """Let every contender make as many commits with as many processes; only Kubothek has indices."""
    taken: dict[str, list[float]] = defaultdict(list)

    def contender(name: str) -> Contender:
        kind = KINDS[name]
        run = partial(appended, folder / kind, kind, processes, each, indices)
        if name == "Kubothek":
            return Contender(name, run, found, seconds=seconds)
        return Contender(name, run, found, goal=1, seconds=seconds, group="delta-rs")

    def seconds(ended: Ended) -> float:
        taken[ended.kind].append(ended.seconds)
        return ended.seconds

    def note() -> str:
        per_second = {name: processes * each / median(taken[kind][1:]) for name, kind in KINDS.items()}
        return "commits a second: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in per_second.items())

    name = f"{processes * each} commits, {processes} process{'es' if processes > 1 else ''}"
    return Case("commits", f"{name}, {len(indices) or 'no'} index", tuple(map(contender, KINDS)), note)


def appended(where: Path, kind: str, processes: int, each: int, indices: tuple[str, ...]) -> Ended:
    """Start the processes, let all begin at once, and take the time until the last is done."""
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    make(kind, where, indices)
    command = [sys.executable, "-m", "benchmarks.appending", kind, str(where)]
    pipe = subprocess.PIPE
    writers = [
        subprocess.Popen([*command, f"writer {number}", str(each)], stdin=pipe, stdout=pipe, text=True)  # noqa: S603  ours
        for number in range(processes)
    ]
    await_line(writers, "ready")
    start = time.perf_counter()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    await_line(writers, "done")
    taken = time.perf_counter() - start
    for writer in writers:
        writer.communicate()
    return Ended(kind, where, taken)


def await_line(writers: list[subprocess.Popen[str]], word: str) -> None:
    """Wait until every process has said this."""
    for writer in writers:
        assert writer.stdout is not None
        said = writer.stdout.readline().strip()
        assert said == word, f"a process that appends said {said!r}, not {word!r}; its error is above"


def found(ended: Ended) -> pa.Table:
    """Return the rows that are there, and take them away."""
    table = rows(ended.kind, ended.where)
    shutil.rmtree(ended.where)
    return table
