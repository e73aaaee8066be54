"""Writes that are planned, staged and committed by different processes, which here are different calls."""

from __future__ import annotations

import pickle
import uuid as uuids
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.other_writers import forget_state

import kubothek as kb
from kubothek.dataset.write_job import WriteJob, commit_job, discard_job, replace_job, stage_batches, update_job
from kubothek.engine import sorted_files
from kubothek.engine.spark_types import as_recorded
from kubothek.errors import (
    AmbiguousDeleteScopeError,
    CommitConflictError,
    CommitStateUnknownError,
    InvalidInputError,
    NullValueError,
    PredicateTypeError,
    SchemaError,
    StoreError,
    UnindexedColumnError,
    UnknownColumnError,
)
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store
from kubothek.testing.stores import Fault, FaultyStore

SCHEMA = pa.schema([("p", pa.int32()), ("i1", pa.string()), ("v1", pa.int32())])
FIRST = pa.table({"p": [1, 2, 1], "i1": ["a", "b", "b"], "v1": [1, 2, 3]}, SCHEMA)
SECOND = pa.table({"p": [3, 1], "i1": ["c", "a"], "v1": [4, 5]}, SCHEMA)
LAYOUT = {"partition_on": ("p",), "secondary_indices": ("i1",)}


def new_store() -> Store:
    """Return an empty store."""
    return Store(f"memory://{uuids.uuid4().hex}")


def stored(**settings: Any) -> Store:
    """Return a store with a dataset of one row in each of ``p = 1`` and ``p = 9``."""
    store = new_store()
    rows = pa.table({"p": [1, 9], "i1": ["x", "y"], "v1": [-1, -9]}, SCHEMA)
    kb.write_dataset(rows, "u", store, **{**LAYOUT, **settings})
    return store


def staged(job: WriteJob, *tasks: pa.Table) -> list[StagedPartition]:
    """Stage tables as tasks do."""
    return [one for rows in tasks for one in stage_batches(job, rows.to_batches())]


def found(store: Store, uuid: str = "u") -> list[dict[str, Any]]:
    """Return all rows, in an order of their own."""
    return sorted(kb.open_dataset(uuid, store).scan().to_arrow().to_pylist(), key=repr)


def plain(*tables: pa.Table) -> list[dict[str, Any]]:
    """Return rows as :func:`found` does."""
    return sorted(
        (dict(sorted(row.items(), key=lambda e: e[0] != "p")) for t in tables for row in t.to_pylist()), key=repr
    )


def data_files(store: Store) -> set[str]:
    """Return the keys of all data files and staged values."""
    return {info.key for info in store.list() if info.key.endswith(".parquet") or ".staged" in info.key}


def referenced(store: Store, uuid: str = "u") -> set[str]:
    """Return the data files of the current version."""
    return {part.files["table"] for part in kb.open_dataset(uuid, store).partitions.values()}


def test_tasks_of_one_write_are_committed_together() -> None:
    """Rows of all tasks are there in one commit, indexed, one file per task and partition."""
    store = new_store()
    job = update_job(SCHEMA, "u", store, **LAYOUT, metadata={"who": "me"})
    done = commit_job(job, staged(job, FIRST, SECOND))
    assert done.version == 1
    dataset = kb.open_dataset("u", store)
    assert found(store) == plain(FIRST, SECOND)
    assert sorted(label.split("/")[0] for label in dataset.partitions) == ["p=1", "p=1", "p=2", "p=3"]
    assert len(dataset.load_index("i1").eval_operator("==", "a")) == 2
    assert dataset.metadata["who"] == "me"


