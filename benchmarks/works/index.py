"""An index over many values: built over data that is there, and asked for one value, against Plateau and Kartothek.

Nobody else has such an index. Each value is in two rows, in any two of a hundred files. Kubothek's index is dropped
after each round, off the clock; Plateau and Kartothek, each on a copy of the dataset, write theirs anew in each round.
The question is which files hold a value: opening, the lookup and the plan, nothing of the rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import kubothek as kb
from benchmarks.curves import Curve
from benchmarks.data import Size
from benchmarks.timing import Case, Contender
from benchmarks.works.growth import curves
from benchmarks.works.lookup_tables import frames
from benchmarks.works.metadata import UUID
from benchmarks.works.opening import files
from benchmarks.works.others import Other, running, told

FILES = 100
_AGAINST_OTHERS = 1_000_000
"""Values; with more the others need minutes, and memory of many times the index."""
ALONE = "With so many values the others take minutes."
_DOUBLINGS = 4


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """Build and ask, for each number of values."""
    with running() as others:
        for values in size.indexed:
            able = others if values <= _AGAINST_OTHERS else ()
            yield building(directory, values, able)
            yield asking(directory, values, able)


def growth(directory: Path, size: Size) -> Iterator[Curve]:
    """A lookup against the number of values."""
    values = [size.indexed[0] >> n for n in reversed(range(_DOUBLINGS))]
    with running("Plateau") as others:
        places = ((count, asking(directory, count, others)) for count in values)
        yield from curves("look up one value", "values of the index", places, "One row group of the index is read.")


def building(directory: Path, values: int, others: tuple[Other, ...]) -> Case:
    """Build an index; every one of them must know the files of one value then."""
    folder = rows(directory, values)

    def build() -> None:
        kb.build_dataset_indices(UUID, str(folder), "i1")

    def built(_: object) -> pa.Table:
        found = in_kubothek(folder, values)
        kb.drop_dataset_indices(UUID, str(folder), "i1")
        return found

    def through(other: Other) -> Contender:
        store = copy_of(folder, other)
        out = store.parent / f"{store.name}.parquet"

        def found(_: object) -> pa.Table:
            other.ask("plan", store=str(store), predicates=predicates(values))
            return other.fetch(out)

        run = lambda: other.ask("index", store=str(store), columns=["i1"])
        return Contender(other.name, run, found, goal=1, seconds=told)

    contenders = (Contender("Kubothek", build, built), *map(through, others))
    return Case("index", f"build, {values:,} values in {FILES} files", contenders, reason="" if others else ALONE)


def asking(directory: Path, values: int, others: tuple[Other, ...]) -> Case:
    """Open and find the files of one value, in an index that Kubothek built."""
    folder = rows(directory, values, indexed=True)
    request = {"store": str(folder), "predicates": predicates(values)}
    return Case(
        "index",
        f"open and look up 1 of {values:,} values",
        (
            Contender("Kubothek", lambda: in_kubothek(folder, values)),
            *(one.contender(1, folder / f"{one.name}.parquet", "plan", **request) for one in others),
        ),
        reason="" if others else ALONE,
    )


def in_kubothek(folder: Path, values: int) -> pa.Table:
    """Open and plan."""
    plan = kb.open_dataset(UUID, str(folder)).scan(where=kb.C("i1") == values // 2).plan
    return files(plan.files[0].num_rows)


def predicates(values: int) -> list[list[tuple[str, str, int]]]:
    """Return the condition that finds a value."""
    return [[("i1", "==", values // 2)]]


def rows(directory: Path, values: int, *, indexed: bool = False) -> Path:
    """Return a dataset of so many values, with or without an index; it is made where it is not there yet."""
    folder = directory / "index" / f"{values}-{'indexed' if indexed else 'plain'}"
    made = folder / "made"
    if not made.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        narrow = (frame.select(["x", "i1"]) for frame in frames(values, FILES))
        kb.write_dataset(narrow, UUID, str(folder), secondary_indices=["i1"] if indexed else [])
        made.touch()
    return folder


def copy_of(folder: Path, other: Other) -> Path:
    """Copy a dataset without our own notes."""
    target = folder.parent / f"{folder.name}-{other.name}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("_kubothek"))
    return target
