"""What a cube query knows of each dataset before it reads any data, and what each of its columns is to the cube.

A :class:`Member` is one dataset of a cube at one moment: its schema, layout, indices and file table. Everything a plan
decides about it follows from which of its columns are the cube's dimensions, which are the cube's partition columns,
and which are its own payload. Columns of the format's predecessor (``__…`` and ``KLEE_TS``) stay in the files and are
shown to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE, CubeCall
from kubothek.model.read_plan import PARTITION_PREFIX

HIDDEN_PREFIX = "__"
HIDDEN_TIMESTAMP = "KLEE_TS"


def is_hidden(column: str) -> bool:
    """Tell whether a column is bookkeeping of the format's predecessor.

    Examples
    --------
    >>> is_hidden("KLEE_TS"), is_hidden("TEMP")
    (True, False)
    """
    return column == HIDDEN_TIMESTAMP or column.startswith(HIDDEN_PREFIX)


def member_files_schema(partition_columns: pa.Schema) -> pa.Schema:
    """Columns of :attr:`Member.files`, one row per file in the order of the header.

    ``write`` is the prefix of the file's name that all files of one write share (null where unknown); ``rows`` and
    ``bytes`` are null where unknown; ``partition/<name>`` holds the value of each of the dataset's partition columns.
    """
    return pa.schema(
        [
            ("label", pa.string()),
            ("key", pa.string()),
            ("rows", pa.int64()),
            ("bytes", pa.int64()),
            ("write", pa.string()),
        ]
        + [(PARTITION_PREFIX + column.name, column.type) for column in partition_columns]
    )


@dataclass(frozen=True, slots=True)
class Member:
    """One dataset of a cube at one moment.

    ``schema`` is the schema of record with all partition columns, ``index_columns`` those with a secondary index.
    ``unique_writes`` holds the ``write`` values of files whose cells were checked to be unique within each physical
    partition. ``files`` has the columns of :func:`member_files_schema`. ``recent`` holds the ids of the last commits,
    newest last (none where other software made the last one), and ``cube_call`` the call that made the last one, where
    that was for several datasets.
    """

    dataset_id: str
    uuid: str
    schema: pa.Schema
    partition_keys: tuple[str, ...]
    index_columns: tuple[str, ...]
    files: pa.Table
    metadata: Mapping[str, Any] = field(default_factory=dict)
    unique_writes: tuple[str, ...] = ()
    tables: tuple[str, ...] = (SINGLE_TABLE,)
    recent: tuple[str, ...] = ()
    cube_call: CubeCall | None = None

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that users see."""
        return frozenset(name for name in self.schema.names if not is_hidden(name))

    @property
    def indexed(self) -> frozenset[str]:
        """Names of the columns whose values are known file by file, from the path or from a secondary index."""
        return self.columns & {*self.partition_keys, *self.index_columns}

    def dimensions(self, cube: Cube) -> tuple[str, ...]:
        """Return the cube's dimensions that this dataset has, in the cube's order; they identify its cells."""
        return tuple(name for name in cube.dimension_columns if name in self.columns)

    def apart(self, cube: Cube) -> tuple[str, ...]:
        """Return the partition keys that keep cells apart; rows of one cell may differ in the others."""
        return tuple(key for key in self.partition_keys if key in (*cube.dimension_columns, *cube.partition_columns))

    def payload(self, cube: Cube) -> frozenset[str]:
        """Return what only this dataset knows: neither dimensions nor partition columns of the cube."""
        return self.columns - {*cube.dimension_columns, *cube.partition_columns}


def merge_columns(members: Iterable[Member]) -> pa.Schema:
    """Return all columns of these datasets, sorted by name; a typed column wins over one without any value.

    Whether the types agree is a matter of :func:`kubothek.plan.cube.check.find_problems`.
    """
    fields: dict[str, pa.Field] = {}
    for member in members:
        for name in member.columns:
            if name not in fields or pa.types.is_null(fields[name].type):
                fields[name] = member.schema.field(name).with_nullable(True)
    return pa.schema([fields[name] for name in sorted(fields)])
