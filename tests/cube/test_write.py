"""How cubes are built, extended and appended to: what is written, what is refused, and what a failure leaves."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.codec.quoting import quote
from kubothek.cube.members import find_members
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitStateUnknownError,
    CubeNotFoundError,
    DuplicateCellsError,
    InvalidInputError,
    NullValueError,
    SchemaError,
    StoreError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, Fault, FaultyStore, WrappedStore

CUBE = kb.Cube("c", ["x", "y"], ["p"], index_columns=["i1"])
SEED = pa.table({"p": [0, 0, 1], "x": [0, 1, 0], "y": [0, 0, 0], "i1": ["a", "b", "a"], "v1": [1, 2, 3]})
E = pa.table({"p": [0, 1], "x": [0, 0], "v2": [1.5, None]})


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def keys(store: Store) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def built(**more: Any) -> Store:
    """Return a store with a cube."""
    store = new_store()
    kb.build_cube({"seed": SEED, **more}, CUBE, store)
    return store


def v1(store: Store) -> list[int]:
    """Ask for a column of the seed."""
    found: list[int] = kb.query_cube(CUBE, store).to_arrow()["v1"].to_pylist()
    return found


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    """Replace or add a column."""
    return table.drop_columns([name] if name in table.column_names else []).append_column(name, pa.array(values))


def test_what_a_build_writes() -> None:
    """Each dataset is an ordinary one: partitioned, indexed, with the entries that mark it as part of a cube."""
    seed, e = (
        kb.build_cube({"e": E, "seed": SEED}, CUBE, new_store(), metadata={"e": {"m": 1}})[n] for n in ("seed", "e")
    )
    assert (seed.uuid, seed.partition_keys, seed.index_columns) == ("c++seed", ("p",), ("x", "y", "i1"))
    assert (e.uuid, e.partition_keys, e.index_columns) == ("c++e", ("p",), ())
    marks = {
        key.removeprefix("ktk_cube_"): value for key, value in seed.metadata.items() if key.startswith("ktk_cube_")
    }
    expected = {"dimension_columns": ["x", "y"], "is_seed": True, "partition_columns": ["p"], "suppress_index_on": []}
    assert (marks, e.metadata["ktk_cube_is_seed"], e.metadata["m"]) == (expected, False, 1)


def test_rows_are_sorted_by_dimension() -> None:
    """Within a file, rows are in the order of the cube's dimensions."""
    rows = pa.table({"p": [0] * 4, "x": [1, 0, 1, 0], "y": [1, 1, 0, 0]})
    seed = kb.build_cube(rows, CUBE.copy(index_columns=()), new_store())["seed"]
    assert seed.scan(["x", "y"]).to_arrow().to_pydict() == {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}


def test_dimensions_without_an_index() -> None:
    """`suppress_index_on` leaves out the index of a dimension, and answers stay."""
    store = new_store()
    cube = CUBE.copy(suppress_index_on=["y"])
    assert kb.build_cube(SEED, cube, store)["seed"].index_columns == ("x", "i1")
    assert kb.query_cube(cube, store, where=C("y") == 0).to_arrow().num_rows == 3


@pytest.mark.parametrize(
    ("settings", "files"),
    [({}, 2), ({"num_buckets": 2}, 4), ({"num_buckets": 2, "bucket_by": "y"}, 2), ({"shuffle": False}, 4)],
    ids=["one file per partition", "buckets", "buckets of one dimension", "one file per frame"],
)
def test_files_per_partition(settings: dict[str, Any], files: int) -> None:
    """Frames are brought together unless asked otherwise, and buckets are of dimensions."""
    store = new_store()
    frames = [SEED.slice(0, 1), SEED.slice(1), SEED.slice(0, 0), with_column(SEED.slice(2), "x", [5])]
    datasets = kb.build_cube({"seed": frames}, CUBE, store, **settings)
    assert len(datasets["seed"].partitions) == files
    assert sorted(v1(store)) == [1, 2, 3, 3]


