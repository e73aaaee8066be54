"""A copy has the content of its dataset, under names of its own, and is there whole or not at all."""

from __future__ import annotations

import json
import os
import threading
import uuid as uuids
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitStateUnknownError,
    CorruptDatasetError,
    DatasetNotFoundError,
    InvalidInputError,
    StoreError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore, WrappedStore

ROWS = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "b"], "v1": [1, 2, 3]})
MORE = pa.table({"p": [4], "i1": ["c"], "v1": [4]})
LAYOUT: dict[str, Any] = {"partition_on": "p", "secondary_indices": "i1", "metadata": {"m": 1}}
JSON = "u.by-dataset-metadata.json"


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def written(store: Store | None = None, uuid: str = "u", **settings: Any) -> Store:
    """Return a store with a dataset."""
    store = store or new_store()
    kb.write_dataset(ROWS, uuid, store, **{**LAYOUT, **settings})
    return store


def keys(store: Store, prefix: str = "") -> list[str]:
    """Return the keys that begin with a prefix."""
    return [info.key for info in store.list(prefix)]


def content(dataset: kb.Dataset) -> Any:
    """Return all of a dataset that its copy shares with it."""
    indices = {column: index.table.to_pylist() for column, index in dataset.load_all_indices().items()}
    rows = dataset.scan().to_arrow().to_pylist()
    return rows, indices, dict(dataset.metadata), list(dataset.partitions), dataset.schema, dataset.partition_keys


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
@pytest.mark.parametrize("place", ["same store", "other store", "directory"])
def test_content_is_equal(place: str, header_format: str, tmp_path: Path) -> None:
    """Rows, labels, indices and metadata are equal, the names are those of the copy, the header its source's kind."""
    store = written(header_format=header_format)
    target = {"same store": store, "other store": new_store(), "directory": open_store(tmp_path)}[place]
    copy = kb.copy_dataset("u", store, to_uuid="u2", to_store=target)
    assert content(copy) == content(kb.open_dataset("u", store)) == content(kb.open_dataset("u2", target))
    assert all(not key.startswith("u2/table/u") for key in keys(target, "u2"))
    assert [key.removeprefix("u2.by-dataset-metadata.")[:4] for key in keys(target, "u2.")] == [header_format[:4]]
    assert kb.verify_dataset("u2", target) == []


def test_a_copy_is_a_dataset_of_its_own() -> None:
    """It begins at version 1, as another incarnation, and neither changes with the other."""
    store = written()
    kb.update_dataset(MORE, "u", store)
    copy = kb.copy_dataset("u", store, to_uuid="u2")
    ours, theirs = (json.loads(store.get(f"{uuid}.by-dataset-metadata.json").data)["kubothek"] for uuid in ("u", "u2"))
    assert (copy.version, theirs["recent"]) == (1, [theirs["commit"]])
    assert ours["incarnation"] != theirs["incarnation"]
    kb.delete_dataset("u", store)
    assert kb.update_dataset(MORE, "u2", store).scan("v1").to_arrow().num_rows == 5
    assert kb.verify_dataset("u2", store) == []


def test_within_a_store_the_store_copies() -> None:
    """One request per file, and no byte of data comes here."""
    store = CountingStore(written())
    kb.copy_dataset("u", store, to_uuid="u2")
    assert (store.calls["copy"], store.calls["get"], store.calls["get_range"], store.calls["put"]) == (4, 0, 0, 0)
    assert dict(store.calls) == {"get_many": 5, "list": 6, "list_level": 3, "copy": 4, "create": 3}


def test_large_files_pass_in_pieces() -> None:
    """Between stores, a large file is never in memory as a whole."""
    store, target = CountingStore(new_store()), CountingStore(new_store())
    noise = pa.array(list(map(float, range(1_200_000))), pa.float64())
    kb.write_dataset(pa.table({"v1": noise}), "u", store, compression="none")
    store.reset()
    copy = kb.copy_dataset("u", store, to_store=target)
    assert copy.scan().to_arrow()["v1"].combine_chunks() == noise
    assert (store.calls["get"], store.calls["get_range"], target.calls["create_file"]) == (0, 2, 1)


def test_what_is_there_is_not_copied_again() -> None:
    """A copy that is made again copies only files that are new, and goes on from its version."""
    store, target = written(), CountingStore(new_store())
    kb.copy_dataset("u", store, to_store=target)
    kb.update_dataset(MORE, "u", store)
    target.reset()
    again = kb.copy_dataset("u", store, to_store=target, overwrite=True)
    assert (target.calls["put"], again.version) == (2, 2)
    assert content(again) == content(kb.open_dataset("u", store))
    assert kb.verify_dataset("u", target) == []


