"""Sorting into ranges: every row comes out once, ranges follow each other, and memory stays bounded."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kubothek.engine.external_sort import RangeSort

SCHEMA = pa.schema([("x", pa.int64()), ("y", pa.int32())])


def sorted_ranges(tables: list[pa.Table], held_bytes: int) -> list[pa.Table]:
    """Return the ranges of some tables by x."""
    with RangeSort(SCHEMA, "x", held_bytes) as rows:
        for table in tables:
            rows.add(table)
        return list(rows.ranges())


def numbers(values: np.ndarray) -> pa.Table:
    """Return rows with these values."""
    return pa.table([pa.array(values, pa.int64()), pa.array(range(len(values)), pa.int32())], schema=SCHEMA)


def cells(rows: pa.Table) -> np.ndarray:
    """Return one number for each row."""
    found: np.ndarray = rows["x"].to_numpy() * 100_000 + rows["y"].to_numpy()
    return found


def test_few_rows_are_one_range() -> None:
    """What fits in memory comes back as it is, also nothing at all."""
    table = numbers(np.array([2, 1]))
    assert sorted_ranges([table, table], 2**20) == [pa.concat_tables([table, table])]
    assert sorted_ranges([], 2**20) == [SCHEMA.empty_table()]


@pytest.mark.parametrize("distinct", [10**9, 1000, 1], ids=["all different", "repeated", "one value"])
def test_many_rows_come_in_ranges(distinct: int) -> None:
    """Rows that were spilled are all there, no value is in two ranges, and ranges ascend."""
    random = np.random.default_rng(1)
    tables = [numbers(random.integers(0, distinct, 50_000)) for _ in range(16)]
    ranges = sorted_ranges(tables, 2**21)
    bounds = [(np.min(r["x"].to_numpy()), np.max(r["x"].to_numpy())) for r in ranges if r.num_rows]
    assert len(bounds) == (1 if distinct == 1 else 2)
    assert all(before[1] < after[0] for before, after in pairwise(bounds))
    found, given = (np.sort(cells(pa.concat_tables(some))) for some in (ranges, tables))
    assert np.array_equal(found, given)


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a sort go with it, also when its consumer stops half-way."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with RangeSort(SCHEMA, "x", 1000) as rows:
        rows.add(numbers(np.arange(1000)))
        assert len(list(tmp_path.rglob("*.arrow"))) == 1
        next(rows.ranges())
    assert list(tmp_path.iterdir()) == []
