"""A dataset is whole or gone at every moment of its deletion, and nobody else's files go."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.dataset.meanwhile import Meanwhile

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.keys import header_keys
from kubothek.errors import CorruptDatasetError, DatasetNotFoundError, StoreError
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore

ROWS = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "b"], "v1": [1, 2, 3]})
LAYOUT: dict[str, Any] = {"partition_on": "p", "secondary_indices": "i1"}
JSON, MSGPACK = header_keys("u")


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def written(store: Store | None = None, **settings: Any) -> Store:
    """Return a store with a dataset."""
    store = store or new_store()
    kb.write_dataset(ROWS, "u", store, **LAYOUT, **settings)
    return store


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def with_two_headers() -> Store:
    """Return a dataset as other software leaves it when it updates one with a msgpack header."""
    store = written(header_format="msgpack")
    store.put(JSON, encode_header(replace(decode_header(store.get(MSGPACK).data, MSGPACK), format="json", state=None)))
    kb.write_dataset(ROWS, "v", store)
    return store


def foreign(**header: Any) -> Store:
    """Return a dataset whose header other software wrote."""
    store = written()
    old = decode_header(store.get(JSON).data, JSON)
    store.put(JSON, encode_header(replace(old, state=None, **header)))
    return store


@pytest.mark.parametrize("url", ["memory", "directory"])
@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_nothing_is_left(url: str, header_format: str, tmp_path: Path) -> None:
    """Header, files, indices, schemas and our own objects of a dataset go."""
    store = written(new_store() if url == "memory" else open_store(tmp_path), header_format=header_format)
    kb.update_dataset(ROWS, "u", store)
    kb.garbage_collect_dataset("u", store, older_than=timedelta(0))
    kb.delete_dataset("u", store)
    assert keys(store) == []
    with pytest.raises(DatasetNotFoundError):
        kb.delete_dataset("u", store)


FOREIGN: dict[str, Callable[[], Store]] = {
    "without our state": foreign,
    "without a list of partitions": lambda: foreign(partitions=None, indices={}, partition_keys=None),
    "two headers": with_two_headers,
}


@pytest.mark.parametrize("case", FOREIGN)
def test_datasets_of_other_software(case: str) -> None:
    """What a header leaves open is told by its history or the store, and a hidden header does not come back."""
    store = FOREIGN[case]()
    kb.delete_dataset("u", store)
    assert own_keys(store) == []


def test_what_is_not_named_stays() -> None:
    """Other datasets, staged files and whatever else lies there are not the deletion's to delete."""
    store = written()
    others = ["u/table/p=1/staged.parquet", "u/table/README.md", "u2/table/x.parquet", "u.notes", "_kubothek/u2/i/x"]
    for key in others:
        store.put(key, b"")
    kb.delete_dataset("u", store)
    assert keys(store) == sorted(others)


def header_deletion(key: str = JSON) -> int:
    """Return the number of the call that deletes the header, or another object."""
    store = CountingStore(written())
    kb.delete_dataset("u", store)
    return next(number for number, call in enumerate(store.log, 1) if call.key == key and call.verb == "delete")


@pytest.mark.parametrize("how", ["written", "copied"])
def test_created_again_meanwhile(how: str) -> None:
    """Whenever somebody creates a dataset of this name again, it is unharmed, schemas for others included."""
    first = header_deletion() + 1
    for number in range(first, 100):
        store = written()
        kb.copy_dataset("u", store, to_uuid="saved")
        again = (lambda s=store: written(s)) if how == "written" else lambda s=store: restore(s)
        watched = Meanwhile(store, number, again)
        kb.delete_dataset("u", watched)
        if watched.calls < number:
            break
        assert kb.verify_dataset("u", store) == []
        assert kb.open_dataset("u", store).scan("v1").to_arrow()["v1"].to_pylist() == [1, 2, 3]
    assert number >= first + 5


def restore(store: Store) -> None:
    """Copy the dataset back, onto the names of files that are there still."""
    kb.copy_dataset("saved", store, to_uuid="u")


def collect(uuid: str, store: Store) -> None:
    """Delete what a dataset has left behind."""
    kb.garbage_collect_dataset(uuid, store, older_than=timedelta(0))


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.LOSE_ANSWER], ids=lambda fault: fault.name)
@pytest.mark.parametrize("make", [written, with_two_headers], ids=["one header", "two headers"])
@pytest.mark.parametrize("finish", [kb.delete_dataset, collect], ids=["delete", "gc"])
def test_failures(fault: Fault, make: Callable[[], Store], finish: Callable[..., object]) -> None:
    """Wherever the store fails, the dataset opens whole or is not found, and repeating finishes the deletion."""
    for number in range(1, 20):
        store = make()
        calls: list[Call] = []
        broken = FaultyStore(store, lambda call, c=calls, n=number: c.append(call) or (fault if len(c) == n else None))
        try:
            kb.delete_dataset("u", broken)
            break
        except StoreError:
            whole = is_whole(store)
            if own_keys(store):
                (kb.delete_dataset if whole else finish)("u", store)
            assert own_keys(store) == []
    assert number >= 9


def own_keys(store: Store) -> list[str]:
    """Return the keys that are not dataset ``v``'s."""
    return [key for key in keys(store) if not key.startswith(("v", "_kubothek/v/"))]