def test_extend_and_append() -> None:
    """An extension adds datasets, an append rows; neither rewrites a file."""
    store = built()
    before = set(keys(store))
    kb.extend_cube({"e": E}, "c", store)
    kb.append_to_cube({"seed": with_column(SEED, "p", [2, 2, 3]), "e": with_column(E, "p", [2, 3])}, "c", store)
    assert {key for key in before if "/table/" in key} <= set(keys(store))
    found = kb.query_cube("c", store, columns=["v1", "v2"]).to_arrow()
    assert found["v1"].to_pylist() == [1, 3, 1, 3, 2, 2]
    assert found["v2"].to_pylist() == [1.5, None, 1.5, None, None, None]


def test_overwrite() -> None:
    """A cube that exists is replaced as a whole, layout included; an extension replaces only its own."""
    store = built(e=E)
    kb.extend_cube({"e": E.append_column("v3", pa.array([1, 2]))}, CUBE, store, overwrite=True)
    assert "v3" in kb.query_cube(CUBE, store).schema.names
    other = CUBE.copy(dimension_columns=["x"], index_columns=[])
    kb.build_cube({"seed": SEED.drop_columns("y"), "e": E}, other, store, overwrite=True)
    assert kb.query_cube("c", store).schema.names == ["i1", "p", "v1", "v2", "x"]


def test_discovery() -> None:
    """A cube's specification is recovered from what its datasets carry."""
    store = built(e=E)
    cube, datasets = kb.discover_cube("c", store)
    assert (cube, sorted(datasets)) == (CUBE, ["e", "seed"])
    with pytest.raises(CubeNotFoundError):
        kb.discover_cube("d", store)
    with pytest.raises(CubeNotFoundError):
        kb.extend_cube({"e": E}, "d", store)


Edit = Callable[[pa.Table], Any]
UNFIT: dict[str, tuple[Edit, type[Exception], str]] = {
    "a missing dimension": (lambda t: t.drop_columns("y"), InvalidInputError, "y"),
    "a missing partition column": (lambda t: t.drop_columns("p"), InvalidInputError, "p"),
    "a null in a dimension": (lambda t: with_column(t, "x", [0, None, 0]), NullValueError, "'x'"),
    "a null in a partition column": (lambda t: with_column(t, "p", [0, None, 0]), NullValueError, "'p'"),
    "a cell twice": (lambda t: with_column(t, "x", [0, 0, 0]), DuplicateCellsError, "same cell"),
    "a cell twice in two frames": (lambda t: [t, t.slice(0, 1)], DuplicateCellsError, "same cell"),
    "frames that differ": (lambda t: [t, t.drop_columns("v1")], SchemaError, "v1"),
    "a column twice": (lambda t: t.append_column("v1", t["v1"]), SchemaError, "v1"),
    "no rows": (lambda t: t.slice(0, 0), InvalidInputError, "no rows"),
    "no frames": (lambda t: [], InvalidInputError, "x"),
    "a number": (lambda t: 5, InvalidInputError, "int"),
    "a type that cannot be stored": (
        lambda t: t.append_column("v9", pa.nulls(3, pa.duration("s"))), SchemaError, "v9"
    ),
    "a type that no path can hold": (lambda t: with_column(t, "p", [[0], [0], [1]]), SchemaError, "p"),
}  # fmt: skip


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "as it comes"])
@pytest.mark.parametrize("name", UNFIT)
def test_unfit_seed(name: str, shuffle: bool) -> None:
    """A build that cannot be is an error, and nothing of it is in the store."""
    edit, error, told = UNFIT[name]
    store = new_store()
    with pytest.raises(error, match=told):
        kb.build_cube({"e": E, "seed": edit(SEED)}, CUBE, store, shuffle=shuffle)
    assert keys(store) == []


