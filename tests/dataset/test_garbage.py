"""Files that no header refers to are found and deleted, and nothing else is."""

from __future__ import annotations

import json
import os
import uuid as uuids
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.keys import version_key
from kubothek.dataset.snapshot import load_snapshot
from kubothek.errors import CorruptDatasetError, DatasetNotFoundError, InvalidInputError, StoreError
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.store.world import World
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

NOW = timedelta(0)
ROWS = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "b"], "v1": [1, 2, 3]})
LAYOUT: dict[str, Any] = {"partition_on": "p", "secondary_indices": "i1"}


def new_store() -> Store:
    """Return an empty store, in which nobody waits."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    store.world = World(sleep=lambda _: None)
    return store


def written(**settings: Any) -> Store:
    """Return a store with a dataset."""
    store = new_store()
    kb.write_dataset(ROWS, "u", store, **LAYOUT, **settings)
    return store


def keys(store: Store) -> set[str]:
    """Return all keys."""
    return {info.key for info in store.list()}


def live_keys(store: Store) -> set[str]:
    """Return what a JSON header says that there must be, itself and its copy included."""
    header = json.loads(store.get("u.by-dataset-metadata.json").data)
    files = {key for part in header["partitions"].values() for key in part["files"].values()}
    tables = {f"u/{table}/_common_metadata" for table in header["kubothek"]["schema"]}
    return {"u.by-dataset-metadata.json", present_copy(store), *files, *tables, *header.get("indices", {}).values()}


def present_copy(store: Store) -> str:
    """Return the key at which the header that counts is kept."""
    header = load_snapshot("u", store).header
    state = header.state
    assert state is not None
    assert state.info is not None
    return version_key("u", state.incarnation, state.version, state.info.time, state.commit, header.format)


def left_over(store: Store, *names: str) -> list[str]:
    """Put objects of these names; return the names, sorted."""
    for name in names:
        store.put(name, b"")
    return sorted(names)


STEPS = st.lists(st.sampled_from(["append", "replace", "overwrite", "other table", "delete", "fail"]), max_size=6)


@settings(max_examples=10)
@given(STEPS)
def test_what_stays_is_what_the_header_names(steps: list[str]) -> None:
    """After any sequence of commits the live objects are left, and the dataset reads as before."""
    store = written()
    for step in steps:
        take_step(step, store)
    before = kb.open_dataset("u", store)
    rows = before.scan(table=before.tables[0]).to_arrow()
    removed = kb.garbage_collect_dataset("u", store, older_than=NOW, keep=1)
    assert keys(store) == live_keys(store)
    assert removed == sorted(set(removed) - keys(store))
    assert kb.open_dataset("u", store).scan(table=before.tables[0]).to_arrow().equals(rows)
    assert kb.verify_dataset("u", store) == []


def take_step(step: str, store: Store) -> None:
    """Change dataset ``u``."""
    if step == "overwrite":
        kb.write_dataset(ROWS, "u", store, overwrite=True, **LAYOUT)
    elif step == "other table":
        kb.write_dataset(ROWS, "u", store, overwrite=True, table="other")
    elif step == "fail":
        broken = FaultyStore(store, lambda call: Fault.REFUSE if call.verb in ("replace", "delete") else None)
        with pytest.raises(StoreError):
            kb.update_dataset(ROWS, "u", broken)
    elif step == "append":
        kb.update_dataset(ROWS, "u", store)
    elif kb.open_dataset("u", store).partition_keys:
        kb.update_dataset(ROWS if step == "replace" else None, "u", store, delete_scope=[{"p": 1}])


GARBAGE = [
    "u/table/p=1/left.parquet",
    f"u/gone/{uuids.uuid4().hex}.parquet",
    "u/table/left.csv",
    "u/table/left.csv.gz",
    "u/gone/_common_metadata",
    "u/indices/i1/left.by-dataset-index.parquet",
    "u.i1.by-dataset-index.parquet",
    "_kubothek/u/former/history/1.json",
    "_kubothek/u/former/staged/w/i1.arrow",
]


def test_every_kind_of_garbage() -> None:
    """Whatever a dataset may leave behind is collected."""
    store = written()
    before = keys(store)
    left_over(store, *GARBAGE)
    assert kb.garbage_collect_dataset("u", store, older_than=NOW) == sorted(GARBAGE)
    assert keys(store) == before


OTHERS = [
    "u2/table/x.parquet",
    "u++v/table/x.parquet",
    "u2.i1.by-dataset-index.parquet",
    "u2.by-dataset-metadata.json",
    "_kubothek/u2/i/staged/x.arrow",
    "u/table/README.md",
    "u/table/x.parquet.bak",
    "u/notes.parquet",
    "u/backup/x.parquet",
    "u/indices/i1/notes.parquet",
    "u/indices/x.by-dataset-index.parquet",
    "u.notes",
    "v/u/table/x.parquet",
]


def test_what_others_put_there_stays() -> None:
    """Neither other datasets nor what is not known to be the dataset's is touched."""
    store = written()
    left_over(store, *OTHERS)
    assert kb.garbage_collect_dataset("u", store, older_than=NOW) == []
    assert keys(store) >= set(OTHERS)