def test_rows_in_no_order_make_one_file_per_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task whose rows exceed what is held still writes one file per partition, sorted as asked."""
    sort = sorted_files.sort_stream
    monkeypatch.setattr(sorted_files, "sort_stream", lambda *rows, **how: sort(*rows, **how, held_rows=50))
    store = new_store()
    rows = pa.table({"p": [n % 7 for n in range(2000)], "v1": [n * 37 % 2003 for n in range(2000)]})
    job = update_job(rows.schema, "u", store, partition_on=("p",), sort_by=("v1",))
    commit_job(job, stage_batches(job, rows.to_batches(max_chunksize=20)))
    dataset = kb.open_dataset("u", store)
    assert len(dataset.partitions) == 7
    for p in range(7):
        values = dataset.scan("v1", where=f"p == {p}").to_arrow()["v1"].to_pylist()
        assert values == sorted(v for n, v in enumerate(rows["v1"].to_pylist()) if n % 7 == p)


def test_a_job_is_small_and_does_not_hold_partitions() -> None:
    """What travels to tasks does not grow with the dataset."""
    store = f"memory://{uuids.uuid4().hex}"

    def size(count: int, uuid: str) -> int:
        kb.write_dataset(pa.table({"p": list(range(count)), "v1": [0] * count}), uuid, store, partition_on="p")
        job = update_job(pa.schema({"p": pa.int64(), "v1": pa.int64()}), uuid, Store(store))
        return len(pickle.dumps((job.seen, job.task, job.change)))

    assert size(500, "b") < size(2, "a") + 500


def test_an_existing_dataset_decides_the_layout() -> None:
    """Partition columns and indices are those of the dataset where nothing else is said; others are refused."""
    store = stored()
    job = update_job(SCHEMA, "u", store)
    assert (job.task.partition_on, job.task.index_columns) == (("p",), ("i1",))
    commit_job(job, staged(job, FIRST))
    assert len(kb.open_dataset("u", store).load_index("i1").eval_operator("==", "b")) == 2
    with pytest.raises(SchemaError, match="partitioned by p"):
        update_job(SCHEMA, "u", store, partition_on=("v1",))


def test_replacing_keeps_nothing() -> None:
    """Schema and layout are those of the new rows; the old version is still in the history."""
    store = stored()
    rows = pa.table({"a": ["x"], "v1": [1.5]})
    job = replace_job(rows.schema, "u", store, partition_on=("a",))
    assert job.overwrites_existing
    commit_job(job, staged(job, rows))
    dataset = kb.open_dataset("u", store)
    assert found(store) == [{"a": "x", "v1": 1.5}]
    assert (dataset.partition_keys, list(dataset.indices), dataset.version) == (("a",), ["a"], 2)
    assert kb.open_dataset("u", store, at=1).scan().to_arrow().num_rows == 2


def test_partitions_of_the_rows_are_replaced() -> None:
    """With ``replaces`` exactly the physical partitions that have new rows lose their old ones."""
    store = stored()
    job = update_job(SCHEMA, "u", store, replaces=True)
    commit_job(job, staged(job, FIRST, SECOND))
    kept = pa.table({"p": [9], "i1": ["y"], "v1": [-9]}, SCHEMA)
    assert found(store) == plain(FIRST, SECOND, kept)
    assert kb.open_dataset("u", store).version == 2


def test_replacing_no_partition_leaves_all() -> None:
    """Without rows no partition is replaced; an unpartitioned dataset is one partition, and is."""
    store = stored()
    job = update_job(SCHEMA, "u", store, replaces=True)
    commit_job(job, staged(job, SCHEMA.empty_table()))
    assert len(found(store)) == 2
    store = stored(partition_on=())
    job = update_job(SCHEMA, "u", store, replaces=True)
    commit_job(job, staged(job, FIRST))
    assert found(store) == plain(FIRST)


def test_a_delete_scope_and_rows_are_one_commit() -> None:
    """What the scope selects is gone in the version that has the new rows."""
    store = stored()
    job = update_job(SCHEMA, "u", store, delete_scope=[{"p": 9}])
    assert commit_job(job, staged(job, SECOND)).version == 2
    assert sorted(row["v1"] for row in found(store)) == [-1, 4, 5]


SCOPES: dict[str, tuple[Any, type[Exception]]] = {
    "unindexed": ("v1 == 1", UnindexedColumnError),
    "unknown": ("x == 1", UnknownColumnError),
    "of another type": ([{"p": "a"}], PredicateTypeError),
    "part of a file": ("i1 == 'x'", AmbiguousDeleteScopeError),
    "everything": ([{}], InvalidInputError),
}


@pytest.mark.parametrize(("scope", "error"), SCOPES.values(), ids=SCOPES)
def test_a_scope_that_cannot_be_carried_out_is_refused_before_the_rows(scope: Any, error: type[Exception]) -> None:
    """The error comes with the plan, when nothing was written."""
    store = stored(partition_on=())
    with pytest.raises(error):
        update_job(SCHEMA, "u", store, delete_scope=scope)
    if error is PredicateTypeError:
        with pytest.raises(error):
            update_job(SCHEMA, "u", stored(), delete_scope=scope)


OTHER_TYPE = pa.schema([SCHEMA.field("p"), SCHEMA.field("i1"), ("v1", pa.string())])
NO_INDEXED = pa.schema([SCHEMA.field("p"), SCHEMA.field("v1")])
ALL = tuple(SCHEMA.names)
Plan = Callable[[Store], WriteJob]
PLANS: dict[str, tuple[Plan, type[Exception], str]] = {
    "other types": (lambda s: update_job(OTHER_TYPE, "u", s), SchemaError, "v1"),
    "columns missing": (lambda s: update_job(NO_INDEXED, "u", s), UnknownColumnError, "i1"),
    "unknown partition column": (lambda s: replace_job(SCHEMA, "u", s, partition_on=("q",)), UnknownColumnError, "q"),
    "unknown sort column": (lambda s: update_job(SCHEMA, "u", s, sort_by=("q",)), UnknownColumnError, "q"),
    "nothing left": (lambda s: replace_job(SCHEMA, "u", s, partition_on=ALL), SchemaError, "beside"),
    "no columns": (lambda s: replace_job(pa.schema([]), "u", s), SchemaError, "no column"),
    "odd name": (lambda s: replace_job(SCHEMA, "u/v", s), InvalidInputError, "u/v"),
    "compression": (lambda s: replace_job(SCHEMA, "u", s, compression="zip"), InvalidInputError, "zip"),
    "metadata": (lambda s: update_job(SCHEMA, "u", s, metadata={"a": object()}), InvalidInputError, "a"),
}


@pytest.mark.parametrize(("plan", "error", "says"), PLANS.values(), ids=PLANS)
def test_what_does_not_fit_is_refused_by_the_plan(plan: Plan, error: type[Exception], says: str) -> None:
    """Columns, types and parameters are checked before any row, and nothing is written."""
    store = stored()
    before = [info.key for info in store.list()]
    with pytest.raises(error, match=says):
        plan(store)
    assert [info.key for info in store.list()] == before


def test_no_rows_make_an_empty_dataset() -> None:
    """A new dataset has its schema and layout; one that is replaced is empty then."""
    for settings in ({}, LAYOUT):
        store = stored()
        job = replace_job(SCHEMA, "u", store, **settings)
        commit_job(job, staged(job, SCHEMA.empty_table(), SCHEMA.empty_table()))
        dataset = kb.open_dataset("u", store)
        assert (dataset.scan().to_arrow().num_rows, sorted(dataset.schema.names)) == (0, sorted(SCHEMA.names))


def test_rows_that_cannot_be_stored_leave_nothing() -> None:
    """A task that meets a null in a partition column removes the files that it had finished."""
    store = new_store()
    job = replace_job(SCHEMA, "u", store, **LAYOUT)
    rows = [FIRST.sort_by("p"), pa.table({"p": [None], "i1": ["a"], "v1": [1]}, SCHEMA)]
    with pytest.raises(NullValueError, match="'p'"):
        stage_batches(job, [batch for table in rows for batch in table.to_batches()])
    assert not data_files(store)


def test_an_input_that_fails_leaves_nothing() -> None:
    """An error of what gives the rows passes through, and no file of the task stays."""
    store = new_store()
    job = replace_job(SCHEMA, "u", store)

    def rows() -> Iterable[pa.RecordBatch]:
        yield from FIRST.to_batches()
        raise OSError("no more rows")

    with pytest.raises(OSError, match="no more rows"):
        stage_batches(job, rows())
    assert not data_files(store)


def test_discarding_finds_what_nobody_told_of() -> None:
    """All files of the write go, those of tasks that did not come to an end too; those of others stay."""
    store = stored()
    others = data_files(store)
    job = update_job(SCHEMA, "u", store)
    staged(job, FIRST, SECOND)
    kb.write_partitions(SECOND, "u", store)
    more = data_files(store) - others
    discard_job(job)
    assert len(more - data_files(store)) == 4
    assert others < data_files(store)


def test_what_others_append_meanwhile_is_kept() -> None:
    """A commit is made on top of what came since the plan, whatever tasks did in between."""
    store = stored()
    job = update_job(SCHEMA, "u", store)
    parts = staged(job, FIRST)
    kb.update_dataset(SECOND, "u", store)
    assert commit_job(job, parts).version == 3
    assert len(found(store)) == 7


def test_an_index_that_others_build_meanwhile_covers_the_rows() -> None:
    """Values that no task knew to gather are read from the staged files."""
    store = stored(secondary_indices=())
    job = update_job(SCHEMA, "u", store)
    parts = staged(job, FIRST)
    kb.build_dataset_indices("u", store, ["i1"])
    commit_job(job, parts)
    assert len(kb.open_dataset("u", store).load_index("i1").eval_operator("==", "b")) == 2


def overwrite(store: Store) -> Any:
    """Put another dataset in the place of this one."""
    return kb.write_dataset(pa.table({"z": [1]}), "u", store, overwrite=True)


MEANWHILE: dict[str, tuple[Callable[[Store], Any], str]] = {
    "overwritten": (overwrite, "overwritten"),
    "deleted": (lambda store: kb.delete_dataset("u", store), "deleted"),
    "index dropped": (lambda store: kb.drop_dataset_indices("u", store, ["i1"]), "dropped"),
}


@pytest.mark.parametrize(("act", "says"), MEANWHILE.values(), ids=MEANWHILE)
def test_a_dataset_that_is_not_the_same_any_more_is_a_conflict(act: Callable[[Store], Any], says: str) -> None:
    """Nothing is committed to what the rows were not checked for, and the staged files are removed."""
    store = stored()
    job = update_job(SCHEMA, "u", store, **LAYOUT)
    parts = staged(job, FIRST)
    act(store)
    before = data_files(store) - {key for one in parts for key in one.keys}
    with pytest.raises(CommitConflictError, match=says):
        commit_job(job, parts)
    assert data_files(store) == before


def test_a_dataset_that_others_create_meanwhile() -> None:
    """It is added to where it is laid out alike, and else a conflict."""
    for layout, fits in ((LAYOUT, True), ({}, False)):
        store = new_store()
        job = update_job(SCHEMA, "u", store, **LAYOUT)
        parts = staged(job, FIRST)
        kb.write_dataset(SECOND, "u", store, **layout)
        if fits:
            assert commit_job(job, parts).version == 2
        else:
            with pytest.raises(CommitConflictError):
                commit_job(job, parts)


def test_a_replacement_wins_over_what_came_meanwhile() -> None:
    """An overwrite replaces whatever is there when it commits."""
    store = stored()
    job = replace_job(SCHEMA, "u", store)
    parts = staged(job, FIRST)
    overwrite(store)
    commit_job(job, parts)
    assert found(store) == plain(FIRST)


def broken(store: Store, fault: Fault) -> FaultyStore:
    """Return the store, which fails when a header is replaced."""
    return FaultyStore(store, lambda call: fault if call.verb == "replace" else None)


def test_a_refused_commit_removes_the_files() -> None:
    """A store that says no has committed nothing, and nothing is left of the write."""
    store = stored()
    before = data_files(store)
    job = update_job(SCHEMA, "u", broken(store, Fault.REFUSE))
    with pytest.raises(StoreError, match="refuses"):
        commit_job(job, staged(job, FIRST))
    assert data_files(store) == before


def test_a_commit_of_unknown_outcome_leaves_the_files() -> None:
    """A store that gives no answer may still carry out the commit, which needs the files; then all rows are there."""
    store = stored()
    slow = broken(store, Fault.LATE)
    job = update_job(SCHEMA, "u", slow)
    with pytest.raises(CommitStateUnknownError):
        commit_job(job, staged(job, FIRST))
    slow.land()
    assert len(found(store)) == 5
    assert referenced(store) <= data_files(store)


@pytest.mark.parametrize("foreign", [False, True])
def test_a_job_that_is_committed_twice_is_one_commit(foreign: bool) -> None:
    """Its files are in use and stay, also where other software has committed on top of it."""
    store = stored()
    job = update_job(SCHEMA, "u", store)
    parts = staged(job, FIRST)
    commit_job(job, parts)
    if foreign:
        forget_state(store, "u")
    commit_job(job, parts)
    assert (len(found(store)), referenced(store) <= data_files(store)) == (5, True)


def test_files_of_attempts_that_do_not_count_are_not_committed() -> None:
    """A task that ran twice leaves files that nothing refers to."""
    store = new_store()
    job = update_job(SCHEMA, "u", store)
    parts = staged(job, FIRST)
    staged(job, FIRST)
    commit_job(job, parts)
    assert found(store) == plain(FIRST)
    assert len(data_files(store) - referenced(store)) == 1


RECORDED: dict[str, tuple[pa.DataType, pa.DataType, pa.DataType]] = {
    "uint64": (pa.decimal128(20, 0), pa.uint64(), pa.uint64()),
    "decimal": (pa.decimal128(20, 0), pa.decimal128(20, 0), pa.decimal128(20, 0)),
    "other decimal": (pa.decimal128(19, 0), pa.uint64(), pa.decimal128(19, 0)),
    "time": (pa.string(), pa.time64("us"), pa.time64("us")),
    "own time": (pa.time64("us"), pa.time64("us"), pa.time64("us")),
    "text": (pa.string(), pa.string(), pa.string()),
    "list": (pa.list_(pa.decimal128(20, 0)), pa.list_(pa.uint64()), pa.list_(pa.uint64())),
    "struct": (
        pa.struct({"a": pa.decimal128(20, 0), "b": pa.int8()}),
        pa.struct({"a": pa.uint64(), "b": pa.int64()}),
        pa.struct({"a": pa.uint64(), "b": pa.int8()}),
    ),
    "time in a list": (pa.list_(pa.string()), pa.list_(pa.time64("us")), pa.list_(pa.string())),
    "other kind": (pa.string(), pa.list_(pa.uint64()), pa.string()),
}


@pytest.mark.parametrize(("given", "record", "expected"), RECORDED.values(), ids=RECORDED)
def test_what_spark_shows_is_taken_back(given: pa.DataType, record: pa.DataType, expected: pa.DataType) -> None:
    """Columns get the type of the dataset where Spark has no type for it and shows it so."""
    assert as_recorded(pa.schema({"x": given}), pa.schema({"x": record})).types == [expected]
    assert as_recorded(pa.schema({"x": given}), pa.schema({"y": record})).types == [given]


def shown_rows(x: int, t: str) -> pa.Table:
    """Return a row as Spark has it."""
    return pa.table({"x": pa.array([Decimal(x)], pa.decimal128(20, 0)), "t": [t]})


def test_unsigned_numbers_and_times_are_appended_as_spark_shows_them() -> None:
    """DECIMAL(20, 0) and texts reach columns of uint64 and time64 exactly, or are refused where they do not fit."""
    store = new_store()
    kb.write_dataset(pa.table({"x": pa.array([1], pa.uint64()), "t": pa.array([0], pa.time64("us"))}), "u", store)
    job = update_job(shown_rows(1, "").schema, "u", store)
    commit_job(job, staged(job, shown_rows(2**64 - 1, "23:59:59.000001")))
    assert [(row["x"], str(row["t"])) for row in found(store)][-1] == (2**64 - 1, "23:59:59.000001")
    for x, t in ((-1, "00:00:00"), (1, "24:00:00"), (1, "noon")):
        with pytest.raises(SchemaError, match="without loss"):
            stage_batches(job, shown_rows(x, t).to_batches())
