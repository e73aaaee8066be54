"""A query is pinned and asked again: of the versions that it saw, of a time, and of versions that are gone."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from tests.cube.stored_cubes import CUBE, FREE, SEED, E, build, edit_header, edit_metadata, new_store

import kubothek as kb
from kubothek import C
from kubothek.errors import CubeNotFoundError, InvalidInputError, SnapshotExpiredError, StoreError
from kubothek.store.interface import Store
from kubothek.store.world import WORLD
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

START = datetime(2026, 7, 1, 12, tzinfo=UTC)
CHOSEN: dict[str, Any] = {"datasets": ["seed", "free"]}
QUESTIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "index": {"where": C("i1") == "a"},
    "restricted": {"where": "v2 > 1", "columns": ["v1"]},
    "grouped": {"partition_by": "p"},
    "some datasets": CHOSEN,
    "projected": {"dimension_columns": "x", "columns": []},
}


def bytes_of(query: kb.Query) -> bytes:
    """Return the answer of a query as the bytes of an Arrow file."""
    sink = pa.BufferOutputStream()
    table = query.to_arrow()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def foreign_commit(store: Store) -> None:
    """Let other software commit to the seed."""
    edit_header(store, "c++seed", lambda header: header.pop("kubothek"))


CHANGES: dict[str, Callable[[Store], object]] = {
    "append": lambda store: kb.append_to_cube(SEED, CUBE, store),
    "update": lambda store: kb.update_cube({"e": E.slice(0, 1)}, CUBE, store),
    "overwrite": lambda store: kb.build_cube(
        {"seed": SEED.slice(0, 1), "e": E, "free": FREE}, CUBE, store, overwrite=True, partition_on={"free": []}
    ),
    "remove": lambda store: kb.remove_partitions(CUBE, store, C("p") == 0),
    "extend": lambda store: kb.extend_cube(
        {"new": FREE.rename_columns(["x", "v9"])}, CUBE, store, partition_on={"new": []}
    ),
    "shared payload": lambda store: kb.write_dataset(FREE, "c++other", store),
    "rollback": lambda store: kb.rollback_dataset("c++e", store, 2),
    "other index": lambda store: kb.drop_dataset_indices("c++seed", store, "i1"),
    "other software": foreign_commit,
    "other seed": lambda store: edit_metadata(store, "c++seed", ktk_cube_is_seed=False),
    "garbage": lambda store: kb.cleanup_cube("c", store, older_than=timedelta(0)),
}


def test_a_pinned_query_has_the_same_answer() -> None:
    """Byte for byte, by its text, whatever happens to the datasets of the cube one after the other."""
    store = build(new_store())
    queries = {name: kb.query_cube("c", store, **asked) for name, asked in QUESTIONS.items()}
    pins = {name: str(query.pin()) for name, query in queries.items()}
    expected = {name: bytes_of(query) for name, query in queries.items()}
    for change, make in CHANGES.items():
        make(store)
        for name, asked in QUESTIONS.items():
            found = kb.query_cube("c", store, at=pins[name], **{**asked, "datasets": None})
            assert (bytes_of(found), str(found.pin())) == (expected[name], pins[name]), (change, name)
            assert found.cube == queries[name].cube


def test_a_pin_has_what_the_query_looks_at() -> None:
    """All datasets, also those that the answer does not depend on, or those that were chosen."""
    store = build(new_store())
    for asked, ids in (
        ({}, ["e", "free", "seed"]),
        ({"columns": []}, ["e", "free", "seed"]),
        (CHOSEN, ["free", "seed"]),
    ):
        assert [one.dataset_id for one in kb.query_cube("c", store, **asked).pin().datasets] == ids


def test_a_pin_comes_in_any_form() -> None:
    """The value, its text, and both after a journey through pickle and JSON."""
    store = build(new_store())
    query = kb.query_cube(CUBE, store)
    pin, expected = query.pin(), query.to_arrow()
    kb.append_to_cube(SEED, CUBE, store)
    for form in (pin, str(pin), pickle.loads(pickle.dumps(pin)), kb.Pin.parse(json.loads(json.dumps(pin.to_dict())))):
        assert kb.query_cube(CUBE, store, at=form).to_arrow() == expected


def test_a_pin_can_be_narrowed() -> None:
    """Of what is pinned some datasets may be looked at, and no others."""
    store = build(new_store())
    pin = kb.query_cube("c", store, datasets=["seed", "e"]).pin()
    assert kb.query_cube("c", store, at=pin, datasets="seed").pin().datasets == pin.datasets[1:]
    with pytest.raises(InvalidInputError, match="no dataset 'free'; it has 'e', 'seed'"):
        kb.query_cube("c", store, at=pin, datasets=["seed", "free"])


def recreate(store: Store, dataset_id: str) -> None:
    """Delete a dataset of the cube and write the same again, so that its version has the same number."""
    kb.delete_cube("c", store, datasets=[dataset_id])
    rows, columns = {"e": (E, ["p"]), "free": (FREE, [])}[dataset_id]
    kb.extend_cube({dataset_id: rows}, CUBE, store, partition_on={dataset_id: columns})


GONE: dict[str, tuple[Callable[[Store], object], tuple[str, ...]]] = {
    "deleted": (
        lambda store: kb.delete_cube("c", store, datasets=["e"]),
        ("'c++e', pinned at version 1, was deleted",),
    ),
    "recreated": (lambda store: recreate(store, "e"), ("Version 1 of dataset 'c++e'",)),
    "both": (lambda store: [recreate(store, "e"), recreate(store, "free")], ("dataset 'c++e'", "dataset 'c++free'")),
    "all": (lambda store: kb.delete_cube("c", store), ("'c++e'", "'c++free'", "'c++seed'")),
}


@pytest.mark.parametrize("name", GONE)
def test_a_pin_whose_versions_are_gone_has_expired(name: str) -> None:
    """A dataset that was deleted, or written again under the same number, is not taken for it; all are named."""
    change, named = GONE[name]
    store = build(new_store())
    pin = kb.query_cube("c", store).pin()
    change(store)
    with pytest.raises(SnapshotExpiredError) as raised:
        kb.query_cube("c", store, at=pin)
    assert all(one in str(raised.value) for one in named)


def test_versions_that_were_given_up_have_expired() -> None:
    """Garbage collection ends what can be pinned."""
    store = build(new_store())
    pin = kb.query_cube("c", store).pin()
    for _ in range(2):
        kb.append_to_cube(SEED, CUBE, store)
    kb.cleanup_cube("c", store, older_than=timedelta(0), keep=1)
    with pytest.raises(SnapshotExpiredError, match=r"Version 1 of dataset 'c\+\+seed'"):
        kb.query_cube("c", store, at=pin)
    assert kb.query_cube("c", store, at=kb.query_cube("c", store).pin()).to_arrow().num_rows == 3


def test_what_other_software_committed_is_pinned_after_the_next_commit() -> None:
    """Its version has no number before; the error names the dataset and what gives it one, which does so."""
    store = build(new_store())
    foreign_commit(store)
    query = kb.query_cube("c", store)
    with pytest.raises(InvalidInputError, match=r"update_dataset\(None, 'c\+\+seed'") as raised:
        query.pin()
    assert raised.value.datasets == ("seed",)
    kb.update_dataset(None, "c++seed", store, metadata={"note": 1})
    pin = kb.query_cube("c", store).pin()
    assert {one.dataset_id: one.version for one in pin.datasets} == {"seed": 3, "e": 1, "free": 1}
    assert kb.query_cube("c", store, at=pin).to_arrow() == query.to_arrow()


WRONG: dict[str, Any] = {
    "another cube": "d: seed=1/c",
    "no pin": "yesterday",
    "number": 1,
    "no time": pd.NaT,
    "mapping": {"cube": "c", "datasets": {}},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_pin_of_this_cube_is_refused(name: str) -> None:
    """Before anything is read."""
    store = CountingStore(build(new_store()))
    with pytest.raises(InvalidInputError):
        kb.query_cube("c", store, at=WRONG[name])
    assert store.log == []


def test_what_is_current_is_read_once() -> None:
    """A pin of what is still current takes the requests of one query without it, and one less: no listing."""
    inner = build(new_store())
    pin = kb.query_cube("c", inner).pin()
    store = CountingStore(inner)
    kb.query_cube("c", store, at=pin)
    assert [call.verb for call in store.log] == ["get_many"]


def at_minute(store: Store, minute: float) -> Store:
    """Set the clock of a store."""
    store.world = replace(WORLD, clock=lambda: START + timedelta(minutes=minute))
    return store


def test_a_cube_is_queried_as_it_was_at_a_time() -> None:
    """Each dataset has the version of that time; one that came later is not seen, also where its write failed."""
    store = at_minute(new_store(), 1)
    kb.build_cube({"seed": SEED, "e": E}, CUBE, store)
    kb.append_to_cube({"seed": SEED.set_column(4, "v1", [[4, 5, 6]])}, CUBE, at_minute(store, 2))
    kb.extend_cube({"free": FREE}, CUBE, at_minute(store, 3), partition_on={"free": []})
    answers = [kb.query_cube("c", store, at=START + timedelta(minutes=minute)).to_arrow() for minute in (1, 2.5, 3)]
    assert [answer["v1"].to_pylist() for answer in answers] == [[1, 3, 2], [4, 6, 5], [4, 6, 5]]
    assert ["v3" in answer.column_names for answer in answers] == [False, False, True]
    with pytest.raises(CubeNotFoundError, match="yet at 2026-07-01 12:00:00"):
        kb.query_cube("c", store, at=START)


def test_a_write_that_was_taken_back_is_not_seen() -> None:
    """Where a call failed and was undone, neither of its times shows the dataset that it began."""
    inner = build(at_minute(new_store(), 5))
    one = FaultyStore(
        inner, lambda call: Fault.REFUSE if call.key.startswith("c++n2.") and call.verb == "create" else None
    )
    new = {"n1": FREE.rename_columns(["x", "v8"]), "n2": FREE.rename_columns(["x", "v9"])}
    with pytest.raises(StoreError):
        kb.extend_cube(new, CUBE, one, partition_on={"n1": [], "n2": []})
    assert "v8" not in kb.query_cube("c", inner, at=START + timedelta(minutes=5)).schema.names


def test_a_dataset_of_a_cube_goes_back_alone() -> None:
    """No call is incomplete by that, and the cube is whole and answers with what there was."""
    store = build(new_store())
    expected = kb.query_cube("c", store, datasets=["seed", "e"]).to_arrow()
    kb.append_to_cube({"seed": SEED, "e": E.set_column(2, "v2", [[9.5, 9.5]])}, CUBE, store)
    kb.rollback_dataset("c++e", store, 1)
    assert kb.check_cube("c", store) == []
    assert kb.query_cube("c", store, datasets=["seed", "e"]).to_arrow() == expected
