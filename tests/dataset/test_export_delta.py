"""A dataset that was exported is the same table to readers of Delta, and none of them can spoil it."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import CommitFailedError
from tests.other_writers import forget_state
from tests.type_table import arrow_table, arrow_type, from_arrow, named

import kubothek as kb
from kubothek.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptDatasetError,
    InvalidInputError,
    SchemaError,
)
from kubothek.model.schema import normalise_type
from kubothek.plan.delta import delta_type
from kubothek.testing.datasets import same_rows
from kubothek.testing.stores import Call, Fault, FaultyStore, WrappedStore

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)

ROWS = pa.table({"p": ["a/b ü", "%41=", "a"], "x": [1, 2, 3], "v1": [0.5, None, float("nan")]})


def written(store: Any, rows: pa.Table = ROWS, **options: Any) -> kb.Dataset:
    """Write a dataset that is partitioned by ``p``."""
    return kb.write_dataset(rows, "u", store, partition_on="p", **options)


def delta_rows(root: str, columns: list[str]) -> pa.Table:
    """Return what delta-rs reads, with the columns in this order."""
    return pa.table(deltalake.DeltaTable(root).to_pyarrow_table()).select(columns)


def log(store: kb.Store) -> list[str]:
    """Return the keys of the log."""
    return [info.key for info in store.list("u/_delta_log/")]


def test_every_type_reads_equal(tmp_path: Path) -> None:
    """Each type of the page of types that Delta has, nulls and nested ones included, comes back with its values."""
    rows = {n: row for n, row in named(from_arrow()).items() if delta_type(normalise_type(arrow_type(row.kind)))}
    table = arrow_table(rows)
    ds = kb.write_dataset(table, "u", tmp_path)
    found = delta_rows(kb.export_delta("u", tmp_path).url, ds.schema.names)
    assert len(rows) > 20
    assert found.schema.equals(ds.schema)
    assert same_rows(found, ds.scan().to_arrow().to_pylist())


@pytest.mark.parametrize(
    "values",
    [
        ["a/b ü", "%41=", "x+y z", "null"],
        [-(2**63), 2**63 - 1],
        [True, False],
        [1.5, float("-inf"), 1e300],
        [date(1, 1, 1), date(9999, 12, 31)],
        [datetime(1, 2, 3, 4, 5, 6, 7), datetime(2020, 1, 1)],
        [Decimal("1.50"), Decimal("0.00")],
        ["é".encode(), b"a=b"],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_partition_values_read_equal(values: list[Any], tmp_path: Path) -> None:
    """Values that partition have their own text in a log, percent-encoded paths or not."""
    ds = written(tmp_path, pa.table({"p": values, "x": range(len(values))}))
    assert same_rows(delta_rows(kb.export_delta("u", tmp_path).url, ["p", "x"]), ds.scan().to_arrow().to_pylist())


def test_polars_and_duckdb_read_equal(tmp_path: Path) -> None:
    """Polars scans the table with a condition, and DuckDB by way of Arrow, with bounds in the log."""
    written(tmp_path)
    url = kb.export_delta("u", tmp_path, statistics=True).url
    assert pl.scan_delta(url).filter(pl.col("x") >= 2).collect().sort("x")["p"].to_list() == ["%41=", "a"]
    rows = duckdb.from_arrow(deltalake.DeltaTable(url).to_pyarrow_dataset())
    assert rows.filter("x < 3").order("x").project("p, x").fetchall() == [("a/b ü", 1), ("%41=", 2)]


def test_statistics_are_in_the_log(tmp_path: Path) -> None:
    """Whole numbers, texts and times have bounds; floating-point columns, which may hold NaN, have counts alone."""
    rows = pa.table({"p": [1, 1], "x": [2, 7], "s": ["b", "a"], "t": [datetime(2020, 1, 1), None], "v1": [1.0, None]})
    written(tmp_path, rows)
    url = kb.export_delta("u", tmp_path, statistics=True).url
    [said] = pa.table(deltalake.DeltaTable(url).get_add_actions(flatten=True)).to_pylist()
    assert (said["num_records"], said["min.x"], said["max.x"], said["min.s"], said["max.s"]) == (2, 2, 7, "a", "b")
    assert (said["min.t"], said["max.t"]) == (datetime(2020, 1, 1), datetime(2020, 1, 1))
    assert (said["null_count.t"], said["null_count.v1"], said.get("min.v1")) == (1, 1, None)


def test_an_empty_dataset(tmp_path: Path) -> None:
    """Without files there is the schema."""
    ds = kb.create_empty_dataset(ROWS.schema, "u", tmp_path, partition_on="p")
    made = kb.export_delta("u", tmp_path)
    assert (made.version, made.added) == (0, 0)
    assert delta_rows(made.url, ds.schema.names).schema == ds.schema


def test_exports_follow_updates(tmp_path: Path) -> None:
    """Each export adds one commit with the difference, and none where there is none; old versions can be exported."""
    first = written(tmp_path)
    kb.export_delta("u", tmp_path)
    second = kb.update_dataset(ROWS.slice(0, 2), "u", tmp_path, delete_scope={"p": "a"})
    made = [kb.export_delta("u", tmp_path) for _ in range(2)]
    assert [(one.version, one.added, one.removed) for one in made] == [(1, 2, 1), (1, 0, 0)]
    assert same_rows(delta_rows(made[0].url, ["p", "v1", "x"]), second.scan().to_arrow().to_pylist())
    assert (back := kb.export_delta("u", tmp_path, at=1)).dataset_version == 1
    assert same_rows(delta_rows(back.url, ["p", "v1", "x"]), first.scan().to_arrow().to_pylist())


def test_another_schema_replaces_the_table(tmp_path: Path) -> None:
    """A dataset that was overwritten with other columns and partitions goes on in the same log."""
    written(tmp_path)
    kb.export_delta("u", tmp_path)
    ds = kb.write_dataset(pa.table({"y": [1, 2], "t": [datetime(2020, 1, 1)] * 2}), "u", tmp_path, overwrite=True)
    made = kb.export_delta("u", tmp_path)
    assert (made.version, made.added, made.removed) == (1, 1, 3)
    assert same_rows(delta_rows(made.url, ["t", "y"]), ds.scan().to_arrow().to_pylist())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda url: deltalake.DeltaTable(url).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True),
        lambda url: deltalake.write_deltalake(url, ROWS, mode="append"),
        lambda url: deltalake.DeltaTable(url).delete(),
        lambda url: deltalake.DeltaTable(url).optimize.compact(),
    ],
    ids=["vacuum", "append", "delete", "compact"],
)
def test_writers_of_delta_refuse(spoil: Callable[[str], Any], tmp_path: Path) -> None:
    """delta-rs neither adds nor deletes files, as it does not know a feature that the log names for writers."""
    written(tmp_path, secondary_indices="x")
    url = kb.export_delta("u", tmp_path).url
    before = [info.key for info in kb.Store(tmp_path).list()]
    with pytest.raises(CommitFailedError, match="kubothekReadOnly"):
        spoil(url)
    assert [info.key for info in kb.Store(tmp_path).list()] == before


def test_types_that_delta_lacks_are_refused_together() -> None:
    """All columns, inner ones too, are named with what to do; nothing is written."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    rows = {"a": pa.array([1], pa.uint64()), "b": pa.array([[1]], pa.list_(pa.time64("us"))), "c": [None], "C": [1]}
    kb.write_dataset(pa.table(rows), "u", store)
    with pytest.raises(SchemaError, match=r"'a' is uint64, which .*\n.*'b' is time64.us. \(in list") as caught:
        kb.export_delta("u", store)
    assert caught.value.columns == ("a", "b", "c", "C")
    assert log(store) == []


