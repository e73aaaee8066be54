"""How heavy units are cut: only where it pays and is right, and the rows of all pieces are those of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubothek as kb
from kubothek.engine import local
from kubothek.model.condition import EVERYTHING
from kubothek.model.read_plan import JoinStep, ReadInput, ReadPlan, files_schema
from kubothek.plan.heavy_units import count_pieces, cut_heavy
from kubothek.store.open import open_store
from kubothek.testing.cube_cases import cube_cases
from kubothek.testing.cube_questions import cube_questions
from kubothek.testing.cubes import CubeCase, write_cube

MIB = 2**20
SCHEMA = pa.schema([("x", pa.int64())])


def plan(seed: Sequence[Sequence[int]], others: Sequence[int] = (), overlay: bool = False, **fields: Any) -> ReadPlan:
    """Return a plan of units, given by the MiB of their files of the seed and of one file of another dataset."""
    source = ReadInput("c", "c", "table", SCHEMA, SCHEMA, (), ("x",), EVERYTHING, EVERYTHING)
    inputs = [[(unit, size) for unit, sizes in enumerate(seed) for size in sizes], [*enumerate(others)]]
    files = [
        pa.Table.from_pylist(
            [
                {"unit": u, "label": f"{i}-{n}", "key": f"{i}-{n}", "rows": 1, "bytes": size * MIB, "overlay": overlay}
                for n, (u, size) in enumerate(sized)
            ],
            files_schema(pa.schema([])),
        )
        for i, sized in enumerate(inputs)
    ]
    units = pa.table({"unit": pa.array(range(len(seed)), pa.int32())})
    whole = ReadPlan("c", (source,) * 2, tuple(files), units, (JoinStep(1, ("x",), "left"),), EVERYTHING, SCHEMA)
    return replace(whole, **{"order": ("x",), **fields})


# A plan, how many tasks, and per piece the files of the seed and of the other dataset.
CUT: dict[str, tuple[ReadPlan, int, list[tuple[int, int]]]] = {
    "a heavy unit": (plan([[100] * 7, [100]], [9, 9]), 2, [(4, 1), (4, 2)]),
    "nothing but a heavy unit": (plan([[100] * 6], [9]), 3, [(2, 1), (2, 1), (2, 1)]),
    "files of different size": (plan([[300, 10, 10, 10, 300]]), 2, [(2, 0), (3, 0)]),
    "no heavier than a share": (plan([[100] * 4, [100] * 4], [9, 9]), 2, [(4, 1), (4, 1)]),
    "hardly heavier than a share": (plan([[100] * 5, [100] * 3], [9, 9]), 2, [(5, 1), (3, 1)]),
    "too small to be worth it": (plan([[1] * 7, [1]], [0, 0]), 2, [(7, 1), (1, 1)]),
    "one file": (plan([[700], [100]], [9, 9]), 2, [(1, 1), (1, 1)]),
    "more to read again than to cut": (plan([[100] * 7, [100]], [400, 9]), 2, [(7, 1), (1, 1)]),
    "versions of cells": (plan([[100] * 7, [100]], [9, 9], overlay=True), 2, [(7, 1), (1, 1)]),
    "cells that become one": (plan([[100] * 7, [100]], [9, 9], project=("x",)), 2, [(7, 1), (1, 1)]),
    "not of a cube": (plan([[100] * 7, [100]], [9, 9], order=()), 2, [(7, 1), (1, 1)]),
    "no unit": (plan([]), 2, []),
}


@pytest.mark.parametrize("name", CUT)
def test_where_plans_are_cut(name: str) -> None:
    """Heavy units of several files with different cells are cut, if little else has to be read again for it."""
    whole, tasks, pieces = CUT[name]
    assert [tuple(table.num_rows for table in piece.files) for piece in cut_heavy(whole, tasks)] == pieces
    assert count_pieces(whole, tasks) == len(pieces)


def test_pieces_know_their_units() -> None:
    """Each piece has the units of which it reads some files, the one that is cut in both."""
    pieces = cut_heavy(plan([[100], [100] * 7, [100]], [9, 9, 9]), 2)
    assert [piece.units["unit"].to_pylist() for piece in pieces] == [[0, 1], [1, 2]]
    assert [piece.files[0]["label"].to_pylist() for piece in pieces] == [
        [f"0-{n}" for n in some] for some in (range(4), range(4, 9))
    ]
    assert [piece.files[1]["unit"].to_pylist() for piece in pieces] == [[0, 1], [1, 2]]


def rows(query: kb.Query, store: str, plans: Sequence[ReadPlan]) -> list[str]:
    """Read plans one after the other and return all rows, sorted as text."""
    tables = [table for one in plans for table in local.read_units(open_store(store), one)]
    return sorted(str(row) for table in tables for row in table.select(query.schema.names).to_pylist())


def heavier(whole: ReadPlan) -> ReadPlan:
    """Return a plan whose files of the seed are said to be a million times as large."""
    seed = whole.files[0]
    sizes = pa.array([size * 10**6 for size in seed["bytes"].to_pylist()], pa.int64())
    return replace(whole, files=(seed.set_column(seed.column_names.index("bytes"), "bytes", sizes), *whole.files[1:]))


counter = iter(range(10**9))
FEW = settings(max_examples=max(settings.default.max_examples // 5, 1))


@FEW
@given(cube_cases(), st.integers(2, 5), st.data())
def test_pieces_have_the_rows_of_the_plan(case: CubeCase, tasks: int, data: st.DataObject) -> None:
    """Whatever the cube and the query, its pieces together have its rows."""
    store = f"memory://heavy_units_{next(counter)}"
    write_cube(case, store)
    question = data.draw(cube_questions(case))
    query = kb.query_cube(case.cube, store, where=question.asked, **question.options)
    assert rows(query, store, cut_heavy(heavier(query.plan), tasks)) == rows(query, store, [query.plan])


def write_seed(store: str, cells: Sequence[tuple[int, int, int]]) -> None:
    """Write a cube with cells of (x, p, v1), those of each v1 in files of their own, which one write makes."""
    table = pa.table([pa.array(list(c), pa.int64()) for c in zip(*cells, strict=True)], names=["x", "p", "v1"])
    frames = [table.filter(pc.equal(table["v1"], one)) for one in pc.unique(table["v1"])]
    kb.build_cube({"seed": frames}, kb.Cube("c", "x", "p"), store, shuffle=False)
    fine = pa.table({"x": [1, 2, 3, 6], "p": [0, 1, 0, 0], "v2": [2, 4, 6, 8]})
    kb.extend_cube({"fine": fine}, "c", store)
    kb.extend_cube({"coarse": pa.table({"x": [0, 1, 2], "v3": [0, 1, 0]})}, "c", store, partition_on={"coarse": []})


@FEW
@given(
    st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 1)), st.integers(0, 5), min_size=1),
    st.sampled_from([None, "v2 > 3", "v1 == 1", "v2 > 3 | v1 == 2", "v3 == 0"]),
    st.integers(2, 5),
)
def test_cells_of_many_files_are_joined(cells: dict[tuple[int, int], int], where: str | None, tasks: int) -> None:
    """A seed that one write put into several files is cut between them, and each cell finds its partners."""
    store = f"memory://heavy_units_{next(counter)}"
    write_seed(store, [(*cell, part) for cell, part in cells.items()])
    query = kb.query_cube("c", store, where=where)
    assert rows(query, store, cut_heavy(heavier(query.plan), tasks)) == rows(query, store, [query.plan])


def test_a_partition_of_many_files_is_read_by_many_tasks() -> None:
    """Each task joins some files of the seed with all files of the others that are where they are."""
    store = f"memory://heavy_units_{next(counter)}"
    write_seed(store, [(x, 0, x // 2) for x in range(8)])
    query = kb.query_cube("c", store, columns="v2")
    pieces = cut_heavy(heavier(query.plan), 4)
    assert [piece.units["unit"].to_pylist() for piece in pieces] == [[0]] * 4
    found = [table["v2"].to_pylist() for one in pieces for table in local.read_units(open_store(store), one)]
    assert found == [[None, 2], [None, 6], [None, None], [8, None]]
