"""The batches of a streaming query are committed once each, whatever happens to the answers of the store."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.keys import header_key
from kubothek.dataset.stream import batch_job, commit_batch
from kubothek.dataset.write_job import WriteJob, stage_batches
from kubothek.errors import CommitConflictError, CommitStateUnknownError, InvalidInputError, StoreError
from kubothek.model.header import StreamBatch
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, Fault, FaultyStore

HEADER = header_key("u", "json")


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


@dataclass(frozen=True)
class Batch:
    """A batch whose rows are staged."""

    job: WriteJob
    staged: tuple[StagedPartition, ...]
    batch: StreamBatch

    def commit(self, store: Store | None = None) -> bool:
        """Commit it, perhaps through another view of its store."""
        return commit_batch(self.job if store is None else replace(self.job, store=store), self.staged, self.batch)


def stage(store: Store, number: int, *rows: int, query: str = "a", **settings: Any) -> Batch:
    """Stage rows as a batch, by default the row ``x = number``."""
    values = list(rows) or [number]
    data = pa.table({"p": values, "i1": values, "x": values})
    job = batch_job(data.schema, "u", store, **{"partition_on": ("p",), "secondary_indices": None} | settings)
    return Batch(job, stage_batches(job, data.to_batches()), StreamBatch(query, number))


def commit(store: Store, number: int, *rows: int, **settings: Any) -> bool:
    """Stage and commit a batch."""
    return stage(store, number, *rows, **settings).commit()


def rows(store: Store) -> list[int]:
    """Read the dataset."""
    return sorted(kb.open_dataset("u", store).scan("x").to_arrow()["x"].to_pylist())


def files(store: Store) -> int:
    """Count the data files in the store."""
    return sum(info.key.endswith(".parquet") for info in store.list("u/table/"))


def test_a_repeated_batch_is_committed_once() -> None:
    """The first one creates the dataset; what comes again leaves neither rows nor files."""
    store = new_store()
    assert [commit(store, number) for number in (0, 0, 1, 1, 1, 2)] == [True, False, True, False, False, True]
    assert (rows(store), files(store)) == ([0, 1, 2], 3)
    assert kb.open_dataset("u", store).version == 3


def test_each_query_counts_for_itself() -> None:
    """Two queries write to one dataset, each with numbers of its own."""
    store = new_store()
    commits = [("a", 0), ("b", 0), ("a", 1), ("b", 0), ("a", 1)]
    made = [commit(store, number, 10 * place, query=query) for place, (query, number) in enumerate(commits)]
    assert made == [True, True, True, False, False]
    assert rows(store) == [0, 10, 20]


def append(store: Store) -> None:
    """Commit more often than a header remembers commits."""
    for _ in range(70):
        kb.update_dataset(None, "u", store, metadata={"k": 1})


def foreign(store: Store) -> None:
    """Replace the header as other software does, which drops our state."""
    header = json.loads(store.get(HEADER).data)
    del header["kubothek"]
    store.put(HEADER, json.dumps(header).encode())


def roll_back(store: Store) -> None:
    """Bring back what was there before the last batch."""
    kb.rollback_dataset("u", store, 1)


def overwrite(store: Store) -> None:
    """Replace the dataset's content, schema and layout."""
    kb.write_dataset(pa.table({"p": [9], "i1": [9], "x": [9]}), "u", store, partition_on="p", overwrite=True)


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [(append, [0, 1]), (foreign, [0, 1]), (roll_back, [0]), (overwrite, [9])],
    ids=["others commit", "other software commits", "rollback", "overwrite"],
)
def test_batches_are_remembered(meanwhile: Callable[[Store], None], left: list[int]) -> None:
    """Whatever happens to the dataset between, a batch that was committed is not committed again."""
    store = new_store()
    commit(store, 0)
    commit(store, 1)
    meanwhile(store)
    assert not commit(store, 1)
    assert commit(store, 2)
    assert rows(store) == sorted([*left, 2])


def test_a_deleted_dataset_begins_anew() -> None:
    """Another dataset of the same name does not have the batches of the first."""
    store = new_store()
    commit(store, 0)
    kb.delete_dataset("u", store)
    assert commit(store, 0)
    assert rows(store) == [0]


