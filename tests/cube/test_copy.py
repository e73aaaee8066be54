"""A copy of a cube answers as the cube does, under the names that were asked for, and is there whole or not at all."""

from __future__ import annotations

import functools
import itertools
import uuid as uuids
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.cube.members import find_members
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitStateUnknownError,
    CorruptDatasetError,
    CubeNotFoundError,
    InvalidInputError,
    StoreError,
)
from kubothek.plan.garbage import named_keys
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, Fault, FaultyStore, WrappedStore

CUBE = kb.Cube("c", ["x", "y"], ["p"], index_columns=["i1"])
SEED = pa.table({"p": [0, 0, 1], "x": [0, 1, 0], "y": [0, 0, 0], "i1": ["a", "b", "a"], "v1": [1, 2, 3]})
E = pa.table({"p": [0, 1], "x": [0, 0], "v2": [1.5, None]})
E2 = pa.table({"x": [0, 1], "v3": ["u", "w"]})
DATA = {"seed": SEED, "e": E, "e2": E2}
OTHER = {"seed": SEED.set_column(4, "v1", pa.array([-1, -2, -3])), "f": E.rename_columns(["p", "x", "v4"])}
HEADER = ".by-dataset-metadata.json"


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def built(data: dict[str, Any] = DATA, store: Store | None = None, prefix: str = "c", **settings: Any) -> Store:
    """Return a store with a cube."""
    store = store or new_store()
    layout = {"e2": []} if "e2" in data else None
    kb.build_cube(data, CUBE.copy(uuid_prefix=prefix), store, partition_on=layout, **settings)
    return store


def objects(store: Store) -> dict[str, bytes]:
    """Return everything in a store."""
    return {info.key: store.get(info.key).data for info in store.list()}


def rows(store: Store, cube: str = "c") -> Any:
    """Ask a cube for everything."""
    return kb.query_cube(cube, store).to_arrow().to_pylist()


def content(store: Store, prefix: str = "c") -> Any:
    """Return rows, labels and metadata of each dataset, by id."""
    found = {one: kb.Dataset(snapshot) for one, snapshot in find_members(prefix, store).items()}
    return {
        one: (dataset.scan().to_arrow().to_pylist(), list(dataset.partitions), dict(dataset.metadata))
        for one, dataset in found.items()
    }


@pytest.mark.parametrize("place", ["memory", "directory", "same store"])
def test_the_copy_answers_as_the_cube(place: str, tmp_path: Path) -> None:
    """All datasets have the content of the source, which does not change."""
    store = built()
    target = {"memory": new_store(), "directory": open_store(tmp_path), "same store": store}[place]
    before, prefix = objects(store), "c2" if place == "same store" else "c"
    copies = kb.copy_cube(CUBE, store, to_store=target, renamed_cube_prefix=prefix)
    assert [(one, copy.uuid, copy.version) for one, copy in copies.items()] == [
        (one, f"{prefix}++{one}", 1) for one in ("e", "e2", "seed")
    ]
    assert rows(target, prefix) == rows(store) != []
    assert content(target, prefix) == content(store)
    assert before.items() <= objects(store).items()
    assert kb.discover_cube(prefix, target)[0] == CUBE.copy(uuid_prefix=prefix)


def test_only_what_is_named_is_renamed() -> None:
    """A name that begins like another is another; the seed is found under its new one, by a given cube as well."""
    store, target = built(), new_store()
    copies = kb.copy_cube(
        "c", store, to_store=target, renamed_cube_prefix="n", renamed_datasets={"e": "r", "seed": "s"}
    )
    assert list(copies) == ["e2", "r", "s"]
    assert rows(target, "n") == rows(store)
    given = CUBE.copy(uuid_prefix="n", seed_dataset="s")
    assert kb.discover_cube("n", target)[0] == given
    assert kb.query_cube(given, target, where=kb.C("i1") == "a").to_arrow().num_rows == 2


def test_names_can_be_swapped() -> None:
    """New names are looked at together: two datasets can take each other's."""
    store, target = built(), new_store()
    kb.copy_cube("c", store, to_store=target, renamed_datasets={"e": "e2", "e2": "e"})
    assert rows(target) == rows(store)
    assert kb.open_dataset("c++e", target).scan("v3").to_arrow().num_rows == 2


