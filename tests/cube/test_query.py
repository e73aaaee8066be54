"""How a cube is queried: versions of cells, coarse and missing partners, projection, groups, and what is refused."""

from __future__ import annotations

import uuid as uuids
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import (
    CubeNotFoundError,
    InvalidInputError,
    PredicateTypeError,
    UnindexedColumnError,
    UnknownColumnError,
)
from kubothek.model.condition import EVERYTHING
from kubothek.testing.stores import CountingStore

CUBE = kb.Cube("c", ["x", "y"], ["p"], index_columns=["i1", "i2"])

# Cells (p, x, y): (0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 0, 0).
SEED = {"p": [0, 0, 0, 1], "x": [0, 1, 1, 0], "y": [0, 0, 1, 0], "v1": [10, 20, 30, 40], "i1": ["a", "a", None, "b"]}
FINE = {"p": [0, 0, 1], "x": [1, 1, 7], "y": [1, 0, 7], "v2": [None, 2.5, 7.5], "i2": [1, 2, 3]}
COARSE = {"p": [0, 1], "x": [1, 0], "v3": [True, False]}
GLOBAL = {"y": [0, 1], "v4": ["zero", "one"]}


def columns(rows: dict[str, Any]) -> pa.Table:
    """Return rows given by column."""
    return pa.table(rows)


def build() -> str:
    """Write a cube of a seed, a dataset of its cells, one that is coarser, and one that is not partitioned."""
    store = f"memory://{uuids.uuid4().hex}"
    data = {"seed": SEED, "fine": FINE, "coarse": COARSE, "global": GLOBAL}
    tables = {name: columns(rows) for name, rows in data.items()}
    kb.build_cube(tables, CUBE, store, partition_on={"global": []})
    return store


@cache
def shared() -> str:
    """Return the store of a cube to which nobody writes."""
    return build()


def ask(store: Any, **arguments: Any) -> dict[str, list[Any]]:
    """Return the answer by column, without the cells' places."""
    found = kb.query_cube(CUBE, store, **arguments).to_arrow().to_pydict()
    return {name: values for name, values in found.items() if name not in "xyp"}


def places(store: Any, **arguments: Any) -> list[tuple[int, ...]]:
    """Return the cells (p, x, y) of an answer."""
    found = kb.query_cube(CUBE, store, **arguments).to_arrow()
    return list(zip(*(found[name].to_pylist() for name in "pxy"), strict=True))


def test_all_columns_of_all_datasets() -> None:
    """Columns come sorted by name, rows by dimension, then partition columns, with nulls where a partner lacks."""
    assert kb.query_cube(CUBE, shared()).to_arrow().to_pydict() == {
        "i1": ["a", "b", "a", None],
        "i2": [None, None, 2, 1],
        "p": [0, 1, 0, 0],
        "v1": [10, 40, 20, 30],
        "v2": [None, None, 2.5, None],
        "v3": [None, False, True, True],
        "v4": ["zero", "zero", "zero", "one"],
        "x": [0, 0, 1, 1],
        "y": [0, 0, 0, 1],
    }