def test_files_of_other_types_are_refused(tmp_path: Path) -> None:
    """A file that holds narrower numbers than the schema promises is named; readers of Delta differ on such."""
    ds = written(tmp_path)
    [key] = ds.partitions[next(iter(ds.partitions))].files.values()
    pq.write_table(pa.table({"x": pa.array([1], pa.int8()), "v1": [0.5]}), tmp_path / key)
    forget_state(ds.store, "u")
    with pytest.raises(InvalidInputError, match=r"(?s)1 file.*'x' is int8 instead of int64") as caught:
        kb.export_delta("u", tmp_path)
    assert caught.value.keys == (key,)


def test_what_other_software_wrote(tmp_path: Path) -> None:
    """Where the header knows neither rows nor sizes, the store and the footers tell."""
    ds = written(tmp_path)
    forget_state(ds.store, "u")
    made = kb.export_delta("u", tmp_path)
    assert (made.dataset_version, made.added) == (None, 3)
    assert same_rows(delta_rows(made.url, ["p", "v1", "x"]), ds.scan().to_arrow().to_pylist())


def test_an_empty_text_is_no_partition_value_of_delta() -> None:
    """Delta reads it as null, so that it is refused."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store, pa.table({"p": ["", "a"], "x": [1, 2]}))
    with pytest.raises(InvalidInputError, match=r"1 file.*empty text in partition column 'p'"):
        kb.export_delta("u", store)


def test_a_log_of_others_is_not_continued(tmp_path: Path) -> None:
    """Where somebody has made a Delta table in the folder, that stays as it is."""
    written(tmp_path)
    (tmp_path / "u" / "_delta_log").mkdir()
    deltalake.write_deltalake(tmp_path / "u", ROWS)
    with pytest.raises(InvalidInputError, match="a Delta log in 'u/_delta_log/' already, of other software"):
        kb.export_delta("u", tmp_path)


@pytest.mark.parametrize("data", [b"{", b'{"add": {"path": 1}}', b'{"add": {"path": "%ff"}}'])
def test_a_damaged_log_is_named(data: bytes) -> None:
    """What is no commit is an error with its key."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    kb.export_delta("u", store)
    store.put(log(store)[0], data)
    with pytest.raises(CorruptDatasetError, match="is no commit of a Delta log"):
        kb.export_delta("u", store)


