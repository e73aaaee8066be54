"""A process that appends one row after the other, each with a commit of its own.

    python -m benchmarks.appending KIND WHERE WRITER ROWS

KIND is ``kubothek``, ``delta`` (the table opened for every commit) or ``opened`` (the table kept open). Prints a line
when it is ready, begins when it is sent one, and prints another when the last row is committed. WHERE is there already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

import kubothek as kb

UUID = "rows"
SCHEMA = pa.schema([("p", pa.string()), ("i1", pa.int64()), ("v1", pa.float64())])
_PATIENT = CommitProperties(max_commit_retries=1000)
"""Others may come first more often than the default allows."""


def make(kind: str, where: Path, indices: tuple[str, ...]) -> None:
    """Make the dataset or table without rows; it knows its partition column and its indices from then on."""
    if kind == "kubothek":
        kb.create_empty_dataset(SCHEMA, UUID, where, partition_on="p", secondary_indices=indices)
    else:
        DeltaTable.create(str(where), SCHEMA, partition_by=["p"])


def rows(kind: str, where: Path) -> pa.Table:
    """Return what is there."""
    if kind == "kubothek":
        return kb.open_dataset(UUID, where).scan().to_arrow()
    return DeltaTable(str(where)).to_pyarrow_dataset(schema=SCHEMA).to_table()


def appender(kind: str, where: str) -> Callable[[pa.Table], object]:
    """Return what commits some rows."""
    if kind == "kubothek":
        return lambda table: kb.update_dataset(table, UUID, where)
    target = DeltaTable(where) if kind == "opened" else where
    return lambda table: write_deltalake(target, table, mode="append", commit_properties=_PATIENT)


def main(kind: str, where: str, writer: str, count: str) -> None:
    """Append as often as asked to, from when asked to."""
    append = appender(kind, where)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        append(pa.table({"p": [writer], "i1": [number], "v1": [number / 8]}, SCHEMA))
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
