"""Queries of cubes of many shapes, by name: each answer is that of the plain-Python reference, order included.

Cubes differ in how their datasets lie; questions are asked of all cubes that can answer them.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import C
from kubothek.errors import InvalidInputError, PredicateTypeError, UnindexedColumnError, UnknownColumnError
from kubothek.model.where import parse_where
from kubothek.testing.reference_cube import ReferenceCube

Rows = list[dict[str, Any]]
XY = kb.Cube("c", ["x", "y"], ["p"], index_columns=["i1", "i2"])
PQ = kb.Cube("c", ["x", "y"], ["p", "q"], index_columns=["i1", "i2"])


@dataclass(frozen=True)
class Shape:
    """What is built, what is appended then, and by which columns files lie apart where not by the cube's."""

    built: Mapping[str, Rows]
    appended: Sequence[Mapping[str, Rows]] = ()
    partition_on: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cube: kb.Cube = XY

    def write(self) -> tuple[str, ReferenceCube]:
        """Write it to a store, and tell the reference."""
        store, reference = f"memory://{uuids.uuid4().hex}", ReferenceCube(self.cube)
        for number, data in enumerate([self.built, *self.appended]):
            tables = {name: pa.Table.from_pylist(rows) for name, rows in data.items()}
            if number:
                kb.append_to_cube(tables, self.cube, store)
            else:
                kb.build_cube(tables, self.cube, store, partition_on=dict(self.partition_on) or None)
            for name, table in tables.items():
                reference.write(name, table.column_names, table.to_pylist())
        return store, reference