def test_seed_comes_last() -> None:
    """Until everything else is there, the target has no cube."""
    store, target = built(), new_store()
    commits: list[str] = []
    watch = lambda call: commits.append(call.key) if call.key.endswith(HEADER) and call.verb == "create" else None
    kb.copy_cube("c", store, to_store=FaultyStore(target, watch), renamed_datasets={"seed": "a"})
    assert commits == [f"c++{one}{HEADER}" for one in ("e", "e2", "a")]


def test_chosen_datasets() -> None:
    """Enrichments are copied to where the seed is, and to nowhere else."""
    store, target = built(), new_store()
    with pytest.raises(InvalidInputError, match="seed"):
        kb.copy_cube("c", store, to_store=target, datasets="e")
    assert list(target.list()) == []
    assert list(kb.copy_cube("c", store, to_store=target, datasets=["seed"])) == ["seed"]
    assert list(kb.copy_cube("c", store, to_store=target, datasets="e")) == ["e"]
    assert rows(target) == kb.query_cube("c", store, datasets=["seed", "e"]).to_arrow().to_pylist()
    assert kb.copy_cube("c", store, to_store=target, datasets=[]) == {}


def test_overwriting_replaces_what_has_the_same_name() -> None:
    """A dataset of the same name is replaced, another one stays."""
    store, target = built(), built(OTHER)
    copies = kb.copy_cube("c", store, to_store=target, overwrite=True)
    assert {one: copy.version for one, copy in copies.items()} == {"e": 1, "e2": 1, "seed": 2}
    assert [row["v1"] for row in rows(target)] == [row["v1"] for row in rows(store)]
    assert sorted(find_members("c", target)) == ["e", "e2", "f", "seed"]