def is_whole(store: Store) -> bool:
    """Tell whether the dataset is there, and then whole."""
    try:
        problems = kb.verify_dataset("u", store)
    except DatasetNotFoundError:
        return False
    assert {problem.kind for problem in problems} <= {"second_header"}
    return True


def test_the_history_goes_too() -> None:
    """What only earlier versions named goes, tables that are gone included; of a damaged copy, its own files stay."""
    store = written(table="other")
    kb.write_dataset(ROWS, "u", store, overwrite=True)
    kb.write_dataset(ROWS, "u", store, overwrite=True)
    first, second, _ = [key for key in keys(store) if "/history/" in key]
    store.put(second, b"torn")
    unknown = [one.files["table"] for one in kb.open_dataset("u", store).partitions.values()]
    kb.update_dataset(ROWS, "u", store)
    kb.delete_dataset("u", store)
    left = keys(store)
    assert (len(left), {key.split("/")[1] for key in left}) == (1, {"table"})
    assert not {first, *unknown} & set(left)


def test_a_history_made_meanwhile() -> None:
    """Of a dataset that is created again during its deletion the earlier versions are unharmed too."""
    first = header_deletion() + 1
    for number in range(first, 100):
        store = written()
        kb.copy_dataset("u", store, to_uuid="saved")
        watched = Meanwhile(store, number, lambda s=store: restore_and_overwrite(s))
        kb.delete_dataset("u", watched)
        if watched.calls < number:
            break
        assert kb.open_dataset("u", store, at=1).scan("v1").to_arrow()["v1"].to_pylist() == [1, 2, 3]
    assert number >= first + 5


def test_a_history_that_other_software_goes_on_with() -> None:
    """Of a dataset that is created again during its deletion, and then changed by other software, no version goes."""
    first = header_deletion("u/table/_common_metadata") + 1
    for number in range(first, 100):
        store = written()
        watched = Meanwhile(store, number, lambda s=store: create_and_let_others_commit(s))
        kb.delete_dataset("u", watched)
        if watched.calls < number:
            break
        assert kb.update_dataset(None, "u", store, metadata={"m": 1}).version == 3
    assert number >= first + 4


def create_and_let_others_commit(store: Store) -> None:
    """Create the dataset, and replace its header as other software does."""
    kb.write_dataset(ROWS, "u", store)
    old = decode_header(store.get(JSON).data, JSON)
    store.put(JSON, encode_header(replace(old, state=None)))


def restore_and_overwrite(store: Store) -> None:
    """Copy the dataset back and replace all of it, so that only its first version has the files of the copy."""
    restore(store)
    kb.write_dataset(ROWS, "u", store, overwrite=True)


def test_an_older_deletion_is_finished_too() -> None:
    """A deletion that was cut short before the dataset was created again is finished with the next one."""
    store = written()
    broken = FaultyStore(store, lambda call: Fault.FAIL if call.verb == "delete" and call.key != JSON else None)
    with pytest.raises(StoreError):
        kb.delete_dataset("u", broken)
    written(store)
    assert kb.verify_dataset("u", store) == []
    kb.delete_dataset("u", store)
    assert keys(store) == []


def tables(wire: Any, *more: str) -> dict[str, str]:
    """Return the schemas of a header, with that of its table under further names."""
    known = wire["kubothek"]["schema"]
    return known | dict.fromkeys(more, known["table"])


HOSTILE = {
    "torn header": lambda wire: None,
    "a file elsewhere": lambda wire: wire | {"partitions": {"x": {"files": {"table": "v/table/x.parquet"}}}},
    "an index elsewhere": lambda wire: wire | {"indices": {"i1": "../v.i1.by-dataset-index.parquet"}},
    "a table elsewhere": lambda wire: wire | {"kubothek": wire["kubothek"] | {"schema": tables(wire, "../v")}},
    "an incarnation elsewhere": lambda wire: wire | {"kubothek": wire["kubothek"] | {"incarnation": "../v/i"}},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_headers_that_cannot_be_trusted(case: str) -> None:
    """A header that is damaged or leads elsewhere deletes nothing."""
    store = written()
    store.put(JSON, json.dumps(HOSTILE[case](json.loads(store.get(JSON).data))).encode())
    before = keys(store)
    with pytest.raises(CorruptDatasetError):
        kb.delete_dataset("u", store)
    assert keys(store) == before


@pytest.mark.parametrize("place", [new_store, written], ids=["no dataset", "a dataset"])
@pytest.mark.parametrize("content", [b"{", b'{"keys": ["v/table/x.parquet"]}', b'{"keys": ["u/../v.x"]}'])
def test_notes_that_cannot_be_trusted(content: bytes, place: Callable[[], Store]) -> None:
    """Nor does a note of an earlier deletion that is damaged or leads elsewhere."""
    store = place()
    store.put("_kubothek/u/i/deletion.json", content)
    before = keys(store)
    with pytest.raises(CorruptDatasetError):
        kb.delete_dataset("u", store)
    assert keys(store) == before


def test_requests() -> None:
    """A deletion takes the same number of requests whatever the size of the dataset."""
    store = CountingStore(written())
    kb.delete_dataset("u", store)
    assert dict(store.calls) == {"get_many": 6, "list": 2, "put": 1, "delete": 5}