def test_files_of_a_copy_that_died_are_used() -> None:
    """Files that are there without any header are not copied, and stay when the copy fails."""
    store, target = written(), new_store()
    (first, *_) = keys(store, "u/table/p")
    target.put(first, store.get(first).data)
    refuse = lambda call: Fault.REFUSE if call.verb == "create" and call.key == JSON else None
    counting = CountingStore(FaultyStore(target, refuse))
    with pytest.raises(StoreError):
        kb.copy_dataset("u", store, to_store=counting)
    assert keys(target) == [first]
    assert counting.calls["put"] == 3


def test_old_garbage_is_not_used(tmp_path: Path) -> None:
    """Files that a collection of garbage may delete at any moment are copied again, under new names."""
    store = written(open_store(tmp_path))
    kb.copy_dataset("u", store, to_uuid="w")
    kb.write_dataset(MORE, "w", store, overwrite=True)
    left = keys(store, "w/table/p=")
    for key in left:
        os.utime(tmp_path / key, (0, 0))
    copy = kb.copy_dataset("u", store, to_uuid="w", overwrite=True)
    assert set(left).isdisjoint(part.files["table"] for part in copy.partitions.values())
    assert content(copy) == content(kb.open_dataset("u", store))


def test_a_name_that_is_taken() -> None:
    """What lies under the name of a file and is not the same is left alone, and the copy reads right."""
    store, target = written(), new_store()
    (first, *_) = keys(store, "u/table/p")
    target.put(first, b"something else")
    copy = kb.copy_dataset("u", store, to_store=target)
    assert target.get(first).data == b"something else"
    assert content(copy) == content(kb.open_dataset("u", store))
    assert kb.verify_dataset("u", target) == []


def test_names_that_are_not_random_prove_nothing() -> None:
    """A file of the same name and size is only taken for the same if its name is a UUID."""
    store, target = new_store(), new_store()
    for place, value in ((store, 1), (target, 2)):
        data = kb.write_dataset(pa.table({"v1": [value]}), "u", place).partitions
        (part,) = data.values()
        old = decode_header(place.get(JSON).data, JSON)
        place.copy(part.files["table"], "u/table/L1.parquet")
        partitions = old.partitions.set_column(0, "label", pa.array(["L1"]))  # type: ignore[union-attr]
        partitions = partitions.set_column(3, "file/table", pa.array(["u/table/L1.parquet"]))
        place.put(JSON, encode_header(replace(old, partitions=partitions, state=None)))
    copy = kb.copy_dataset("u", store, to_store=target, overwrite=True)
    assert copy.scan().to_arrow()["v1"].to_pylist() == [1]
    assert list(copy.partitions) == ["L1"]


def test_overwriting_another_dataset() -> None:
    """What was there is replaced as by any overwrite: schema, layout, metadata; its header keeps its kind."""
    store = written()
    kb.write_dataset(pa.table({"x": [1]}), "u2", store, header_format="msgpack", metadata={"old": 1})
    copy = kb.copy_dataset("u", store, to_uuid="u2", overwrite=True)
    assert (content(copy), copy.version) == (content(kb.open_dataset("u", store)), 2)
    assert keys(store, "u2.") == ["u2.by-dataset-metadata.msgpack.zstd"]
    kb.garbage_collect_dataset("u2", store, older_than=timedelta(0))
    assert kb.verify_dataset("u2", store) == []


def test_indices_of_old_datasets() -> None:
    """An index beside the dataset moves to where indices are kept today; one in the header stays there."""
    store = written()
    old = decode_header(store.get(JSON).data, JSON)
    store.copy(old.indices["i1"], "u.i1.by-dataset-index.parquet")
    embedded = {"v1": {"1": (next(iter(kb.open_dataset("u", store).partitions)),)}}
    legacy = replace(old, indices={"i1": "u.i1.by-dataset-index.parquet"}, embedded_indices=embedded, state=None)
    store.put(JSON, encode_header(legacy))
    copy = kb.copy_dataset("u", store, to_uuid="u2")
    assert content(copy) == content(kb.open_dataset("u", store))
    header = json.loads(store.get("u2.by-dataset-metadata.json").data)
    assert header["indices"]["i1"].startswith("u2/indices/i1/")
    assert header["indices"]["v1"] == {"1": list(embedded["v1"]["1"])}


