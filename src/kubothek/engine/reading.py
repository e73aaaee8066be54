"""How the rows of one unit of a plan are read: the body of every read task, in-process and on Spark.

A unit is read in five steps: inputs that can empty it come first (inner joins), so that nothing else is read in vain;
each input is filtered, and where cells of its files overlap, the last row of a cell wins before any other condition is
asked; the cells of the seed are sorted and made unique; the other inputs are joined to them by row number
(``kubothek.engine.join``); the columns of the result are taken once, at the end. Where nothing has to be joined,
overlaid or sorted, a unit can also be read in steps of a few row groups each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from kubothek.codec.conform import concat_rows
from kubothek.engine.data_files import FileScan
from kubothek.engine.join import key_codes, last_of_each, match_codes, take
from kubothek.engine.shared_tables import SharedTables
from kubothek.engine.steps import Made, Step
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
        self._shared = SharedTables(_SHARED_TOTAL)

    def read(self, position: int) -> pa.Table:
        """Return the rows of the unit at this position of the plan's units, with the promised schema."""
        plan = self._plan
        if not plan.joins and not plan.order:
            return self._finished(self._read_input(0, position))
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

    def step(self, position: int) -> Made[pa.Table]:
        """Return the first rows of a unit and the steps that read the others.

        Where nothing is joined, overlaid or sorted these are a few row groups each, otherwise the whole unit.
        """
        plan = self._plan
        files = self._files(0, position)
        if plan.joins or plan.order or _is_overlaid(files):
            return Made((self.read(position),))
        condition = all_of([self._conditions[0], self._pinned(0, position)])
        steps = [partial(self._file_step, files, row, condition) for row in range(files.num_rows)]
        return steps[0]() if len(steps) == 1 else Made((), tuple(steps))

    def _file_step(self, files: pa.Table, row: int, condition: Condition) -> Made[pa.Table]:
        if self._is_shared(0, files, row):
            return Made((self._finished(self._read_file(0, files, row, condition, self._wanted[0])),))
        return self._finished_step(self._file_scan(0, files, row, condition, self._wanted[0]).step)

    def _finished_step(self, step: Step[pa.Table]) -> Made[pa.Table]:
        made = step()
        following = tuple(partial(self._finished_step, one) for one in made.following)
        return Made(tuple(self._finished(table) for table in made.results), following)

    def _finished(self, table: pa.Table) -> pa.Table:
        return _filtered(table, self._plan.after).select(self._plan.schema.names)

    def _read_input(self, number: int, position: int) -> pa.Table:
        """Read, filter and overlay the files that one input gives to a unit."""
        source, files = self._plan.inputs[number], self._files(number, position)
        condition = all_of([self._conditions[number], self._pinned(number, position)])
        columns = self._wanted[number]
        if not _is_overlaid(files):
            parts = [self._read_file(number, files, row, condition, columns) for row in range(files.num_rows)]
            return _concat(parts, source.record, columns)
        early, late = _split(condition, {*source.cells, *source.partition_keys})
        wide = list(dict.fromkeys([*columns, *source.cells, *sorted(late.columns)]))
        parts = [self._read_file(number, files, row, early, wide) for row in range(files.num_rows)]
        table = _concat(parts, source.record, wide)
        return _filtered(take(table, _winners(table, source.cells)), late).select(columns)

    def _files(self, number: int, position: int) -> pa.Table:
        """Return the files that one input gives to a unit."""
        start, stop = int(self._starts[number][position]), int(self._stops[number][position])
        return self._plan.files[number].slice(start, stop - start)

    def _pinned(self, number: int, position: int) -> Condition:
        """Return the condition that restricts an input to the values of a unit."""
        columns = [column for i, column in self._plan.pinned if i == number]
        units = self._plan.units
        return all_of(Comparison(c, "==", units.column(PARTITION_PREFIX + c)[position]) for c in columns)

    def _read_file(
        self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]
    ) -> pa.Table:
        if not self._is_shared(number, files, row):
            return self._file_scan(number, files, row, condition, columns).read()
        whole = self._file_scan(number, files, row, EVERYTHING, self._plan.inputs[number].record.names)
        table = self._shared.get((number, whole.key), whole.read)
        return _filtered(table, condition).select(list(columns))

    def _is_shared(self, number: int, files: pa.Table, row: int) -> bool:
        """Whether a file serves several units and is small enough to be kept for them."""
        key, size = files.column("key")[row].as_py(), files.column("bytes")[row].as_py()
        return self._uses[number][key] > 1 and (size or 0) <= _SHARED_FILE

    def _file_scan(
        self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]
    ) -> FileScan:
        source = self._plan.inputs[number]
        constants = {c: files.column(PARTITION_PREFIX + c)[row] for c in source.partition_keys}
        key, size = files.column("key")[row].as_py(), files.column("bytes")[row].as_py()
        return FileScan(self._store, key, size, source.record, tuple(columns), condition, constants)


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


def _is_overlaid(files: pa.Table) -> bool:
    """Whether cells of the files of a unit may overlap, so that the last row of a cell wins."""
    return files.num_rows > 1 and bool(files.column("overlay")[0].as_py())


def _concat(parts: Sequence[pa.Table], record: pa.Schema, columns: Sequence[str]) -> pa.Table:
    if len(parts) == 1:
        return parts[0]
    return concat_rows(parts, pa.schema([record.field(name) for name in columns]))


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
