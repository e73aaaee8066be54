"""What no dataset of a cube refers to is deleted, and nothing else is, of this cube or any other."""

from __future__ import annotations

import os
import uuid as uuids
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cube.stored_cubes import CUBE, SEED, E, answer, build, edit_header, keys, make_foreign, new_store

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.keys import header_key, header_keys
from kubothek.cube.cleanup import list_traces
from kubothek.errors import (
    CorruptDatasetError,
    CubeNotFoundError,
    DatasetNotFoundError,
    InvalidInputError,
    StoreError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore

NOW = timedelta(0)
STRAY = "c++seed/table/p=0/00000000000040008000000000000000.parquet"


def put(store: Store, *names: str) -> set[str]:
    """Put objects of these names; return the names."""
    for name in names:
        store.put(name, b"")
    return set(names)


def littered() -> Store:
    """Return a store with a cube, and what failed and replacing writes leave behind in each of its datasets."""
    store = build(new_store())
    kb.update_cube({"seed": SEED, "e": E}, CUBE, store)
    put(store, STRAY, "c++e/indices/v2/2020.by-dataset-index.parquet", "_kubothek/c++e/old/staged/w/v.arrow")
    return store


def withdraw(store: Store, dataset_id: str = "f") -> None:
    """Leave a dataset whose creation was taken back, because that of another one failed."""

    def fails(call: Call) -> Fault | None:
        return Fault.REFUSE if call.verb == "create" and call.key.startswith("c++g.") else None

    new = {name: pa.table({"p": [0], "x": [0], f"v_{name}": [1]}) for name in (dataset_id, "g")}
    with pytest.raises(StoreError):
        kb.extend_cube(new, CUBE, FaultyStore(store, fails))


def referred(store: Store) -> set[str]:
    """Return what must stay of the cube: headers, the files and indices that they name, and schemas."""
    found = set()
    for name in kb.discover_cube("c", store)[1]:
        uuid = f"c++{name}"
        header = decode_header(store.get(header_key(uuid, "json")).data, header_key(uuid, "json"))
        files = kb.open_dataset(uuid, store).partitions.values()
        found |= {header_key(uuid, "json"), f"{uuid}/table/_common_metadata", *header.indices.values()}
        found |= {key for part in files for key in part.files.values()}
    return found


def others(store: Store) -> set[str]:
    """Return all keys but those of versions."""
    return {key for key in keys(store) if "/history/" not in key}


def versions(store: Store) -> list[tuple[str, int]]:
    """Return the dataset and the number of each version that is kept."""
    return sorted((key.split("/")[1], int(key.split("/")[4][:20])) for key in keys(store) if "/history/" in key)


def test_what_stays() -> None:
    """What is left is what the headers refer to, the result lists what went, and the cube answers as before."""
    store = littered()
    before, rows = keys(store), answer(store)
    gone = kb.cleanup_cube(CUBE, store, older_than=NOW, keep=1)
    assert (others(store), answer(store), kb.check_cube("c", store)) == (referred(store), rows, [])
    assert (gone, len(gone)) == (sorted(before - keys(store)), 10 + 4)
    assert versions(store) == [("c++e", 3), ("c++free", 1), ("c++seed", 3)]
    assert kb.cleanup_cube("c", store, older_than=NOW, keep=1) == []


def test_versions_stay() -> None:
    """Unless fewer are asked for, the last versions of each dataset stay, and those that somebody may be reading."""
    store = littered()
    strays = kb.cleanup_cube("c", store, older_than=NOW)
    assert len(strays) == 3
    assert versions(store) == [("c++e", 1), ("c++e", 2), ("c++free", 1), ("c++seed", 1), ("c++seed", 2)]
    assert kb.cleanup_cube("c", store, keep=1) == []
    assert kb.open_dataset("c++e", store, at=1).scan().to_arrow().num_rows == E.num_rows


def test_giving_up_is_no_call() -> None:
    """A cleanup commits to one dataset after the other, and none of it looks like a call that was cut short."""
    store = littered()
    calls: list[Call] = []

    def fails(call: Call) -> Fault | None:
        calls.append(call)
        return Fault.REFUSE if call.verb == "replace" and call.key.startswith("c++seed.") else None

    with pytest.raises(StoreError):
        kb.cleanup_cube("c", FaultyStore(store, fails), older_than=NOW, keep=1)
    assert versions(store) == [("c++e", 3), ("c++free", 1), ("c++seed", 1), ("c++seed", 2)]
    assert kb.check_cube("c", store) == []


def test_dry_run() -> None:
    """A dry run lists exactly what the run would delete, whatever the kinds of garbage, and deletes nothing."""
    store = littered()
    withdraw(store)
    put(store, "c++gone/table/_common_metadata", "c++gone/table/p=0/L1.parquet")
    before = keys(store)
    listed = kb.cleanup_cube("c", store, older_than=NOW, keep=1, dry_run=True)
    assert keys(store) == before
    assert kb.cleanup_cube("c", store, older_than=NOW, keep=1) == listed == sorted(before - keys(store))


def test_young_files_stay() -> None:
    """What a running write has staged, and a creation that was just taken back, are left alone."""
    store = littered()
    withdraw(store)
    assert kb.cleanup_cube("c", store) == []


def test_age_decides_file_by_file(tmp_path: Path) -> None:
    """Of two strays the one that is old enough goes."""
    store = build(open_store(str(tmp_path)))
    young = STRAY.replace("p=0", "p=1")
    put(store, STRAY, young)
    os.utime(tmp_path / STRAY, (0, 0))
    assert kb.cleanup_cube("c", store) == [STRAY]


NEIGHBOURS = ("c2++seed", "c++seed2", "c", "cc", "b++c", "c+", "C++seed")


def test_names_that_begin_alike() -> None:
    """Cubes and datasets whose names begin as this one's do keep everything, garbage too."""
    store = littered()
    for name in NEIGHBOURS:
        kb.write_dataset(pa.table({"p": [1], "x": [1], "v9": [1]}), name, store, partition_on="p")
        put(store, f"{name}/table/p=1/{uuids.uuid4().hex}.parquet", f"{name}/indices/x/1.by-dataset-index.parquet")
    others = {key for key in keys(store) if key.split("/")[0].split(".")[0] in {*NEIGHBOURS} - {"c++seed2"}}
    gone = kb.cleanup_cube("c", store, older_than=NOW)
    assert len(others) == 30
    assert others <= keys(store)
    assert {key.split("/")[0] for key in gone} == {"c++seed", "c++e", "c++seed2", "_kubothek"}


def test_what_is_nobodys_stays() -> None:
    """Objects that are neither data, schemas nor indices stay, and so do files beside the datasets' folders."""
    store = littered()
    strange = put(
        store, "c++seed/notes.txt", "c++seed/table/p=0/notes.txt", "c++plan.txt", "c++ x/table/a.parquet", "c++/a"
    )
    kb.cleanup_cube("c", store, older_than=NOW)
    assert strange <= keys(store)


TRACES: dict[str, tuple[str, ...]] = {
    "deleted half-way": ("c++f/table/_common_metadata", "c++f/table/p=0/L1.parquet"),
    "first write cut short": ("c++f/table/p=0/00000000000040008000000000000000.parquet",),
    "an old index beside it": ("c++f.x.by-dataset-index.parquet",),
    "our own objects only": ("_kubothek/c++f/i/staged/w/v.arrow", "_kubothek/c++f/i/deletion.json"),
}


@pytest.mark.parametrize("names", TRACES.values(), ids=TRACES)
def test_datasets_without_a_header(names: tuple[str, ...]) -> None:
    """What is left of a dataset that has no header goes, beside a cube and without one."""
    store = build(new_store())
    put(store, *names)
    assert kb.cleanup_cube("c", store, older_than=NOW) == sorted(names)
    kb.delete_cube("c", store)
    put(store, *names)
    assert kb.cleanup_cube("c", store, older_than=NOW) == sorted(names)
    assert keys(store) == set()


def test_withdrawn_datasets() -> None:
    """A dataset whose creation was taken back goes with all that belongs to it; the cube answers as before."""
    store = build(new_store())
    before, rows = keys(store), answer(store)
    withdraw(store)
    assert any(key.startswith("c++f.") for key in keys(store))
    kb.cleanup_cube("c", store, older_than=NOW)
    assert (keys(store), answer(store)) == (before, rows)


def test_withdrawn_datasets_cannot_be_opened() -> None:
    """A dataset whose creation was taken back is not there, also for those who ask for it alone."""
    store = build(new_store())
    withdraw(store)
    for call in (
        kb.open_dataset,
        lambda u, s: kb.build_dataset_indices(u, s, "v_f"),
        kb.hash_dataset,
    ):
        with pytest.raises(DatasetNotFoundError) as caught:
            call("c++f", store)
        assert "c++f" not in caught.value.similar


def test_no_object_is_older_than_time() -> None:
    """An age before the first of all days is an age."""
    assert kb.cleanup_cube("c", littered(), older_than=timedelta.max) == []


def test_withdrawn_and_created_meanwhile() -> None:
    """If a dataset is created in place of a withdrawn one after that was looked at, it stays."""
    store = build(new_store())
    withdraw(store)

    def create(call: Call) -> None:
        looks.append(call.verb == "get_many" and call.key.startswith("c++f."))
        if looks[-1] and sum(looks) == 2:
            created.append(kb.extend_cube({"f": E.rename_columns(["p", "x", "v_f"])}, CUBE, store))

    looks: list[bool] = []
    created: list[Any] = []
    kb.cleanup_cube("c", FaultyStore(store, create), older_than=NOW)
    assert created
    assert len(answer(store)[0]) == len(kb.query_cube("c", store).schema) == 8
    assert kb.check_cube("c", store) == []


def test_live_headers_of_all_formats() -> None:
    """Msgpack headers, and those of other software that list no partitions, protect their files."""
    store = littered()
    make_foreign(store, "c++e")
    edit_header(store, "c++free", lambda header: (header.pop("kubothek"), header.pop("partitions")))
    json_key, msgpack_key = header_keys("c++seed")
    header = replace(decode_header(store.get(json_key).data, json_key), format="msgpack")
    store.put(msgpack_key, encode_header(header))
    store.delete([json_key])
    rows = answer(store)
    assert STRAY in kb.cleanup_cube("c", store, older_than=NOW)
    assert (answer(store), kb.check_cube("c", store, files=False)) == (rows, [])


def test_unreadable_headers() -> None:
    """As long as headers cannot be read, nothing of the cube is deleted, and all of them are named."""
    store = littered()
    damaged = put(store, "c++e.by-dataset-metadata.json", "c++free.by-dataset-metadata.json")
    before = keys(store)
    with pytest.raises(CorruptDatasetError, match="cannot be cleaned up, as these headers") as caught:
        kb.cleanup_cube("c", store, older_than=NOW)
    assert (set(caught.value.keys), keys(store)) == (damaged, before)


def _fails(store: Store, fault: Fault, number: int) -> bool:
    """Let the n-th request of a cleanup fail; tell whether there was one."""
    calls: list[Call] = []

    def script(call: Call) -> Fault | None:
        calls.append(call)
        return fault if len(calls) == number else None

    try:
        kb.cleanup_cube("c", FaultyStore(store, script), older_than=NOW, keep=1)
    except StoreError:
        return True
    return len(calls) >= number


FAULTS = [Fault.FAIL, Fault.LOSE_ANSWER]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_failing_stores(fault: Fault) -> None:
    """Whichever request fails, the cube answers as before, nothing that it needs is gone, and again completes it."""
    store = littered()
    withdraw(store)
    put(store, *TRACES["deleted half-way"])
    rows, needed = answer(store), referred(store)
    for number in range(1, 100):
        if not _fails(store, fault, number):
            break
        assert (answer(store), needed <= keys(store)) == (rows, True)
    assert number > 20
    kb.cleanup_cube("c", store, older_than=NOW, keep=1)
    assert others(store) == needed


def test_requests() -> None:
    """Beside two listings, a dataset costs four more, its headers, and the versions that may still need a file."""
    store = CountingStore(littered())
    kb.cleanup_cube("c", store, older_than=NOW, dry_run=True)
    assert dict(store.calls) == {"list_level": 2 + 3, "list": 3 * 3, "get_many": 3, "info": 3, "get": 2}


REFUSED: dict[str, tuple[Callable[[Store], object], type[Exception]]] = {
    "no such cube": (lambda store: kb.cleanup_cube("d", store), CubeNotFoundError),
    "age below zero": (lambda store: kb.cleanup_cube("c", store, older_than=timedelta(-1)), InvalidInputError),
    "age in days": (lambda store: kb.cleanup_cube("c", store, older_than=1), InvalidInputError),  # type: ignore[arg-type]  # wrong on purpose
    "no name": (lambda store: kb.cleanup_cube("c++seed", store), InvalidInputError),
}


@pytest.mark.parametrize(("call", "kind"), REFUSED.values(), ids=REFUSED)
def test_refused_calls(call: Callable[[Store], object], kind: type[Exception]) -> None:
    """What cannot be meant is refused."""
    with pytest.raises(kind):
        call(littered())


def test_names_of_traces() -> None:
    """Headers, folders, old indices and our own objects tell of a dataset; what cannot be a name does not."""
    store = new_store()
    put(
        store,
        "c++a.by-dataset-metadata.json",
        "c++b/x",
        "c++d.x.by-dataset-index.parquet",
        "_kubothek/c++g/i/l",
        "c++/a",
    )
    put(store, "c++ /a", "c2++a/b", "_kubothek/c2++g/i/l")
    assert list_traces("c", store) == ("c++a", "c++b", "c++d", "c++g")
