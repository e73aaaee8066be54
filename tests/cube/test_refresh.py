"""What a refresh computes, reads and replaces, and that the result is that of computing everything anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.cube.computing import CUBE, PLACES, Sums, built, features, new_store, rebuilt, refresh, rows, seed, stale
from tests.other_writers import forget_state

import kubothek as kb
from kubothek.errors import (
    CommitConflictError,
    CubeNotFoundError,
    DuplicateCellsError,
    InvalidInputError,
    KubothekError,
    NullValueError,
    SchemaError,
    UnknownColumnError,
)
from kubothek.plan.cube.metadata import cube_metadata
from kubothek.store.interface import Store
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

KEYS: dict[str, tuple[tuple[str, ...], list[set[tuple[int, str]]], int]] = {
    "like the seed": (("p", "q"), [{(1, "b")}, {(3, "a")}], 2),
    "fewer": (("p",), [{(1, "a"), (1, "b")}, {(3, "a")}], 1),
    "none": ((), [{*PLACES[2:], (3, "a")}], 0),
    "other": (("r",), [{*PLACES[2:], (3, "a")}], 0),
    "more": (("s", "q", "p"), [{(1, "b")}, {(3, "a")}], 2),
}


@pytest.mark.parametrize("case", KEYS)
def test_only_what_is_stale_is_computed(case: str) -> None:
    """By the columns that the dataset shares with the cube; the result is a full rebuild's, and all is fresh then."""
    store, (keys, computed, vanished) = built(), KEYS[case]
    refresh(store, *keys)
    kb.update_cube(seed((1, "b"), v1=7), CUBE, store)
    kb.append_to_cube(seed((3, "a")), CUBE, store)
    kb.remove_partitions(CUBE, store, "p == 0", datasets="seed")
    found = kb.stale_partitions(CUBE, store, "sums")
    assert refresh(store, *keys) == computed
    assert [one.reason for one in found].count("vanished") == vanished
    assert (len(found), rows(store), stale(store)) == (len(computed) + vanished, rebuilt(store, *keys), [])


def test_nothing_stale_is_no_commit() -> None:
    """Nothing is computed, and the dataset has the version that it had."""
    store = built()
    assert len(refresh(store, "p", "q")) == 6
    assert refresh(store, "p", "q") == []
    assert kb.open_dataset("c++sums", store).version == 1


def test_one_of_a_hundred() -> None:
    """One file of the seed is read, one file is written, the others stay, and the result is a full rebuild's."""
    store = built(*[(p, "a") for p in range(100)])
    refresh(store, "p", "q")
    before = {info.key for info in store.list("c++")}
    labels = {*kb.open_dataset("c++sums", store).partitions}
    kb.update_cube(seed((42, "a"), v1=5), CUBE, store)
    (new,) = {info.key for info in store.list("c++seed/table/")} - before
    counting = CountingStore(store)
    assert refresh(counting, "p", "q") == [{(42, "a")}]
    reads = {call.key for call in counting.log if call.verb.startswith("get") and call.key.endswith(".parquet")}
    written = {info.key for info in store.list("c++sums/table/")} - before
    assert ({key for key in reads if "/table/" in key}, len(written)) == ({new}, 1)
    assert len(labels & {*kb.open_dataset("c++sums", store).partitions}) == 99
    assert rows(store) == rebuilt(store, "p", "q")


def test_a_refresh_is_one_commit() -> None:
    """Of the computed dataset alone, which has the metadata and indices of an extension."""
    store = built()
    versions = {name: ds.version for name, ds in kb.discover_cube("c", store)[1].items()}
    kb.refresh_cube(CUBE, store, "sums", with_index, metadata={"m": 1})
    found = kb.discover_cube("c", store)[1]
    sums = found.pop("sums")
    assert {name: ds.version for name, ds in found.items()} == versions
    assert (sums.version, sums.metadata["m"], sums.metadata["ktk_cube_is_seed"], list(sums.indices)[2:]) == (
        1,
        1,
        False,
        ["i1"],
    )
    assert next(iter(sums.history())).operation == "refresh_cube"
    kb.update_cube(seed((1, "b")), CUBE, store)
    kb.refresh_cube(CUBE, store, "sums", with_index)
    assert kb.query_cube(CUBE, store, where="i1 == 1").to_arrow().num_rows == 24
    assert (kb.check_cube(CUBE, store), kb.verify_dataset("c++sums", store)) == ([], [])