REFUSED: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "onto itself": ({}, InvalidInputError),
    "onto itself, by name": ({"to_uuid": "u", "overwrite": True}, InvalidInputError),
    "no name": ({"to_uuid": "a/b"}, InvalidInputError),
    "exists": ({"to_uuid": "v"}, AlreadyExistsError),
    "no source": ({"uuid": "w", "to_uuid": "x"}, DatasetNotFoundError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    """What cannot be meant is refused before anything is copied."""
    settings, error = REFUSED[case]
    store = CountingStore(written(written(), "v"))
    before = keys(store)
    store.reset()
    with pytest.raises(error):
        kb.copy_dataset(**{"uuid": "u", "store": store, **settings})
    assert (keys(store), store.calls["copy"], store.calls["list"]) == (before, 0, 1)


def test_missing_files() -> None:
    """A dataset of which files are missing is not copied."""
    store, target = written(), new_store()
    (first, *_) = keys(store, "u/table/p")
    store.delete([first])
    with pytest.raises(CorruptDatasetError) as caught:
        kb.copy_dataset("u", store, to_store=target)
    assert (caught.value.keys, keys(target)) == ((first,), [])


def test_keys_that_lead_elsewhere() -> None:
    """A header that names files of others copies nothing."""
    store, target = written(), new_store()
    store.put(JSON, store.get(JSON).data.replace(b'"u/table/p', b'"v/table/p'))
    with pytest.raises(CorruptDatasetError):
        kb.copy_dataset("u", store, to_store=target)
    assert keys(target) == []


FAULTS = [Fault.FAIL, Fault.LOSE_ANSWER, Fault.REFUSE]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("way", ["within a store", "between stores", "overwriting"])
def test_failures(way: str, fault: Fault) -> None:
    """Wherever the store fails, the target is as it was, or the copy is there; what failed leaves no files."""
    for number in range(1, 60):
        source = written()
        target = source if way == "within a store" else new_store()
        if way == "overwriting":
            kb.write_dataset(pa.table({"x": [1]}), "u2", target)
        before, calls = keys(target), list[Call]()
        broken = FaultyStore(target, lambda call, c=calls, n=number: c.append(call) or (fault if len(c) == n else None))
        origin = broken if way == "within a store" else source
        try:
            kb.copy_dataset("u", origin, to_uuid="u2", to_store=broken, overwrite=way == "overwriting")
            break
        except (StoreError, CommitConflictError):
            assert keys(target) == before
        except CommitStateUnknownError:
            assert kb.verify_dataset("u2", target) == []
    assert number > 5


class Meanwhile(WrappedStore):
    """Lets something else happen after the first file was copied, before the answer comes."""

    def __init__(self, inner: Store, happen: Callable[[], object]) -> None:
        super().__init__(inner)
        self.happen: Callable[[], object] | None = happen
        self.lock = threading.Lock()

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        answer = act()
        with self.lock:
            happen, self.happen = (self.happen, None) if call.verb == "put" else (None, self.happen)
        if happen is not None:
            happen()
        return answer


MEANWHILE: dict[str, tuple[bool, Callable[[Store], object]]] = {
    "created": (False, lambda target: kb.write_dataset(MORE, "u", target)),
    "changed": (True, lambda target: kb.update_dataset(MORE, "u", target)),
    "deleted": (True, lambda target: kb.delete_dataset("u", target)),
    "garbage collected": (False, lambda target: kb.garbage_collect_dataset("u", target, older_than=timedelta(0))),
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_what_others_do_meanwhile(case: str) -> None:
    """A copy never undoes what others committed, and never refers to files that they deleted."""
    overwrite, happen = MEANWHILE[case]
    store, target = written(), new_store()
    if overwrite:
        written(target)
    with pytest.raises(CommitConflictError):
        kb.copy_dataset("u", store, to_store=Meanwhile(target, lambda: happen(target)), overwrite=overwrite)
    if case in ("deleted", "garbage collected"):
        assert keys(target) == []
    else:
        assert 4 in kb.open_dataset("u", target).scan("v1").to_arrow()["v1"].to_pylist()
        assert kb.verify_dataset("u", target) == []


def test_the_same_copy_meanwhile() -> None:
    """Of two copies of a dataset to one place the one that comes second fails, and the first keeps all its files."""
    store, target = written(), new_store()
    first = lambda: kb.copy_dataset("u", store, to_store=target)
    with pytest.raises(CommitConflictError):
        kb.copy_dataset("u", store, to_store=Meanwhile(target, first))
    assert kb.verify_dataset("u", target) == []
    assert content(kb.open_dataset("u", target)) == content(kb.open_dataset("u", store))


def test_the_same_copy_meanwhile_and_replaced() -> None:
    """What a copy that fails made stays where an earlier version of the dataset that is there has it."""
    store, target = written(), new_store()

    def copy_and_replace() -> None:
        kb.copy_dataset("u", store, to_store=target)
        kb.write_dataset(MORE, "u", target, overwrite=True)

    with pytest.raises(CommitConflictError):
        kb.copy_dataset("u", store, to_store=Meanwhile(target, copy_and_replace))
    assert content(kb.open_dataset("u", target, at=1)) == content(kb.open_dataset("u", store))