@pytest.mark.parametrize("case", ["without our state", "msgpack"])
def test_other_headers(case: str) -> None:
    """Headers of other software and in the other format are copied; a first header keeps its format."""
    store, target = new_store(), new_store()
    for one in kb.build_cube({"seed": SEED, "e": E}, CUBE, store):
        key = f"c++{one}{HEADER}"
        header = decode_header(store.get(key).data, key)
        if case == "msgpack":
            store.put(f"c++{one}.by-dataset-metadata.msgpack.zstd", encode_header(replace(header, format="msgpack")))
            store.delete([key])
        else:
            store.put(key, encode_header(replace(header, state=None)))
    kb.copy_cube("c", store, to_store=target)
    assert (rows(target), content(target)) == (rows(store), content(store))
    ends = {info.key.rpartition(".by-dataset-metadata")[2] for info in target.list_level("c++")[0]}
    assert ends == {".msgpack.zstd" if case == "msgpack" else ".json"}


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such cube": ({"cube": "d"}, CubeNotFoundError, "no cube 'd'"),
    "unknown datasets": ({"datasets": ["e", "u", "w"]}, InvalidInputError, "no dataset 'u', 'w'"),
    "unknown renaming": ({"renamed_datasets": {"u": "w"}}, InvalidInputError, "renamed_datasets names 'u'"),
    "renaming what stays": ({"datasets": "seed", "renamed_datasets": {"e": "w"}}, InvalidInputError, "names 'e'"),
    "one name for two": ({"renamed_datasets": {"e": "z", "e2": "z"}}, InvalidInputError, "both be called 'z'"),
    "the name of another": ({"renamed_datasets": {"e": "e2"}}, InvalidInputError, "'e' and 'e2' would both"),
    "name with the separator": ({"renamed_datasets": {"e": "a++b"}}, InvalidInputError, "'a..b' is not allowed"),
    "name of the cube": ({"renamed_cube_prefix": "a/b"}, InvalidInputError, "'a/b' is not allowed"),
    "no mapping": ({"renamed_datasets": ["e"]}, InvalidInputError, "must map ids"),
    "no ids": ({"datasets": 5}, InvalidInputError, "must be the id"),
    "no cube": ({"cube": 5}, InvalidInputError, "not by a int"),
    "no flag": ({"overwrite": "no"}, InvalidInputError, "overwrite must be"),
    "onto itself": ({"to_store": None, "overwrite": True}, InvalidInputError, "'e', 'e2', 'seed' would be copied onto"),
    "exists": ({"renamed_cube_prefix": "other"}, AlreadyExistsError, "has 'f2', 'seed' already"),
    "exists under the new name": (
        {"renamed_cube_prefix": "other", "datasets": "e", "renamed_datasets": {"e": "f2"}},
        AlreadyExistsError,
        "has 'f2' already",
    ),
    "payload is there": (
        {"renamed_cube_prefix": "other", "datasets": "e"},
        InvalidInputError,
        "Datasets e and f2 share v2",
    ),
    "second seed": (
        {"renamed_cube_prefix": "other", "datasets": "seed", "renamed_datasets": {"seed": "s"}},
        InvalidInputError,
        "two seeds in cube 'other', 'seed' and 's'",
    ),
    "several problems": (
        {"datasets": ["e", "u"], "renamed_datasets": {"w": "z"}},
        InvalidInputError,
        "no dataset 'u'.*\n- renamed_datasets names 'w'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    """What cannot be meant, or would break the target, is refused before anything is copied; all problems at once."""
    settings, error, text = REFUSED[case]
    store, target = built(), built({"seed": SEED, "f2": E}, prefix="other")
    kb.extend_cube({"f2": E}, "other", target, overwrite=True)
    if case == "exists":
        settings = {**settings, "renamed_datasets": {"e": "f2"}}
    before = objects(store), objects(target)
    given = {"cube": "c", "store": store, "to_store": target, **settings}
    with pytest.raises(error, match=text):
        kb.copy_cube(**{**given, "to_store": given["to_store"] or store})
    assert (objects(store), objects(target)) == before


def test_what_does_not_fit_may_join_what_is_broken() -> None:
    """A target that is broken anyway refuses nothing; one that only differs from the copy in a seed refuses."""
    store, target = built(), built({"seed": SEED, "f": E})
    kb.copy_dataset("c++f", target, to_uuid="c++g")
    assert list(kb.copy_cube("c", store, to_store=target, datasets="e")) == ["e"]


def test_enrichments_that_stay_must_fit_the_new_seed() -> None:
    """A seed that replaces another must go with the enrichments that stay."""
    store = new_store()
    kb.build_cube(pa.table({"z": [1], "p": [0], "v1": [1]}), kb.Cube("c", "z", "p"), store)
    target = built()
    with pytest.raises(InvalidInputError, match="'e'"):
        kb.copy_cube("c", store, to_store=target, overwrite=True)


def test_broken_cubes() -> None:
    """A cube that cannot be opened is copied as it is, and of one with a damaged header all other datasets can be."""
    store, target = built(), new_store()
    kb.copy_dataset("c++e", store, to_uuid="c++f")
    with pytest.raises(InvalidInputError):
        rows(store)
    assert list(kb.copy_cube(CUBE, store, to_store=new_store())) == ["e", "e2", "f", "seed"]
    for one in ("e", "f"):
        store.put(f"c++{one}{HEADER}", b"{")
    with pytest.raises(CorruptDatasetError, match=r"c\+\+e\.by.*\n.*c\+\+f\.by"):
        kb.copy_cube("c", store, to_store=target)
    assert objects(target) == {}
    kb.copy_cube("c", store, to_store=target, datasets=["seed", "e2"])
    assert sorted(rows(target)[0]) == ["i1", "p", "v1", "v3", "x", "y"]


def test_missing_files_of_several_datasets() -> None:
    """Every dataset of which files are missing is named before anything is copied."""
    store, target = built(), new_store()
    store.delete([key for key in objects(store) if key.endswith(".parquet") and "/table/" in key])
    with pytest.raises(CorruptDatasetError) as caught:
        kb.copy_cube("c", store, to_store=target)
    assert [key.split("/")[0] for key in caught.value.keys] == ["c++e", "c++e2", "c++seed"]
    assert objects(target) == {}


def test_damaged_headers_in_the_target() -> None:
    """One in the way of a copy is an error; one of another dataset is none of the copy's business."""
    store, target = built(), built(OTHER)
    target.put("c++f" + HEADER, b"{")
    kb.copy_cube("c", store, to_store=target, datasets=["e", "e2"])
    with pytest.raises(AlreadyExistsError):
        kb.copy_cube("c", store, to_store=target, datasets="e", renamed_datasets={"e": "f"})
    with pytest.raises(CorruptDatasetError):
        kb.copy_cube("c", store, to_store=target, datasets="e", renamed_datasets={"e": "f"}, overwrite=True)


SMALL = {"seed": SEED.slice(0, 1), "e": E.slice(0, 1)}
WAYS: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "between stores": (None, {}),
    "within a store": (None, {"renamed_cube_prefix": "d"}),
    "overwriting": ({"seed": SEED, "e": E.slice(1)}, {"overwrite": True}),
}


@functools.cache
def stored(way: str) -> dict[str, bytes]:
    """Return the objects of a target before the copy, or of the source."""
    there = SMALL if way == "source" else WAYS[way][0]
    return {} if there is None else objects(built(there))


