"""Which task reads which units: a plan cut into consecutive pieces of about equal bytes.

Pieces are plans themselves and small when pickled, because their file tables hold their own rows only. Units stay in
output order, so that the results of the pieces, one after the other, are the result of the plan.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from kubothek.model.read_plan import ReadPlan

_UNIT_BYTES = 1_000_000
"""What a unit is taken to weigh beside its bytes, and a file whose size nobody recorded."""


def unit_bytes(plan: ReadPlan) -> np.ndarray:
    """Return for each unit of a plan how many stored bytes its files have, where sizes are known."""
    units = plan.units.column("unit").to_numpy()
    total = np.zeros(len(units), np.int64)
    for files in plan.files:
        sizes = files.column("bytes").fill_null(_UNIT_BYTES).to_numpy()
        np.add.at(total, np.searchsorted(units, files.column("unit").to_numpy()), sizes)
    return total


def units_at_once(plan: ReadPlan, most: int, room: int) -> int:
    """Return how many consecutive units of a plan, wherever they begin, have no more than ``room`` stored bytes.

    At least one, and not more than ``most``.
    """
    reached = np.concatenate(([0], np.cumsum(unit_bytes(plan))))
    counts = range(min(most, len(reached) - 1), 1, -1)
    return next((count for count in counts if (reached[count:] - reached[:-count]).max() <= room), 1)


def cut_plan(plan: ReadPlan, tasks: int) -> tuple[ReadPlan, ...]:
    """Cut a plan into at most ``tasks`` consecutive plans of about equal bytes; none for a plan without units."""
    return tuple(slice_plan(plan, int(start), int(stop)) for start, stop in pairwise(_bounds(plan, tasks)))


def count_pieces(plan: ReadPlan, tasks: int) -> int:
    """Return into how many plans :func:`cut_plan` cuts a plan."""
    return len(_bounds(plan, tasks)) - 1


def _bounds(plan: ReadPlan, tasks: int) -> np.ndarray:
    """Return the positions of the units with which pieces begin, and where the last one ends."""
    if plan.units.num_rows == 0:
        return np.zeros(1, np.int64)
    reached = np.cumsum(unit_bytes(plan) + _UNIT_BYTES // 10)
    owner = np.minimum((reached - 1) * tasks // reached[-1], tasks - 1)
    return np.append(np.flatnonzero(np.append(True, owner[1:] != owner[:-1])), len(owner))


def cut_evenly(plan: ReadPlan, tasks: int) -> tuple[ReadPlan, ...]:
    """Cut a plan into at most ``tasks`` consecutive plans of as many units each, whatever their bytes."""
    count = plan.units.num_rows
    bounds = np.unique(np.linspace(0, count, tasks + 1).astype(np.int64)) if count else np.zeros(1, np.int64)
    return tuple(slice_plan(plan, int(start), int(stop)) for start, stop in pairwise(bounds))


def slice_plan(plan: ReadPlan, start: int, stop: int) -> ReadPlan:
    """Return the plan for the units at positions ``start`` up to ``stop``."""
    units = _copy(plan.units, start, stop)
    bounds = (units.column("unit")[0].as_py(), units.column("unit")[-1].as_py())
    files = []
    for table in plan.files:
        numbers = table.column("unit").to_numpy()
        first, last = np.searchsorted(numbers, bounds[0], "left"), np.searchsorted(numbers, bounds[1], "right")
        files.append(_copy(table, int(first), int(last)))
    return replace(plan, units=units, files=tuple(files))


def _copy(table: pa.Table, start: int, stop: int) -> pa.Table:
    """Slice a table and let go of the rest, which a pickled slice would carry along."""
    return table.take(pa.array(np.arange(start, stop)))
