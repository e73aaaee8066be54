"""Cube queries explained: what is expected is never wrong, and what is measured is what a store is asked for."""

from __future__ import annotations

import uuid as uuids
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import kubothek as kb
from kubothek import C
from kubothek.plan.explanation import Explanation, SourceExplanation
from kubothek.store.interface import Store
from kubothek.testing.cube_cases import cube_cases
from kubothek.testing.cube_questions import cube_questions, tidy_groups
from kubothek.testing.cubes import CubeCase, write_cube
from kubothek.testing.stores import CountingStore

EXAMPLES = settings.default.max_examples
CUBE = kb.Cube("c", ["x", "y"], ["p"], index_columns=["i1", "i2"])

SEED = {"p": [0, 0, 1, 2], "x": [0, 1, 0, 0], "y": [0, 0, 0, 0], "v1": [1, 2, 3, 4], "i1": ["a", "b", None, "c"]}
FINE = {"p": [0, 1, 7], "x": [1, 0, 7], "y": [0, 0, 7], "v2": [-1.0, 1.0, -7.0], "i2": [1, 2, 3]}
GLOBAL = {"x": [0, 1], "v3": ["zero", "one"]}


@cache
def shared() -> CountingStore:
    """Write a cube of a seed in three partitions, a dataset of its cells, and one without partitions."""
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    data = {"seed": pa.table(SEED), "fine": pa.table(FINE), "global": pa.table(GLOBAL)}
    kb.build_cube(data, CUBE, store, partition_on={"global": []})
    return store


def told(**question: Any) -> Explanation:
    """Ask the cube and explain the answer after it was read."""
    return kb.query_cube(CUBE, shared(), **question).explain(analyze=True)


def source(explanation: Explanation, name: str) -> SourceExplanation:
    """Return what is told of one dataset."""
    [found] = [one for one in explanation.sources if one.name == name]
    return found


@pytest.mark.parametrize(
    ("question", "name", "dropped"),
    [
        ({"where": C("p") == 0}, "seed", {"partition": 2}),
        ({"where": C("i1") == "a"}, "seed", {"index": 2}),
        ({"partition_by": "i1"}, "seed", {"partition_by": 1}),
        ({}, "fine", {"no seed": 1}),
        ({"where": C("v2") < 0}, "seed", {"alignment": 1}),
        ({"where": C("v2") < 0}, "global", {}),
    ],
    ids=["partition", "index", "partition_by", "no seed", "alignment", "nothing"],
)
def test_each_rule_drops_files(question: dict[str, Any], name: str, dropped: dict[str, int]) -> None:
    """Each file that is not read is counted under the rule that drops it."""
    found = source(told(**question), name)
    assert found.dropped == dropped
    assert found.files + sum(dropped.values()) == found.total


def test_how_datasets_are_joined() -> None:
    """Datasets come in the order of the joins, with their part in them; those that are not read come last."""
    found = told(where=C("v2") < 0, columns=["v1"])
    assert [(one.name, one.role, one.joined_on) for one in found.sources] == [
        ("seed", "seed", ()),
        ("fine", "inner", ("x", "y")),
        ("global", "unread", ()),
    ]
    assert source(found, "fine").condition == found.condition
    assert [one["position"] for one in found.to_dict()["sources"]] == [0, 1, None]


def test_rows_on_their_way_through_the_joins() -> None:
    """Rows are counted in the files, after the conditions of a dataset, and after each join."""
    found = told(where=(C("v2") < 0) & (C("v1") > 0)).sources
    counts = [(m.rows_stored, m.rows, m.rows_joined) for one in found if (m := one.measured)]
    # The unit of p=1 ends with the restricting dataset: it has no row below 0 there.
    assert counts == [(2, 2, 2), (2, 1, 1), (2, 2, 1)]