CONDITIONS: dict[str, tuple[kb.Condition, list[tuple[int, int, int]]]] = {
    "of a dimension": (C("x") == 1, [(0, 1, 0), (0, 1, 1)]),
    "of a partition column": (C("p") == 1, [(1, 0, 0)]),
    "of the seed": (C("v1") > 20, [(1, 0, 0), (0, 1, 1)]),
    "of the seed's index": (C("i1") == "a", [(0, 0, 0), (0, 1, 0)]),
    "of a null in an indexed column": (C("i1").is_null(), [(0, 1, 1)]),
    "which restricts to cells that are there": (C("v2") > 0, [(0, 1, 0)]),
    "for null, which asks for the cell": (C("v2").is_null(), [(0, 1, 1)]),
    "of two datasets, which restricts neither": ((C("v2") > 0) | (C("v1") == 10), [(0, 0, 0), (0, 1, 0)]),
    "null without a partner, of two datasets": (C("v2").is_null() | (C("v1") < 0), [(0, 0, 0), (1, 0, 0), (0, 1, 1)]),
    "of a coarse dataset": (C("v3") == True, [(0, 1, 0), (0, 1, 1)]),  # noqa: E712
    "of an unpartitioned dataset": (C("v4") == "one", [(0, 1, 1)]),
    "of three datasets at once": ((C("v1") > 10) & (C("v2") > 0) & (C("v4") == "zero"), [(0, 1, 0)]),
    "not met by anything": ((C("i2") == 2) & (C("y") == 1), []),
    "on a value that no index has": (C("i2") == 99, []),
    "a column that is not asked for": (~C("i2").isin([2, 3]), [(0, 1, 1)]),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_condition(name: str) -> None:
    """A condition says which cells stay, whether or not its columns are in the result."""
    where, expected = CONDITIONS[name]
    store = shared()
    assert places(store, where=where) == places(store, where=where, columns=[]) == expected


def test_no_columns() -> None:
    """Without payload the cells are left, and datasets that add nothing are not read."""
    query = kb.query_cube(CUBE, shared(), columns=[])
    assert query.schema.names == ["p", "x", "y"]
    assert query.to_arrow().num_rows == 4
    assert {s.name for s in query.explain().sources if s.role == "unread"} == {"fine", "coarse", "global"}


def test_empty_result_keeps_its_schema() -> None:
    """No rows still have columns and types, in every form."""
    query = kb.query_cube(CUBE, shared(), where=C("x") == 9)
    assert (
        query.to_arrow().schema == query.schema == kb.query_cube(CUBE, shared(), where=C("v1") > 99).to_arrow().schema
    )
    assert (list(query.groups()), sum(batch.num_rows for batch in query.batches())) == ([], 0)
    assert list(query.to_pandas().columns) == query.to_polars().columns == query.schema.names


def test_types_survive_the_left_join() -> None:
    """A missing partner makes nulls, not other types."""
    schema = kb.query_cube(CUBE, shared()).to_arrow().schema
    assert [schema.field(name).type for name in ("i2", "v3")] == [pa.int64(), pa.bool_()]


def test_the_last_version_of_a_cell_wins() -> None:
    """After an append of the same cell its new values are seen, and no condition finds the old ones."""
    store = build()
    kb.append_to_cube(columns({"p": [0], "x": [0], "y": [0], "v1": [99], "i1": ["c"]}), CUBE, store)
    assert ask(store, where=(C("x") == 0) & (C("p") == 0), columns=["v1", "i1"]) == {"i1": ["c"], "v1": [99]}
    assert places(store, where=C("v1") == 10) == places(store, where=(C("i1") == "a") & (C("x") == 0)) == []
    assert places(store, where=C("i1") == "c") == [(0, 0, 0)]


def test_the_last_version_of_an_enrichment_wins() -> None:
    """The same holds for a dataset that restricts: the old version does not keep a cell."""
    store = build()
    kb.append_to_cube({"fine": columns({**FINE, "v2": [1.0, -1.0, 0.0]})}, CUBE, store)
    assert places(store, where=C("v2") > 0) == [(0, 1, 1)]


def test_versions_in_other_partitions_are_other_cells() -> None:
    """The same dimensions in another partition are a row of their own."""
    store = build()
    kb.append_to_cube(columns({"p": [1], "x": [1], "y": [1], "v1": [7], "i1": [None]}), CUBE, store)
    assert ask(store, where=(C("x") == 1) & (C("y") == 1), columns="v1") == {"v1": [30, 7]}


def test_projection_is_per_partition() -> None:
    """Cells that coincide without a dimension are one row in each physical partition."""
    query = kb.query_cube(CUBE, shared(), dimension_columns="x", columns="v3")
    assert query.to_arrow().to_pydict() == {"p": [0, 1, 0], "v3": [None, False, True], "x": [0, 0, 1]}


def test_conditions_on_a_projected_dimension() -> None:
    """A dimension may decide before it is projected away."""
    found = kb.query_cube(CUBE, shared(), dimension_columns=["x"], columns=[], where=C("y") == 1)
    assert found.to_arrow().to_pydict() == {"p": [0], "x": [1]}


def test_dimensions_say_how_rows_are_sorted() -> None:
    """The order of `dimension_columns` is the order of sorting."""
    found = kb.query_cube(CUBE, shared(), dimension_columns=["y", "x"], columns=[]).to_arrow()
    assert list(zip(*(found[name].to_pylist() for name in "yxp"), strict=True)) == [
        (0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 1, 0),
    ]  # fmt: skip


GROUPS: dict[str, tuple[Any, list[tuple[tuple[Any, ...], list[int]]]]] = {
    "nothing": ((), [((), [10, 40, 20, 30])]),
    "a partition column": ("p", [((0,), [10, 20, 30]), ((1,), [40])]),
    "a dimension": ("x", [((0,), [10, 40]), ((1,), [20, 30])]),
    "an index of the seed, without its nulls": ("i1", [(("a",), [10, 20]), (("b",), [40])]),
    "an index of another dataset, which restricts": ("i2", [((1,), [30]), ((2,), [20])]),
    "two columns": (["y", "p"], [((0, 0), [10, 20]), ((0, 1), [40]), ((1, 0), [30])]),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name: str) -> None:
    """Groups come in the order of their values, with sorted rows; their concatenation is the whole."""
    by, expected = GROUPS[name]
    query = kb.query_cube(CUBE, shared(), partition_by=by)
    assert [(key, table["v1"].to_pylist()) for key, table in query.groups()] == expected
    assert query.to_arrow()["v1"].to_pylist() == [value for _, values in expected for value in values]


def test_ways_to_read_agree() -> None:
    """Batches, Polars, pandas and the Arrow stream give the same rows."""
    query = kb.query_cube(CUBE, shared(), where=C("x") == 1, columns=["v1", "v2"])
    rows = query.to_arrow()
    assert pa.Table.from_batches(query.batches()).to_pylist() == rows.to_pylist()
    assert query.to_polars().to_dicts() == pa.table(query).to_pylist() == rows.to_pylist()
    assert query.to_pandas()["v1"].tolist() == rows["v1"].to_pylist()


def test_datasets_that_are_not_named_do_not_matter() -> None:
    """Only the chosen datasets give columns."""
    store = shared()
    assert kb.query_cube(CUBE, store, datasets="seed").schema.names == ["i1", "p", "v1", "x", "y"]
    assert "v3" in kb.query_cube(CUBE, store, datasets=["coarse", "seed"]).schema.names


def test_a_query_is_pinned() -> None:
    """What is committed after the query was planned does not change it."""
    store = build()
    query = kb.query_cube(CUBE, store, columns="v1")
    kb.append_to_cube(columns({"p": [0], "x": [0], "y": [0], "v1": [99], "i1": ["c"]}), CUBE, store)
    assert query.to_arrow()["v1"].to_pylist() == [10, 40, 20, 30]


def test_planning_takes_two_requests() -> None:
    """A query without indexed conditions lists the headers once and fetches them at once; data is not touched."""
    store = CountingStore(shared())
    query = kb.query_cube("c", store, where=C("p") == 1, columns="v1")
    assert dict(store.calls) == {"list_level": 1, "get_many": 1}
    assert (query.explain().files, query.cube) == (1, CUBE)


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an unknown column": ({"columns": "zz"}, UnknownColumnError, "zz"),
    "an unknown column in a condition": ({"where": C("zz") == 1}, UnknownColumnError, "zz"),
    "an unknown dimension": ({"dimension_columns": ["v1"]}, UnknownColumnError, "v1"),
    "a column of a dataset that is left out": ({"datasets": "seed", "columns": "v2"}, UnknownColumnError, "v2"),
    "a text for a number": ({"where": C("v1") == "ten"}, PredicateTypeError, "v1"),
    "a fraction for a whole number": ({"where": C("x") > 0.5}, PredicateTypeError, "x"),
    "groups by a column without an index": ({"partition_by": "v1"}, UnindexedColumnError, "v1"),
    "an unknown dataset": ({"datasets": ["seed", "zz"]}, InvalidInputError, "zz"),
    "a query without the seed": ({"datasets": "fine"}, InvalidInputError, "seed"),
    "no dimensions": ({"dimension_columns": []}, InvalidInputError, "empty"),
    "a dimension twice": ({"dimension_columns": ["x", "x"]}, InvalidInputError, "more than once"),
    "columns that would be of several cells": ({"dimension_columns": "x", "columns": "v2"}, InvalidInputError, "v2"),
    "a condition text that does not parse": ({"where": "v1 ==="}, InvalidInputError, "v1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_queries(name: str) -> None:
    """A query that does not fit the cube says what does not."""
    arguments, error, told = REFUSED[name]
    with pytest.raises(error, match=told):
        kb.query_cube(CUBE, shared(), **arguments)


def test_all_problems_are_reported_at_once() -> None:
    """A query with several faults names each of them."""
    with pytest.raises(InvalidInputError, match=r"(?s)zz.*v1") as caught:
        kb.query_cube(CUBE, shared(), columns="zz", where=C("v1") == "ten", partition_by="v2")
    assert len(caught.value.problems) == 3


def test_no_cube() -> None:
    """A cube that is not there is not found, by name or by specification."""
    for cube in ("nothing", CUBE):
        with pytest.raises(CubeNotFoundError, match="There is no cube"):
            kb.query_cube(cube, f"memory://{uuids.uuid4().hex}")


def test_everything_is_the_condition_without_one() -> None:
    """No condition, an empty text and the condition that everything matches are one."""
    store = shared()
    assert places(store) == places(store, where=EVERYTHING) == places(store, where="")


def test_any_name_may_be_a_partition_column() -> None:
    """Names that plans use for their own columns do not get in the way of the user's."""
    cube = kb.Cube("names", ["key"], ["unit"])
    rows = pa.table({"unit": ["a", "b"], "key": [1, 2], "label": [3, 4], "rows": [5, 6], "overlay": [7, 8]})
    store = f"memory://{uuids.uuid4().hex}"
    kb.build_cube(rows, cube, store)
    found = dict(kb.query_cube(cube, store, partition_by="unit").groups())
    assert {key: table["label"].to_pylist() for key, table in found.items()} == {("a",): [3], ("b",): [4]}