def test_what_of_a_live_incarnation_is_kept() -> None:
    """Of our own objects of the dataset that is there only those in passing go."""
    store = written()
    ours = json.loads(store.get("u.by-dataset-metadata.json").data)["kubothek"]["incarnation"]
    staged = left_over(store, f"_kubothek/u/{ours}/staged/w/x.arrow", f"_kubothek/u/{ours}/deletion.json")
    left_over(store, f"_kubothek/u/{ours}/history/1.json")
    assert kb.garbage_collect_dataset("u", store, older_than=NOW) == staged


def test_only_what_is_old() -> None:
    """What is younger than asked stays: a writer may be about to commit it."""
    store = written()
    left_over(store, *GARBAGE)
    assert kb.garbage_collect_dataset("u", store) == []
    assert kb.garbage_collect_dataset("u", store, older_than=timedelta(hours=1)) == []
    assert keys(store) >= set(GARBAGE)


def test_dry_run() -> None:
    """A dry run tells the same and deletes nothing."""
    store = written()
    left_over(store, *GARBAGE)
    assert kb.garbage_collect_dataset("u", store, older_than=NOW, dry_run=True) == sorted(GARBAGE)
    assert keys(store) >= set(GARBAGE)


def test_implicit_partitions() -> None:
    """Where a header lists no partitions, every data file is one."""
    store = new_store()
    left_over(store, *GARBAGE)
    store.put("u.by-dataset-metadata.json", b'{"dataset_metadata_version": 4, "dataset_uuid": "u"}')
    removed = kb.garbage_collect_dataset("u", store, older_than=NOW)
    assert removed == ["_kubothek/u/former/staged/w/i1.arrow", *(key for key in sorted(GARBAGE) if "index" in key)]


def test_what_a_deleted_dataset_left() -> None:
    """Without a header everything of the dataset is garbage; without anything there is no dataset."""
    store = written()
    store.delete(["u.by-dataset-metadata.json"])
    assert kb.garbage_collect_dataset("u", store) == []
    assert kb.garbage_collect_dataset("u", store, older_than=NOW)
    assert keys(store) == set()
    with pytest.raises(DatasetNotFoundError):
        kb.garbage_collect_dataset("u", store)


def test_hidden_header() -> None:
    """A msgpack header that a JSON one hides goes with its files, unless one of both is young."""
    store = written(header_format="msgpack")
    hidden = keys(store)
    other = new_store()
    kb.write_dataset(ROWS, "u", other, **LAYOUT)
    for info in other.list():
        store.put(info.key, other.get(info.key).data)
    assert kb.garbage_collect_dataset("u", store) == []
    assert set(kb.garbage_collect_dataset("u", store, older_than=NOW)) == hidden - {"u/table/_common_metadata"}
    assert keys(store) == live_keys(store)


