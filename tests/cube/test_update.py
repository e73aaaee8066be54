"""How partitions of a cube are replaced and removed: which files go, which stay, and what others did meanwhile."""

from __future__ import annotations

import datetime
import threading
import uuid as uuids
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.cube.members import find_members
from kubothek.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    CubeNotFoundError,
    DuplicateCellsError,
    InvalidInputError,
    NullValueError,
    PredicateTypeError,
    StoreError,
)
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, Fault, FaultyStore

CUBE = kb.Cube("c", ["x", "y"], ["p", "q"], index_columns=["i1"])
SEED = pa.table(
    {"p": [0, 0, 1, 1], "q": ["a", "b", "a", "b"], "x": [0] * 4, "y": [0] * 4, "i1": [5, 6, 7, 8], "v1": [1, 2, 3, 4]}
)
PARTS = {
    "like the seed": pa.table({"p": [0, 1], "q": ["a", "b"], "x": [0, 0], "v2": [1, 2]}),
    "fewer": pa.table({"p": [0, 1], "x": [0, 0], "v3": [1, 2]}),
    "none": pa.table({"x": [0, 1], "v4": [1, 2]}),
    "other": pa.table({"r": ["u", "w"], "x": [0, 1], "v5": [1, 2]}),
    "more": pa.table({"p": [0, 0, 1], "q": ["a", "a", "b"], "s": [True, False, True], "x": [0, 1, 0], "v6": [1, 2, 3]}),
}
KEYS = {"like the seed": ["p", "q"], "fewer": ["p"], "none": [], "other": ["r"], "more": ["p", "q", "s"]}


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def name_of(part: str) -> str:
    """Return the id of a dataset."""
    return part.replace(" ", "_")


def built(*parts: str) -> Store:
    """Return a store with the cube and some of its enrichments."""
    store = new_store()
    data = {name_of(part): PARTS[part] for part in parts}
    kb.build_cube({"seed": SEED, **data}, CUBE, store, partition_on={name_of(part): KEYS[part] for part in parts})
    return store


