"""Rows in any order as sorted files: one for each partition, even where rows have to be spilled."""

from __future__ import annotations

import uuid as uuids
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kubothek.engine.sorted_files import sort_and_write
from kubothek.engine.writing import WriteTask
from kubothek.errors import DuplicateCellsError, NullValueError
from kubothek.store.interface import Store
from kubothek.store.open import open_store

SCHEMA = pa.schema([("p", pa.int64()), ("x", pa.int64())])
TASK = WriteTask(
    "u", "table", uuids.UUID(int=1).hex, "_kubothek/u/i/staged/", SCHEMA, ("p",), unique=("x",), apart=("p",)
)
MANY = 2**20
"""Rows that are more than is held."""


def batch(p: object, x: object) -> pa.RecordBatch:
    """Return rows."""
    return pa.record_batch([pa.array(p, pa.int64()), pa.array(x, pa.int64())], SCHEMA.names)


def in_order() -> pa.RecordBatch:
    """Return many rows of partition 1, sorted."""
    return batch(np.ones(MANY, np.int64), np.arange(MANY))


def values(store: Store, key: str) -> list[int]:
    """Return what a file holds."""
    found: list[int] = pq.read_table(store.open_file(key))["x"].to_pylist()
    return found


def test_rows_after_many_in_order_are_in_the_same_file(tmp_path: Path) -> None:
    """That the first rows come in order, and fill more than is held, makes no second file of their partition."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    rows = [in_order(), batch([1, 0, 1], [-1, 7, MANY])]
    staged = list(sort_and_write(store, TASK, rows, ["p", "x"], whole=True, folder=str(tmp_path)))
    assert [(one.label.partition("/")[0], one.rows) for one in staged] == [("p=0", 1), ("p=1", MANY + 2)]
    assert values(store, staged[1].files["table"]) == list(range(-1, MANY + 1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("late", "error"),
    [
        pytest.param(batch([1], [5]), DuplicateCellsError, id="cell"),
        pytest.param(batch([1], [None]), NullValueError, id="null"),
    ],
)
def test_rows_that_come_late_are_checked(tmp_path: Path, late: pa.RecordBatch, error: type[Exception]) -> None:
    """A cell given twice, or a null, is found in rows that come after others were spilled, and nothing is left."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    with pytest.raises(error):
        list(sort_and_write(store, TASK, [in_order(), late], ["p", "x"], whole=True, folder=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    assert list(store.list()) == []
