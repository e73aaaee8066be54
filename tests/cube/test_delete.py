"""A cube is gone when its seed is, a deletion that was cut short can be finished, and nothing of anybody else goes."""

from __future__ import annotations

import functools
import itertools
import uuid as uuids
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.cube.members import find_members
from kubothek.errors import CorruptDatasetError, CubeNotFoundError, InvalidInputError, StoreError
from kubothek.plan.garbage import named_keys
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

CUBE = kb.Cube("c", ["x"], ["p"], index_columns=["i1"])
SEED = pa.table({"p": [0, 0, 1], "x": [0, 1, 0], "i1": ["a", "b", "a"], "v1": [1, 2, 3]})
E = pa.table({"p": [0, 1], "x": [0, 0], "v2": [1.5, None]})
A = pa.table({"p": [0, 1], "x": [0, 0], "v3": ["u", "w"]})
HEADER = ".by-dataset-metadata.json"


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def built(store: Store | None = None, prefix: str = "c") -> Store:
    """Return a store with a cube."""
    if store is None:
        store = new_store()
        for key, data in _objects().items():
            store.put(key, data)
        return store
    kb.build_cube({"seed": SEED, "e": E, "a": A}, CUBE.copy(uuid_prefix=prefix), store)
    return store


@functools.cache
def _objects() -> dict[str, bytes]:
    store = built(new_store())
    return {info.key: store.get(info.key).data for info in store.list()}


def keys(store: Store, start: str = "") -> list[str]:
    """Return the keys that begin like this, and those of our own objects of datasets whose names do."""
    own = [info.key for info in store.list(f"_kubothek/{start}")] if start else []
    return [*own, *(info.key for info in store.list(start))]


@pytest.mark.parametrize("cube", [CUBE, "c"], ids=["specification", "name"])
def test_nothing_is_left(cube: Any, tmp_path: Path) -> None:
    """Everything of the cube goes, and nothing of one whose name begins alike."""
    store = built(built(open_store(tmp_path), "c2"))
    kb.append_to_cube(SEED, "c", store)
    others = keys(store, "c2")
    kb.cleanup_cube("c", store, older_than=timedelta(0))
    kb.delete_cube(cube, store)
    assert keys(store) == others
    with pytest.raises(CubeNotFoundError):
        kb.delete_cube(cube, store)


def test_a_cube_whose_name_goes_on_with_the_separator() -> None:
    """Of cubes ``c`` and ``c+``, of which all keys begin alike, each can be found, cleaned up and deleted alone."""
    store = built(built(), "c+")
    kb.update_cube(SEED, "c+", store)
    others = keys(store, "c+++")
    kb.cleanup_cube("c", store, older_than=timedelta(0))
    assert kb.discover_cube("c", store)[0] == CUBE
    kb.delete_cube("c", store)
    assert keys(store) == others
    with pytest.raises(CubeNotFoundError, match="c\\+"):
        kb.discover_cube("c", store)
    assert kb.discover_cube("c+", store)[0] == CUBE.copy(uuid_prefix="c+")


def test_chosen_datasets() -> None:
    """Of a cube some datasets go, and queries answer without them."""
    store = built()
    kb.delete_cube("c", store, datasets="e")
    assert sorted(kb.query_cube("c", store).schema.names) == ["i1", "p", "v1", "v3", "x"]
    kb.delete_cube("c", store, datasets=[])
    kb.delete_cube("c", store, datasets={"seed"})
    assert list(find_members("c", store)) == ["a"]
    kb.delete_cube(CUBE, store)
    assert keys(store) == []


