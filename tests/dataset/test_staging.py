"""Staging: what is invisible until a commit, and what an error takes away again."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from kubothek.dataset.snapshot import find_snapshot
from kubothek.dataset.staging.discard import discard_on_error
from kubothek.dataset.staging.incoming import ArrowRows, as_tables
from kubothek.dataset.staging.stage import Staged, Staging, Written, stage_rows
from kubothek.errors import CommitStateUnknownError, DuplicateCellsError, StoreError
from kubothek.model.staged import StagedPartition
from kubothek.plan.layout import Layout
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

WRITE_ID = uuids.UUID(int=2**127 + 1).hex
ROWS = pa.table({"p": [2, 1, 2], "x": [0, 0, 1]})
LONG = pa.table({"p": [3] * 5000, "x": range(5000)})


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def stage(
    store: Store, frames: Iterable[pa.Table], write_id: str = WRITE_ID, written: Written | None = None, **layout: Any
) -> Staged:
    """Stage frames, partitioned by p."""
    staging = Staging(store, "u", write_id, "i", Layout(partition_on=("p",), **layout))
    tables = as_tables(ArrowRows(iter(frames)), "table")
    return stage_rows(tables, staging, [] if written is None else written)


def stage_and_fail(store: Store, error: BaseException, *, committing: bool = True) -> None:
    """Stage the rows and fail afterwards, as a commit does."""
    written: list[StagedPartition] = []
    with discard_on_error(store, written, committing=committing):
        stage(store, [ROWS, LONG], written=written, secondary_indices=("x",))
        raise error


def test_staged_files_are_in_no_dataset() -> None:
    """Staging puts files and no header; their names begin with the id of the write."""
    store = new_store()
    staged = stage(store, [ROWS])
    assert find_snapshot("u", store) is None
    assert sorted(part.files["table"] for part in staged.partitions) == keys(store)
    assert {part.label.rpartition("/")[2][:12] for part in staged.partitions} == {WRITE_ID[:12]}
    assert [part.rows for part in staged.partitions] == [1, 2]
    assert staged.schemas["table"].names == ["p", "x"]


def test_many_partitions_keep_their_order() -> None:
    """A frame is written by several threads; its files come in the order of partition values."""
    values = list(range(30))
    staged = stage(new_store(), [pa.table({"p": values[::-1], "x": values})])
    assert [part.label.partition("/")[0] for part in staged.partitions] == [f"p={p}" for p in values]


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "as it comes"])
def test_cells_are_unique_in_the_whole_write(shuffle: bool) -> None:
    """A cell that two frames hold is found, whichever way files are cut; another partition's is another cell."""
    layout: dict[str, Any] = {"unique": ("x",), "apart": ("p",), "sort_by": ("x",), "shuffle": shuffle}
    assert len(stage(new_store(), [ROWS], **layout).partitions) == 2
    with pytest.raises(DuplicateCellsError) as caught:
        stage(new_store(), [ROWS, ROWS.slice(1, 1)], **layout)
    assert [row["x"] for row in caught.value.examples] == [0]


def test_an_error_takes_back_this_write_only() -> None:
    """What another write has staged at the same time stays."""
    store, other = new_store(), uuids.UUID(int=5).hex
    stage(store, [ROWS], other)
    before = keys(store)
    with pytest.raises(ValueError, match="broken"):
        stage_and_fail(store, ValueError("broken"), committing=False)
    assert keys(store) == before


def test_an_unknown_outcome_keeps_what_was_staged() -> None:
    """Files that a commit may refer to are left alone."""
    store = new_store()
    with pytest.raises(CommitStateUnknownError):
        stage_and_fail(store, CommitStateUnknownError("no answer"))
    assert len(keys(store)) == 4


def test_an_interrupted_commit_keeps_what_was_staged() -> None:
    """An interrupt may come when the header is there already; one while rows are staged may not."""
    store = new_store()
    with pytest.raises(KeyboardInterrupt):
        stage_and_fail(store, KeyboardInterrupt(), committing=False)
    assert keys(store) == []
    with pytest.raises(KeyboardInterrupt):
        stage_and_fail(store, KeyboardInterrupt())
    assert len(keys(store)) == 4


def test_what_is_taken_back_is_known() -> None:
    """Nothing is listed to find what this process has written, however large the dataset is."""
    store = CountingStore(new_store())
    with pytest.raises(ValueError, match="broken"):
        stage_and_fail(store, ValueError("broken"), committing=False)
    assert (keys(store), store.calls["delete"], store.calls["list"]) == ([], 1, 1)  # this listing is the test's own


def test_a_file_that_fails_takes_its_own_values_back() -> None:
    """Index values that were staged for a file are gone with it, whichever of both cannot be written."""
    for what in (".parquet", ".staged"):
        store = new_store()
        broken = FaultyStore(store, lambda call, w=what: Fault.REFUSE if call.key.endswith(w) else None)
        with pytest.raises(StoreError):
            stage(broken, [LONG], secondary_indices=("x",))
        assert keys(store) == []


def test_the_cause_is_told_even_if_nothing_can_be_taken_back() -> None:
    """An error while tidying up does not hide what went wrong."""
    broken = FaultyStore(new_store(), lambda call: Fault.REFUSE if call.verb == "delete" else None)
    with pytest.raises(ValueError, match="broken"):
        stage_and_fail(broken, ValueError("broken"), committing=False)


def test_a_store_that_fails_once() -> None:
    """One file that cannot be written is an error of the whole write."""
    broken = FaultyStore(new_store(), lambda call: Fault.FAIL if call.number == 2 else None)
    with pytest.raises(StoreError):
        stage(broken, [ROWS])