def test_temporary_files(tmp_path: Path) -> None:
    """What killed writers left invisibly goes when it is a day old, whatever age was given."""
    kb.write_dataset(ROWS, "u", tmp_path)
    temporary = tmp_path / "_kubothek" / ".tmp" / "x"
    temporary.write_bytes(b"")
    assert kb.garbage_collect_dataset("u", tmp_path, older_than=NOW) == []
    os.utime(temporary, (0, 0))
    assert kb.garbage_collect_dataset("u", tmp_path) == ["_kubothek/.tmp/x"]
    assert not temporary.exists()


def test_requests() -> None:
    """One listing of each place, one look at the headers, one deletion, whatever the size."""
    store = CountingStore(written())
    left_over(store.inner, *GARBAGE)
    kb.garbage_collect_dataset("u", store, older_than=NOW)
    once = ("list_level", "get_many", "info", "delete", "remove_leftovers")
    assert dict(store.calls) == {"list": 3, **dict.fromkeys(once, 1)}
    order = ["list_level", "list", "list", "get_many", "info", "list", "delete", "remove_leftovers"]
    assert [call.verb for call in store.log] == order


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.LOSE_ANSWER], ids=lambda fault: fault.name)
def test_failures(fault: Fault) -> None:
    """Wherever the store fails, the dataset reads as before, and the next collection finishes."""
    for number in range(1, 40):
        store = written(header_format="msgpack")
        kb.update_dataset(ROWS, "u", store, delete_scope=[{"p": 1}])
        store.put("u.by-dataset-metadata.json", json_header(store))
        calls: list[object] = []
        broken = FaultyStore(store, lambda call, c=calls, n=number: c.append(call) or (fault if len(c) == n else None))
        try:
            kb.garbage_collect_dataset("u", broken, older_than=NOW, keep=1)
        except StoreError:
            assert {problem.kind for problem in kb.verify_dataset("u", store)} <= {"second_header"}
            kb.garbage_collect_dataset("u", store, older_than=NOW, keep=1)
        assert kb.verify_dataset("u", store) == []
        if len(calls) < number:
            break
    assert number > len(calls) >= 6


def json_header(store: Store) -> bytes:
    """Return the header of ``u`` as other software would write it in JSON."""
    key = "u.by-dataset-metadata.msgpack.zstd"
    return encode_header(replace(decode_header(store.get(key).data, key), format="json"))


REFUSED = {
    "a negative age": ("u", timedelta(days=-1), InvalidInputError),
    "a number for an age": ("u", 1, InvalidInputError),
    "no dataset": ("u2", NOW, DatasetNotFoundError),
    "no name": ("u/table", NOW, InvalidInputError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    """What cannot be meant is refused, and nothing is deleted."""
    uuid, age, error = REFUSED[case]
    store = written()
    before = keys(store)
    with pytest.raises(error):
        kb.garbage_collect_dataset(uuid, store, older_than=age)  # type: ignore[arg-type]
    assert keys(store) == before


HEADERS = {
    "torn": b'{"dataset_meta',
    "a later version": b'{"dataset_metadata_version": 5, "dataset_uuid": "u"}',
    "an incarnation that leads elsewhere": b"..",
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_that_cannot_be_understood(case: str) -> None:
    """Where it is not known what is live, nothing is garbage."""
    store = written()
    wire = json.loads(store.get("u.by-dataset-metadata.json").data)
    wire["kubothek"]["incarnation"] = "../v"
    store.put("u.by-dataset-metadata.json", json.dumps(wire).encode() if HEADERS[case] == b".." else HEADERS[case])
    before = keys(store)
    with pytest.raises(CorruptDatasetError):
        kb.garbage_collect_dataset("u", store, older_than=NOW)
    assert keys(store) == before