ENRICHMENT = with_column(E, "v3", [1, 2]).drop_columns("v2")
UNFIT_EXTENSIONS: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "payload of another dataset": ({"f": with_column(E, "v1", [1, 2])}, {}, InvalidInputError, "v1"),
    "payload of each other": ({"f": ENRICHMENT, "g": ENRICHMENT}, {}, InvalidInputError, "v3"),
    "the seed": ({"seed": SEED}, {}, InvalidInputError, "seed"),
    "a dataset that exists": ({"e": E}, {}, AlreadyExistsError, "exists"),
    "no dimension": ({"f": ENRICHMENT.drop_columns("x")}, {}, InvalidInputError, "dimension"),
    "no partition column": ({"f": ENRICHMENT.drop_columns("p")}, {}, InvalidInputError, "p"),
    "another type of a dimension": ({"f": with_column(ENRICHMENT, "x", ["a", "b"])}, {}, SchemaError, "x"),
    "a partition column as payload": ({"f": ENRICHMENT}, {"partition_on": {"f": ["x"]}}, InvalidInputError, "p"),
    "buckets of a payload column": (
        {"f": ENRICHMENT}, {"bucket_by": "v3", "num_buckets": 2}, InvalidInputError, "bucket_by"
    ),
    "metadata of another dataset": ({"f": ENRICHMENT}, {"metadata": {"g": {}}}, InvalidInputError, "g"),
    "a layout of no dataset": (
        {"f": ENRICHMENT}, {"partition_on": {"f": "p", 5: "p"}}, InvalidInputError, "maps dataset ids"
    ),
    "a layout of another dataset": ({"f": ENRICHMENT}, {"partition_on": {"g": []}}, InvalidInputError, "g"),
    "a name that is not allowed": ({"f++f": ENRICHMENT}, {}, InvalidInputError, "f"),
    "a name of another cube's": ({"+f": ENRICHMENT}, {}, InvalidInputError, "begin with"),
    "nothing": ({}, {}, InvalidInputError, "no data"),
    "a cell twice": ({"f": pa.concat_tables([ENRICHMENT, ENRICHMENT])}, {}, DuplicateCellsError, "same cell"),
    "a cell twice where the files lack the dimension": (
        {"f": [ENRICHMENT, ENRICHMENT]}, {"shuffle": False, "partition_on": {"f": ["x", "p"]}},
        DuplicateCellsError, "same cell",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT_EXTENSIONS)
def test_unfit_extension(name: str) -> None:
    """An extension that cannot be is an error, and the store is as it was, whatever else it would have added."""
    data, settings, error, told = UNFIT_EXTENSIONS[name]
    store = built(e=E)
    before = keys(store)
    with pytest.raises(error, match=told):
        kb.extend_cube(data, CUBE, store, **settings)
    assert keys(store) == before


UNFIT_APPENDS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an unknown dataset": ({"f": ENRICHMENT}, InvalidInputError, "'f'"),
    "a missing column": ({"seed": SEED.drop_columns("v1")}, InvalidInputError, "v1"),
    "a new column": ({"seed": with_column(SEED, "v9", [1, 2, 3])}, InvalidInputError, "v9"),
    "another type": ({"seed": with_column(SEED, "v1", ["a", "b", "c"])}, InvalidInputError, "v1"),
    "a null in a dimension": ({"seed": with_column(SEED, "x", [None, 1, 2])}, NullValueError, "'x'"),
    "one good, one bad": ({"e": E, "seed": with_column(SEED, "x", [0, 0, 0])}, DuplicateCellsError, "same cell"),
}


@pytest.mark.parametrize("name", UNFIT_APPENDS)
def test_unfit_append(name: str) -> None:
    """An append that cannot be is an error, and the store is as it was."""
    data, error, told = UNFIT_APPENDS[name]
    store = built(e=E)
    before = keys(store)
    with pytest.raises(error, match=told):
        kb.append_to_cube(data, CUBE, store)
    assert keys(store) == before


@pytest.mark.parametrize("cube", [None, 5, ["c"]], ids=repr)
def test_what_is_no_cube(cube: Any) -> None:
    """Whatever is neither a specification nor a name is refused as such."""
    for call in (kb.build_cube, kb.extend_cube, kb.append_to_cube, kb.update_cube):
        with pytest.raises(InvalidInputError, match="by a Cube or by its name"):
            call({"seed": SEED}, cube, new_store())


def test_without_its_seed_nothing_is_a_cube() -> None:
    """Nothing is added to enrichments whose seed is gone or was never committed, nor to a cube that is not there."""
    store = built(e=E)
    kb.delete_cube(CUBE, store, datasets="seed")
    calls = ((kb.append_to_cube, CUBE), (kb.update_cube, CUBE), (kb.append_to_cube, "c"), (kb.append_to_cube, "d"))
    for call, cube in calls:
        with pytest.raises(CubeNotFoundError):
            call({"e": E}, cube, store)