def cells(count: int, first: int = 0) -> Rows:
    """Cells of three values of x, in rows of y, in two partitions."""
    return [{"x": n % 3, "y": n // 3, "p": n % 2} for n in range(first, first + count)]


SEED = [row | {"v1": n, "i1": "ab"[n % 2] if n % 5 else None} for n, row in enumerate(cells(9))]
FINE = [row | {"v2": n % 4 if n % 3 else None, "i2": n % 2} for n, row in enumerate(cells(11, 1))]
BY_X = [{"x": n, "v3": n} for n in range(5)]
BY_Y = [{"y": n, "p": n % 2, "v4": str(n)} for n in range(2)]
PQ_SEED = [{**row, "q": "uv"[n % 3 % 2]} for n, row in enumerate(SEED)]
PQ_FINE = [{"x": n % 3, "y": n // 3, "q": "uv"[n % 2], "v2": n, "i2": n % 2} for n in range(9)]
PQ_COARSE = [{"x": n, "p": n % 2, "q": "u", "v3": n} for n in range(3)]
NEWER = [{**row, "v1": row["v1"] + 100, "i1": "c"} for row in SEED[:4]]

SHAPES = {
    "coarser datasets, not partitioned and by the cube's column": Shape(
        {"seed": SEED, "fine": FINE, "by_x": BY_X, "by_y": BY_Y}, partition_on={"by_x": []}
    ),
    "datasets partitioned by columns of their own": Shape(
        {"seed": SEED, "fine": [{**row, "r": row["x"]} for row in FINE], "by_x": [{**r, "s": "a/b"} for r in BY_X]},
        partition_on={"by_x": ["s"], "fine": ["r", "p"]},
    ),
    "datasets partitioned by dimensions": Shape(
        {"seed": SEED, "fine": FINE, "by_x": BY_X}, partition_on={"by_x": ["x"], "fine": ["p", "y"]}
    ),
    "a dataset whose only payload is its partition column": Shape(
        {"seed": SEED, "fine": FINE, "by_x": [{"x": n, "v3": n % 2} for n in range(3)]}, partition_on={"by_x": ["v3"]}
    ),
    "cells written again in all datasets": Shape(
        {"seed": SEED, "fine": FINE, "by_x": BY_X},
        [
            {"seed": NEWER, "fine": [{**row, "v2": 9, "i2": 7} for row in FINE[:3]], "by_x": BY_X[3:]},
            {"seed": [{**SEED[2], "v1": 0, "i1": None}], "by_x": [{"x": 1, "v3": 0}]},
        ],
        {"by_x": []},
    ),
    "cells written again in another partition of the dataset's own": Shape(
        {"seed": SEED, "fine": FINE, "by_x": [{"x": n, "v3": 0} for n in range(3)]},
        [{"seed": NEWER, "by_x": [{"x": n, "v3": 1} for n in range(2)]}],
        {"by_x": ["v3"]},
    ),
    "two partition columns, of which the others have one or all": Shape(
        {"seed": PQ_SEED, "fine": PQ_FINE, "by_x": PQ_COARSE}, [{"seed": PQ_SEED[:2]}], {"fine": ["q"]}, PQ
    ),
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "no columns": {"columns": []},
    "columns of one dataset": {"columns": "v3"},
    "columns that are there anyway": {"columns": ["x", "p"]},
    "some datasets": {"datasets": ["seed", "fine"]},
    "a dimension less": {"dimension_columns": "x", "columns": []},
    "a dimension less, of a coarser dataset": {"dimension_columns": "x", "columns": "v3"},
    "a condition on the dimension that goes": {"dimension_columns": ["y"], "columns": [], "where": C("x") == 1},
    "dimensions in another order": {"dimension_columns": ["y", "x"]},
    "by a dimension": {"partition_by": "x"},
    "by both dimensions": {"partition_by": ["y", "x"]},
    "by the dimension that goes": {"dimension_columns": "x", "columns": [], "partition_by": "y"},
    "by a dimension and a partition column": {"partition_by": ["x", "p"]},
    "by an index of the seed": {"partition_by": "i1"},
    "by an index of another dataset": {"partition_by": "i2"},
    "by indices of two datasets": {"partition_by": ["i2", "i1"], "columns": "v1"},
    "by an index, of rows that another allows": {"partition_by": "i1", "where": C("i2") == 1},
    "one dataset or another": {"where": (C("v1") > 5) | (C("v2") == 1)},
    "neither": {"where": ~((C("v1") > 5) | (C("v2") == 1))},
    "not all of three": {"where": ~((C("v1") > 2) & (C("v2") == 1) & (C("v3") > 0))},
    "or, and two datasets more": {"where": ((C("v1") > 5) | (C("v2") == 1)) & (C("v3") != 2) & (C("x") < 2)},
    "null of a dataset that has the cell": {"where": C("v2").is_null()},
    "not null": {"where": ~C("v2").is_null()},
    "null or null": {"where": C("v2").is_null() | C("v3").is_null()},
    "a dimension or a dataset without it": {"where": (C("v3") > 0) | (C("y") == 1)},
    "an index for null": {"where": C("i1").is_null()},
    "an index for null or a value": {"where": C("i1").isin(["a", None])},
    "an index for other values": {"where": C("i1") != "a"},
    "an interval open at both ends": {"where": C("v2").in_interval()},
    "everything, in words": {"where": "true"},
    "nothing, in words": {"where": "false"},
    "a text": {"where": "v2 between 1 and 3 and not x = 1"},
    "lists": {"where": [[("v1", ">", 5), ("x", "in", [0, 1])], [("v3", "==", 1)]]},
    "JSON": {"where": {"or": [{"column": "v3", "op": "==", "value": 1}, {"column": "v1", "op": "<", "value": 2}]}},
}


@cache
def written(name: str) -> tuple[str, ReferenceCube]:
    """Return the store and the reference of a shape that nobody changes."""
    return SHAPES[name].write()


def grouped(query: kb.Query) -> list[tuple[Any, Rows]]:
    """Return the groups of a query as the reference gives them."""
    return [(key, rows.to_pylist()) for key, rows in query.groups()]


def expected(reference: ReferenceCube, question: Mapping[str, Any]) -> list[tuple[Any, Rows]]:
    """Ask the reference, which takes lists of names and conditions only."""
    plain = {name: (value,) if isinstance(value, str) else value for name, value in question.items() if name != "where"}
    return reference.query(**plain, where=parse_where(question.get("where")))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_is_that_of_the_reference(shape: str, question: str) -> None:
    """Groups, their keys and order, rows, their columns and order."""
    store, reference = written(shape)
    asked = QUESTIONS[question]
    assert grouped(kb.query_cube(SHAPES[shape].cube, store, **asked)) == expected(reference, asked)


GROUPED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "dates": (pa.date32(), [date(2020, 2, 29), None, date(1969, 12, 31)]),
    "times": (pa.timestamp("us"), [datetime(2020, 1, 1, 5), None, datetime(1960, 1, 1)]),  # noqa: DTZ001  no zone
    "times with a zone": (pa.timestamp("us", "UTC"), [datetime(2020, 1, 1, 5, tzinfo=UTC), None]),
    "times of day": (pa.time64("us"), [time(1), None, time(0)]),
    "texts": (pa.string(), ["ü/a b", None, ""]),
    "bytes": (pa.binary(), [b"\0a", None, b""]),
    "bools": (pa.bool_(), [True, None, False]),
    "decimals": (pa.decimal128(6, 2), [Decimal("1.10"), None, Decimal("-2.00")]),
    "floats": (pa.float64(), [1.5, None, -0.5, float("inf"), float("-inf")]),
    "large integers": (pa.uint64(), [2**64 - 1, None, 0]),
}


def typed(kind: pa.DataType, values: Sequence[Any]) -> tuple[str, ReferenceCube]:
    """Build a cube with an index of a type in the seed, and another in a dataset that lacks a cell."""
    held = [values[n % len(values)] for n in range(6)]
    place = {"x": pa.array(range(6)), "y": pa.array([0] * 6), "p": pa.array([0, 1] * 3)}
    seed = pa.table({**place, "i1": pa.array(held, kind)})
    fine = pa.table({**place, "i2": pa.array(held, kind)}).slice(1)
    store, reference = f"memory://{uuids.uuid4().hex}", ReferenceCube(XY)
    kb.build_cube({"seed": seed, "fine": fine}, XY, store)
    for name, table in (("seed", seed), ("fine", fine)):
        reference.write(name, table.column_names, table.to_pylist())
    return store, reference


@pytest.mark.parametrize("name", GROUPED)
def test_groups_by_values_of_any_type(name: str) -> None:
    """A column of any flat type can group, restrict, and be compared; its nulls are in no group."""
    kind, values = GROUPED[name]
    store, reference = typed(kind, values)
    for asked in (
        {"partition_by": ["i1"]},
        {"partition_by": ["i2", "p"]},
        {"partition_by": ["i2", "i1"], "where": C("i1") == values[0]},
        {"where": (C("i2") != values[0]) & ~C("i1").is_null()},
        {"where": C("i2").isin([values[0], None])},
    ):
        assert grouped(kb.query_cube(XY, store, **asked)) == expected(reference, asked)


def test_nan_is_in_no_group_and_zeros_are_in_one() -> None:
    """An index holds no NaN, as it holds no null; zeros are equal whatever their sign."""
    store, _ = typed(pa.float64(), [0.0, float("nan"), -0.0])
    for column, places in (("i1", [0, 2, 3, 5]), ("i2", [2, 3, 5])):
        [(key, rows)] = kb.query_cube(XY, store, partition_by=column).groups()
        assert (key, rows["x"].to_pylist()) == ((0.0,), places)


def emptied(*dataset_ids: str) -> tuple[str, ReferenceCube]:
    """Build a cube, and delete all rows of some of its datasets."""
    store, reference = Shape({"seed": SEED, "fine": FINE}).write()
    for dataset_id in dataset_ids:
        kb.update_dataset(None, f"c++{dataset_id}", store, delete_scope=[{"p": 0}, {"p": 1}])
        reference.datasets[dataset_id].rows.clear()
    return store, reference


@pytest.mark.parametrize("dataset_ids", [["seed"], ["fine"], ["seed", "fine"]], ids="-".join)
def test_datasets_without_files(dataset_ids: list[str]) -> None:
    """Without a seed there are no cells; without an enrichment there are nulls, and nothing where it restricts."""
    store, reference = emptied(*dataset_ids)
    for asked in (
        {},
        {"partition_by": ["i2"]},
        {"where": C("v2").is_null()},
        {"where": C("v2").is_null() | (C("x") > 1)},
    ):
        query = kb.query_cube(XY, store, **asked)
        assert grouped(query) == expected(reference, asked)
        assert (
            query.to_arrow().schema
            == query.schema
            == kb.query_cube(XY, written(next(iter(SHAPES)))[0], datasets=["seed", "fine"]).schema
        )


def odd() -> str:
    """Build a cube, and put datasets beside it as other software may: without files, values, or visible payload."""
    store = f"memory://{uuids.uuid4().hex}"
    cube = kb.Cube("c", "x", "p")
    kb.build_cube(pa.table({"x": [0, 1], "p": [0, 1], "v1": [5, 6]}), cube, store)
    kb.create_empty_dataset(
        pa.schema([("x", pa.int64()), ("p", pa.int64()), ("v2", pa.string())]), "c++none", store, partition_on="p"
    )
    kb.write_dataset(pa.table({"x": pa.nulls(1), "p": [1], "v3": [1]}), "c++nowhere", store, partition_on="p")
    kb.write_dataset(pa.table({"x": [0, 1], "v4": pa.nulls(2)}), "c++null", store)
    kb.write_dataset(
        pa.table({"x": [1], "p": [1], "__h": [1], "KLEE_TS": [4], "v5": [1.5]}), "c++old", store, partition_on="p"
    )
    return store


ODD: dict[str, tuple[Any, list[int]]] = {
    "everything": (None, [0, 1]),
    "a dataset without files": (C("v2") == "a", []),
    "a dataset without files, for null": (C("v2").is_null(), []),
    "a dataset without files, beside another": (C("v2").is_null() | (C("v1") > 99), [0, 1]),
    "a dataset without a dimension's values": (C("v3") == 1, []),
    "a column without values": (C("v4").is_null(), [0, 1]),
    "a column without values, for one": (C("v4") == 1, []),
    "a column without values, for another": (C("v4") != 1, [0, 1]),
    "a dataset with hidden columns": (C("v5") > 1, [1]),
}


@pytest.mark.parametrize("name", ODD)
def test_datasets_that_other_software_may_write(name: str) -> None:
    """They are joined by the same rules; columns that they hide are not seen."""
    where, places = ODD[name]
    query = kb.query_cube("c", odd(), where=where)
    assert query.schema.names == ["p", "v1", "v2", "v3", "v4", "v5", "x"]
    assert query.to_arrow()["x"].to_pylist() == places


@pytest.mark.parametrize("asked", [{"columns": "KLEE_TS"}, {"where": "__h == 1"}], ids=["columns", "where"])
def test_hidden_columns_are_not_there(asked: dict[str, Any]) -> None:
    """Nobody can ask for what is hidden."""
    with pytest.raises(UnknownColumnError):
        kb.query_cube("c", odd(), **asked)


@pytest.mark.parametrize("count", [1, 2, 10, 50])
def test_many_enrichments(count: int) -> None:
    """Each adds its column, where it has the cell."""
    cube = kb.Cube("c", "x", "p")
    data = {f"e{m}": [{"x": n, "p": n % 2, f"v{m}": n * m} for n in range(m % 5 + 1)] for m in range(count)}
    store, reference = Shape({"seed": [{"x": n, "p": n % 2, "v": n} for n in range(5)], **data}, cube=cube).write()
    for asked in ({}, {"where": (C("v0") >= 0) | (C(f"v{count - 1}") > 3)}, {"where": C(f"v{count - 1}") >= 0}):
        assert grouped(kb.query_cube(cube, store, **asked)) == expected(reference, asked)


def test_names_in_any_script() -> None:
    """Columns may have any name, in texts too."""
    cube = kb.Cube("c", ["größe", "日"], ["月 x"], index_columns=["索引"])
    seed = [
        {"größe": n % 2, "日": f"日{n // 2}", "月 x": f"ä/ö {n % 2}", "索引": f"é{n % 2}", "partition/x": n}
        for n in range(4)
    ]
    store, reference = Shape({"seed": seed, "e": [{"日": "日0", "漢": 1.5}]}, partition_on={"e": []}, cube=cube).write()
    for asked in ({"partition_by": ["索引", "日"]}, {"where": "größe = 1 and 漢 is not null and `月 x` == 'ä/ö 1'"}):
        assert grouped(kb.query_cube(cube, store, **asked)) == expected(reference, asked)


def test_groups_may_be_left_early() -> None:
    """A consumer that has seen enough stops what is being read, and may begin again."""
    query = kb.query_cube(XY, written(next(iter(SHAPES)))[0], partition_by="x")
    groups = query.groups()
    assert next(groups)[0] == (0,)
    groups.close()
    assert list(groups) == []
    assert [key for key, _ in query.groups()] == [(0,), (1,), (2,)]


def test_every_problem_is_named_at_once() -> None:
    """One error tells all that is wrong with a query, as far as it can be made out."""
    with pytest.raises(InvalidInputError) as caught:
        kb.query_cube(
            XY,
            written(next(iter(SHAPES)))[0],
            where=(C("v1") == "ten") & (C("v22") > 1),
            datasets=["seed", "zz"],
            dimension_columns=["x", "z"],
            partition_by=["v1", "p", "p"],
            columns=["v9", 3],
        )
    told = str(caught.value)
    assert [
        text
        for text in ("zz", "names z,", "p more than once", "holds 3", "v9", "ten", "v22", "index", "on v1")
        if text not in told
    ] == []
    kinds = {type(problem) for problem in caught.value.problems}
    assert kinds >= {InvalidInputError, UnknownColumnError, UnindexedColumnError, PredicateTypeError}


@pytest.mark.parametrize("where", ["v1 <", "v1 == 2020-13-01", [[("v1", "~", 1)]], {"column": "v1"}, 5], ids=str)
def test_a_condition_that_is_none_is_named_with_the_rest(where: Any) -> None:
    """What cannot be read as a condition does not hide what is wrong elsewhere."""
    with pytest.raises(InvalidInputError, match=r"(?s)problems.*v9") as caught:
        kb.query_cube(XY, written(next(iter(SHAPES)))[0], where=where, columns="v9")
    assert len(caught.value.problems) == 2