def test_units_that_are_found_empty() -> None:
    """Where an inner join leaves nothing of a unit, the rest of it is not read, and that is told."""
    found = told(where=C("v2") < 0)
    assert found.measured is not None
    assert (found.units, found.measured.units_emptied, found.measured.rows) == (2, 1, 1)
    seed = source(found, "seed")
    assert seed.measured is not None
    assert (seed.files, seed.measured.files) == (2, 1)


def test_a_coarse_file_is_fetched_once() -> None:
    """A file that serves several units is counted once, with how often it is used."""
    found = source(told(), "global")
    assert found.measured is not None
    assert (found.files, found.reads, found.requests, found.measured.requests) == (1, 3, 1, 1)


def test_groups_and_lookups() -> None:
    """Groups are the distinct values to group by, and indices tell what they were asked for."""
    found = told(where=C("i1") > "a", partition_by="i2")
    assert (found.units, found.groups, found.group_by) == (1, 1, ("i2",))
    assert source(found, "seed").lookups == ('i1 > "a"',)
    assert source(found, "fine").lookups == ("the values of i2",)


def test_versions_of_cells_are_told() -> None:
    """Units in which cells were written again are counted."""
    store = f"memory://{uuids.uuid4().hex}"
    for write in (kb.build_cube, kb.append_to_cube):
        write(pa.table(SEED), CUBE, store)
    [found] = kb.query_cube(CUBE, store).explain().sources
    assert (found.files, found.overlaid) == (6, 3)


def test_explaining_reads_nothing() -> None:
    """Only a measurement asks the store for anything."""
    query = kb.query_cube(CUBE, shared())
    shared().reset()
    assert (str(query.explain()), shared().log) == (repr(query), [])


@settings(max_examples=EXAMPLES // 3)
@given(cube_cases(), st.data())
def test_expectations_are_never_wrong(case: CubeCase, data: st.DataObject) -> None:
    """Exactly the expected files are opened, fewer where units are found empty; no more is fetched than was said."""
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    write_cube(case, store)
    for _ in range(3):
        question = data.draw(cube_questions(case))
        query = kb.query_cube(case.cube, store, where=question.asked, **question.options)
        store.reset()
        found = query.explain(analyze=True)
        assert found.measured is not None
        emptied = found.measured.units_emptied > 0
        event("some units found empty" if emptied else "all read")
        assert sum(check(one, emptied=emptied) for one in found.sources) == store.calls["get_range"]
        assert found.measured.rows == sum(table.num_rows for _, table in query.groups())


def check(one: SourceExplanation, *, emptied: bool) -> int:
    """Compare what was expected of one dataset with what was measured, and return the number of requests."""
    if one.measured is None:
        return 0
    expected = (one.files, one.bytes, one.requests, one.rows)
    found = (one.measured.files, one.measured.bytes, one.measured.requests, one.measured.rows_stored)
    assert None not in expected
    assert found == expected or (emptied and all((f or 0) <= (e or 0) for f, e in zip(found, expected, strict=True)))
    assert one.files + sum(one.dropped.values()) == one.total
    return one.measured.requests


@settings(max_examples=EXAMPLES // 3)
@given(cube_cases(), st.data())
def test_dropped_files_hold_no_row_of_the_answer(case: CubeCase, data: st.DataObject) -> None:
    """Without the files that are not read, the answer is that of a reader of all rows."""
    question = data.draw(cube_questions(case))
    store = Store(f"memory://{uuids.uuid4().hex}")
    write_cube(case, store)
    query = kb.query_cube(case.cube, store, where=question.asked, **question.options)
    read = {key for files in query.plan.files for key in files["key"].to_pylist()}
    doomed = [info.key for info in store.list() if "/table/" in info.key and info.key.endswith(".parquet")]
    store.delete(set(doomed) - read)
    event("some dropped" if set(doomed) - read else "all read")
    rows = [(key, table.to_pylist()) for key, table in query.groups()]
    expected = case.reference().query(where=question.meant, **question.options)
    assert tidy_groups(rows, case, question) == tidy_groups(expected, case, question)