def test_a_log_with_a_gap_is_refused() -> None:
    """Of a log whose beginning was deleted nobody knows what it says."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    kb.export_delta("u", store)
    written(store, overwrite=True)
    kb.export_delta("u", store)
    store.delete(log(store)[:1])
    with pytest.raises(CorruptDatasetError, match="lacks commits before"):
        kb.export_delta("u", store)


class Interrupted(WrappedStore):
    """Lets somebody else act just before a commit of the log is put."""

    def __init__(self, inner: kb.Store, times: int) -> None:
        super().__init__(inner)
        self.left = times

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        """Export the dataset first, and update it."""
        if call.verb == "create" and "_delta_log" in call.key and self.left:
            self.left -= 1
            kb.export_delta("u", self.inner)
            kb.update_dataset(ROWS, "u", self.inner)
        return act()


def test_a_lost_race_is_run_again() -> None:
    """Who finds the next commit put by somebody else looks at the dataset anew, and never takes the table back."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    made = kb.export_delta("u", Interrupted(store, 2))
    assert (made.dataset_version, made.version, len(log(store))) == (3, 2, 3)


def test_races_that_are_always_lost_end() -> None:
    """After some tries the caller is told."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    with pytest.raises(CommitConflictError, match="each time in 10 tries"):
        kb.export_delta("u", Interrupted(store, 100))


@pytest.mark.parametrize(
    ("fault", "known"), [(Fault.LOSE_ANSWER, True), (Fault.REPEAT, True), (Fault.FAIL, False)], ids=str
)
def test_no_answer(fault: Any, known: bool) -> None:
    """Where the commit is there it counts; where it is not, nobody knows, and exporting again is harmless."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    faulty = FaultyStore(store, lambda call: fault if "_delta_log" in call.key and call.verb == "create" else None)
    if known:
        assert kb.export_delta("u", faulty).version == 0
    else:
        with pytest.raises(CommitStateUnknownError):
            kb.export_delta("u", faulty)
    assert kb.export_delta("u", store).added == (0 if known else 3)


def test_garbage_collection_keeps_the_log_of_a_dataset_and_no_other() -> None:
    """The log, checkpoints of other software included, goes with the dataset."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    kb.export_delta("u", store)
    store.put("u/_delta_log/00000000000000000000.checkpoint.parquet", b"PAR1")
    assert kb.garbage_collect_dataset("u", store, older_than=timedelta(0)) == []
    kb.delete_dataset("u", store)
    left = log(store)
    assert kb.garbage_collect_dataset("u", store, older_than=timedelta(0)) == left != []


def test_a_header_that_lists_no_files_does_not_take_the_log_for_a_table() -> None:
    """Where the store is listed instead, what lies in the log is no data."""
    store = kb.Store(f"memory://{uuids.uuid4().hex}")
    written(store)
    store.put("u/_delta_log/00000000000000000000.checkpoint.parquet", b"PAR1")
    store.put("u.by-dataset-metadata.json", b'{"dataset_metadata_version": 4, "dataset_uuid": "u"}')
    assert kb.open_dataset("u", store).tables == ("table",)
