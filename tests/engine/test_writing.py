"""The write task: where it cuts files, what it refuses, and that an abandoned write leaves nothing."""

from __future__ import annotations

import uuid as uuids
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kubothek as kb
from kubothek.codec.staged_table import read_staged
from kubothek.engine.writing import (
    BUCKET,
    WriteTask,
    bucket_numbers,
    check_cells,
    conform_rows,
    cut_runs,
    write_files,
)
from kubothek.errors import DuplicateCellsError, InvalidInputError, NullValueError, SchemaError
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store

SCHEMA = pa.schema([("p", pa.int64()), ("i1", pa.int64()), ("x", pa.int64())])
WRITE_ID = uuids.UUID(int=1).hex
STAGED = "_kubothek/u/i/staged/"


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def task(**settings: Any) -> WriteTask:
    """Return a task for partitions of p with an index on i1."""
    given = {"partition_on": ("p",), "index_columns": ("i1",), **settings}
    return WriteTask("u", "table", WRITE_ID, STAGED, given.pop("schema", SCHEMA), **given)


def batches(*rows: Sequence[tuple[Any, ...]]) -> list[pa.RecordBatch]:
    """Return batches of (p, i1, x)."""
    return [pa.record_batch([pa.array(c, pa.int64()) for c in zip(*part, strict=True)], SCHEMA.names) for part in rows]


def stage(store: Store, given: WriteTask, *rows: Sequence[tuple[Any, ...]]) -> list[StagedPartition]:
    """Write batches."""
    return list(write_files(store, given, batches(*rows)))


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def test_files_are_cut_where_the_partition_changes() -> None:
    """A partition that spans batches is one file; one batch may fill several."""
    store = new_store()
    staged = stage(store, task(), [(1, 7, 0), (1, 8, 1)], [(1, 7, 2), (2, 9, 3)], [(3, 9, 4)])
    assert [(one.label.partition("/")[0], one.rows) for one in staged] == [("p=1", 3), ("p=2", 1), ("p=3", 1)]
    assert keys(store) == sorted(one.files["table"] for one in staged)
    assert [store.info(one.files["table"]).size for one in staged] == [one.bytes for one in staged]


def test_descriptors_hold_the_values_to_index() -> None:
    """Each file's distinct values are sorted, without nulls."""
    first, second = stage(new_store(), task(), [(1, 8, 0), (1, None, 1), (1, 7, 2), (1, 8, 3), (2, None, 4)])
    assert (first.index_values["i1"].to_pylist(), second.index_values["i1"].to_pylist()) == ([7, 8], [])


def test_many_values_to_index_are_staged() -> None:
    """Above 4,096 values the descriptor names a file under the private prefix, which holds them sorted."""
    store = new_store()
    [staged] = stage(store, task(), [(1, n, 0) for n in range(4097)][::-1])
    key = staged.index_values["i1"]
    assert isinstance(key, str)
    assert key.startswith(STAGED)
    values = [value for part in read_staged(store.open_file(key), key) for value in part.column(0).to_pylist()]
    assert values == list(range(4097))


def test_buckets_are_cut_and_not_stored() -> None:
    """The bucket column cuts files and is in none of them."""
    store = new_store()
    batch = batches([(1, 0, 0), (1, 0, 1), (2, 0, 2)])[0]
    rows = pa.record_batch([*batch.columns, pa.array([0, 1, 1])], [*SCHEMA.names, BUCKET])
    staged = list(write_files(store, task(), [rows]))
    assert [one.rows for one in staged] == [1, 1, 1]
    assert pq.read_schema(store.open_file(staged[0].files["table"])).names == ["i1", "x"]


def test_small_batches_make_whole_row_groups() -> None:
    """Row groups are filled across batches; only the last is smaller."""
    store = new_store()
    [staged] = stage(store, task(rows_per_row_group=4), *[[(1, 0, n), (1, 0, n)] for n in range(5)])
    found = pq.read_metadata(store.open_file(staged.files["table"]))
    assert [found.row_group(n).num_rows for n in range(found.num_row_groups)] == [4, 4, 2]


UNFIT: dict[str, tuple[list[list[tuple[Any, ...]]], type[Exception]]] = {
    "null in a partition column": ([[(1, 0, 0), (None, 0, 1)]], NullValueError),
    "null in a dimension": ([[(1, 0, 0), (1, 0, None)]], NullValueError),
    "neighbours in a batch": ([[(1, 0, 0), (1, 0, 0)]], DuplicateCellsError),
    "neighbours across batches": ([[(1, 0, 0)], [(1, 0, 0)]], DuplicateCellsError),
    "in a later partition": ([[(1, 0, 0)], [(2, 0, 1), (2, 5, 1)]], DuplicateCellsError),
}


@pytest.mark.parametrize("name", UNFIT)
def test_unfit_rows_abandon_the_file(name: str) -> None:
    """What cannot be stored is an error, and the file it was found in is not there."""
    rows, error = UNFIT[name]
    store, whole = new_store(), []
    with pytest.raises(error, match="nothing was committed"):
        whole.extend(write_files(store, task(unique=("x",)), batches(*rows)))
    assert keys(store) == sorted(one.files["table"] for one in whole)


