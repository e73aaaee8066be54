"""Everything that is wrong with a cube is found, all at once and however broken it is; a sound cube has no problems."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cube.stored_cubes import (
    CUBE,
    SEED,
    E,
    build,
    edit_header,
    edit_metadata,
    make_foreign,
    new_store,
    replace_file,
)

import kubothek as kb
from kubothek.errors import CubeNotFoundError, InvalidInputError, KubothekError
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, CountingStore, Fault, FaultyStore

JSON = ".by-dataset-metadata.json"


def found(store: Store, cube: kb.Cube | str = "c", **options: Any) -> list[tuple[str, str]]:
    """Return dataset and kind of each problem."""
    return [(problem.subject, problem.kind) for problem in kb.check_cube(cube, store, **options)]


def add(name: str, rows: Any, **layout: Any) -> Callable[[Store], object]:
    """Return the step that writes a dataset beside the cube's, marked as part of it."""
    marks = {
        "ktk_cube_dimension_columns": ["x", "y"],
        "ktk_cube_is_seed": False,
        "ktk_cube_partition_columns": ["p"],
        "ktk_cube_suppress_index_on": [],
    }
    return lambda store: kb.write_dataset(rows, f"c++{name}", store, metadata=marks, **layout)


def test_sound_cube() -> None:
    """A cube that was built here has no problems, by name or by specification, with files or without."""
    store = build(new_store())
    assert [found(store, cube, files=files) for cube in (CUBE, "c") for files in (True, False)] == [[]] * 4


def _rename_partition(header: dict[str, Any]) -> None:
    (label, part), *others = header["partitions"].items()
    part["files"]["table"] = part["files"]["table"].replace("p=0", "p=zero")
    header["partitions"] = {label.replace("p=0", "p=zero"): part, **dict(others)}


OTHER = pa.table({"x": [0], "v9": [1]})
BROKEN: dict[str, tuple[Callable[[Store], object], list[tuple[str, str]], str]] = {
    "seed deleted": (
        lambda s: kb.delete_dataset("c++seed", s),
        [("c", "missing_seed"), ("c", "incomplete_call")],
        "found e, free",
    ),
    "seed not marked": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_is_seed=False),
        [("c", "missing_seed")],
        "none is marked as the seed",
    ),
    "two seeds": (
        lambda s: edit_metadata(s, "c++e", ktk_cube_is_seed=True),
        [("c", "several_seeds")],
        "several seeds: e, seed",
    ),
    "seed without dimensions": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_dimension_columns=None),
        [("c++seed", "wrong_metadata")],
        "does not name the cube's dimension columns",
    ),
    "entries that make no cube": (
        lambda s: edit_metadata(s, "c++seed", ktk_cube_partition_columns=["x"]),
        [("c++seed", "wrong_metadata")],
        "both name x",
    ),
    "an enrichment disagrees": (
        lambda s: edit_metadata(s, "c++e", ktk_cube_dimension_columns=["x"]),
        [("c++e", "wrong_metadata")],
        "has dimension_columns ['x'], but the cube is taken to have ['x', 'y']",
    ),
    "a dataset of nobody": (
        lambda s: kb.write_dataset(OTHER, "c++other", s),
        [("c++other", "wrong_metadata")],
        "lacks ktk_cube_dimension_columns, ktk_cube_is_seed, ktk_cube_partition_columns",
    ),
    "two tables": (
        add("t", [{"core": OTHER, "table": OTHER}]),
        [("c++t", "wrong_tables")],
        "must have one table",
    ),
    "no dimension": (add("d", pa.table({"v9": [1]})), [("c++d", "missing_dimensions")], "but has none"),
    "partition column as data": (
        add("d", pa.table({"p": [0], "x": [0]})),
        [("c++d", "wrong_partitioning")],
        "as ordinary columns",
    ),
    "payload twice": (
        add("d", pa.table({"x": [0], "v1": [0]})),
        [("c++seed", "shared_payload")],
        "d and seed share v1",
    ),
    "types differ": (add("d", pa.table({"x": ["0"]})), [("c++seed", "different_types")], "string in d"),
    "index dropped": (
        lambda s: kb.drop_dataset_indices("c++seed", s, "x"),
        [("c++seed", "missing_index")],
        "build_dataset_indices('c++seed', store, ['x'])",
    ),
    "header damaged": (
        lambda s: s.put(f"c++e{JSON}", b"{"),
        [("c++e", "unreadable_header")],
        "c++e" + JSON,
    ),
    "header of the seed damaged": (
        lambda s: s.put(f"c++seed{JSON}", b"{"),
        [("c++seed", "unreadable_header")],
        "c++seed" + JSON,
    ),
    "file gone": (
        lambda s: s.delete([next(info.key for info in s.list("c++e/table/p=0/"))]),
        [("c++e", "missing_file")],
        "not in the store",
    ),
    "second header": (
        lambda s: s.put("c++e.by-dataset-metadata.msgpack.zstd", b""),
        [("c++e", "second_header")],
        "hides",
    ),
    "schema copy gone": (
        lambda s: s.delete(["c++e/table/_common_metadata"]),
        [("c++e", "missing_schema_copy")],
        "repair=True",
    ),
    "undecodable partition": (
        lambda s: edit_header(s, "c++e", _rename_partition),
        [("c++e", "undecodable_partition"), ("c++e", "missing_file")],
        "p=zero",
    ),
}


