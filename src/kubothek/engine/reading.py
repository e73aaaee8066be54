"""How the rows of one unit of a plan are read: the body of every read task, in-process and on Spark.

A unit is read in five steps: inputs that can empty it come first (inner joins), so that nothing else is read in vain;
each input is filtered, and where cells of its files overlap, the last row of a cell wins before any other condition is
asked; the cells of the seed are sorted and made unique; the other inputs are joined to them by row number
(``kubothek.engine.join``); the columns of the result are taken once, at the end.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.codec.data import corrupt_file, read_rows
from kubothek.engine.join import key_codes, last_of_each, match_codes, take
from kubothek.errors import ObjectNotFoundError, SnapshotExpiredError
from kubothek.model.condition import EVERYTHING, Comparison, Condition, all_of, conjuncts
from kubothek.model.read_plan import PARTITION_PREFIX, JoinStep, ReadInput, ReadPlan
from kubothek.plan.match import match_rows
from kubothek.store.interface import Store

_SHARED_FILE = 32 * 2**20
"""Bytes up to which a file that serves several units is kept decoded between them."""

_SHARED_TOTAL = 256 * 2**20
"""Bytes in memory of all such files of one reader; those used longest ago go first."""


class UnitReader:
    """Reads the units of one plan from one store; safe to use from several threads.

    Files that serve several units (a coarse enrichment) are decoded once and kept while there is room.
    """

    def __init__(self, store: Store, plan: ReadPlan) -> None:
        self._store = store
        self._plan = plan
        self._wanted = [_wanted_columns(plan, number) for number in range(len(plan.inputs))]
        self._conditions = [_row_condition(one) for one in plan.inputs]
        units = plan.units.column("unit").to_numpy()
        self._starts = [np.searchsorted(files.column("unit").to_numpy(), units, "left") for files in plan.files]
        self._stops = [np.searchsorted(files.column("unit").to_numpy(), units, "right") for files in plan.files]
        self._uses = [Counter(files.column("key").to_pylist()) for files in plan.files]
        self._shared: dict[tuple[int, str], pa.Table] = {}
        self._lock = threading.Lock()

    def read(self, position: int) -> pa.Table:
        """Return the rows of the unit at this position of the plan's units, with the promised schema."""
        plan = self._plan
        if not plan.joins and not plan.order:
            table = self._read_input(0, position)
            return _filtered(table, plan.after).select(plan.schema.names)
        steps = sorted(plan.joins, key=lambda step: step.how)
        tables: dict[int, pa.Table] = {}
        for number in [*(step.input for step in steps if step.how == "inner"), 0]:
            tables[number] = self._read_input(number, position)
            if tables[number].num_rows == 0:
                return plan.schema.empty_table()
        for number in (step.input for step in steps if step.how == "left"):
            tables[number] = self._read_input(number, position)
        order = tuple(name for name in plan.project or plan.order if name not in plan.inputs[0].partition_keys)
        return self._assemble(tables, _join(steps, order, tables))

    def _assemble(self, tables: dict[int, pa.Table], rows: dict[int, np.ndarray | None]) -> pa.Table:
        plan = self._plan
        names = list(dict.fromkeys([*plan.schema.names, *sorted(plan.after.columns)]))
        columns: dict[str, pa.ChunkedArray] = {}
        for number in sorted(tables):
            own = [name for name in names if name in tables[number].column_names and name not in columns]
            taken = take(tables[number].select(own), rows[number])
            columns |= dict(zip(own, taken.columns, strict=True))
        table = _filtered(pa.table({name: columns[name] for name in names}), plan.after)
        return pa.Table.from_arrays([table.column(name) for name in plan.schema.names], schema=plan.schema)

    def _read_input(self, number: int, position: int) -> pa.Table:
        """Read, filter and overlay the files that one input gives to a unit."""
        source = self._plan.inputs[number]
        start, stop = int(self._starts[number][position]), int(self._stops[number][position])
        files = self._plan.files[number].slice(start, stop - start)
        pins = [c for i, c in self._plan.pinned if i == number]
        pinned = all_of(Comparison(c, "==", self._plan.units.column(PARTITION_PREFIX + c)[position]) for c in pins)
        columns = self._wanted[number]
        if stop - start < 2 or not files.column("overlay")[0].as_py():
            condition = all_of([self._conditions[number], pinned])
            parts = [self._read_file(number, files, row, condition, columns) for row in range(stop - start)]
            return _concat(parts, source.record, columns)
        early, late = _split(all_of([self._conditions[number], pinned]), {*source.cells, *source.partition_keys})
        wide = list(dict.fromkeys([*columns, *source.cells, *sorted(late.columns)]))
        parts = [self._read_file(number, files, row, early, wide) for row in range(stop - start)]
        table = _concat(parts, source.record, wide)
        return _filtered(take(table, _winners(table, source.cells)), late).select(columns)

    def _read_file(
        self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]
    ) -> pa.Table:
        key, size = files.column("key")[row].as_py(), files.column("bytes")[row].as_py()
        if self._uses[number][key] == 1 or (size or 0) > _SHARED_FILE:
            return self._decode(number, files, row, condition, columns)
        with self._lock:
            table = self._shared.pop((number, key), None)
            if table is None:
                table = self._decode(number, files, row, EVERYTHING, self._plan.inputs[number].record.names)
            self._shared[number, key] = table
            while sum(kept.nbytes for kept in self._shared.values()) > _SHARED_TOTAL and len(self._shared) > 1:
                del self._shared[next(iter(self._shared))]
        return _filtered(table, condition).select(list(columns))

    def _decode(self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]) -> pa.Table:
        source = self._plan.inputs[number]
        key = files.column("key")[row].as_py()
        constants = {c: files.column(PARTITION_PREFIX + c)[row] for c in source.partition_keys}
        with open_parquet(self._store, key, files.column("bytes")[row].as_py()) as file:
            return read_rows(file, key, source.record, columns, condition, constants)