def with_index(table: pa.Table) -> pa.Table:
    """Compute a column that the cube wants an index on."""
    return table.select(["p", "q", "x", "y"]).append_column("i1", table["v1"])


RESULTS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.DataFrame,
    "several": lambda table: [table.slice(0, 1), table.slice(1)],
}


@pytest.mark.parametrize("kind", RESULTS)
def test_any_kind_of_frame_may_be_returned(kind: str) -> None:
    """As for every other write."""
    store = built()
    kb.refresh_cube(CUBE, store, "sums", lambda table: RESULTS[kind](Sums("p", "q")(table)))
    assert rows(store) == rebuilt(store, "p", "q")


@pytest.mark.parametrize(
    "nothing", [pa.table({}), pd.DataFrame(), [], "no rows"], ids=["table", "frame", "list", "rows"]
)
def test_partitions_without_cells_are_computed_once(nothing: Any) -> None:
    """That there is nothing to say about them is recorded too."""
    store = built()

    def compute(table: pa.Table) -> Any:
        found = Sums("p", "q")(table)
        return found if table["p"][0].as_py() == 1 else found[:0] if isinstance(nothing, str) else nothing

    kb.refresh_cube(CUBE, store, "sums", compute)
    assert {row[0] for row in rows(store)} == {1}
    assert stale(store) == []


def test_a_dataset_without_cells() -> None:
    """It takes columns to create one, and no rows."""
    store = built()
    with pytest.raises(InvalidInputError, match="no columns for any of the 6 partitions"):
        kb.refresh_cube(CUBE, store, "sums", lambda table: pa.table({}))
    kb.refresh_cube(CUBE, store, "sums", lambda table: Sums("p", "q")(table)[:0])
    assert (rows(store), stale(store)) == ([], [])


def test_further_sources() -> None:
    """A change to one makes stale what agrees with it in the columns that both have."""
    store = built(features=features(0, 1))
    assert len(refresh(store, "p", "q", f1=True, datasets="features")) == 6
    kb.update_cube({"features": features(1, f1=3)}, CUBE, store)
    assert stale(store) == ["p=1 q=a: changed", "p=1 q=b: changed"]
    kb.append_to_cube({"features": features(2, 9)}, CUBE, store)
    assert [text[:7] for text in stale(store)] == ["p=1 q=a", "p=1 q=b", "p=2 q=a", "p=2 q=b"]
    assert len(refresh(store, "p", "q", f1=True, datasets=None)) == 4
    assert (stale(store), rows(store)) == ([], rebuilt(store, "p", "q", f1=True))


def test_sources_that_come_and_go() -> None:
    """What was computed from others than are asked for is computed again, as far as they have something to say."""
    store = built(features=features(1))
    refresh(store, "p", "q")
    assert stale(store, datasets="features") == ["p=1 q=a: changed", "p=1 q=b: changed"]
    assert len(refresh(store, "p", "q", datasets="features")) == 2
    assert stale(store) == []
    assert len(stale(store, datasets=())) == 6
    kb.delete_cube(CUBE, store, datasets="features")
    assert len(stale(store)) == 6
    assert len(refresh(store, "p", "q")) == 6
    assert stale(store, datasets=()) == stale(store) == []


