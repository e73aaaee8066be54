"""Rows found by the value of one column, in this process, against everyone else on the same rows.

Cold is opening, planning and reading; warm is a table that was opened before, in the case of Plateau and Kartothek with
their indices. These two run in processes of their own, which take the time themselves. How the others look up is told
in :mod:`benchmarks.works.peers`, what they look into in :mod:`benchmarks.works.lookup_tables`: files as their own
writers make them, and many more small files that all of them share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

import kubothek as kb
from benchmarks.data import Size
from benchmarks.timing import Case, Contender
from benchmarks.works.lookup_tables import SEED, Tables, in_tiny_files, written_by_everyone
from benchmarks.works.others import Other, running
from benchmarks.works.peers import in_arrow, in_duckdb, in_iceberg, in_polars, in_sql, plain

DELTA = "delta-rs"
SMALL = 10_000
"""Files up to which PyArrow is given the files of a Delta table; with more it takes it half a minute to be ready."""


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """One value and many that lie anywhere, and one that statistics find too."""
    many = np.random.default_rng(SEED + 1).choice(size.values, min(1_000, size.values), replace=False).tolist()
    with running() as others:
        tables = written_by_everyone(directory, size, others)
        for one in others:
            one.ask("open", store=str(tables.of_other(one.name)))
        for name, column, values in (
            ("one value", "i1", many[:1]),
            ("100 values", "i1", many[:100]),
            (f"{len(many):,} values", "i1", many),
            ("one value, in order", "i2", many[:1]),
        ):
            yield cold(tables, others, name, column, values)
            yield warm(tables, others, name, column, values)
        tiny = in_tiny_files(directory, size)
        yield cold(tiny, others, "one value", "i1", many[:1])
        yield cold(tiny, others, f"{len(many):,} values", "i1", many)


def cold(tables: Tables, others: Sequence[Other], name: str, column: str, values: Sequence[int]) -> Case:
    """Open, plan and read."""
    asked = (column, values)
    contenders = [
        Contender("Kubothek", lambda: in_kubothek(tables.open(), *asked)),
        *(through(one, tables, *asked, opened=False) for one in others),
        Contender("delta-rs, DataFusion", lambda: in_sql(tables.open_delta(), *asked), plain, 1, group=DELTA),
        Contender("PyIceberg", lambda: in_iceberg(tables.open_iceberg(), *asked), plain, goal=1),
    ]
    if tables.files <= SMALL:
        contenders.append(
            Contender("delta-rs, PyArrow", lambda: in_arrow(opened_by_arrow(tables), *asked), plain, 1, group=DELTA)
        )
    if tables.pattern is not None:
        contenders += [
            Contender("Polars", partial(in_polars, tables.pattern, *asked), plain, goal=1),
            Contender("DuckDB", partial(in_duckdb, tables.pattern, *asked), plain, goal=1),
        ]
    return Case("lookup", f"{name} in {tables.files:,} files, cold", tuple(contenders))


def warm(tables: Tables, others: Sequence[Other], name: str, column: str, values: Sequence[int]) -> Case:
    """Plan and read what is open; plain files cannot be."""
    asked = (column, values)
    delta = tables.open_delta()
    return Case(
        "lookup",
        f"{name} in {tables.files:,} files, warm",
        (
            Contender("Kubothek", partial(in_kubothek, tables.open(), *asked)),
            *(through(one, tables, *asked, opened=True) for one in others),
            Contender("delta-rs, DataFusion", partial(in_sql, delta, *asked), plain, 1, group=DELTA),
            Contender("delta-rs, PyArrow", partial(in_arrow, opened_by_arrow(tables), *asked), plain, 1, group=DELTA),
            Contender("PyIceberg", partial(in_iceberg, tables.open_iceberg(), *asked), plain, goal=1),
        ),
    )


def opened_by_arrow(tables: Tables) -> pads.Dataset:
    """Open the Delta table and give its files to PyArrow."""
    return tables.open_delta().to_pyarrow_dataset()


def in_kubothek(dataset: kb.Dataset, column: str, values: Sequence[int]) -> pa.Table:
    """Look up in a dataset."""
    return dataset.scan(where=kb.C(column).isin(values)).to_arrow()


def through(other: Other, tables: Tables, column: str, values: Sequence[int], *, opened: bool) -> Contender:
    """Let Plateau or Kartothek look up and take the time."""
    store = tables.of_other(other.name)
    request = {"store": str(store), "predicates": [[[column, "in", values]]], "opened": opened}
    return other.contender(1, store.parent / f"{other.name}.parquet", "find", **request)
