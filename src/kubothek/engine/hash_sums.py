"""How much rows weigh together: their number and the sum of their hashes, over all of them or by group.

A task sums what it reads, batch by batch, and hands over one row per group; sums of sums are made in the same way.
Groups are told apart as keys of a join are (:func:`kubothek.engine.join.key_codes`): ``-0.0`` is ``0.0``, NaN is one
value, null is one, and both come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.engine.key_codes import key_codes, stable_order
from kubothek.engine.reading import UnitReader
from kubothek.engine.row_hash import Words, hash_rows
from kubothek.engine.steps import in_order
from kubothek.model.read_plan import ReadPlan
from kubothek.store.interface import Store

ROWS, HASH = "rows", "hash"
_PENDING = 1_000_000
"""Rows of partial sums up to which they wait to be added up."""


@dataclass(frozen=True, slots=True)
class HashTask:
    """Which columns are hashed, and by which columns rows are grouped; the plan reads both."""

    columns: tuple[str, ...]
    group_by: tuple[str, ...] = ()

    def sum_plan(self, store: Store, plan: ReadPlan) -> Iterator[pa.Table]:
        """Read a plan and give its sums, one table; the body of a task, in-process and on Spark."""
        reader = UnitReader(store, plan)
        keys = pa.schema([plan.schema.field(name) for name in self.group_by])
        tables = in_order(partial(reader.step, unit) for unit in range(plan.units.num_rows))
        yield add_sums(map(self.sum_rows, tables), keys)

    def sum_rows(self, table: pa.Table) -> pa.Table:
        """Return one row per group: its values, ``rows`` (int64) and ``hash`` (uint64), sorted."""
        ones = np.ones(table.num_rows, np.int64)
        return _summed(table, self.group_by, ones, hash_rows(table, self.columns))


def add_sums(parts: Iterable[pa.Table], keys: pa.Schema) -> pa.Table:
    """Add partial sums up; ``keys`` are the columns of the groups.

    Without columns there is one group, also of no rows at all.
    """
    total = sums_schema(keys).empty_table()
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(part)
        if sum(table.num_rows for table in waiting) > _PENDING + total.num_rows:
            total, waiting = _added([total, *waiting], keys.names), []
    return _added([total, *waiting], keys.names)


def sums_schema(keys: pa.Schema) -> pa.Schema:
    """Return the columns of sums over groups of these keys."""
    return pa.schema([*keys, pa.field(ROWS, pa.int64()), pa.field(HASH, pa.uint64())])


def _added(parts: Sequence[pa.Table], group_by: Sequence[str]) -> pa.Table:
    table = pa.concat_tables(parts)
    return _summed(table, group_by, table.column(ROWS).to_numpy(), table.column(HASH).to_numpy())


def _summed(table: pa.Table, group_by: Sequence[str], rows: np.ndarray, hashes: Words) -> pa.Table:
    if not group_by:
        sums = [rows.sum(keepdims=True), hashes.sum(keepdims=True, dtype=np.uint64)]
        return pa.table([pa.array(column) for column in sums], names=[ROWS, HASH])
    (codes,), size = key_codes([[table.column(name) for name in group_by]])
    order = stable_order(codes, size)
    ordered = codes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    shown = table.select(list(group_by)).take(pa.array(order[starts]))
    columns = {name: _one_zero(shown.column(name)) for name in group_by}
    if len(starts):
        rows, hashes = np.add.reduceat(rows[order], starts), np.add.reduceat(hashes[order], starts)
    return pa.table(columns | {ROWS: pa.array(rows), HASH: pa.array(hashes)})


def _one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column