def test_a_cube_is_built_once() -> None:
    """A cube that exists is not replaced unasked, and not in parts."""
    store = built(e=E)
    with pytest.raises(AlreadyExistsError):
        kb.build_cube(SEED, CUBE, store)
    with pytest.raises(InvalidInputError, match="e"):
        kb.build_cube(SEED, CUBE, store, overwrite=True)
    with pytest.raises(InvalidInputError, match="Cube"):
        kb.build_cube(SEED, "c", store)  # type: ignore[arg-type]  # wrong on purpose


def test_a_second_seed_is_refused() -> None:
    """A build under a prefix that has a seed of another name writes nothing, unless that one is overwritten too."""
    store = built()
    before, other = keys(store), kb.Cube("c", ["x", "y"], ["p"], seed_dataset="other")
    for overwrite in (False, True):
        with pytest.raises(AlreadyExistsError, match="'seed' is the seed already"):
            kb.build_cube(SEED.rename_columns(["p", "x", "y", "i2", "v7"]), other, store, overwrite=overwrite)
    assert keys(store) == before


@pytest.mark.parametrize("write", [kb.extend_cube, kb.append_to_cube, kb.update_cube])
def test_a_mistyped_cube_is_no_cube(write: Any) -> None:
    """Whether its name is given or its Cube: it is said what there is, and nothing is written."""
    store = built()
    before = keys(store)
    for cube in ("cc", kb.Cube("cc", ["x", "y"], ["p"])):
        with pytest.raises(CubeNotFoundError, match="Did you mean 'c'"):
            write({"e": E}, cube, store)
    assert keys(store) == before


def is_swap(call: Call, dataset_id: str) -> bool:
    """Tell whether a call makes a dataset's header visible."""
    return call.verb in ("create", "replace") and call.key.startswith(f"c++{dataset_id}.by-dataset")


def failing(inner: Store, *datasets: str, fault: Fault = Fault.REFUSE, times: int = 99) -> FaultyStore:
    """Return a store in which the first swaps of these datasets' headers fail."""
    left = dict.fromkeys(datasets, times)

    def script(call: Call) -> Fault | None:
        for name in datasets:
            if is_swap(call, name) and left[name]:
                left[name] -= 1
                return fault
        return None

    return FaultyStore(inner, script)


def data_keys(store: Store) -> list[str]:
    """Return the keys of data files."""
    return [key for key in keys(store) if key.endswith(".parquet") and "/indices/" not in key]


def test_a_build_that_fails_half_way_is_taken_back() -> None:
    """The seed comes last; without it there is no cube, and the same call completes it."""
    store = new_store()
    with pytest.raises(StoreError):
        kb.build_cube({"seed": SEED, "e": E}, CUBE, failing(store, "seed"))
    with pytest.raises(CubeNotFoundError):
        kb.query_cube(CUBE, store)
    assert all("++e/" in key for key in data_keys(store)), "of the seed nothing is left"
    assert find_members("c", store) == {}, "the dataset that was committed is withdrawn"
    kb.build_cube({"seed": SEED, "e": E}, CUBE, store)
    assert kb.query_cube(CUBE, store).to_arrow()["v2"].to_pylist() == [1.5, None, None]


def test_a_build_that_died_before_the_seed_is_completed_by_building_again() -> None:
    """An enrichment that was committed and never got its seed does not stand in the way."""
    store = built(e=E)
    store.delete(["c++seed.by-dataset-metadata.json"])
    kb.build_cube({"seed": SEED, "e": E}, CUBE, store)
    assert kb.query_cube(CUBE, store).to_arrow()["v2"].to_pylist() == [1.5, None, None]


