"""Scans explained: what is expected and what is measured, for files of several kinds."""

from __future__ import annotations

import gzip
import uuid as uuids
from pathlib import Path

import pyarrow as pa
import pytest
from tests.foreign import parquet, put_dataset

import kubothek as kb
from kubothek import C
from kubothek.plan.measured import Measured


def new_store() -> str:
    """Name an empty store."""
    return f"memory://{uuids.uuid4().hex}"


def measured(scan: kb.Scan) -> Measured:
    """Read a scan and return what was measured."""
    found = scan.explain(analyze=True).sources[0].measured
    assert found is not None
    return found


def rows(count: int) -> pa.Table:
    """Return ascending numbers in two partitions, the even ones in the first."""
    return pa.table({"p": [n % 2 for n in range(count)], "v1": range(count)})


@pytest.mark.parametrize("place", ["memory", "directory"])
def test_row_groups_that_statistics_skip(place: str, tmp_path: Path) -> None:
    """Row groups and whole files in which nothing can match are opened, and their rows are not decoded."""
    store = new_store() if place == "memory" else str(tmp_path)
    ds = kb.write_dataset(rows(40), "u", store, partition_on="p", rows_per_row_group=5)
    found = measured(ds.scan(where=C("v1") == 0))
    assert (found.files, found.files_skipped, found.row_groups, found.row_groups_skipped) == (2, 1, 8, 7)
    assert (found.rows_stored, found.rows_decoded, found.rows, found.rows_joined) == (40, 5, 1, None)


def test_statistics_are_a_rule() -> None:
    """Once measured, what statistics skipped is told in words."""
    ds = kb.write_dataset(rows(40), "u", new_store(), rows_per_row_group=5)
    text = str(ds.scan(where=C("v1") == 2).explain(analyze=True))
    assert "7 of 8 row groups skipped by statistics" in text
    assert "1 row matched" in text


def test_dropped_files_are_not_opened() -> None:
    """What a partition value and an index drop is not among what is read, and the index tells what it was asked."""
    table = pa.table({"p": [1, 2, 2], "i1": ["a", "a", "b"]})
    store = new_store()
    kb.write_dataset([table.slice(n, 1) for n in range(3)], "u", store, partition_on="p", secondary_indices="i1")
    scan = kb.open_dataset("u", store).scan(where='p == 2 & i1 == "b"')
    told = scan.explain(analyze=True).sources[0]
    assert (told.total, told.files, told.dropped) == (3, 1, {"partition": 1, "index": 1})
    assert told.lookups == ('i1 == "b"',)
    assert measured(scan).files == 1


def test_text_files() -> None:
    """CSV files have no footers to tell of rows and row groups; they are counted as far as they can be."""
    files = {"a.csv": b"x\n1\n2\n", "b.csv.gz": gzip.compress(b"x\n3\n"), "c.parquet": parquet(pa.table({"x": [4]}))}
    ds = put_dataset(kb.Store(new_store()), pa.schema([("x", pa.int64())]), files)
    scan = ds.scan(where=C("x") > 1)
    found = measured(scan)
    assert (found.files, found.rows, found.rows_stored, found.row_groups) == (3, 3, None, 1)
    assert found.requests == scan.explain().requests


def test_tasks_on_spark() -> None:
    """As many tasks are expected as there are cores for, but none without files; Spark's own reader is not foretold."""
    ds = kb.write_dataset(rows(2), "u", new_store(), partition_on="p")
    told = ds.scan().explain()
    assert told.tasks == min(2, told.cores or 0)
    assert ds.scan(where=C("p") == 9).explain().tasks == 0


def test_spark_reads_a_directory_itself(tmp_path: Path) -> None:
    """Where Spark's own reader takes the files, it cuts its tasks itself."""
    ds = kb.write_dataset(rows(2), "u", str(tmp_path), partition_on="p")
    assert (ds.scan().explain().tasks, ds.scan(where="v1 == 1").explain().tasks is None) == (None, False)


def test_nothing_to_read() -> None:
    """A scan without files is explained and measured like any other."""
    found = kb.write_dataset(rows(2), "u", new_store(), partition_on="p").scan(where=C("p") == 9)
    told = found.explain(analyze=True)
    assert (told.units, told.groups, told.files, told.bytes, told.requests, told.largest_unit) == (0, 0, 0, 0, 0, 0)
    assert measured(found).rows == 0