def prepared(way: str) -> tuple[Store, Store, str]:
    """Return source, target and the new name of the cube."""
    source = filled(stored("source"))
    return (source, source, "d") if way == "within a store" else (source, filled(stored(way)), "c")


def filled(things: dict[str, bytes]) -> Store:
    """Return a store with these objects."""
    store = new_store()
    for key, data in things.items():
        store.put(key, data)
    return store


def headers(store: Store, prefix: str = "c") -> Any:
    """Return labels and metadata of each dataset, by id; all files that they name are there."""
    found = find_members(prefix, store)
    there = {info.key for info in store.list(prefix)}
    assert all(there.issuperset(named_keys(snapshot.header).to_pylist()) for snapshot in found.values())
    return {one: (s.partitions["label"].to_pylist(), s.header.metadata, s.schemas) for one, s in found.items()}


FAULTS = [*((way, fault) for way in WAYS for fault in (Fault.FAIL, Fault.LOSE_ANSWER)), ("overwriting", Fault.REFUSE)]


@pytest.mark.parametrize(("way", "fault"), FAULTS, ids=[f"{way}, {fault.name}" for way, fault in FAULTS])
def test_failures(way: str, fault: Fault) -> None:
    """Wherever the store fails, the target is as before or complete, and the source as it was."""
    for number in itertools.count(1):
        source, target, prefix = prepared(way)
        before, after, calls = headers(target, prefix), headers(source), itertools.count(1)
        broken = FaultyStore(target, lambda _, n=number, c=calls: fault if next(c) == n else None)
        try:
            kb.copy_cube("c", broken if way == "within a store" else source, to_store=broken, **WAYS[way][1])
        except (StoreError, CommitConflictError, CommitStateUnknownError):
            assert headers(target, prefix) in (before, after), number
        else:
            assert headers(target, prefix) == after
        assert stored("source").items() <= objects(source).items()
        if next(calls) <= number:
            break
    assert number > 15


class Dying(WrappedStore):
    """Ends the process, as far as others see, at the call of this number."""

    def __init__(self, inner: Store, number: int) -> None:
        super().__init__(inner)
        self.number = number

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        self.number -= 1
        if self.number <= 0:
            raise KeyboardInterrupt
        return act()


@pytest.mark.parametrize("way", WAYS)
def test_a_process_that_dies(way: str) -> None:
    """Whenever it dies, every dataset is as it was or as it shall be, and the same call again completes the copy."""
    for number in itertools.count(1, 3):
        source, target, prefix = prepared(way)
        before, after, dying = headers(target, prefix), headers(source), Dying(target, number)
        copy = lambda from_store, to, way=way: kb.copy_cube("c", from_store, to_store=to, **WAYS[way][1])
        try:
            copy(dying if way == "within a store" else source, dying)
            break
        except KeyboardInterrupt:
            found = headers(target, prefix)
        assert all(one in (before.get(name), after[name]) for name, one in found.items())
        if found != after:
            copy(source, target)
        assert (headers(target, prefix), stored("source").items() <= objects(source).items()) == (after, True)
    assert number > 15


def test_what_others_commit_is_not_taken_back() -> None:
    """Where somebody has built on a copy that would have to be taken back, the error says so and nothing is lost."""
    store, target = built(), new_store()

    def script(call: Call) -> Fault | None:
        if call.key != f"c++seed{HEADER}" or call.verb != "create":
            return None
        kb.update_dataset(E.set_column(1, "x", pa.array([7, 7])), "c++e", target)
        return Fault.REFUSE

    with pytest.raises(CommitStateUnknownError, match="'e' had been committed") as caught:
        kb.copy_cube("c", store, to_store=FaultyStore(target, script))
    assert caught.value.datasets == ("e",)
    assert 7 in kb.open_dataset("c++e", target).scan("x").to_arrow()["x"].to_pylist()
    assert list(find_members("c", target)) == ["e"]


def test_what_was_taken_back_is_not_in_the_way() -> None:
    """After a failure the same copy needs no `overwrite`, and leftovers are not copied further."""
    store, target = built(), new_store()
    refuse = lambda call: Fault.REFUSE if call.key == f"c++seed{HEADER}" and call.verb == "create" else None
    with pytest.raises(StoreError):
        kb.copy_cube("c", store, to_store=FaultyStore(target, refuse))
    with pytest.raises(CubeNotFoundError):
        kb.copy_cube("c", target, to_store=new_store())
    kb.copy_cube("c", store, to_store=target)
    assert rows(target) == rows(store)