def test_an_enrichment_that_nobody_left_behind_is_not_replaced_unasked() -> None:
    """Without its seed it may be all that somebody has; and an incomplete call is completed by the same one only."""
    store = built(e=E, f=ENRICHMENT)
    store.delete(["c++seed.by-dataset-metadata.json"])
    with pytest.raises(AlreadyExistsError, match="'e'"):
        kb.build_cube({"seed": SEED, "e": E}, CUBE, store)
    kb.build_cube({"seed": SEED, "e": E, "f": ENRICHMENT}, CUBE, store)
    store.delete(["c++seed.by-dataset-metadata.json"])
    kb.update_dataset(None, "c++e", store, metadata={"m": 1})
    with pytest.raises(AlreadyExistsError, match="'e'"):
        kb.build_cube({"seed": SEED, "e": E, "f": ENRICHMENT}, CUBE, store)


def test_an_extension_that_died_is_completed_by_the_same_call() -> None:
    """What it had committed is replaced without `overwrite`, and only by the call for the same datasets."""
    store = built()
    data = {"e": E, "f": ENRICHMENT}
    with pytest.raises(CommitStateUnknownError):
        kb.extend_cube(data, CUBE, failing(store, "f", fault=Fault.LATE))
    with pytest.raises(AlreadyExistsError):
        kb.extend_cube({"e": E}, CUBE, store)
    kb.extend_cube(data, CUBE, store)
    assert kb.query_cube(CUBE, store).to_arrow()["v3"].to_pylist() == [1, 2, None]


def test_writers_that_replace_what_was_withdrawn_do_not_replace_each_other() -> None:
    """The second one finds that the first has created the dataset."""
    store = new_store()
    with pytest.raises(StoreError):
        kb.build_cube({"seed": SEED, "e": E}, CUBE, failing(store, "seed"))
    begun: list[Call] = []

    def first(call: Call) -> None:
        if is_swap(call, "e") and not begun:
            begun.append(call)
            kb.build_cube({"seed": SEED, "e": E}, CUBE, store)

    with pytest.raises(CommitConflictError, match="created meanwhile"):
        kb.build_cube({"seed": SEED, "e": with_column(E, "v2", [7, 8])}, CUBE, FaultyStore(store, first))
    assert kb.query_cube(CUBE, store).to_arrow()["v2"].to_pylist() == [1.5, None, None]


def test_what_others_added_to_a_new_dataset_stays() -> None:
    """It is not withdrawn then: only the rows of the call that failed are gone."""
    store = new_store()
    theirs = with_column(E, "v2", [7.0, 8.0])

    def look(call: Call) -> Fault | None:
        if not is_swap(call, "seed"):
            return None
        kb.update_dataset(theirs, "c++e", store)
        return Fault.REFUSE

    with pytest.raises(StoreError):
        kb.build_cube({"seed": SEED, "e": E}, CUBE, FaultyStore(store, look))
    assert kb.open_dataset("c++e", store).scan("v2").to_arrow()["v2"].to_pylist() == [7.0, 8.0]
    assert list(find_members("c", store)) == ["e"]


@pytest.mark.parametrize("shuffle", ["no", None])
def test_flags_are_flags(shuffle: Any) -> None:
    """What is neither true nor false is refused, with whatever else is wrong."""
    with pytest.raises(InvalidInputError, match="shuffle"):
        kb.build_cube(SEED, CUBE, new_store(), shuffle=shuffle)
    with pytest.raises(InvalidInputError, match="overwrite"):
        kb.build_cube(SEED, CUBE, new_store(), overwrite="no")  # type: ignore[arg-type]  # wrong on purpose


def test_an_append_that_fails_half_way_is_taken_back() -> None:
    """Datasets that were committed lose exactly what the call added."""
    store = built(e=E)
    before = kb.query_cube(CUBE, store).to_arrow()
    more = {"seed": with_column(SEED, "p", [5, 5, 6]), "e": with_column(E, "v2", [7.0, 8.0])}
    with pytest.raises(StoreError):
        kb.append_to_cube(more, CUBE, failing(store, "seed"))
    assert kb.query_cube(CUBE, store).to_arrow() == before
    kb.append_to_cube(more, CUBE, store)
    assert kb.query_cube(CUBE, store, columns="v2").to_arrow()["v2"].to_pylist() == [7.0, 8.0, None, None, None, None]


