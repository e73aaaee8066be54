"""Datasets for tests that look at stored files: stores of their own, and files as other software might write them."""

from __future__ import annotations

import uuid as uuids
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.dataset.commit import commit
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store

ROWS = pa.table({"p": [1, 1, 2, 2], "i1": [3, 4, 3, None], "v1": ["a", "b", "c", "d"]})


def new_store() -> Store:
    """Give a store that nobody else has."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def put_file(store: Store, content: pa.Table, suffix: str) -> StagedPartition:
    """Put a file of dataset ``d`` as other software might write it, and describe it."""
    label = uuids.uuid4().hex
    key = f"d/table/{label}{suffix}"
    if suffix == ".parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(content, sink)
        data = sink.getvalue().to_pybytes()
    else:
        lines = [";".join("" if v is None else str(v) for v in row.values()) for row in content.to_pylist()]
        data = "\n".join([";".join(content.column_names), *lines, ""]).encode()
    store.put(key, data)
    schema = pa.schema([("i1", pa.int64()), ("v1", pa.string())])
    return StagedPartition(label, {"table": key}, content.num_rows, len(data), {"table": schema})


def foreign(store: Store, *parts: StagedPartition) -> None:
    """Make dataset ``d`` of files of other software."""
    tables = {"table": parts[0].schema["table"]}
    commit(store, "d", ChangeSet(uuids.uuid4().hex, "write", parts, tables=tables, create=True), None)


def copied(folder: Path) -> Store:
    """Copy a directory to a store in memory."""
    store = new_store()
    for path in folder.rglob("*"):
        if path.is_file():
            store.put(path.relative_to(folder).as_posix(), path.read_bytes())
    return store