@pytest.mark.parametrize(("damage", "expected", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_found(damage: Callable[[Store], object], expected: list[tuple[str, str]], message: str) -> None:
    """Each damage is found, as what it is, and nothing else is reported beside what follows from it."""
    store = build(new_store())
    damage(store)
    problems = kb.check_cube("c", store)
    assert [(problem.subject, problem.kind) for problem in problems] == expected
    assert message in "\n".join(map(str, problems))


def test_all_problems_at_once() -> None:
    """A cube that is broken in many ways is checked to the end, and its sound dataset is not blamed."""
    store = build(new_store())
    for name in ("index dropped", "header damaged", "payload twice", "a dataset of nobody"):
        BROKEN[name][0](store)
    store.delete([info.key for info in store.list("c++free/table/")])
    assert found(store) == [
        ("c++e", "unreadable_header"),
        ("c++seed", "shared_payload"),
        ("c++seed", "missing_index"),
        ("c++other", "wrong_metadata"),
        ("c++free", "missing_schema_copy"),
        ("c++free", "missing_file"),
    ]


GIVEN: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "the same in another order": ({"dimension_columns": ["y", "x"]}, []),
    "fewer indices": ({"index_columns": ()}, []),
    "more indices": ({"index_columns": ("i1", "v2")}, [("c++e", "missing_index")]),
    "other dimensions": ({"dimension_columns": ["x"]}, [(f"c++{n}", "wrong_metadata") for n in ("seed", "e", "free")]),
    "other partition columns": (
        {"partition_columns": ["i1"], "index_columns": ()},
        [("c++seed", "wrong_metadata"), ("c++seed", "wrong_partitioning"), ("c++seed", "shared_payload")]
        + [(f"c++{n}", "wrong_metadata") for n in ("e", "free")],
    ),
    "another seed": (
        {"seed_dataset": "free"},
        [("c++free", "missing_dimensions"), ("c++free", "wrong_partitioning")],
    ),
    "no such seed": ({"seed_dataset": "s"}, [("c++s", "missing_seed"), ("c++seed", "several_seeds")]),
    "other suppressed indices": (
        {"suppress_index_on": ["y"]},
        [(f"c++{n}", "wrong_metadata") for n in ("e", "free", "seed")],
    ),
}


@pytest.mark.parametrize(("changes", "expected"), GIVEN.values(), ids=GIVEN)
def test_given_specification(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """A Cube that is given is compared with what the datasets are and say."""
    problems = found(build(new_store()), CUBE.copy(**changes), files=False)
    assert set(expected) <= set(problems)
    assert bool(expected) == bool(problems)


WRONG = ["other dimensions", "other partition columns", "another seed", "no such seed", "more indices"]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_specification_opens_nothing(name: str) -> None:
    """What would give wrong answers is refused when the cube is queried, with the same words."""
    store, cube = build(new_store()), CUBE.copy(**GIVEN[name][0])
    with pytest.raises(KubothekError) as caught:
        kb.query_cube(cube, store)
    assert {problem.message for problem in caught.value.problems} <= {p.message for p in kb.check_cube(cube, store)}


def test_other_dimensions_write_nothing() -> None:
    """Rows are not appended by other dimensions than the cube's, as cells would be taken for versions of one."""
    store = build(new_store())
    with pytest.raises(InvalidInputError, match=r"has dimension_columns \['x', 'y'\]"):
        kb.append_to_cube({"e": E}, CUBE.copy(dimension_columns=["x"]), store)


CELLS: dict[str, tuple[pa.Table, list[tuple[str, str]], str]] = {
    "a cell twice": (pa.table({"x": [0, 1, 0], "v2": [1.0, 2, 3]}), [("c++e", "duplicate_cells")], "such as x=0"),
    "a cell without value": (
        pa.table({"x": [0, None], "v2": [1.0, 2]}),
        [("c++e", "missing_dimension_values")],
        "1 row(s) in x",
    ),
    "sound": (pa.table({"x": [5, 3], "v2": [1.0, 2]}), [], ""),
}


@pytest.mark.parametrize(("rows", "expected", "message"), CELLS.values(), ids=CELLS)
def test_cells_of_other_software(rows: pa.Table, expected: list[tuple[str, str]], message: str) -> None:
    """In files that others wrote, cells are unique and dimensions have values; without files, nothing is read."""
    store = build(new_store())
    key = replace_file(store, "c++e", rows)
    problems = kb.check_cube("c", store)
    assert [(problem.subject, problem.kind) for problem in problems] == expected
    assert all(problem.key == key and message in problem.message for problem in problems)
    assert found(store, files=False) == []


def test_cells_without_dimensions_of_their_own() -> None:
    """Where all dimensions of a dataset are partition columns, a file holds one cell."""
    store = build(new_store())
    add("d", pa.table({"x": [0, 0, 1], "v9": [1, 2, 3]}), partition_on="x")(store)
    assert found(store) == [("c++d", "duplicate_cells")]


def test_incomplete_calls() -> None:
    """An append whose process died between two commits is reported until it is made again."""
    store = build(new_store())

    def dies(call: Call) -> Fault | None:
        if call.verb == "replace" and call.key.startswith("c++seed."):
            raise KeyboardInterrupt
        return None

    with pytest.raises(KeyboardInterrupt):
        kb.append_to_cube({"e": E, "seed": SEED}, CUBE, FaultyStore(store, dies))
    [problem] = kb.check_cube("c", store)
    assert (problem.kind, "append_to_cube" in problem.message) == ("incomplete_call", True)
    kb.append_to_cube({"e": E, "seed": SEED}, CUBE, store)
    assert kb.check_cube("c", store) == []


def test_orphans(tmp_path: Path) -> None:
    """What a dataset without a header has left is reported when it is too old to be that of a running write."""
    store = build(open_store(str(tmp_path)))
    key = "c++f/table/p=0/00000000000040008000000000000000.parquet"
    store.put(key, b"")
    assert found(store) == []
    os.utime(tmp_path / key, (0, 0))
    [problem] = kb.check_cube("c", store)
    assert (problem.subject, problem.kind, problem.key) == ("c++f", "orphaned_files", key)


def ranges(store: Store, look: Callable[[Store], object]) -> int:
    """Count what is read of the data files of one dataset."""
    counting = CountingStore(store)
    look(counting)
    return sum(call.verb == "get_range" and call.key.startswith("c++free/table") for call in counting.log)


def test_cost() -> None:
    """Without files, none is opened; with them, the cells of those that others wrote are read, of our own none."""
    store = build(new_store())
    footers = ranges(store, lambda s: kb.verify_dataset("c++free", s))
    assert ranges(store, lambda s: kb.check_cube("c", s)) == footers
    assert ranges(store, lambda s: kb.check_cube("c", s, files=False)) == 0
    make_foreign(store, "c++free")
    assert ranges(store, lambda s: kb.check_cube("c", s)) > footers


def test_refused_questions() -> None:
    """A cube that is not there is an error, and so is what cannot be the name of one."""
    store = build(new_store())
    with pytest.raises(CubeNotFoundError, match="Did you mean 'c'"):
        kb.check_cube("cc", store)
    with pytest.raises(InvalidInputError):
        kb.check_cube("c++seed", store)
