"""Questions to a cube, as Kubothek answers them, and Spark SQL, Polars and DuckDB with joins of the same files.

All join as their users would: those enrichments alone of which columns are wanted; a condition stands on the dataset
that has the column, on an enrichment it makes the join an inner one, and everything else is a left join. Spark SQL is
also told by hints to broadcast the enrichments or to join them by hash after a shuffle, and is given tables that were
bucketed and sorted by the keys beforehand. Polars scans lazily and pushes columns and conditions down; DuckDB is asked
in SQL and chooses the order of joins itself. Where rows are wanted in order, they sort them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import kubothek as kb
from benchmarks.bucketed import table
from benchmarks.data import KEYS, StoredCube
from benchmarks.timing import Contender
from benchmarks.works.peers import connected

ORDER = ("x", "y", "p")
"""How tables of Kubothek are sorted: by the dimensions, then the partition columns."""

BEST = 2.0
"""The goal against Spark SQL that was told how to join, or had its tables prepared."""


@dataclass(frozen=True, slots=True)
class Question:
    """Payload columns (``None``: all) and a condition in SQL on the columns of one dataset, which ``by`` names."""

    columns: tuple[str, ...] | None = None
    where: str | None = None
    by: str = "seed"

    def how(self, dataset: str) -> str:
        """Return how an enrichment is joined."""
        return "inner" if self.restricts(dataset) else "left"

    def joined(self, cube: StoredCube) -> list[str]:
        """Return the enrichments that say something of the answer."""
        if self.columns is None:
            return list(cube.enrichments)
        wanted = set(self.columns)
        return [name for name, own in cube.columns.items() if self.restricts(name) or not wanted.isdisjoint(own)]

    def restricts(self, dataset: str) -> bool:
        """Whether the condition is on this dataset."""
        return self.where is not None and dataset == self.by


def restricted(cube: StoredCube, columns: tuple[str, ...] | None = None) -> Question:
    """Ask for 2 % of the cells, by a payload condition on the first enrichment."""
    return Question(columns, cube.restriction, cube.enrichments[0])


def ask(cube: StoredCube, question: Question) -> kb.Query:
    """Ask the cube."""
    return kb.query_cube(
        cube.cube,
        cube.store,
        where=question.where,
        columns=question.columns,
        datasets=("seed", *cube.enrichments),
    )


def join(rows: Callable[[str], DataFrame], cube: StoredCube, question: Question, hint: str | None = None) -> DataFrame:
    """Join frames of Spark's."""

    def read(dataset: str) -> DataFrame:
        frame = rows(dataset)
        return frame.where(str(question.where)) if question.restricts(dataset) else frame

    def added(left: DataFrame, dataset: str) -> DataFrame:
        right = read(dataset) if hint is None else read(dataset).hint(hint)
        return left.join(right, [*KEYS], question.how(dataset))

    joined = reduce(added, question.joined(cube), read("seed"))
    return joined if question.columns is None else joined.select(*KEYS, *question.columns)


def stored(spark: SparkSession, cube: StoredCube, question: Question, hint: str | None = None) -> DataFrame:
    """Join the cube's own Parquet files."""
    return join(lambda dataset: spark.read.parquet(cube.files(dataset)), cube, question, hint)


def on_spark(
    spark: SparkSession,
    cube: StoredCube,
    question: Question,
    consume: Callable[[DataFrame], object],
    rows: Callable[..., pa.Table],
    goals: tuple[float | None, float | None],
) -> Iterator[Contender]:
    """Yield all contenders on Spark; ``goals`` are against Spark SQL by default, and against its best."""
    default, best = goals

    def contender(name: str, frame: Callable[[], DataFrame], goal: float | None) -> Contender:
        return Contender(name, lambda: consume(frame()), rows, goal)

    yield contender("Kubothek", lambda: ask(cube, question).to_spark(spark), None)
    yield contender("Spark SQL", partial(stored, spark, cube, question), default)
    tuned = {
        "broadcast hint": partial(stored, spark, cube, question, "broadcast"),
        "shuffle-hash hint": partial(stored, spark, cube, question, "shuffle_hash"),
        "bucketed tables": partial(join, partial(table, spark, cube), cube, question),
    }
    for name, frame in tuned.items():
        yield replace(contender(name, frame, best), group="tuned")


def in_kubothek(cube: StoredCube, question: Question) -> pa.Table:
    """Query the cube in this process."""
    return ask(cube, question).to_arrow()


def in_batches(cube: StoredCube, question: Question) -> pa.Table:
    """Query the cube in this process; rows come partition by partition."""
    return pa.table(ask(cube, question))


def in_polars(cube: StoredCube, question: Question, order: tuple[str, ...]) -> pa.Table:
    """Join lazily scanned files."""

    def read(dataset: str) -> pl.LazyFrame:
        frame = pl.scan_parquet(f"{cube.files(dataset)}/**/*.parquet", hive_partitioning=True)
        return frame.filter(pl.sql_expr(str(question.where))) if question.restricts(dataset) else frame

    def added(left: pl.LazyFrame, dataset: str) -> pl.LazyFrame:
        return left.join(read(dataset), on=[*KEYS], how=question.how(dataset))

    joined = reduce(added, question.joined(cube), read("seed"))
    wanted = joined if question.columns is None else joined.select(*KEYS, *question.columns)
    return (wanted.sort(order) if order else wanted).collect().to_arrow()


def in_duckdb(cube: StoredCube, question: Question, order: tuple[str, ...]) -> pa.Table:
    """Join files in SQL."""
    joins = [
        f"{question.how(dataset)} JOIN {_files(cube, dataset)} USING ({', '.join(KEYS)})"
        for dataset in question.joined(cube)
    ]
    wanted = "*" if question.columns is None else ", ".join((*KEYS, *question.columns))
    asked = f"SELECT {wanted} FROM {_files(cube, 'seed')} {' '.join(joins)} WHERE {question.where or 'true'}"  # noqa: S608  ours
    rows = connected().sql(asked)
    return (rows.order(", ".join(order)) if order else rows).to_arrow_table()


def _files(cube: StoredCube, dataset: str) -> str:
    return f"read_parquet('{cube.files(dataset)}/*/*.parquet', hive_partitioning = true) AS {dataset}"


def in_process(
    cube: StoredCube, question: Question, rows: Callable[..., pa.Table], goal: float | None, *, ordered: bool
) -> Sequence[Contender]:
    """Return all contenders in this process: for a sorted table, or for one in any order."""
    order = ORDER if ordered else ()
    return (
        Contender("Kubothek", partial(in_kubothek if ordered else in_batches, cube, question), rows),
        Contender("Polars", partial(in_polars, cube, question, order), rows, goal),
        Contender("DuckDB", partial(in_duckdb, cube, question, order), rows, goal),
    )