def test_an_older_batch_is_an_error() -> None:
    """A query that has lost its checkpoint is told so; nothing is written, and nothing is dropped in silence."""
    store = new_store()
    commit(store, 0)
    commit(store, 1)
    with pytest.raises(InvalidInputError, match=r"Batch 0 .* 'a' .* up to 1 .* new checkpoint") as error:
        commit(store, 0, 7)
    assert (error.value.batch, error.value.last, rows(store), files(store)) == (0, 1, [0, 1], 2)


def on_swap(fault: Fault) -> Callable[[Call], Fault | None]:
    """Let every swap of the header go wrong."""
    return lambda call: fault if call.verb in ("create", "replace") and call.key == HEADER else None


@pytest.mark.parametrize("first", [True, False], ids=["create", "append"])
@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name)
def test_the_answer_of_the_store_does_not_matter(fault: Fault, first: bool) -> None:
    """Committed, refused, unknown or still to come: the batch that comes again puts it right."""
    store = new_store()
    number = 0 if first else 1
    if not first:
        commit(store, 0)
    faulty = FaultyStore(store, on_swap(fault))
    try:
        commit(faulty, number)
    except (CommitStateUnknownError, StoreError):
        assert fault in (Fault.FAIL, Fault.LATE, Fault.REFUSE)
    faulty.land()
    commit(store, number)
    assert not commit(store, number)
    assert rows(store) == list(range(number + 1))


def test_a_late_commit_is_not_doubled() -> None:
    """A first try that lands after the second has looked makes that one lose the race, and find itself done."""
    store = new_store()
    commit(store, 0)
    first, second = stage(store, 1), stage(store, 1)

    class Landing(FaultyStore):
        def replace(self, key: str, data: bytes, etag: str) -> Any:
            self.replace = super().replace  # type: ignore[method-assign]  # once
            first.commit()
            return super().replace(key, data, etag)

    assert not second.commit(Landing(store, lambda call: None))
    assert rows(store) == [0, 1]


def test_the_same_write_again_keeps_its_files() -> None:
    """Who repeats the very same commit, after an unknown outcome, does not lose what was committed."""
    store = new_store()
    batch = stage(store, 0)
    assert batch.commit()
    assert not batch.commit()
    assert rows(store) == [0]


def test_batches_without_rows() -> None:
    """The first one creates the dataset, later ones do nothing, and one that replaces the content empties it."""
    store = new_store()
    assert replace(stage(store, 0), staged=()).commit()
    assert not replace(stage(store, 1), staged=()).commit()
    assert (rows(store), kb.open_dataset("u", store).version) == ([], 1)
    commit(store, 2)
    assert replace(stage(store, 3, replaces=True), staged=()).commit()
    assert rows(store) == []


def test_a_batch_replaces_the_content() -> None:
    """Each is all there is then, once; what the user says about the dataset stays."""
    store = new_store()
    settings: dict[str, Any] = {"replaces": True, "partition_on": None}
    assert commit(store, 0, 1, 2, replaces=True, secondary_indices=("i1",), metadata={"unit": "°C"})
    kb.update_dataset(None, "u", store, metadata={"who": "me"})
    assert commit(store, 1, 3, 4, **settings)
    assert not commit(store, 1, 3, 4, **settings)
    dataset = kb.open_dataset("u", store)
    assert (rows(store), dataset.partition_keys, dataset.load_index("i1").table["i1"].to_pylist()) == (
        [3, 4],
        ("p",),
        [3, 4],
    )
    assert {name: dataset.metadata[name] for name in ("unit", "who")} == {"unit": "°C", "who": "me"}


def test_an_index_built_meanwhile_gets_the_batch() -> None:
    """Rows that were staged before there was an index are in it."""
    store = new_store()
    commit(store, 0)
    batch = stage(store, 1)
    kb.build_dataset_indices("u", store, "i1")
    assert batch.commit()
    assert kb.open_dataset("u", store).load_index("i1").table["i1"].to_pylist() == [0, 1]


def test_a_batch_that_does_not_fit_leaves_nothing() -> None:
    """Where the dataset was written anew meanwhile, the batch is refused and its files are deleted."""
    store = new_store()
    commit(store, 0)
    batch = stage(store, 1)
    overwrite(store)
    before = files(store)
    with pytest.raises(CommitConflictError, match="overwritten"):
        batch.commit()
    assert (rows(store), files(store)) == ([9], before - 1)


def test_the_history_tells_of_batches() -> None:
    """A commit of a batch is told from others."""
    store = new_store()
    commit(store, 0)
    assert [entry.operation for entry in kb.open_dataset("u", store).history()] == ["write_stream"]
