"""Which task reads which units: a plan cut into consecutive pieces of about equal bytes.

Pieces are plans themselves and small when pickled, because their file tables hold their own rows only. Units stay in
output order, so that the results of the pieces, one after the other, are the result of the plan.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kubothek.model.read_plan import ReadPlan
from kubothek.plan.keys import ends_differ

SHARED_FILE = 32 * 2**20
"""Bytes up to which a file that serves several units is kept decoded between them."""

_UNKNOWN_BYTES = 1_000_000
"""What a file is taken to have whose size nobody recorded."""

UNIT_BYTES = 100_000
"""What a unit costs beside its bytes."""

Weights = npt.NDArray[np.int64]


def unit_bytes(plan: ReadPlan) -> Weights:
    """Return for each unit of a plan how many stored bytes its files have, where sizes are known."""
    return sum((_per_unit(plan, files, _sizes(files)) for files in plan.files), np.zeros(plan.units.num_rows, np.int64))


def unit_weights(plan: ReadPlan) -> Weights:
    """Return for each unit of a plan how many stored bytes a task has to read for it.

    They differ from :func:`unit_bytes` in small files that serve several units, as a coarse dataset's do: they are
    read once for all of them, so that each has its part.
    """
    none = np.zeros(plan.units.num_rows, np.int64)
    return sum((_per_unit(plan, files, file_weights(files)) for files in plan.files), none)


def file_weights(files: pa.Table) -> Weights:
    """Return for each file of a unit its part of the bytes that are read for all units."""
    sizes = _sizes(files)
    if ends_differ(files.column("key").combine_chunks()):  # as nearly always; to number a million keys takes long
        return sizes
    numbers = files.column("key").combine_chunks().dictionary_encode().indices.to_numpy()
    uses = np.bincount(numbers, minlength=1)[numbers]
    parts: Weights = np.where(sizes <= SHARED_FILE, sizes // uses, sizes)
    return parts


def _sizes(files: pa.Table) -> Weights:
    sizes: Weights = files.column("bytes").fill_null(_UNKNOWN_BYTES).to_numpy()
    return sizes


def _per_unit(plan: ReadPlan, files: pa.Table, amounts: Weights) -> Weights:
    units = plan.units.column("unit").to_numpy()
    total = np.zeros(len(units), np.int64)
    np.add.at(total, np.searchsorted(units, files.column("unit").to_numpy()), amounts)
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
    bounds = cut_points(unit_weights(plan) + UNIT_BYTES, tasks)
    return tuple(slice_plan(plan, int(start), int(stop)) for start, stop in pairwise(bounds))


def cut_groups(plan: ReadPlan, starts: npt.NDArray[np.int64], tasks: int) -> tuple[ReadPlan, ...]:
    """Cut a plan as :func:`cut_plan` does, but only at these positions of its units, with which groups begin."""
    if plan.units.num_rows == 0:
        return ()
    cuts = cut_points(np.add.reduceat(unit_weights(plan) + UNIT_BYTES, starts), tasks)
    bounds = np.append(starts, plan.units.num_rows)[cuts]
    return tuple(slice_plan(plan, int(start), int(stop)) for start, stop in pairwise(bounds))


def cut_points(weights: Weights, pieces: int) -> npt.NDArray[np.int64]:
    """Cut a row of weights into at most so many pieces, the heaviest of which is about as light as it can be.

    Within that limit each cut is where it is nearest to its place among pieces of equal weight. Returned are the
    positions where pieces begin, and the end.

    Examples
    --------
    >>> cut_points(np.array([2, 2, 2, 9, 1, 1]), 3).tolist()
    [0, 3, 4, 6]
    """
    if not len(weights):
        return np.zeros(1, np.int64)
    reached = np.concatenate(([0], np.cumsum(weights)))
    least, limit = _lightest_limit(reached, pieces, int(weights.max()))
    even = np.arange(1, pieces) * (int(reached[-1]) // pieces)
    after = np.searchsorted(reached, even).clip(1)
    nearest = after - (even - reached[after - 1] <= reached[after] - even)
    cuts = [0]
    for wanted, first in zip(nearest.tolist(), least[1:], strict=True):
        furthest = int(np.searchsorted(reached, reached[cuts[-1]] + limit, "right")) - 1
        cuts.append(min(max(wanted, first, cuts[-1]), furthest))
    return np.unique([*cuts, len(weights)])


def _lightest_limit(reached: Weights, pieces: int, heaviest: int) -> tuple[list[int], int]:
    """Return a limit that lets all weights have room in the pieces, at most a hundredth of a share above the lowest.

    With it comes where each piece must begin at least, for the pieces after it to have room for the rest.
    """
    share = -(-int(reached[-1]) // pieces)
    low, high = max(share, heaviest), share + heaviest
    while high - low > share // 100:
        middle = (low + high) // 2
        low, high = (low, middle) if _least_begins(reached, pieces, middle)[0] == 0 else (middle + 1, high)
    return _least_begins(reached, pieces, high), high


def _least_begins(reached: Weights, pieces: int, limit: int) -> list[int]:
    """Fill pieces from the end, none above the limit, and return where each begins."""
    begins = [len(reached) - 1]
    for _ in range(pieces):
        begins.append(int(np.searchsorted(reached, reached[begins[-1]] - limit)))
    return begins[:0:-1]


def cut_evenly(plan: ReadPlan, tasks: int) -> tuple[ReadPlan, ...]:
    """Cut a plan into at most ``tasks`` consecutive plans of as many units each, whatever their bytes."""
    count = plan.units.num_rows
    bounds = np.unique(np.linspace(0, count, tasks + 1).astype(np.int64)) if count else np.zeros(1, np.int64)
    return tuple(slice_plan(plan, int(start), int(stop)) for start, stop in pairwise(bounds))


def slice_plan(plan: ReadPlan, start: int, stop: int) -> ReadPlan:
    """Return the plan for the units at positions ``start`` up to ``stop``."""
    units = copy_rows(plan.units, start, stop)
    bounds = (units.column("unit")[0].as_py(), units.column("unit")[-1].as_py())
    files = []
    for table in plan.files:
        numbers = table.column("unit").to_numpy()
        first, last = np.searchsorted(numbers, bounds[0], "left"), np.searchsorted(numbers, bounds[1], "right")
        files.append(copy_rows(table, int(first), int(last)))
    return replace(plan, units=units, files=tuple(files))


def copy_rows(table: pa.Table, start: int, stop: int) -> pa.Table:
    """Slice a table and let go of the rest, which a pickled slice would carry along."""
    return table.take(pa.array(np.arange(start, stop)))
