"""One row of a hundred, read in this process by a partition, an index and a payload condition, against everyone else.

The rows lie in a hundred partitions of many files each. A partition is a hundredth; so are the files that hold one
value of ``i1``, which an index tells, and statistics too; rows with ``n1 < 10`` are in every file. Plateau and
Kartothek read the dataset that Kubothek wrote, which has their format, indices included; delta-rs, PyIceberg, Polars
and DuckDB read the same files. Everyone opens, plans and reads all columns. Plateau and Kartothek give frames of
pandas, everyone else Arrow; what a frame costs Kubothek is shown as well.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from deltalake import QueryBuilder

import kubothek as kb
from benchmarks.data import Size
from benchmarks.timing import Case, Contender
from benchmarks.works.metadata import UUID, Known, files_of, tell_delta, tell_iceberg
from benchmarks.works.others import Other, running
from benchmarks.works.peers import connected, plain

PARTITIONS = 100
_NUMBERS, _FRACTIONS = ("p", "x", "i1", "n1"), ("v1", "v2")
SCHEMA = pa.schema(
    [*((name, pa.int64()) for name in _NUMBERS), *((name, pa.float64()) for name in _FRACTIONS), ("s1", pa.string())]
)
_VALUES = 100
_SEED = 70
GOALS = {"Plateau": 3.0}
"""How many times our time the others should need at least; those without are only reported."""


@dataclass(frozen=True, slots=True)
class Question:
    """A condition on one column, in SQL and as Plateau has it."""

    name: str
    where: str
    predicate: tuple[str, str, int]


QUESTIONS = (
    Question("a partition", "p = 42", ("p", "==", 42)),
    Question("a value of an index", "i1 = 42", ("i1", "==", 42)),
    Question("a payload condition", "n1 < 10", ("n1", "<", 10)),
)


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """By each condition."""
    known = make_rows(directory / "reading", size)
    with running() as others:
        for question in QUESTIONS:
            yield case(known, others, question)


def case(known: Known, others: Sequence[Other], question: Question) -> Case:
    """Open, plan and read."""
    out, request = known.folder, {"store": str(known.folder), "predicates": [[question.predicate]]}
    ways: dict[str, Callable[[], pa.Table]] = {
        "delta-rs": lambda: by_delta(known, question),
        "PyIceberg": lambda: known.open_iceberg().scan(row_filter=question.where).to_arrow(),
        "Polars": lambda: by_polars(known, question),
        "DuckDB": lambda: by_duckdb(known, question),
    }
    return Case(
        "read 1 %",
        f"{question.name}: {question.where}",
        (
            Contender("Kubothek", lambda: known.open().scan(where=question.where).to_arrow()),
            *(one.contender(GOALS.get(one.name), out / f"{one.name}.parquet", "find", **request) for one in others),
            *(Contender(name, way, plain) for name, way in ways.items()),
            Contender(
                "Kubothek, to pandas",
                lambda: known.open().scan(where=question.where).to_pandas(),
                lambda frame: plain(pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()),
            ),
        ),
        reason="" if others else "Plateau, against which the goal is, is not here.",
    )


def by_delta(known: Known, question: Question) -> Any:
    """Ask DataFusion, which plans with the statistics of the log."""
    table = known.open_delta()
    asked = f"SELECT * FROM rows WHERE {question.where}"  # noqa: S608  our own text
    return pa.table(QueryBuilder().register("rows", table).execute(asked).read_all())


def by_polars(known: Known, question: Question) -> pa.Table:
    """Scan lazily; folders tell the partition."""
    rows = pl.scan_parquet(f"{known.files}/p=*/*.parquet", hive_partitioning=True)
    return rows.filter(pl.sql_expr(question.where)).collect().to_arrow()


def by_duckdb(known: Known, question: Question) -> pa.Table:
    """Ask in SQL; folders tell the partition."""
    source = f"read_parquet('{known.files}/p=*/*.parquet', hive_partitioning = true)"
    return connected().sql(f"FROM {source} WHERE {question.where}").to_arrow_table()


def make_rows(folder: Path, size: Size) -> Known:
    """Return the rows; they are written where they are not there yet."""
    known = Known(folder, SCHEMA, ("p",))
    made = folder / "made"
    if not made.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        rows = frames(size.read, size.files)
        kb.write_dataset(rows, UUID, str(folder), partition_on="p", secondary_indices="i1", sort_by="x")
        files = files_of(known, ("x", "i1", "n1"))
        tell_delta(known, files)
        tell_iceberg(known, files)
        made.touch()
    return known


def frames(count: int, spread: int) -> Iterator[pa.Table]:
    """Yield rows in a frame per file; every file has one value of ``i1``, those of a partition have different ones."""
    files = max(spread // PARTITIONS, 1) * PARTITIONS
    rows, random = count // files, np.random.default_rng(_SEED)
    kinds = pa.array([f"kind-{number}" for number in range(20)])
    for number in range(files):
        p, nth = number % PARTITIONS, number // PARTITIONS
        yield pa.table(
            {
                "p": np.full(rows, p),
                "x": number * rows + np.arange(rows),
                "i1": np.full(rows, (p + 7 * nth) % _VALUES),
                "n1": random.integers(0, 1_000, rows),
                "v1": random.random(rows),
                "v2": random.random(rows),
                "s1": kinds.take(pa.array(random.integers(0, 20, rows))),
            },
            SCHEMA,
        )
