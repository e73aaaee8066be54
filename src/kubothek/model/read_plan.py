"""What a read will do, as data: inputs, units and join steps. Printable, picklable, countable; nothing is read yet.

A *unit* is the smallest piece that a task reads: one file of a dataset, or one physical partition of a cube (with one
value of the ``partition_by`` columns, where there are any). A plain dataset scan is a plan with one input and no
joins. All per-file facts are Arrow tables with one row per file and unit, because there may be a million::

    inputs   (seed)          (weather)         static: columns, conditions, dimensions
    files    unit key MONTH  unit key          one table per input
             0    a   1      0    c
             0    b   1      1    c            a coarse file serves several units
             1    d   2
    units    unit MONTH                        values of the unit's columns, in output order
             0    1
             1    2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from kubothek.model.condition import Condition
from kubothek.model.display import plural
from kubothek.model.markup import notebook_table

PARTITION_PREFIX = "partition/"
"""Columns ``partition/<name>`` of a file table hold the file's value of that partition column."""


def files_schema(partition_columns: pa.Schema) -> pa.Schema:
    """Columns of one table of :attr:`ReadPlan.files`; ``partition_columns`` are the dataset's, with their types.

    ``unit`` numbers the unit that reads the file (ascending; within a unit in the order of the header, so that the
    last file wins), ``overlay`` says that cells of the unit's files of this input may overlap; it is the same for all
    of them. ``rows`` and ``bytes`` are null where unknown.
    """
    return pa.schema(
        [
            ("unit", pa.int32()),
            ("label", pa.string()),
            ("key", pa.string()),
            ("rows", pa.int64()),
            ("bytes", pa.int64()),
            ("overlay", pa.bool_()),
        ]
        + [(PARTITION_PREFIX + field.name, field.type) for field in partition_columns]
    )


@dataclass(frozen=True, slots=True)
class ReadInput:
    """How each unit reads one dataset.

    ``name`` is for people: the dataset id in a cube, else the uuid. ``schema`` is the schema of record of the columns
    that this input contributes to the unit, in order: those wanted, and those that a condition after the joins needs.
    ``record`` is the schema of record of all columns that may have to be read (contributed, condition, dimension and
    partition columns). ``partition_keys`` are the dataset's; their values come from the file table. ``dimensions`` are
    the dataset's own dimension columns, by which the last row wins in an overlay (empty for plain datasets). ``early``
    are conditions that may be applied before an overlay is resolved (on dimensions and partition columns), ``late``
    those that may not. Both are bound: their literals have the types of the columns. ``stored_columns`` is the number
    of columns that each file has by the schema of record, 0 where unknown.
    """

    name: str
    uuid: str
    table: str
    schema: pa.Schema
    record: pa.Schema
    partition_keys: tuple[str, ...]
    dimensions: tuple[str, ...]
    early: Condition
    late: Condition
    stored_columns: int = 0


@dataclass(frozen=True, slots=True)
class JoinStep:
    """Joins input number ``input`` to what has been joined so far, on equal values of the columns ``on``."""

    input: int
    on: tuple[str, ...]
    how: Literal["inner", "left"]


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a read will do.

    ``inputs`` and ``files`` correspond by position; the first input is the seed. ``units`` has one row per unit, in
    output order: ``unit: int32``, then as ``partition/<name>`` the columns whose value is the same for the whole unit
    (``partition_by`` columns, then the cube's partition columns). ``group_by`` lists those by which results are
    grouped. Each pair ``(input, column)`` in ``pinned`` restricts that input to the unit's value of that column, early
    where it is one of its ``dimensions`` and late otherwise. ``after`` is evaluated after the joins. ``project`` lists
    the columns by which rows of the seed are made unique (the last one stays; empty: not at all) and ``order`` those by
    which the rows of a unit are sorted. ``schema`` is the promised result.
    """

    subject: str
    inputs: tuple[ReadInput, ...]
    files: tuple[pa.Table, ...]
    units: pa.Table
    joins: tuple[JoinStep, ...]
    after: Condition
    schema: pa.Schema
    group_by: tuple[str, ...] = ()
    pinned: tuple[tuple[int, str], ...] = ()
    project: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """Show in a notebook what is read of which dataset; the tables of files are left out."""
        joins = {step.input: f"{step.how} on {', '.join(step.on)}" for step in self.joins}
        rows = [
            (source.name, joins.get(number, ""), f"{files.num_rows:,}", ", ".join(source.record.names))
            for number, (source, files) in enumerate(zip(self.inputs, self.files, strict=True))
        ]
        title = f"{self.subject}: {plural(self.units.num_rows, 'unit')}, {plural(len(self.schema), 'column')}"
        return notebook_table(title, ("dataset", "join", "files", "columns read"), rows, (False, False, True, False))