def test_what_was_taken_back_can_still_be_read_by_whoever_saw_it() -> None:
    """A reader that pinned a dataset between its commit and the failure of the seed's reads on."""
    store = built(e=E)
    seen: list[Any] = []

    def look(call: Call) -> Fault | None:
        if is_swap(call, "seed"):
            seen.append(kb.open_dataset("c++e", store))
            return Fault.REFUSE
        return None

    with pytest.raises(StoreError):
        kb.append_to_cube({"seed": SEED, "e": E}, CUBE, FaultyStore(store, look))
    assert seen[0].scan("v2").to_arrow().num_rows == 2 * E.num_rows


@pytest.mark.parametrize("foreign", [False, True], ids=["ours", "of other software"])
def test_an_overwrite_that_fails_half_way_is_taken_back(foreign: bool) -> None:
    """What was replaced is there again, also where its header was written by other software."""
    store = built(e=E)
    if foreign:
        for name in ("e", "seed"):
            strip_state(store, f"c++{name}.by-dataset-metadata.json")
    before = kb.query_cube(CUBE, store).to_arrow()
    with pytest.raises(StoreError):
        kb.build_cube({"seed": SEED, "e": with_column(E, "v2", [7, 8])}, CUBE, failing(store, "seed"), overwrite=True)
    assert kb.query_cube(CUBE, store).to_arrow() == before


def strip_state(store: Store, key: str) -> None:
    """Leave of a header what other software would write."""
    text = store.get(key).data.decode()
    store.put(key, (text[: text.index(', "kubothek"')] + "}").encode())


def test_what_cannot_be_taken_back_stays_whole() -> None:
    """If undoing fails too, the error says where to look, and what became visible can be read."""
    store = built(e=E)
    faulty = FaultyStore(store, lambda call: Fault.REFUSE if is_swap(call, "seed") or undoes(call) else None)
    swaps: list[str] = []

    def undoes(call: Call) -> bool:
        swaps.extend([call.key] * is_swap(call, "e"))
        return is_swap(call, "e") and len(swaps) > 1

    with pytest.raises(CommitStateUnknownError, match="could not be taken back") as caught:
        kb.append_to_cube({"seed": with_column(SEED, "p", [5, 5, 6]), "e": E}, CUBE, faulty)
    assert caught.value.datasets == ("e",)
    assert len(kb.open_dataset("c++e", store).scan().to_arrow()) == 4
    assert v1(store) == [1, 3, 2]


def test_an_unknown_outcome_takes_nothing_back() -> None:
    """Where the seed's commit may have taken place, what belongs to it stays, and so do its files."""
    store = new_store()
    faulty = failing(store, "seed", fault=Fault.LATE)
    with pytest.raises(CommitStateUnknownError):
        kb.build_cube({"seed": SEED, "e": E}, CUBE, faulty)
    faulty.land()
    assert kb.query_cube(CUBE, store).to_arrow()["v2"].to_pylist() == [1.5, None, None]


@pytest.mark.parametrize("dataset", ["e", "seed"])
def test_an_interrupt_after_a_swap_deletes_nothing(dataset: str) -> None:
    """Files that a header refers to stay, also if nobody got to know that it was put; building again completes."""

    class Interrupted(WrappedStore):
        def around(self, call: Call, act: Callable[[], Any]) -> Any:
            answer = act()
            if is_swap(call, dataset):
                raise KeyboardInterrupt
            return answer

    store = new_store()
    with pytest.raises(KeyboardInterrupt):
        kb.build_cube({"seed": SEED, "e": E}, CUBE, Interrupted(store))
    assert kb.open_dataset(f"c++{dataset}", store).scan().to_arrow().num_rows
    kb.build_cube({"seed": SEED, "e": E}, CUBE, store, overwrite=True)
    assert v1(store) == [1, 3, 2]


def test_names_of_columns_and_datasets() -> None:
    """Columns may have any name; dataset ids and prefixes are parts of keys."""
    cube = kb.Cube("a+b", ["größe"], ["monat/jahr"])
    store = new_store()
    kb.build_cube(pa.table({"größe": [1], "monat/jahr": ["1/2"], "v1": [1]}), cube, store)
    assert kb.query_cube("a+b", store, where=C("monat/jahr") == "1/2").to_arrow()["größe"].to_pylist() == [1]
    assert any(quote("monat/jahr") in key for key in keys(store))