def test_what_the_function_is_given() -> None:
    """The seed and the sources, in the order of the dimensions, and of their columns those that are wanted."""
    store = built(features=features(0, 1, 2))
    refresh(store, "p", "q")
    seen: list[pa.Table] = []
    for how in ({}, {"datasets": ["seed", "features"]}, {"datasets": "features", "columns": "f1"}):
        kb.update_cube(seed((1, "b"), v1=len(seen)), CUBE, store)
        with pytest.raises(ZeroDivisionError):
            kb.refresh_cube(CUBE, store, "sums", lambda table: seen.append(table) or 1 / 0, **how)
    assert [table.column_names for table in seen] == [
        ["p", "q", "v1", "x", "y"],
        ["f1", "p", "q", "v1", "x", "y"],
        ["f1", "p", "q", "x", "y"],
    ]
    assert list(zip(seen[0]["x"].to_pylist(), seen[0]["y"].to_pylist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]


def changed(name: str, value: Callable[[pa.Table], Any]) -> Callable[[pa.Table], Any]:
    """Compute sums with a column replaced."""

    def compute(table: pa.Table) -> pa.Table:
        found = Sums("p", "q")(table)
        return found.set_column(found.column_names.index(name), name, value(found))

    return compute


WRONG: dict[str, tuple[Callable[[pa.Table], Any], type[Exception], str]] = {
    "another partition": (
        changed("p", lambda t: pc.add(t["p"], 1)),
        InvalidInputError,
        "rows of p=1 q=a for dataset 'c",
    ),
    "some other cells": (
        changed("q", lambda t: pa.array(["a", "z"])),
        InvalidInputError,
        "but was given those of p=0 q=a",
    ),
    "no dimension": (
        lambda t: t.select(["p", "q"]).append_column("s1", t["v1"]),
        InvalidInputError,
        "dimension|in 'x'",
    ),
    "no partition column": (Sums("p"), UnknownColumnError, "partition_on names q"),
    "cells twice": (lambda t: [Sums("p", "q")(t)] * 2, DuplicateCellsError, "more than once|twice"),
    "null dimensions": (changed("x", lambda t: pa.nulls(2, pa.int64())), NullValueError, "null"),
    "columns of the seed": (lambda t: t, InvalidInputError, "v1"),
    "columns of another": (lambda t: Sums("p", "q")(t).append_column("f1", [[1, 2]]), InvalidInputError, "f1"),
    "another type": (changed("x", lambda t: t["x"].cast(pa.string())), SchemaError, "x"),
    "another type of a partition": (changed("p", lambda t: t["p"].cast(pa.string())), SchemaError, "p"),
    "no frame": (lambda t: None, InvalidInputError, "NoneType"),
    "what raises": (lambda t: 1 / 0, ZeroDivisionError, "division"),
}


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("case", WRONG)
def test_results_that_cannot_be_stored(case: str, exists: bool) -> None:
    """The dataset is as it was, nothing is staged, and the message says what is wrong."""
    compute, error, message = WRONG[case]
    store = built(features=features(0))
    if exists:
        refresh(store, "p", "q")
        kb.update_cube(seed(*PLACES, v1=2), CUBE, store)
    before = {info.key for info in store.list()}
    with pytest.raises(error, match=message):
        kb.refresh_cube(CUBE, store, "sums", compute)
    assert {info.key for info in store.list()} == before


def test_results_that_do_not_fit_each_other() -> None:
    """A later one that has other columns is refused, with all that came before it."""
    store = built()
    before = {info.key for info in store.list()}

    def compute(table: pa.Table) -> pa.Table:
        found = Sums("p", "q")(table)
        return found if table["p"][0].as_py() < 2 else found.rename_columns(["p", "q", "x", "s9"])

    with pytest.raises(SchemaError, match="a later result for dataset 'sums'"):
        kb.refresh_cube(CUBE, store, "sums", compute)
    assert {info.key for info in store.list()} == before


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "the seed": ({"dataset": "seed"}, InvalidInputError, "is the seed"),
    "itself": ({"datasets": "sums"}, InvalidInputError, "from itself"),
    "no source": ({"datasets": "other"}, InvalidInputError, "no dataset 'other'"),
    "no name": ({"dataset": "a b"}, InvalidInputError, "not allowed"),
    "no cube": ({"cube": "d"}, CubeNotFoundError, "no cube 'd'"),
    "no function": ({"compute": 1}, InvalidInputError, "must be a function"),
    "no session": ({"spark": "local"}, InvalidInputError, "SparkSession"),
    "no flag": ({"per_partition": "no"}, InvalidInputError, "per_partition must be"),
    "other partition columns": ({"partition_on": "p"}, InvalidInputError, "is partitioned on p, q"),
    "no compression": ({"compression": "zip"}, InvalidInputError, "compression"),
    "no columns": ({"columns": "v9"}, UnknownColumnError, "v9"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_do_not_fit(case: str) -> None:
    """They are refused before anything is computed."""
    how, error, message = REFUSED[case]
    store = built()
    refresh(store, "p", "q")
    kb.update_cube(seed((1, "b")), CUBE, store)
    compute = Sums("p", "q")
    arguments: dict[str, Any] = {"cube": CUBE, "dataset": "sums", "compute": compute} | how
    with pytest.raises(error, match=message):
        kb.refresh_cube(store=store, **arguments)
    assert compute.given == []


def test_stale_partitions_of_what_is_not_there() -> None:
    """A dataset that the cube lacks is no dataset without record."""
    store = built()
    for dataset, message in (("sums", "no dataset 'sums'"), ("seed", "is the seed")):
        with pytest.raises(InvalidInputError, match=message):
            kb.stale_partitions(CUBE, store, dataset)


def test_any_failure_leaves_all_as_it_was() -> None:
    """Whatever request fails, the call tells of it and nothing has changed, or all is done all the same."""
    store = built()
    refresh(store, "p", "q")
    kb.update_cube(seed((1, "b")), CUBE, store)
    counting = CountingStore(store)
    refresh(counting, "p", "q")
    for nth in range(len(counting.log)):
        kb.update_cube(seed((1, "b"), v1=nth), CUBE, store)
        before, numbers = rows(store), iter(range(10**6))
        failing = FaultyStore(store, lambda call, n=numbers, nth=nth: Fault.FAIL if next(n) == nth else None)  # type: ignore[misc]
        try:
            refresh(failing, "p", "q")
        except KubothekError:
            assert (rows(store), stale(store)) == (before, ["p=1 q=b: changed"])
        else:
            assert stale(store) == []


def test_a_source_that_changes_while_its_result_is_computed() -> None:
    """All that is computed is of one version; what was recorded is of that too, so it is stale again."""
    store = built()

    def compute(table: pa.Table) -> pa.Table:
        if table["p"][0].as_py() == 0 and table["q"][0].as_py() == "a":
            kb.update_cube(seed((0, "a"), (2, "b"), v1=9), CUBE, store)
        return Sums("p", "q")(table)

    kb.refresh_cube(CUBE, store, "sums", compute)
    assert {row[2] for row in rows(store)} == {2}
    assert stale(store) == ["p=0 q=a: changed", "p=2 q=b: changed"]
    refresh(store, "p", "q")
    assert rows(store) == rebuilt(store, "p", "q")


MEANWHILE: dict[str, tuple[Callable[[Store], object], bool]] = {
    "another refresh": (lambda s: refresh(s, "p", "q"), True),
    "removed": (lambda s: kb.remove_partitions(CUBE, s, "p == 0", datasets="sums"), True),
    "replaced": (lambda s: kb.update_cube({"sums": Sums("p", "q")(seed((1, "b")))}, CUBE, s), True),
    "deleted": (lambda s: kb.delete_cube(CUBE, s, datasets="sums"), True),
    "appended": (lambda s: kb.append_to_cube({"sums": Sums("p", "q")(seed((8, "b")))}, CUBE, s), False),
    "metadata": (lambda s: kb.update_dataset(None, "c++sums", s, metadata={"m": 1}), False),
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_what_others_do_to_the_dataset_meanwhile(case: str) -> None:
    """Who computes or removes what has been computed is in conflict with a refresh; others are not."""
    act, conflicts = MEANWHILE[case]
    store = built()
    refresh(store, "p", "q")
    kb.update_cube(seed((1, "b"), v1=4), CUBE, store)
    files: list[set[str]] = []

    def compute(table: pa.Table) -> pa.Table:
        act(store)
        files.append({info.key for info in store.list("c++sums/table")})
        return Sums("p", "q")(table)

    if not conflicts:
        kb.refresh_cube(CUBE, store, "sums", compute)
        assert [one for one in stale(store) if "vanished" not in one] == []
        return
    with pytest.raises(CommitConflictError):
        kb.refresh_cube(CUBE, store, "sums", compute)
    assert {info.key for info in store.list("c++sums/table")} == files[0]


def test_two_that_create_it() -> None:
    """One of them does, and the other is in conflict."""
    store = built()
    with pytest.raises(CommitConflictError, match="created meanwhile"):
        kb.refresh_cube(CUBE, store, "sums", lambda t: refresh(store, "p", "q") and Sums("p", "q")(t))
    assert (rows(store), stale(store)) == (rebuilt(store, "p", "q"), [])


def test_what_others_do_to_the_dataset_in_between() -> None:
    """What they remove or replace is computed again; other software forgets all; what they append is left alone."""
    store = built()
    refresh(store, "p", "q")
    kb.remove_partitions(CUBE, store, "p == 0 & q == 'a'", datasets="sums")
    kb.update_cube({"sums": pa.table({"p": [1], "q": ["b"], "x": [7], "s1": [0]})}, CUBE, store)
    assert stale(store) == ["p=0 q=a: missing", "p=1 q=b: missing"]
    refresh(store, "p", "q")
    kb.append_to_cube({"sums": pa.table({"p": [0, 8], "q": ["b", "b"], "x": [7, 7], "s1": [0, 0]})}, CUBE, store)
    assert stale(store) == ["p=8 q=b: vanished"]
    refresh(store, "p", "q")
    assert len(rows(store)) == 13
    forget_state(store, "c++sums")
    assert stale(store) == [f"p={p} q={q}: missing" for p, q in PLACES]
    refresh(store, "p", "q")
    assert (rows(store), stale(store)) == (rebuilt(store, "p", "q"), [])


def test_what_is_removed_of_a_dataset_that_is_finer_than_the_seed() -> None:
    """It is computed again, also where another source that is as fine has nothing in its place."""
    store = built()
    fine = pa.table({"p": [1], "q": ["b"], "y": [0], "f1": [1]})
    kb.extend_cube({"fine": fine}, CUBE, store, partition_on={"fine": ["p", "q", "y"]})

    def compute(table: pa.Table) -> pa.Table:
        return table.select(["p", "q", "x", "y"]).append_column("s1", table["v1"])

    how: dict[str, Any] = {"datasets": ["fine"], "partition_on": ["p", "q", "y"]}
    kb.refresh_cube(CUBE, store, "sums", compute, **how)
    before = rows(store)
    kb.update_dataset(None, "c++sums", store, delete_scope=[{"p": 1, "q": "b", "y": 1}])
    assert (stale(store), len(rows(store))) == (["p=1 q=b: missing"], len(before) - 2)
    kb.refresh_cube(CUBE, store, "sums", compute, **how)
    assert (rows(store), stale(store)) == (before, [])


def test_a_dataset_that_was_written_otherwise() -> None:
    """What nobody has recorded is computed, and takes the place of what is there."""
    store = built()
    old = pa.table({"p": [0, 7], "q": ["a", "a"], "x": [5, 5], "s1": [0, 0]})
    kb.extend_cube({"sums": old}, CUBE, store)
    assert stale(store) == [*(f"p={p} q={q}: missing" for p, q in PLACES), "p=7 q=a: vanished"]
    refresh(store, "p", "q")
    assert (rows(store), stale(store)) == (rebuilt(store, "p", "q"), [])


def test_versions_bring_their_record_back() -> None:
    """After a rollback of the result it is stale what had been computed since; after one of the seed, what changed."""
    store = built()
    refresh(store, "p", "q")
    kb.update_cube(seed((1, "b"), v1=4), CUBE, store)
    refresh(store, "p", "q")
    kb.rollback_dataset("c++sums", store, 1)
    assert stale(store) == ["p=1 q=b: changed"]
    kb.rollback_dataset("c++seed", store, 1)
    assert stale(store) == []


def test_copies_are_as_fresh_as_what_they_copy() -> None:
    """Labels are kept by a copy, and the record follows the new names of the sources."""
    store, copy = built(features=features(0)), new_store()
    refresh(store, "p", "q", datasets="features")
    kb.update_cube(seed((1, "b")), CUBE, store)
    new = {"seed": "s", "features": "f", "sums": "t"}
    kb.copy_cube("c", store, to_store=copy, renamed_cube_prefix="d", renamed_datasets=new)
    assert list(map(str, kb.stale_partitions("d", copy, "t"))) == stale(store) == ["p=1 q=b: changed"]
    kb.copy_dataset("c++sums", store, to_uuid="c++more")
    kb.delete_cube("c", store, datasets="sums")
    assert len(kb.stale_partitions("c", store, "more")) == 1


def test_a_seed_that_is_partitioned_otherwise_now() -> None:
    """What was recorded of the old one says nothing any more."""
    store, cube = built(), kb.Cube("c", ["x", "y"], ["p"])
    refresh(store, "p")
    indexed: dict[str, Any] = {"secondary_indices": ["x", "y"], "metadata": cube_metadata(cube, "seed")}
    kb.write_dataset(seed((1, "a")).drop_columns("q"), "c++seed", store, partition_on="p", overwrite=True, **indexed)
    found = kb.stale_partitions(cube, store, "sums")
    assert list(map(str, found)) == ["p=0: vanished", "p=1: missing", "p=2: vanished"]


CALLS = st.one_of(
    st.tuples(st.just("update"), st.lists(st.sampled_from(PLACES), min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("append"), st.lists(st.sampled_from([*PLACES, (3, "a")]), min_size=1, max_size=2, unique=True)),
    st.tuples(st.just("remove"), st.sampled_from(["p == 0", "q == 'b'", "p == 2 & q == 'a'"])),
    st.tuples(st.just("forget"), st.sampled_from(["p == 1", "q == 'a'"])),
    st.tuples(st.just("features"), st.integers(0, 3)),
    st.tuples(st.just("foreign"), st.sampled_from(["seed", "sums", "features"])),
    st.tuples(st.just("refresh"), st.none()),
)


def act(store: Store, call: str, what: Any, number: int, keys: tuple[str, ...]) -> None:
    """Do something to a cube; ``number`` is different each time."""
    if call == "update":
        kb.update_cube(seed(*what, v1=number), CUBE, store)
    elif call == "append":
        kb.append_to_cube(seed(*what, v1=number), CUBE, store)
    elif call == "remove":
        kb.remove_partitions(CUBE, store, what, datasets="seed")
    elif call == "forget":
        kb.remove_partitions(CUBE, store, what, datasets="sums")
    elif call == "features":
        kb.update_cube({"features": features(what, f1=number)}, CUBE, store)
    elif call == "foreign":
        if kb.open_dataset(f"c++{what}", store).version is not None:
            forget_state(store, f"c++{what}")
    else:
        refresh(store, *keys, f1=True, datasets="features")


@settings(max_examples=settings.default.max_examples // 10, deadline=None)
@given(st.sampled_from([("p", "q"), ("p",), (), ("r",), ("q", "s")]), st.lists(CALLS, max_size=6))
def test_refreshes_give_what_a_full_rebuild_gives(keys: tuple[str, ...], calls: list[tuple[str, Any]]) -> None:
    """Whatever has happened in between; and what was not stale was not computed."""
    store = built(features=features(0, 1))
    refresh(store, *keys, f1=True, datasets="features")
    for number, (call, what) in enumerate(calls, start=10):
        act(store, call, what, number, keys)
    found = kb.stale_partitions(CUBE, store, "sums")
    computed = refresh(store, *keys, f1=True, datasets="features")
    event(f"{min(len(computed), 3)} computed")
    assert len(computed) == sum(one.reason != "vanished" for one in found)
    assert rows(store) == rebuilt(store, *keys, f1=True)
    assert stale(store) == []