def open_parquet(store: Store, key: str, size: int | None) -> pq.ParquetFile:
    """Open a data file, by its path where the store is a directory.

    Raises
    ------
    SnapshotExpiredError
        The file is gone.
    CorruptDatasetError
        It is no Parquet file.
    """
    path = store.local_path(key)
    try:
        with corrupt_file(key):
            if path is not None:
                return pq.ParquetFile(path)
            return pq.ParquetFile(store.open_file(key, size), pre_buffer=True)
    except (FileNotFoundError, ObjectNotFoundError) as error:
        raise SnapshotExpiredError(
            f"The data file {key!r} is not in {store.url} any more: it was collected or deleted after this snapshot "
            "was opened. Open the dataset again; if the error stays, the dataset is damaged.",
            key=key,
        ) from error


def _wanted_columns(plan: ReadPlan, number: int) -> list[str]:
    """Columns that one input has to give: for the result, for joins, for order and for conditions after the joins."""
    source = plan.inputs[number]
    names = [*source.schema.names]
    if number == 0:
        names += [name for step in plan.joins for name in step.on]
        names += [*plan.project, *plan.order, *sorted(plan.after.columns)]
    else:
        names += next(step.on for step in plan.joins if step.input == number)
        names += sorted(plan.after.columns - set(plan.inputs[0].record.names))
    return [name for name in dict.fromkeys(names) if name in source.record.names]


def _row_condition(source: ReadInput) -> Condition:
    """Return what rows must be asked; parts on partition columns alone were decided when files were chosen."""
    parts = conjuncts(all_of([source.early, source.late]))
    return all_of(part for part in parts if not part.columns <= set(source.partition_keys) or not part.columns)


def _split(condition: Condition, known: set[str]) -> tuple[Condition, Condition]:
    """Split into the parts over these columns and all others."""
    parts = conjuncts(condition)
    return all_of(p for p in parts if p.columns <= known), all_of(p for p in parts if not p.columns <= known)


def _filtered(table: pa.Table, condition: Condition) -> pa.Table:
    return table if condition == EVERYTHING else table.filter(match_rows(condition, table))


def _concat(parts: Sequence[pa.Table], record: pa.Schema, columns: Sequence[str]) -> pa.Table:
    if len(parts) == 1:
        return parts[0]
    return pa.concat_tables([pa.schema([record.field(name) for name in columns]).empty_table(), *parts])


def _winners(table: pa.Table, cells: Sequence[str]) -> np.ndarray | None:
    """Row numbers that are left when the last row of each cell wins, in stored order."""
    (codes,), _ = key_codes([[table.column(name) for name in cells]])
    rows = last_of_each(codes)
    return None if rows is None else np.sort(rows)


def _join(
    steps: Sequence[JoinStep], order: tuple[str, ...], tables: Mapping[int, pa.Table]
) -> dict[int, np.ndarray | None]:
    """Return for each input which of its rows make the result, -1 for none; ``None`` stands for all as they are.

    The seed comes out sorted by the columns of ``order``, with the last row of each combination.
    """
    inputs: dict[tuple[str, ...], list[int]] = {order: []}
    for step in steps:
        inputs.setdefault(step.on, []).append(step.input)
    seed: dict[tuple[str, ...], np.ndarray] = {}
    sizes: dict[tuple[str, ...], int] = {}
    codes: dict[int, np.ndarray] = {}
    for on, numbers in inputs.items():
        sides = [[tables[number].column(name) for name in on] for number in (0, *numbers)]
        (seed[on], *others), sizes[on] = key_codes(sides)
        codes.update(zip(numbers, others, strict=True))
    rows = {0: last_of_each(seed[order])}
    for step in steps:
        left = seed[step.on] if rows[0] is None else seed[step.on][rows[0]]
        rows[step.input] = found = match_codes(left, codes[step.input], sizes[step.on])
        if step.how == "inner" and found is not None and (found < 0).any():
            kept = np.flatnonzero(found >= 0)
            rows = {number: kept if chosen is None else chosen[kept] for number, chosen in rows.items()}
    return rows
