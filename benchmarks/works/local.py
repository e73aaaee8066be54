"""A cube query in this process, against Polars and DuckDB joining the same Parquet files. Only reported.

Kubothek's table comes sorted by the dimensions, which is about half of its time where there is no condition; the
rivals' come in no order, as Kubothek's own batches do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import duckdb
import polars as pl
import pyarrow as pa
from pyspark.sql import SparkSession

import kubothek as kb
from benchmarks.data import CUBE, Data
from benchmarks.timing import Case, Contender
from benchmarks.works.cube import KEYS, PAYLOAD, RESTRICTION


def cases(_spark: SparkSession, data: Data) -> Iterator[Case]:
    """Without a condition, and with one that restricts the query to 2 % of the cells; as an Arrow table each."""
    for name, where in (("no condition", None), ("2 % of the cells", RESTRICTION)):
        yield Case(
            "cube query in-process",
            name,
            (
                Contender("Kubothek", partial(kubothek_table, data, where), _sums),
                Contender("Kubothek, batches", partial(kubothek_batches, data, where), _sums),
                Contender("Polars", partial(polars_table, data, where), _sums),
                Contender("DuckDB", partial(duckdb_table, data, where), _sums),
            ),
        )


def kubothek_table(data: Data, where: str | None) -> pa.Table:
    """Query the cube."""
    return kb.query_cube(CUBE, data.store, where=where, columns=PAYLOAD).to_arrow()


def kubothek_batches(data: Data, where: str | None) -> pa.Table:
    """Query the cube; rows come partition by partition."""
    return pa.table(kb.query_cube(CUBE, data.store, where=where, columns=PAYLOAD))


def polars_table(data: Data, where: str | None) -> pa.Table:
    """Join lazily scanned files."""
    seed, complete, partial = (
        pl.scan_parquet(data.files(name) + "/**/*.parquet", hive_partitioning=True)
        for name in ("seed", "complete", "partial")
    )
    if where is not None:
        complete = complete.filter(pl.sql_expr(where))
    joined = seed.join(complete, on=KEYS, how="left" if where is None else "inner").join(partial, on=KEYS, how="left")
    return joined.select(*KEYS, *PAYLOAD).collect().to_arrow()


def duckdb_table(data: Data, where: str | None) -> pa.Table:
    """Join files in SQL."""
    seed, complete, partial = (
        f"read_parquet('{data.files(name)}/*/*.parquet', hive_partitioning = true) AS {name}"
        for name in ("seed", "complete", "partial")
    )
    question = f"""
        SELECT {", ".join([*KEYS, *PAYLOAD])} FROM {seed}
        {"LEFT" if where is None else "INNER"} JOIN {complete} USING (p, x, y) LEFT JOIN {partial} USING (p, x, y)
        WHERE {where or "true"}
    """  # noqa: S608  our own names
    with duckdb.connect() as connection:
        return connection.sql(question).to_arrow_table()


def _sums(table: pa.Table) -> pa.Table:
    sums = table.group_by("p").aggregate([("b1", "count"), *((name, "sum") for name in PAYLOAD)])
    return sums.set_column(0, "p", sums.column("p").cast(pa.int64()))
