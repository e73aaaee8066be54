"""Rows of the models as Arrow tables, and the rows that stored data files hold, read back without the library's reader.

The tables of a simulation have three columns: the partition ``p``, an index value ``i1`` or a cell ``x``, and the
number ``v1`` (in the enrichment of a cube ``v2``) that no other row has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.testing.simulation.runs import Row, Rows

_PARTITION = re.compile(r"/p=(\d+)/")


def table_of(rows: Iterable[Row], value: str = "i1", number: str = "v1") -> pa.Table:
    """Return rows as the table that is written."""
    given = list(rows)
    kind = pa.string() if value == "i1" else pa.int64()
    columns = [[row[1] for row in given], [row[2] for row in given], [row[0] for row in given]]
    types = (pa.int64(), kind, pa.int64())
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["p", value, number])


def rows_in(table: pa.Table) -> Rows:
    """Return the rows of a table that was read."""
    value = "i1" if "i1" in table.column_names else "x"
    number = next((name for name in table.column_names if name.startswith("v")), "v1")
    return Counter(zip(*(table[name].to_pylist() for name in (number, "p", value)), strict=True))


def rows_of_file(key: str, data: bytes) -> Rows:
    """Return the rows of a data file; the partition is in its key or in the file."""
    found = _PARTITION.search(key)
    return _rows_of(data, None if found is None else int(found[1]))


@lru_cache(maxsize=4096)
def _rows_of(data: bytes, partition: int | None) -> Rows:
    table = pq.read_table(pa.BufferReader(data), use_threads=False)
    if partition is not None:
        table = table.append_column("p", pa.array([partition] * table.num_rows, pa.int64()))
    return rows_in(table)
