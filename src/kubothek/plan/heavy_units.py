"""How units that are far heavier than a task's share are cut too, where the join allows it.

One physical partition of a cube may hold most of the bytes. Where the files of the seed in it hold different cells, the
rows of some of them can be joined without the others, with all files of the other datasets, which are then read once
per piece::

    unit   seed       others       without cuts            with cuts
    0      a  b  c    v  w         a b c + v w  |  d + v   a b + v w  |  c + v w, d + v
    1      d          v

Only units that are worth it are cut: those that hold far more than a task's share, and of which the files of the seed
are most. Where they are cut depends on the whole plan, so that no task has much more than another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kubothek.model.read_plan import ReadPlan
from kubothek.plan.tasks import UNIT_BYTES, Weights, copy_rows, cut_points, file_weights, slice_plan, unit_weights

_WORTH_CUTTING = 32 * 2**20
"""Stored bytes from which on a unit may be cut; fewer are read about as soon as another task has started."""

_HEAVY = 1.5
"""How many shares of a task a unit must have to be cut."""

_PARTS_PER_SHARE = 8
"""Into how many parts a task's share falls, at most; finer ones would not even out more."""

_SEED_BYTES = 2
"""How many times as many bytes a part has of the seed as of the other datasets, which it may have to read again."""


def cut_heavy(plan: ReadPlan, tasks: int) -> tuple[ReadPlan, ...]:
    """Cut a plan as :func:`~kubothek.plan.tasks.cut_plan` does, and heavy units between files of the seed.

    The rows of the pieces are those of the plan; the rows of a unit that is cut are sorted in each piece only.
    """
    parts = _parts(plan, tasks)
    return tuple(_slice(plan, parts, int(start), int(stop)) for start, stop in pairwise(parts.bounds(tasks)))


def count_pieces(plan: ReadPlan, tasks: int) -> int:
    """Return into how many plans :func:`cut_heavy` cuts a plan."""
    return len(_parts(plan, tasks).bounds(tasks)) - 1


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Between what a plan may be cut: per part its unit's position, from where to where the seed's files go, bytes."""

    units: Weights
    starts: Weights
    stops: Weights
    weights: Weights

    def bounds(self, tasks: int) -> Weights:
        """Return the numbers of the parts with which pieces begin, and the end."""
        return cut_points(self.weights + UNIT_BYTES, tasks)


def _parts(plan: ReadPlan, tasks: int) -> _Parts:
    """Return whole units, and parts of those that are heavy and can be cut."""
    numbers, units = plan.files[0].column("unit").to_numpy(), plan.units.column("unit").to_numpy()
    starts, stops = np.searchsorted(numbers, units, "left"), np.searchsorted(numbers, units, "right")
    reached = np.concatenate(([0], np.cumsum(file_weights(plan.files[0]))))
    own, others = reached[stops] - reached[starts], unit_weights(replace(plan, files=plan.files[1:]))
    share = int((own + others).sum()) / tasks
    most = own // np.maximum(_SEED_BYTES * others, share / _PARTS_PER_SHARE).clip(1)
    heavy = (own + others >= max(_HEAVY * share, _WORTH_CUTTING)) & (most > 1) & _can_be_cut(plan, starts, stops)
    inner = [
        starts[unit] + cut_points(np.diff(reached[starts[unit] : stops[unit] + 1]), int(most[unit]))[1:-1]
        for unit in np.flatnonzero(heavy)
    ]
    at = np.repeat(np.flatnonzero(heavy), [len(cuts) for cuts in inner])
    cuts = np.concatenate([starts[:0], *inner])
    of = np.insert(np.arange(len(units)), at, at)
    starts, stops = np.insert(starts, at + 1, cuts), np.insert(stops, at, cuts)
    each = (others // np.bincount(of, minlength=len(units)))[of]
    return _Parts(of, starts, stops, reached[stops] - reached[starts] + each)


def _can_be_cut(plan: ReadPlan, starts: Weights, stops: Weights) -> npt.NDArray[np.bool_]:
    """Tell of which units the seed has several files with different cells, which are joined and stay different."""
    possible: npt.NDArray[np.bool_] = (stops - starts > 1) & (bool(plan.order) and not plan.project)
    possible[possible] = ~plan.files[0].column("overlay").to_numpy(zero_copy_only=False)[starts[possible]]
    return possible


def _slice(plan: ReadPlan, parts: _Parts, start: int, stop: int) -> ReadPlan:
    """Return the plan for some consecutive parts."""
    first, last = int(parts.units[start]), int(parts.units[stop - 1])
    seed = copy_rows(plan.files[0], int(parts.starts[start]), int(parts.stops[stop - 1]))
    piece = slice_plan(plan, first, last + 1)
    return replace(piece, files=(seed, *piece.files[1:]))
