"""Which physical partitions of a cube which dataset covers: a map of partitions by datasets, and bins of it.

The rows of the map's table are the physical partitions of the seed, and then those that only others have. A dataset
that is partitioned by some of the cube's columns covers every partition that agrees with it in these::

    units p q     seed      features, by p     calendar, by nothing
          1 a     covered   covered            covered
          1 b     covered   covered            covered
          2 a     covered   missing            covered
          3 a     absent    extra              absent
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.cube import Cube
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.plan.cube.lineage import REASON, is_among, unit_columns
from kubothek.plan.cube.members import Member
from kubothek.plan.keys import first_rows, row_ids


class State(IntEnum):
    """What a dataset has of a physical partition.

    ``ABSENT``: nothing, as the seed has it neither. ``COVERED``: a file, or it was computed and has no rows. ``STALE``:
    it was computed from what its sources no longer hold. ``MISSING``: nothing, though the seed has it. ``EXTRA``: a
    file, though the seed has nothing, so that no query reads it.
    """

    ABSENT = 0
    COVERED = 1
    STALE = 2
    MISSING = 3
    EXTRA = 4


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """What each dataset has of each physical partition.

    ``datasets`` are their ids, the seed first. ``units`` has a column per partition column of the cube and a row per
    physical partition, sorted. ``states`` are the :class:`State` values, a row per dataset and a column per partition.
    """

    datasets: tuple[str, ...]
    units: pa.Table
    states: npt.NDArray[np.int8]

    def count(self, dataset: int) -> dict[State, int]:
        """Count the partitions in each state of one dataset."""
        counts = np.bincount(self.states[dataset], minlength=len(State))
        return {state: int(counts[state]) for state in State}

    def values(self, unit: int) -> dict[str, object]:
        """Return what a partition has in the partition columns; columns that are not known of it are left out."""
        row = {name: self.units[name][unit].as_py() for name in self.units.column_names}
        return {name: value for name, value in row.items() if value is not None}


def find_coverage(cube: Cube, members: Sequence[Member], stale: Mapping[str, pa.Table]) -> Coverage:
    """Return what each dataset of a cube covers.

    Parameters
    ----------
    cube
        The specification.
    members
        Its datasets.
    stale
        The stale units of those that are computed, by dataset id, as ``kubothek.plan.cube.lineage`` finds them.
    """
    ordered = sorted(members, key=lambda member: (member.dataset_id != cube.seed_dataset, member.dataset_id))
    seed = ordered[0]
    kinds = pa.schema([seed.schema.field(name) for name in cube.partition_columns])
    shared = {member.dataset_id: unit_columns(cube, member.partition_keys) for member in ordered}
    own = {member.dataset_id: _distinct(member.files, shared[member.dataset_id], kinds) for member in ordered}
    units = _units(own, shared, seed.dataset_id)
    in_seed = is_among(units, own[seed.dataset_id], cube.partition_columns)
    states = [
        _states(units, in_seed, own[name], shared[name], stale.get(name)) for name in (m.dataset_id for m in ordered)
    ]
    columns = {name: units[PARTITION_PREFIX + name] for name in cube.partition_columns}
    return Coverage(tuple(member.dataset_id for member in ordered), pa.table(columns), np.stack(states))


def _distinct(files: pa.Table, shared: Sequence[str], kinds: pa.Schema) -> pa.Table:
    """Return the distinct values of the shared columns, with nulls in the others."""
    nulls = {field.name: pa.nulls(files.num_rows, field.type) for field in kinds}
    keys = {name: pc.cast(files[PARTITION_PREFIX + name], kinds.field(name).type) for name in shared}
    values = pa.table({PARTITION_PREFIX + name: column for name, column in (nulls | keys).items()})
    [ids] = row_ids([values], [PARTITION_PREFIX + name for name in shared])
    return values.take(pa.array(first_rows(ids)))


def _units(own: Mapping[str, pa.Table], shared: Mapping[str, Sequence[str]], seed: str) -> pa.Table:
    """Return the partitions of the seed and those that only others have, sorted."""
    parts = [own[seed]]
    parts += [
        table.filter(pa.array(~is_among(table, own[seed], shared[name])))
        for name, table in own.items()
        if name != seed and shared[name]
    ]
    units = pa.concat_tables(parts)
    [ids] = row_ids([units], units.column_names)
    units = units.take(pa.array(first_rows(ids)))
    return units.take(pa.array(sorted_order(units)))


def sorted_order(values: pa.Table) -> npt.NDArray[np.intp]:
    """Return the row numbers of partition values of any type in their order: the first column counts most."""
    return np.lexsort([_ranks(column) for column in reversed(values.columns)])


def _ranks(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the place of each value among the distinct ones, nulls last."""
    values = column.combine_chunks()
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())  # which Arrow cannot sort
    distinct = pc.unique(values)
    ordered = distinct.take(pc.sort_indices(distinct))
    ranks: npt.NDArray[np.int64] = pc.index_in(values, value_set=ordered).to_numpy(zero_copy_only=False)
    return ranks


def _states(
    units: pa.Table, in_seed: npt.NDArray[np.bool_], own: pa.Table, shared: Sequence[str], stale: pa.Table | None
) -> npt.NDArray[np.int8]:
    """Return the state of each partition in one dataset."""
    present = is_among(units, own, shared)
    covered = present
    found = np.full(units.num_rows, State.ABSENT, np.int8)
    if stale is not None:
        # Computed and not stale: without a file where the result has no rows.
        outdated = is_among(units, stale, shared)
        changed = is_among(units, stale.filter(pc.equal(stale[REASON], "changed")), shared)
        covered = ~outdated
        found[in_seed & (changed | (outdated & present))] = State.STALE
        found[in_seed & outdated & ~changed & ~present] = State.MISSING
    else:
        found[in_seed & ~present] = State.MISSING
    found[in_seed & covered] = State.COVERED
    found[~in_seed & present & bool(shared)] = State.EXTRA
    return found


@dataclass(frozen=True, slots=True)
class Bin:
    """Neighbouring partitions of one dataset, from ``start`` up to ``stop``, and how many are in each state."""

    start: int
    stop: int
    counts: tuple[int, ...]


def bin_states(states: npt.NDArray[np.int8], most: int) -> list[Bin]:
    """Return at most so many bins of neighbouring partitions, about equally large.

    Examples
    --------
    >>> bin_states(np.array([1, 1, 3], np.int8), 2)
    [Bin(start=0, stop=1, counts=(0, 1, 0, 0, 0)), Bin(start=1, stop=3, counts=(0, 1, 0, 1, 0))]
    """
    edges = bin_edges(len(states), most)
    return [
        Bin(start, stop, tuple(np.bincount(states[start:stop], minlength=len(State)).tolist()))
        for start, stop in pairwise(edges)
    ]


def bin_edges(number: int, most: int) -> list[int]:
    """Return where at most so many bins of this number of things begin, and where the last one ends.

    Examples
    --------
    >>> bin_edges(5, 2), bin_edges(2, 9), bin_edges(0, 9)
    ([0, 2, 5], [0, 1, 2], [0])
    """
    bins = min(number, most)
    return [number * place // bins for place in range(bins + 1)] if bins else [0]
