"""How the rows of one unit of a plan are read: the body of every read task, in-process and on Spark.

A unit is read in five steps: inputs that can empty it come first (inner joins), so that nothing else is read in vain;
each input is filtered, and where cells of its files overlap, the last row of a cell wins before any other condition is
asked; the cells of the seed are sorted and made unique; the other inputs are joined to them by row number
(``kubothek.engine.join``); the columns of the result are taken once, at the end. Where nothing has to be joined,
overlaid or sorted, a unit can also be read in steps of a few row groups each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.conform import concat_rows
from kubothek.codec.data import Decoded, matching_rows
from kubothek.engine.data_files import FileScan
from kubothek.engine.fetched_file import AT_ONCE
from kubothek.engine.join import join_rows, last_of_each, take
from kubothek.engine.key_codes import key_codes
from kubothek.engine.shared_tables import SharedTables
from kubothek.engine.steps import Made, Step, in_threads, once, steps_of
from kubothek.model.condition import EVERYTHING, Comparison, Condition, all_of, conjuncts
from kubothek.model.read_plan import PARTITION_PREFIX, ReadInput, ReadPlan
from kubothek.plan.keys import ends_differ
from kubothek.plan.match import match_rows
from kubothek.plan.tasks import SHARED_FILE, UNIT_BYTES, unit_bytes
from kubothek.store.interface import Store

_RUNS, _LEAST, _MOST = 16, 2 * 2**20, 8 * 2**20
"""Into how many runs units are put, so that all cores have some, and what a run weighs: two threads that read less than
the least hinder each other more than they help."""

_TESTED_ROWS = 2**17
"""Rows of small files from which on they are tested without waiting for more."""

_SHARED_TOTAL = 256 * 2**20
"""Bytes in memory of all such files of one reader; what no longer fits is decoded for each unit."""


class UnitReader:
    """Reads the units of one plan from one store; safe to use from several threads.

    Files that serve several units (a coarse enrichment) are decoded once and kept while there is room.
    """

    def __init__(self, store: Store, plan: ReadPlan) -> None:
        self._store = store
        self._plan = plan
        self._wanted = [wanted_columns(plan, number) for number in range(len(plan.inputs))]
        self._conditions = [row_condition(one) for one in plan.inputs]
        units = plan.units.column("unit").to_numpy()
        self._starts = [np.searchsorted(files.column("unit").to_numpy(), units, "left") for files in plan.files]
        self._stops = [np.searchsorted(files.column("unit").to_numpy(), units, "right") for files in plan.files]
        self._last = [_last_units(files) for files in plan.files]
        self._shared = SharedTables(_SHARED_TOTAL)
        self._left = [step.input for step in plan.joins if step.how == "left"]

    def read(self, position: int) -> pa.Table:
        """Return the rows of the unit at this position of the plan's units, with the promised schema."""
        with self._shared.under_way(self._plan.units.column("unit")[position].as_py()):
            return self._read(position)

    def _read(self, position: int) -> pa.Table:
        plan = self._plan
        if not plan.joins and not plan.order:
            return self._finished(self._read_input(0, position))
        tables: dict[int, pa.Table] = {}
        for numbers in self._stages():
            read = self._each(lambda number: self._read_input(number, position), numbers)
            tables |= zip(numbers, read, strict=True)
            if any(tables[number].num_rows == 0 for number in numbers if number not in self._left):
                return plan.schema.empty_table()
        steps = sorted(plan.joins, key=lambda step: step.how)
        return self._assemble(tables, join_rows(steps, seed_order(plan), tables))

    def runs(self) -> list[tuple[int, int]]:
        """Return the positions of units that are read together: small ones of a directory where nothing is joined.

        Each file then costs half as much; from afar units are read side by side instead.
        """
        plan = self._plan
        count = plan.units.num_rows
        together = not (self._store.is_remote or plan.joins or plan.order or plan.pinned or self._last[0])
        if not together or pc.any(plan.files[0].column("overlay")).as_py():
            return [(start, start + 1) for start in range(count)]
        reached = np.concatenate(([0], np.cumsum(unit_bytes(plan) + UNIT_BYTES)))
        room = min(max(int(reached[-1]) // _RUNS, _LEAST), _MOST)
        bounds = [0]
        while bounds[-1] < count:
            stop = int(np.searchsorted(reached, reached[bounds[-1]] + room, "right")) - 1
            bounds.append(max(stop, bounds[-1] + 1))
        return [*pairwise(bounds)]

    def read_run(self, start: int, stop: int) -> pa.Table:
        """Return the rows of a run of units, with the promised schema."""
        if stop - start == 1:
            return self.read(start)
        return concat_rows(self._run(start, stop), self._plan.schema)

    def run_step(self, start: int, stop: int) -> Made[pa.Table]:
        """Return the first rows of a run of units and the steps that read the others."""
        return self.step(start) if stop - start == 1 else steps_of(self._run(start, stop))()

    def _run(self, start: int, stop: int) -> Iterator[pa.Table]:
        files = self._plan.files[0].slice(self._starts[0][start], self._stops[0][stop - 1] - self._starts[0][start])
        condition, columns = self._conditions[0], self._wanted[0]
        scans = [self._file_scan(0, files, row, condition, columns) for row in range(files.num_rows)]
        pieces = chain.from_iterable(scan.pieces() for scan in scans)
        yield from map(self._finished, self._tested(0, pieces, condition, columns))

    def _tested(
        self, number: int, parts: Iterable[Decoded | pa.Table], condition: Condition, columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Test decoded files, several at a time; tables are as they should be."""
        waiting: list[Decoded] = []
        record = self._plan.inputs[number].record
        for part in chain(parts, [None]):
            if isinstance(part, Decoded):
                waiting.append(part)
            if waiting and (part is not waiting[-1] or sum(one.rows for one in waiting) >= _TESTED_ROWS):
                yield matching_rows(waiting, record, columns, condition)
                waiting = []
            if isinstance(part, pa.Table):
                yield part

    def _stages(self) -> list[list[int]]:
        """Return the inputs in the order of reading; whatever empties a unit spares it those of later stages.

        From afar each stage is waited for, so there are few: left joins come with a seed that has no condition.
        """
        inner = [number for number in range(1, len(self._plan.inputs)) if number not in self._left]
        if not self._store.is_remote:
            return [*([number] for number in [*inner, 0]), self._left]
        return [inner, [0], self._left] if self._conditions[0] != EVERYTHING else [inner, [0, *self._left]]

    def _each(self, read: Callable[[int], pa.Table], numbers: Sequence[int]) -> Iterable[pa.Table]:
        """Read inputs or files by their numbers: one after the other, or from afar side by side."""
        if not self._store.is_remote:
            return map(read, numbers)
        return in_threads((partial(once, read, number) for number in numbers), AT_ONCE)

    def _assemble(self, tables: dict[int, pa.Table], rows: dict[int, np.ndarray | None]) -> pa.Table:
        plan = self._plan
        names = list(dict.fromkeys([*plan.schema.names, *sorted(plan.after.columns)]))
        columns: dict[str, pa.ChunkedArray] = {}
        for number in sorted(tables):
            given = {*tables[number].column_names} - columns.keys()
            own = [name for name in names if name in given]
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
        scan = self._file_scan(0, files, row, condition, self._wanted[0])
        if self._is_shared(0, scan):
            (table,) = self._read_files(0, files.slice(row, 1), condition, self._wanted[0])
            return Made((self._finished(table),))
        return self._finished_step(scan.step)

    def _finished_step(self, step: Step[pa.Table]) -> Made[pa.Table]:
        made = step()
        following = tuple(partial(self._finished_step, one) for one in made.following)
        return Made(tuple(self._finished(table) for table in made.results), following)

    def _finished(self, table: pa.Table) -> pa.Table:
        return _filtered(table, self._plan.after).select(self._plan.schema.names)

    def _read_input(self, number: int, position: int) -> pa.Table:
        """Read, filter and overlay the files that one input gives to a unit."""
        source, files = self._plan.inputs[number], self._files(number, position)
        pinned = self._pinned(number, position)
        columns = self._wanted[number]
        if not _is_overlaid(files):
            condition = all_of([self._conditions[number], pinned])
            parts = self._read_files(number, files, condition, columns)
            return _concat(parts, source.record, columns)
        early, late = _split(pinned, {*source.dimensions})
        early, late = all_of([source.early, early]), all_of([source.late, late])
        wide = list(dict.fromkeys([*columns, *source.dimensions, *sorted(late.columns)]))
        parts = self._read_files(number, files, early, wide)
        table = _concat(parts, source.record, wide)
        return _filtered(take(table, _winners(table, source.dimensions)), late).select(columns)

    def _files(self, number: int, position: int) -> pa.Table:
        """Return the files that one input gives to a unit."""
        start, stop = int(self._starts[number][position]), int(self._stops[number][position])
        return self._plan.files[number].slice(start, stop - start)

    def _pinned(self, number: int, position: int) -> Condition:
        """Return the condition that restricts an input to the values of a unit."""
        columns = [column for i, column in self._plan.pinned if i == number]
        units = self._plan.units
        return all_of(Comparison(c, "==", units.column(PARTITION_PREFIX + c)[position]) for c in columns)

    def _read_files(self, number: int, files: pa.Table, condition: Condition, columns: Sequence[str]) -> list[pa.Table]:
        parts = self._each(lambda row: self._read_file(number, files, row, condition, columns), range(files.num_rows))
        return [*self._tested(number, parts, condition, columns)]

    def _read_file(
        self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]
    ) -> Decoded | pa.Table:
        scan = self._file_scan(number, files, row, condition, columns)
        if not self._is_shared(number, scan):
            return scan.decode()
        whole = replace(scan, columns=tuple(scan.record.names), condition=EVERYTHING)
        unit, last = files.column("unit")[row].as_py(), self._last[number][scan.key]
        table = self._shared.get((number, scan.key), whole.read, unit=unit, last=last)
        return _filtered(table, condition).select(list(columns))

    def _is_shared(self, number: int, scan: FileScan) -> bool:
        """Whether a file serves several units and is small enough to be kept for them."""
        return scan.key in self._last[number] and (scan.size or 0) <= SHARED_FILE

    def _file_scan(
        self, number: int, files: pa.Table, row: int, condition: Condition, columns: Sequence[str]
    ) -> FileScan:
        source = self._plan.inputs[number]
        constants = {c: files.column(PARTITION_PREFIX + c)[row] for c in source.partition_keys}
        key, size = files.column("key")[row].as_py(), files.column("bytes")[row].as_py()
        stored = source.stored_columns
        return FileScan(self._store, key, size, source.record, tuple(columns), condition, constants, stored)


def _last_units(files: pa.Table) -> dict[str, int]:
    """Return the last unit of each file that serves several units."""
    if ends_differ(files.column("key").combine_chunks()):  # as nearly always; to group them takes longer
        return {}
    units = files.group_by("key", use_threads=False).aggregate([("unit", "min"), ("unit", "max")])
    shared = units.filter(pc.less(units.column("unit_min"), units.column("unit_max")))
    return dict(zip(shared.column("key").to_pylist(), shared.column("unit_max").to_pylist(), strict=True))


def seed_order(plan: ReadPlan) -> tuple[str, ...]:
    """Columns by which the seed's rows of a unit are sorted and made unique."""
    return tuple(name for name in plan.project or plan.order if name not in plan.inputs[0].partition_keys)


def wanted_columns(plan: ReadPlan, number: int) -> list[str]:
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


def row_condition(source: ReadInput) -> Condition:
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


def _winners(table: pa.Table, dimensions: Sequence[str]) -> np.ndarray | None:
    """Row numbers that are left when the last row of each cell wins, in stored order."""
    (codes,), size = key_codes([[table.column(name) for name in dimensions]])
    rows = last_of_each(codes, size)
    return None if rows is None else np.sort(rows)