def rows(store: Store, dataset_id: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return what a dataset holds, sorted."""
    table = kb.open_dataset(f"c++{dataset_id}", store).scan(list(columns)).to_arrow()
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True), key=repr)


def test_exactly_the_partitions_of_the_data_are_replaced() -> None:
    """Without a condition, by all partition columns together: other partitions stay, new ones come."""
    store = built()
    new = pa.table({"p": [0, 2], "q": ["b", "a"], "x": [9, 9], "y": [0, 0], "i1": [1, 1], "v1": [-2, -5]})
    kb.update_cube(new, CUBE, store)
    assert rows(store, "seed", "p", "q", "v1") == [(0, "a", 1), (0, "b", -2), (1, "a", 3), (1, "b", 4), (2, "a", -5)]
    assert kb.query_cube("c", store, where="i1 == 6").to_arrow().num_rows == 0
    assert kb.verify_dataset("c++seed", store) == []


NEW_PARTS: dict[str, tuple[pa.Table, list[Any]]] = {
    "like the seed": (PARTS["like the seed"].slice(0, 1).set_column(3, "v2", [[-1]]), [-1, 2]),
    "fewer": (PARTS["fewer"].slice(0, 1).set_column(2, "v3", [[-1]]), [-1, 2]),
    "none": (PARTS["none"].slice(0, 1).set_column(1, "v4", [[-1]]), [-1]),
    "other": (PARTS["other"].slice(0, 1).set_column(2, "v5", [[-1]]), [-1, 2]),
    "more": (PARTS["more"].slice(0, 1).set_column(4, "v6", [[-1]]), [-1, 2, 3]),
}


@pytest.mark.parametrize("part", PARTS)
def test_partitions_are_those_of_the_dataset(part: str) -> None:
    """A dataset is replaced by its own partition columns, whatever the cube's are; without any, as a whole."""
    store = built(part)
    data, expected = NEW_PARTS[part]
    kb.update_cube({name_of(part): data}, CUBE, store)
    assert [value for (value,) in rows(store, name_of(part), data.column_names[-1])] == expected
    assert len(rows(store, "seed", "v1")) == 4


REMOVED: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "one column": (
        "p == 0",
        {"seed": [3, 4], "like the seed": [2], "fewer": [2], "none": [], "other": [], "more": [3]},
    ),
    "two columns": (
        (C("p") == 0) & (C("q") == "b"),
        {"seed": [1, 3, 4], "like the seed": [1, 2], "fewer": [2], "none": [], "other": [], "more": [1, 2, 3]},
    ),
    "a part over both": (
        "p == 0 | q == 'b'",
        {"seed": [3], "like the seed": [], "fewer": [], "none": [], "other": [], "more": []},
    ),
    "lists": (
        [[("q", "in", ["b", "z"])]],
        {"seed": [1, 3], "like the seed": [1], "fewer": [], "none": [], "other": [], "more": [1, 2]},
    ),
    "nothing": (
        "p == 77",
        {"seed": [1, 2, 3, 4], "like the seed": [1, 2], "fewer": [1, 2], "none": [], "other": [], "more": [1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", REMOVED)
def test_removal_by_condition(case: str) -> None:
    """Of the parts that must all hold, those count whose columns the dataset is partitioned by; else it is emptied."""
    where, expected = REMOVED[case]
    store = built(*PARTS)
    kb.remove_partitions(CUBE, store, where)
    columns = {"seed": "v1", **{part: table.column_names[-1] for part, table in PARTS.items()}}
    found = {part: [v for (v,) in rows(store, name_of(part), columns[part])] for part in expected}
    assert found == expected
    assert all(kb.verify_dataset(uuid, store) == [] for uuid in ("c++seed", "c++more"))


def test_removal_from_some_datasets() -> None:
    """Only those that are named lose anything; they are what the call gives back."""
    store = built("fewer", "none")
    assert list(kb.remove_partitions("c", store, "p == 0", datasets="fewer")) == ["fewer"]
    assert kb.remove_partitions("c", store, "p == 0", datasets=[]) == {}
    assert [len(rows(store, *of)) for of in (("seed", "v1"), ("fewer", "v3"), ("none", "v4"))] == [4, 1, 2]


def test_removal_of_everything() -> None:
    """The cube is still there, with all its columns, and answers with no rows; rows can be added again."""
    store = built("fewer")
    schema = kb.query_cube("c", store).schema
    kb.remove_partitions(CUBE, store, "p >= 0")
    found = kb.query_cube("c", store).to_arrow()
    assert (found.num_rows, found.schema) == (0, schema)
    kb.append_to_cube(SEED, "c", store)
    assert kb.query_cube("c", store, where="i1 == 6").to_arrow()["v1"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("where", "error", "told"),
    [
        (None, InvalidInputError, "no column"),
        ("true", InvalidInputError, "no column"),
        ("v1 == 1", InvalidInputError, "v1"),
        ("x == 1 | p == 1", InvalidInputError, "x"),
        ("p == 'a'", PredicateTypeError, "int64"),
        (5, InvalidInputError, "condition"),
    ],
)
def test_conditions_that_do_not_name_partitions(where: Any, error: type[Exception], told: str) -> None:
    """They are refused before anything is removed or written."""
    store = built("fewer")
    before = [info.key for info in store.list()]
    with pytest.raises(error, match=told):
        kb.remove_partitions(CUBE, store, where)
    with pytest.raises(error, match=told) if where is not None else pytest.raises(InvalidInputError, match="no data"):
        kb.update_cube(SEED if where is not None else {}, CUBE, store, remove=where)
    assert [info.key for info in store.list()] == before


def test_names_that_are_not_there() -> None:
    """Cubes and datasets that do not exist are errors, all of them named."""
    store = built()
    for call in (kb.remove_partitions, lambda c, s, w: kb.update_cube(SEED, c, s, remove=w)):
        with pytest.raises(CubeNotFoundError):
            call("d", store, "p == 1")
    with pytest.raises(InvalidInputError, match="'e', 'f'"):
        kb.remove_partitions("c", store, "p == 1", datasets=["f", "seed", "e"])
    with pytest.raises(InvalidInputError, match="'fewer'"):
        kb.update_cube({"fewer": PARTS["fewer"]}, "c", store)


DAYS = ("0001-01-01", "2020-01-01T01:02:03.000004")
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [False, True]),
    "date": (pa.date32(), [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31)]),
    "decimal": (pa.decimal128(5, 2), [Decimal("1.10"), Decimal("-0.01")]),
    "slashes": (pa.string(), ["a/b", "a%2Fb"]),
    "unicode": (pa.string(), ["ü=&|()'\"", ""]),
    "timestamp": (pa.timestamp("us"), [datetime.datetime.fromisoformat(day) for day in DAYS]),
    "float": (pa.float64(), [0.1, float("inf")]),
    "narrow float": (pa.float32(), [0.1, 2.5]),
    "unsigned": (pa.uint64(), [2**64 - 1, 0]),
    "binary": (pa.binary(), [b"a/b", b"\x00"]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_types_of_partition_values(kind: str) -> None:
    """A partition is found again by its values, whatever they are and however their path is written."""
    t, values = VALUES[kind]
    cube, store = kb.Cube("c", ["x"], ["p", "q"]), new_store()
    data = pa.table({"p": pa.array([*values, values[0]], t), "q": [1, 1, 2], "x": [1, 2, 3], "v1": [1, 2, 3]})
    kb.build_cube(data, cube, store)
    kb.update_cube(data.slice(0, 1).set_column(3, "v1", [[-1]]), cube, store)
    assert rows(store, "seed", "v1") == [(-1,), (2,), (3,)]
    kb.remove_partitions(cube, store, C("p") == data["p"][1])
    assert rows(store, "seed", "v1") == [(-1,), (3,)]


def test_many_partitions_of_several_columns() -> None:
    """Combinations count, not the values of each column; checked against a plain dictionary."""
    store = new_store()
    cells = {(p, q): p * 10 + q for p in range(8) for q in range(5)}
    some = {(p, q): -1 for p, q in cells if (p * 3 + q) % 4 == 0}
    for write, values in ((kb.build_cube, cells), (kb.update_cube, some)):
        keys = list(values)
        columns = {"p": [p for p, _ in keys], "q": [q for _, q in keys], "x": [0] * len(keys)}
        write(pa.table({**columns, "v1": list(values.values())}), kb.Cube("c", ["x"], ["p", "q"]), store)
    assert rows(store, "seed", "p", "q", "v1") == sorted(((*k, v) for k, v in (cells | some).items()), key=repr)


def test_a_condition_beside_the_data() -> None:
    """Partitions that it names go; in others the last version of a cell counts, as after an append."""
    store = built()
    new = pa.table({"p": [0, 0], "q": ["a", "a"], "x": [0, 1], "y": [0, 0], "i1": [1, 1], "v1": [-1, -2]})
    kb.update_cube(new, CUBE, store, remove="p == 1")
    assert rows(store, "seed", "v1") == [(-1,), (-2,), (1,), (2,)]
    assert kb.query_cube("c", store, columns="v1").to_arrow()["v1"].to_pylist() == [-1, 2, -2]


def test_data_without_rows() -> None:
    """With a condition it removes; without one nothing says what is meant. `None` leaves a dataset alone."""
    store = built("fewer", "none")
    kb.update_cube({"fewer": PARTS["fewer"].slice(0, 0), "none": None}, CUBE, store, remove="p == 0")
    assert (rows(store, "fewer", "v3"), len(rows(store, "none", "v4"))) == ([(2,)], 2)
    kb.update_cube({"none": PARTS["none"].slice(0, 0)}, CUBE, store, remove="p == 0")
    assert rows(store, "none", "v4") == []
    with pytest.raises(InvalidInputError, match="no rows"):
        kb.update_cube({"fewer": PARTS["fewer"].slice(0, 0)}, CUBE, store)
    assert kb.query_cube("c", store).to_arrow().num_rows == 4


UNFIT: dict[str, tuple[Callable[[pa.Table], Any], type[Exception]]] = {
    "a cell twice": (lambda t: pa.concat_tables([t, t]), DuplicateCellsError),
    "a cell twice in two frames": (lambda t: [t, t], DuplicateCellsError),
    "a null in a dimension": (lambda t: t.set_column(2, "x", pa.array([None] * 4, pa.int64())), NullValueError),
    "a missing column": (lambda t: t.drop_columns("v1"), InvalidInputError),
    "another type": (lambda t: t.set_column(5, "v1", [["a"] * 4]), InvalidInputError),
}


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "as it comes"])
@pytest.mark.parametrize("name", UNFIT)
def test_unfit_data(name: str, shuffle: bool) -> None:
    """An update that cannot be is an error, and the store is as it was."""
    edit, error = UNFIT[name]
    store = built("fewer")
    before = [info.key for info in store.list()]
    with pytest.raises(error):
        kb.update_cube({"fewer": PARTS["fewer"], "seed": edit(SEED)}, CUBE, store, shuffle=shuffle)
    assert [info.key for info in store.list()] == before


def test_metadata_of_an_update() -> None:
    """Entries are added and replaced; all that is wrong with them is told at once."""
    store = built("fewer")
    kb.update_cube(SEED, CUBE, store, metadata={"seed": {"m": 1}})
    assert kb.open_dataset("c++seed", store).metadata["m"] == 1
    with pytest.raises(InvalidInputError) as caught:
        kb.update_cube(SEED, CUBE, store, metadata={"seed": {1: 2}, "fewer": {}, "other": {}})  # type: ignore[dict-item]  # wrong on purpose
    assert len(caught.value.problems) == 3


def swapping(dataset_id: str, then: Callable[[], Any], fault: Fault | None = None) -> Callable[[Call], Fault | None]:
    """Return a script that does something once, right before a dataset's header is put, which then fails or not."""
    begun: list[Call] = []

    def script(call: Call) -> Fault | None:
        ours = call.verb in ("create", "replace") and call.key.startswith(f"c++{dataset_id}.by-dataset")
        if not ours or begun:
            return None
        begun.append(call)
        then()
        return fault

    return script


def test_what_others_commit_meanwhile_is_removed_too() -> None:
    """A removal is evaluated again on what came first, as if it had been asked for later."""
    store = built()
    more = SEED.set_column(2, "x", [[9] * 4])
    racing = FaultyStore(store, swapping("seed", lambda: kb.append_to_cube(more, CUBE, store)))
    kb.update_cube(SEED.slice(0, 1), CUBE, racing)
    assert rows(store, "seed", "p", "x") == [(0, 0), (0, 0), (0, 9), (1, 0), (1, 0), (1, 9), (1, 9)]


@pytest.mark.parametrize("write", [kb.append_to_cube, kb.update_cube])
def test_an_index_that_others_build_meanwhile_has_the_new_rows(write: Callable[..., Any]) -> None:
    """Of the seed and of an enrichment alike: queries by it find what came after, and the cube is sound."""
    store = built("none")
    data = {"seed": SEED.set_column(5, "v1", [[9, 8, 9, 8]]), "none": pa.table({"x": [0, 1], "v4": [8, None]})}

    def build(dataset_id: str, column: str) -> Callable[[Call], Fault | None]:
        return swapping(dataset_id, lambda: kb.build_dataset_indices(f"c++{dataset_id}", store, column))

    write(data, CUBE, FaultyStore(FaultyStore(store, build("seed", "v1")), build("none", "v4")))
    assert [kb.query_cube("c", store, where=f"v1 == {v}").to_arrow().num_rows for v in (1, 8, 9)] == [0, 2, 2]
    for uuid, column, values in (("c++seed", "v1", {8, 9}), ("c++none", "v4", {8})):
        found = {*kb.open_dataset(uuid, store).load_index(column).table[column].to_pylist()}
        assert found - {1, 2, 3, 4} == values
        assert kb.verify_dataset(uuid, store) == []


def test_two_writers_at_once() -> None:
    """Rows of both calls are there, in all datasets, and neither call is incomplete."""
    store = built("fewer")

    def write(p: int) -> None:
        seed = pa.table({"p": [p], "q": ["a"], "x": [0], "y": [0], "i1": [1], "v1": [p]})
        data = {"seed": seed, "fewer": pa.table({"p": [p], "x": [0], "v3": [-p]})}
        (kb.append_to_cube if p % 2 else kb.update_cube)(data, CUBE, store)

    threads = [threading.Thread(target=write, args=(p,)) for p in range(10, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = kb.query_cube("c", store, where="p >= 10", columns=["v1", "v3"]).to_arrow()
    assert (found["v1"].to_pylist(), found["v3"].to_pylist()) == ([*range(10, 16)], [*range(-10, -16, -1)])


RACED = kb.Cube("c", ["x"], ["p"], index_columns=["i1", "i2"])
RACED_DATA = {
    "seed": pa.table({"p": [0, 1, 1], "x": [0, 0, 1], "i1": [5, 6, 7], "v1": [1, 2, 3]}),
    "e": pa.table({"p": [0, 1, 1], "x": [0, 0, 1], "i2": [5, 6, 7], "v2": [1, 2, 3]}),
}
SOME = {"seed": RACED_DATA["seed"].slice(0, 1).set_column(3, "v1", [[-1]])} | {
    "e": RACED_DATA["e"].slice(0, 1).set_column(3, "v2", [[-1]])
}
CALLS: dict[str, tuple[str, str, Callable[[Store], Any]]] = {
    "append": ("e", "seed", lambda s: kb.append_to_cube(SOME, RACED, s, metadata={"e": {"m": 1}})),
    "update": ("e", "seed", lambda s: kb.update_cube(SOME, RACED, s, metadata={"e": {"m": 1, "n": 2}})),
    "removal": ("seed", "e", lambda s: kb.remove_partitions(RACED, s, "p == 0")),
}
OTHERS: dict[str, Callable[[Store, str], Any]] = {
    "append": lambda s, d: kb.append_to_cube({d: in_both(d, 77)}, RACED, s),
    "update": lambda s, d: kb.update_cube({d: in_both(d, 77).slice(1)}, RACED, s),
    "removal": lambda s, d: kb.remove_partitions(RACED, s, "p == 1", datasets=d),
    "metadata": lambda s, d: kb.update_dataset(None, f"c++{d}", s, metadata={"m": 3}),
    "index": lambda s, d: kb.build_dataset_indices(f"c++{d}", s, {"seed": "v1", "e": "v2"}[d]),
}


def in_both(dataset_id: str, value: int) -> pa.Table:
    """Return new versions of one cell in each of two partitions."""
    number = {"seed": 1, "e": 2}[dataset_id]
    return pa.table({"p": [0, 1], "x": [0, 0], f"i{number}": [value] * 2, f"v{number}": [value] * 2})


def raced() -> Store:
    """Return a store with the cube of these tests."""
    store = new_store()
    kb.build_cube(RACED_DATA, RACED, store, metadata={"e": {"m": 0}})
    return store


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_taken_back_although_others_have_committed(call: str, other: str, when: str) -> None:
    """What it added goes and what it removed comes back, with indices and metadata; what the others did stays."""
    (first, last, operation), (store, alone) = CALLS[call], (raced(), raced())
    OTHERS[other](alone, first)
    if when == "after":
        racing = FaultyStore(store, swapping(last, lambda: OTHERS[other](store, first), Fault.REFUSE))
    else:
        refusing = FaultyStore(store, swapping(last, lambda: None, Fault.REFUSE))
        racing = FaultyStore(refusing, swapping(first, lambda: OTHERS[other](store, first)))
    with pytest.raises(StoreError):
        operation(racing)
    for where in (None, *(f"{column} == {value}" for column in ("i1", "i2") for value in (5, 6, 77))):
        asked = [kb.query_cube("c", s, where=where).to_arrow() for s in (store, alone)]
        assert asked[0] == asked[1], where
    assert kb.verify_dataset(f"c++{first}", store) == []
    assert entries(store, first) == entries(alone, first)


def test_a_call_is_taken_back_although_others_have_deleted_the_cube() -> None:
    """What it would have to bring back is nobody's any more, so that the call just fails."""
    store = raced()
    racing = FaultyStore(store, swapping("e", lambda: kb.delete_cube("c", store)))
    with pytest.raises(CommitConflictError, match="deleted meanwhile"):
        kb.remove_partitions(RACED, racing, "p == 0")


def test_datasets_that_only_others_can_name() -> None:
    """Partitions are removed from a dataset too whose name the functions for cubes would not give."""
    store = raced()
    kb.copy_dataset("c++e", store, to_uuid="c++a++b")
    kb.delete_cube("c", store, datasets="e")
    (label,) = kb.remove_partitions("c", store, "p == 0")["a++b"].partitions
    assert label.startswith("p=1/")


def entries(store: Store, dataset_id: str) -> dict[str, Any]:
    """Return user metadata without the time."""
    return {**find_members("c", store)[dataset_id].header.metadata, "creation_time": None}


def test_an_overwrite_on_which_others_have_built_is_not_taken_back_by_guessing() -> None:
    """The error says so, and what others committed is there."""
    store = raced()
    racing = FaultyStore(store, swapping("seed", lambda: OTHERS["append"](store, "e"), Fault.REFUSE))
    with pytest.raises(CommitStateUnknownError, match="others have committed") as caught:
        kb.build_cube(RACED_DATA, RACED, racing, overwrite=True)
    assert caught.value.datasets == ("e",)
    assert (1, 77) in rows(store, "e", "p", "v2")


REPLACING: dict[str, Callable[[Store], Any]] = {
    "overwrite": lambda s: kb.build_cube(RACED_DATA, RACED, s, overwrite=True),
    "update": lambda s: kb.update_cube(SOME, RACED, s),
}


def collect_garbage(store: Store) -> None:
    """Delete what the enrichment does not need any more."""
    kb.garbage_collect_dataset("c++e", store, older_than=datetime.timedelta(0), keep=1)


@pytest.mark.parametrize("call", REPLACING)
def test_what_was_replaced_may_be_garbage_already(call: str) -> None:
    """A header is not restored without its files: the error says so, and every dataset can be read."""
    store = raced()
    racing = FaultyStore(store, swapping("seed", lambda: collect_garbage(store), Fault.REFUSE))
    with pytest.raises(CommitStateUnknownError, match="gone"):
        REPLACING[call](racing)
    assert kb.verify_dataset("c++e", store) == []


def test_an_append_is_taken_back_although_its_old_index_is_garbage() -> None:
    """No header is restored then: labels are removed from what is there."""
    store = raced()
    before = kb.query_cube("c", store).to_arrow()
    racing = FaultyStore(store, swapping("seed", lambda: collect_garbage(store), Fault.REFUSE))
    with pytest.raises(StoreError):
        kb.append_to_cube(SOME, RACED, racing)
    assert kb.query_cube("c", store).to_arrow() == before
    assert kb.verify_dataset("c++e", store) == []