@pytest.mark.parametrize("marked", [True, False], ids=["by its metadata", "by the specification"])
def test_seed_goes_first(marked: bool) -> None:
    """From the first header that goes there is no cube, whatever the seed is called."""
    store = built()
    if not marked:
        header = decode_header(store.get(f"c++seed{HEADER}").data, f"c++seed{HEADER}")
        store.put(f"c++seed{HEADER}", encode_header(replace(header, metadata={})))
    counting = CountingStore(store)
    kb.delete_cube("c" if marked else CUBE, counting)
    deleted = [call.key for call in counting.log if call.verb == "delete" and call.key.endswith(HEADER)]
    assert deleted == [f"c++{one}{HEADER}" for one in ("seed", "a", "e")]


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such cube": ({"cube": "d"}, CubeNotFoundError, "no cube 'd'"),
    "no such cube, chosen": ({"cube": "d", "datasets": "e"}, CubeNotFoundError, "no cube 'd'"),
    "unknown datasets": ({"datasets": ["e", "u", "w"]}, InvalidInputError, "no dataset 'u', 'w'"),
    "no ids": ({"datasets": b"e"}, InvalidInputError, "must be the id"),
    "no cube": ({"cube": None}, InvalidInputError, "not by a NoneType"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    """What is not there is not deleted, and nothing else either."""
    settings, error, text = REFUSED[case]
    store = built()
    before = keys(store)
    with pytest.raises(error, match=text):
        kb.delete_cube(**{"cube": "c", "store": store, **settings})
    assert keys(store) == before


def test_broken_cubes() -> None:
    """Datasets that form no cube are deleted by their names, withdrawn ones and a cube without a seed included."""
    store = built()
    kb.copy_dataset("c++e", store, to_uuid="c++f")
    header = decode_header(store.get(f"c++a{HEADER}").data, f"c++a{HEADER}")
    assert header.state is not None
    store.put(f"c++a{HEADER}", encode_header(replace(header, state=replace(header.state, withdrawn=True))))
    kb.delete_dataset("c++seed", store)
    kb.delete_cube("c", store)
    assert keys(store) == []


def test_damaged_headers() -> None:
    """All headers that cannot be read are named before anything is deleted; other datasets can be chosen."""
    store = built()
    for one in ("a", "seed"):
        store.put(f"c++{one}{HEADER}", b"{")
    before = keys(store)
    with pytest.raises(CorruptDatasetError, match="nothing was deleted") as caught:
        kb.delete_cube("c", store)
    assert (caught.value.keys, keys(store)) == ((f"c++a{HEADER}", f"c++seed{HEADER}"), before)
    kb.delete_cube("c", store, datasets="e")
    assert keys(store, "c++e") == []


def test_damaged_notes() -> None:
    """What a deletion that was cut short has noted must be readable too."""
    store = built()
    store.put("_kubothek/c++e/i/deletion.json", b"{")
    with pytest.raises(CorruptDatasetError, match="deletion"):
        kb.delete_cube("c", store)
    assert list(find_members("c", store)) == ["a", "e", "seed"]


@pytest.mark.parametrize("chosen", [None, ["seed", "e"]], ids=["whole", "chosen"])
@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.LOSE_ANSWER], ids=lambda fault: fault.name)
def test_failures(fault: Fault, chosen: list[str] | None) -> None:
    """Wherever the store fails, each dataset is whole or gone, no enrichment before the seed, and again finishes it."""
    for number in itertools.count(1):
        store, calls = built(), itertools.count(1)
        rest = [] if chosen is None else [key for key in keys(store) if "c++a" in key]
        broken = FaultyStore(store, lambda _, n=number, c=calls: fault if next(c) == n else None)
        try:
            kb.delete_cube("c", broken, datasets=chosen)
            break
        except StoreError:
            left = find_members("c", store)
        assert "seed" not in left or len(left) == 3
        there = {info.key for info in store.list()}
        assert all(there.issuperset(named_keys(snapshot.header).to_pylist()) for snapshot in left.values())
        complete = keys(store) == rest
        with pytest.raises((CubeNotFoundError, InvalidInputError)) if complete else nullcontext():
            kb.delete_cube("c", store, datasets=chosen)
        assert keys(store) == rest
    assert number > 25
