"""How the files that several tables were written to become partitions, of which each has every table.

Files belong together that have the same partition values and the same bucket. The first table names the partition; a
table without rows there gets a file without rows::

    core     p=1/a   p=2/b            partition   core    helper
    helper   p=1/c            p=3/d   p=1/a       p=1/a   p=1/c
                                      p=2/b       p=2/b   p=2/e (empty)
                                      p=3/f       p=3/f   p=3/d           (p=3/f: empty)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, MutableSequence, Sequence

from kubothek.engine.index_values import union_values
from kubothek.engine.local import map_in_threads
from kubothek.engine.writing import WriteTask, write_empty_file
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store

Place = tuple[str, int | None, int]
"""Directory part of a label, bucket, and which of several files of one table there."""

_PARALLEL = 16


def pair_tables(
    store: Store,
    tasks: Mapping[str, WriteTask],
    staged: Mapping[str, Sequence[StagedPartition]],
    written: MutableSequence[StagedPartition],
) -> Sequence[StagedPartition]:
    """Make partitions of the files of each table.

    An unpartitioned dataset gets a partition also where no table has rows: it keeps the schema.

    Parameters
    ----------
    store, tasks
        Where files without rows are written, and how.
    staged
        The files of each table, as partitions of that table alone.
    written
        Receives what is staged here.
    """
    places = places_of(staged)
    if not places and not any(task.partition_on for task in tasks.values()):
        places = {("", None, 0): {}}
    missing = [(place, table) for place, files in places.items() for table in tasks if table not in files]

    def write_empty(gap: tuple[Place, str]) -> StagedPartition:
        place, table = gap
        empty = write_empty_file(store, tasks[table], place[0])
        written.append(empty)
        return empty

    def join(files: Mapping[str, StagedPartition]) -> StagedPartition:
        joined = _joined(store, tasks, files)
        written.append(joined)
        return joined

    for (place, table), empty in zip(missing, map_in_threads(write_empty, missing, _PARALLEL), strict=True):
        places[place][table] = empty
    if len(tasks) == 1:
        return [files[table] for files in places.values() for table in tasks]
    return list(map_in_threads(join, places.values(), _PARALLEL))


def places_of(staged: Mapping[str, Sequence[StagedPartition]]) -> dict[Place, dict[str, StagedPartition]]:
    """Return the files at each place by table, in the order of the tables and of their files."""
    places: dict[Place, dict[str, StagedPartition]] = {}
    for table, files in staged.items():
        seen = Counter[tuple[str, int | None]]()
        for one in files:
            spot = one.label.rpartition("/")[0], one.bucket
            places.setdefault((*spot, seen[spot]), {})[table] = one
            seen[spot] += 1
    return places


def _joined(store: Store, tasks: Mapping[str, WriteTask], files: Mapping[str, StagedPartition]) -> StagedPartition:
    """Return the partition that the files of its tables make."""
    ordered = [files[table] for table in tasks]
    columns = dict.fromkeys(name for one in ordered for name in one.index_values)
    return StagedPartition(
        label=ordered[0].label,
        files={table: one.files[table] for table, one in zip(tasks, ordered, strict=True)},
        rows=None,
        bytes=None,
        schema={table: one.schema[table] for table, one in zip(tasks, ordered, strict=True)},
        index_values={name: _values(store, name, tasks, ordered) for name in columns},
        bucket=next((one.bucket for one in ordered if one.bucket is not None), None),
    )


def _values(store: Store, column: str, tasks: Mapping[str, WriteTask], parts: Sequence[StagedPartition]) -> object:
    """Return the values of a column in all tables that have it."""
    found = [one.index_values[column] for one in parts if column in one.index_values]
    if len(found) == 1:
        return found[0]
    task = next(task for task in tasks.values() if column in task.index_columns)
    return union_values(store, task.staged, task.schema.field(column).type, found)