def test_nan_is_no_dimension() -> None:
    """NaN equals nothing, so it can be neither a partition value nor a dimension."""
    schema = pa.schema([("p", pa.int64()), ("x", pa.float64())])
    rows = pa.record_batch([[1], [float("nan")]], schema=schema)
    with pytest.raises(NullValueError, match="NaN"):
        list(write_files(new_store(), task(schema=schema, index_columns=(), unique=("x",)), [rows]))


def test_a_date_without_a_text_is_no_partition_value() -> None:
    """Dates that Python does not have cannot be in a path; the error is not Python's."""
    schema = pa.schema([("p", pa.date32()), ("x", pa.int64())])
    rows = pa.record_batch([pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), [1]], schema=schema)
    with pytest.raises(InvalidInputError, match="between the years 1 and 9999"):
        list(write_files(new_store(), task(schema=schema, index_columns=()), [rows]))


def test_run_ends_are_decoded() -> None:
    """An encoding is no type: its values are stored."""
    encoded = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([5, 6]))
    rows = conform_rows(pa.table({"p": [1, 1, 1], "x": encoded, "i1": [0, 0, 0]}), task())
    assert rows["x"].to_pylist() == [5, 5, 6]


def test_a_reader_that_stops_leaves_no_open_file() -> None:
    """A generator that is not consumed to the end abandons what it was writing."""
    store = new_store()
    files = write_files(store, task(), batches([(1, 0, 0)], [(2, 0, 0)], [(2, 0, 1)]))
    first = next(files)
    files.close()
    assert keys(store) == [first.files["table"]]


def test_a_value_that_is_too_large_names_its_column() -> None:
    """A value that the type of record cannot hold is an error, not a wrong value."""
    rows = pa.record_batch([[1], [0], pa.array([2**63], pa.uint64())], SCHEMA.names)
    with pytest.raises(SchemaError, match="'x'"):
        list(write_files(new_store(), task(), [rows]))


@pytest.mark.parametrize(("unique", "second", "again"), [(("x",), 1, True), (("x",), 3, False), (("p",), 3, True)])
def test_cells_are_compared_across_files(unique: tuple[str, ...], second: int, again: bool) -> None:
    """Files of one partition that were written apart may not share a cell, partition columns among its dimensions."""
    store, given = new_store(), task()
    staged = [*stage(store, given, [(1, 0, 0), (1, 0, 1)]), *stage(store, given, [(1, 0, second)])]
    checked = task(unique=unique)
    if not again:
        check_cells(store, checked, staged)
    else:
        with pytest.raises(DuplicateCellsError):
            check_cells(store, checked, staged)


def test_runs_start_where_any_column_changes() -> None:
    """The first row starts a run, and so does each that differs from the one before."""
    rows = pa.table({"p": [1, 1, 2, 2, 1], "q": ["a", "b", "b", "b", "b"]})
    assert cut_runs(rows, ["p", "q"]).tolist() == [0, 1, 2, 4]
    assert cut_runs(rows, []).tolist() == [0]


def test_bucket_numbers_follow_values() -> None:
    """Equal values, nulls included, have equal numbers, all below the count."""
    values = ["a", None, "b", "a", None, "c"]
    [numbers] = bucket_numbers([pa.table({"x": values})], ["x"], [], 2)
    assert len(set(zip(values, numbers.to_pylist(), strict=True))) == 4
    assert sorted(numbers.to_pylist()) == [0, 0, 0, 1, 1, 1]


def test_bucket_numbers_are_dealt_out_per_partition() -> None:
    """Each partition uses all buckets, also where its values follow from it; tables agree on the number of a value."""
    rows = pa.table({"p": [x % 2 for x in range(12)], "x": range(12)})
    some = rows.take([3, 8, 1])
    first, second = bucket_numbers([rows, some], ["x"], ["p"], 2)
    assert Counter(zip(rows["p"].to_pylist(), first.to_pylist(), strict=True)) == {
        (p, bucket): 3 for p in (0, 1) for bucket in (0, 1)
    }
    assert second.to_pylist() == first.take([3, 8, 1]).to_pylist()


def test_columns_are_compressed_where_it_helps() -> None:
    """Doubles without any pattern are stored as they are, everything else is compressed as was asked."""
    rows = 4096
    noise = np.random.default_rng(1).random(rows)
    table = pa.table({"x": range(rows), "v1": noise, "v2": np.round(noise, 1), "s": ["a"] * rows})
    store = open_store(f"memory://{uuids.uuid4().hex}")
    written = kb.write_dataset(table, "d", store, compression="zstd")
    [partition] = written.partitions.values()
    group = pq.ParquetFile(store.open_file(partition.files["table"])).metadata.row_group(0)
    found = {group.column(i).path_in_schema: group.column(i).compression for i in range(group.num_columns)}
    assert found == {"s": "ZSTD", "v1": "UNCOMPRESSED", "v2": "ZSTD", "x": "ZSTD"}
    assert written.scan().to_arrow().equals(table.select(["s", "v1", "v2", "x"]))
