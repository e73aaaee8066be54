"""How what a function computes for physical partitions of a cube becomes staged files: in this process and in tasks.

What the function returns for a physical partition may hold cells of that partition only. They are looked for in the
names of the files that were staged, which tell the partition values, so that no row is looked at twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kubothek.dataset.staging.incoming import ArrowTables, SparkRows, parse_rows
from kubothek.dataset.staging.stage import Staged, Staging, Written, stage_parts
from kubothek.dataset.staging.staged_files import staged_values
from kubothek.engine.local import read_groups
from kubothek.errors import InvalidInputError
from kubothek.model.cube import Cube, member_uuid
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.model.staged import StagedPartition
from kubothek.model.stale import partition_name
from kubothek.plan.cube.layout import cube_layout
from kubothek.plan.cube.lineage import LABEL, is_among
from kubothek.plan.layout import Layout
from kubothek.store.interface import Store

_SHOWN = 3

Compute = Callable[[Any], Any]
"""From the rows of physical partitions to what is computed of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The dataset that what is computed goes to, as tasks need to know it.

    ``layout`` is what the caller asked for, and ``columns`` are those that tell units apart. ``indices`` and the schema
    of record ``expected`` are ``None`` for a dataset that is yet to be made.
    """

    cube: Cube
    dataset_id: str
    write_id: str
    incarnation: str
    layout: Layout
    partition_keys: tuple[str, ...]
    columns: tuple[str, ...]
    indices: tuple[str, ...] | None
    expected: pa.Schema | None

    @property
    def uuid(self) -> str:
        """Name of the dataset, as it is stored."""
        return member_uuid(self.cube.uuid_prefix, self.dataset_id)

    def laid_out(self, names: Sequence[str], *, shuffle: bool = False) -> Layout:
        """Return how rows with these columns are laid out."""
        asked = replace(self.layout, shuffle=shuffle)
        return cube_layout(asked, self.cube, self.dataset_id, names, self.partition_keys, self.indices)

    def staging(self, store: Store, layout: Layout, expected: pa.Schema | None) -> Staging:
        """Return how rows are staged, given the schema of record that they must fit."""
        record = None if expected is None else {SINGLE_TABLE: expected}
        return Staging(store, self.uuid, self.write_id, self.incarnation, layout, record)


def compute_groups(
    compute: Compute, target: Target, store: Store, plan: ReadPlan, written: Written, threads: int | None = None
) -> Iterator[Staged]:
    """Compute each group of a plan and stage the result, one after the other; ``threads`` read ahead.

    Raises
    ------
    InvalidInputError
        What was computed cannot be stored, or has cells of other groups.
    """
    kinds = [plan.units.schema.field(PARTITION_PREFIX + name) for name in plan.group_by]
    with closing(read_groups(store, plan, threads)) as groups:
        for key, rows in groups:
            values = [pa.array([value], kind.type) for value, kind in zip(key, kinds, strict=True)]
            group = pa.table([pa.nulls(1, pa.string()), *values], names=[LABEL, *(kind.name for kind in kinds)])
            staged = _stage_result(compute(rows), target, store, written)
            check_inside(staged.partitions, target, group)
            yield staged


def _stage_result(result: Any, target: Target, store: Store, written: Written) -> Staged:
    rows = parse_rows(result, f"dataset {target.uuid!r}")
    if isinstance(rows, SparkRows):
        raise InvalidInputError(
            f"compute returned a Spark DataFrame for an Arrow table of one physical partition of {target.uuid!r}. "
            "Return an Arrow table, or have Spark compute all partitions at once (spark=, per_partition=False)."
        )
    frames = [frame for frame in rows.frames if frame.num_columns]
    if not frames:
        return Staged((), {})
    layout = target.laid_out(frames[0].column_names)
    tables = ArrowTables((SINGLE_TABLE,), iter([{SINGLE_TABLE: frame} for frame in frames]))
    return stage_parts(tables, target.staging(store, layout, target.expected), written)


def check_inside(partitions: Sequence[StagedPartition], target: Target, units: pa.Table) -> None:
    """Refuse files that were staged for other units than these.

    Raises
    ------
    InvalidInputError
        There are some; ``partitions`` names them.
    """
    if not partitions or not target.columns:
        return
    schema = partitions[0].schema[SINGLE_TABLE]
    values = staged_values(partitions, target.uuid, SINGLE_TABLE, target.partition_keys, schema)
    staged = pa.table({PARTITION_PREFIX + name: values[name] for name in target.columns})
    if any(staged.schema.field(name).type != units.schema.field(name).type for name in staged.column_names):
        return  # types that differ from those of the cube are refused as such
    outside = staged.filter(pa.array(~is_among(staged, units, target.columns)))
    if outside.num_rows:
        names, given = _names(outside, target.columns), _names(units, target.columns)
        raise InvalidInputError(
            f"compute returned rows of {_listed(names)} for dataset {target.uuid!r}, but was given those of "
            f"{_listed(given)}. It may return cells of the partitions that it is given, and no others. Nothing was "
            "committed.",
            partitions=names,
        )


def _names(units: pa.Table, columns: Sequence[str]) -> tuple[str, ...]:
    rows = units.select([PARTITION_PREFIX + name for name in columns]).rename_columns(list(columns))
    return tuple(dict.fromkeys(map(partition_name, rows.to_pylist())))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
