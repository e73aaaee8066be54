"""How the others in this process find rows by the values of one column, each in the way that is its fastest.

delta-rs hands its files and statistics to PyArrow, or asks DataFusion, its own engine; PyIceberg plans and reads with
PyArrow; Polars scans files lazily; DuckDB asks in SQL. Polars and DuckDB have no table that would tell them where to
look, so that they look at the statistics in the footer of every file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.expressions import In
from pyiceberg.table import Table as IcebergTable


def in_arrow(dataset: pads.Dataset, column: str, values: Sequence[Any]) -> pa.Table:
    """Look up in the files and statistics that delta-rs gave PyArrow."""
    return dataset.to_table(filter=pads.field(column).isin(values))


def in_sql(table: DeltaTable, column: str, values: Sequence[Any]) -> pa.Table:
    """Look up with the query engine that delta-rs has."""
    question = f"SELECT * FROM rows WHERE {column} IN ({_listed(values)})"  # noqa: S608  our own values
    return pa.table(QueryBuilder().register("rows", table).execute(question).read_all())


def in_iceberg(table: IcebergTable, column: str, values: Sequence[Any]) -> pa.Table:
    """Look up in an Iceberg table."""
    return table.scan(row_filter=In(column, values)).to_arrow()


def in_polars(pattern: str, column: str, values: Sequence[Any]) -> pa.Table:
    """Look up in plain files."""
    rows = pl.scan_parquet(pattern)
    return rows.filter(pl.col(column).is_in(list(values))).collect().to_arrow()


def in_duckdb(pattern: str, column: str, values: Sequence[Any]) -> pa.Table:
    """Look up in plain files."""
    source = f"read_parquet('{pattern}', hive_partitioning = false)"
    return connected().sql(f"FROM {source} WHERE {column} IN ({_listed(values)})").to_arrow_table()


@cache
def connected() -> duckdb.DuckDBPyConnection:
    """Return the one connection to DuckDB that this process keeps, as its users do."""
    return duckdb.connect()


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values))


def plain(found: pa.Table) -> pa.Table:
    """Return what was found with text as PyArrow can sort it."""
    kinds = {pa.string_view(): pa.string(), pa.large_string(): pa.string()}
    return found.cast(pa.schema([(field.name, kinds.get(field.type, field.type)) for field in found.schema]))
