"""What a cube query asks for: names and conditions checked, conditions cut per dataset, datasets that are read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kubothek.errors import (
    InvalidInputError,
    KubothekError,
    PredicateTypeError,
    UnindexedColumnError,
    UnknownColumnError,
)
from kubothek.model.condition import C, Condition
from kubothek.model.cube import Cube
from kubothek.plan.cube.members import Member, member_files_schema, merge_columns
from kubothek.plan.cube.resolve import ResolvedQuery, resolve

CUBE = Cube("cube", ("x", "y"), ("p",), index_columns=("i1", "i2"))


def member(dataset_id: str, columns: str, partition_keys: str = "p", index_columns: str = "") -> Member:
    """Build a dataset of integer columns without files."""
    schema = pa.schema([(name, pa.int64()) for name in columns.split()])
    files = member_files_schema(pa.schema([])).empty_table()
    keys, indices = tuple(partition_keys.split()), tuple(index_columns.split())
    return Member(dataset_id, f"cube++{dataset_id}", schema, keys, indices, files)


MEMBERS = (
    member("coarse", "x v3", partition_keys=""),
    member("own", "r v2 x y i2", partition_keys="r", index_columns="i2"),
    member("seed", "p v1 x y i1", index_columns="x y i1"),
    member("bare", "p x"),
)


def ask(where: Condition | None = None, **arguments: Any) -> ResolvedQuery:
    """Resolve a query of the cube above."""
    return resolve(CUBE, MEMBERS, **({} if where is None else {"where": where}), **arguments)


def shown(query: ResolvedQuery) -> list[str]:
    """Write each read as ``dataset early=… late=… inner``, without what is empty."""
    lines = []
    for read in query.reads:
        parts = [f"early={read.early}", f"late={read.late}", "inner" if read.restrictive else ""]
        lines.append(" ".join([read.member.dataset_id, *(p for p in parts if p and not p.endswith("=true"))]))
    return lines


SPLITS = {
    "nothing": (None, ["seed", "coarse", "own"]),
    "a dimension": (C("y") == 1, ["seed early=y == 1", "coarse", "own early=y == 1"]),
    "a dimension that all have": (C("x") < 1, ["seed early=x < 1", "coarse early=x < 1", "own early=x < 1"]),
    "a partition column": (C("p") == 1, ["seed early=p == 1", "coarse", "own"]),
    "seed's payload": (C("v1") == 1, ["seed late=v1 == 1", "coarse", "own"]),
    "payload": (C("v2") == 1, ["seed", "own late=v2 == 1 inner", "coarse"]),
    "own partition column": (C("r") == 1, ["seed", "own late=r == 1 inner", "coarse"]),
    "payload or dimension": ((C("v2") == 1) | (C("x") == 1), ["seed", "own late=(v2 == 1) | (x == 1) inner", "coarse"]),
    "payload or foreign dimension": ((C("v3") == 1) | (C("y") == 1), ["seed", "coarse inner", "own"]),
    "payload of two": ((C("v3") == 1) | (C("v2") == 1), ["seed", "coarse", "own"]),
    "several parts": (
        (C("v3") == 1) & (C("v2") == 1) & (C("v1") > 0),
        ["seed late=v1 > 0", "coarse late=v3 == 1 inner", "own late=v2 == 1 inner"],
    ),
}


@pytest.mark.parametrize(("where", "expected"), SPLITS.values(), ids=SPLITS)
def test_split(where: Condition | None, expected: list[str]) -> None:
    """Each part of a condition goes to the dataset that can decide it, restrictive datasets first."""
    assert shown(ask(where)) == expected


def test_after_the_joins() -> None:
    """A part that spans datasets is left for after the joins, and its columns are read though not wanted."""
    query = ask((C("v3") == 1) | (C("v2") == 1), columns=[])
    assert str(query.after) == "(v3 == 1) | (v2 == 1)"
    assert [read.schema.names for read in query.reads] == [["p", "x", "y"], ["v3"], ["v2"]]
    assert query.schema.names == ["p", "x", "y"]


def test_output_columns() -> None:
    """Results always have dimensions and partition columns, and all columns come sorted by name."""
    assert ask().schema.names == ["i1", "i2", "p", "r", "v1", "v2", "v3", "x", "y"]
    assert ask(columns="v2").schema.names == ["p", "v2", "x", "y"]
    assert ask(columns=[], partition_by="i1").schema.names == ["i1", "p", "x", "y"]


def test_unread() -> None:
    """A dataset that neither gives columns nor decides anything is not read; dimensions alone give nothing."""
    assert [m.dataset_id for m in ask(columns=["v2"]).unread] == ["bare", "coarse"]
    assert [m.dataset_id for m in ask(datasets=["seed", "own"]).unread] == ["bare", "coarse"]


def test_record() -> None:
    """What may have to be read is what is given, what conditions need, the cells and the partition columns."""
    own = ask(C("i2") == 1, columns="v2").reads[1]
    assert own.schema.names == ["v2"]
    assert own.record.names == ["r", "v2", "x", "y", "i2"]


def test_needed_indices() -> None:
    """Only indices on columns of conditions and groups are loaded, and only for datasets that are asked."""
    query = ask((C("x") == 1) & (C("v2") == 2) & (C("i2") > 3), partition_by=["i1", "i2", "p"])
    assert {d: [str(leaf) for leaf in found] for d, found in query.needed_indices.items()} == {
        "seed": ["x == 1"],
        "own": ["i2 > 3"],
    }
    assert query.needed_postings == (("seed", "i1"), ("own", "i2"))


def test_partition_by_restricts() -> None:
    """Grouping by a column of an enrichment asks for cells that it holds; its own partition column needs no index."""
    query = ask(partition_by="r", columns=[])
    assert shown(query) == ["seed", "own inner"]
    assert query.needed_postings == ()


def test_projection() -> None:
    """Dimensions may be left out where no payload hangs on them."""
    query = ask(C("y") == 1, dimension_columns="x", columns="v3")
    assert query.schema.names == ["p", "v3", "x"]
    assert shown(query) == ["seed early=y == 1", "coarse"]


REFUSED = {
    "unknown column": ({"columns": ["v1", "nope"]}, UnknownColumnError, "none of the datasets queried has: nope"),
    "unknown dimension": ({"dimension_columns": ["x", "v1"]}, UnknownColumnError, "dimension_columns names v1"),
    "unknown group": ({"partition_by": "nope"}, UnknownColumnError, "partition_by names columns that none"),
    "unknown dataset": ({"datasets": ["seed", "nope"]}, InvalidInputError, "has no dataset 'nope'"),
    "unknown condition": ({"where": C("nope") == 1}, UnknownColumnError, "nope"),
    "column of an unselected dataset": ({"where": C("v2") == 1, "datasets": "seed"}, UnknownColumnError, "v2"),
    "wrong type": ({"where": C("v1") == "a"}, PredicateTypeError, "v1"),
    "no seed": ({"datasets": ["own"]}, InvalidInputError, "'seed' is missing"),
    "no dimensions": ({"dimension_columns": []}, InvalidInputError, "must not be empty"),
    "twice": ({"partition_by": ["p", "p"]}, InvalidInputError, "names p more than once"),
    "no index": (
        {"partition_by": ["v1", "v2"]},
        UnindexedColumnError,
        "v1 (of dataset 'seed'), v2 (of dataset 'own')",
    ),
    "unordered": ({"dimension_columns": {"x", "y"}}, InvalidInputError, "ordered sequence"),
    "no name": ({"columns": ["x", 1]}, InvalidInputError, "holds 1"),
    "projected payload": ({"dimension_columns": "x", "columns": "v2"}, InvalidInputError, "columns v2 are asked for"),
    "projected condition": (
        {"dimension_columns": "x", "columns": [], "where": C("r") == 1},
        InvalidInputError,
        "columns r",
    ),
    "projected group": (
        {"dimension_columns": "x", "columns": [], "partition_by": "i1"},
        InvalidInputError,
        "columns i1",
    ),
    "projected join condition": (
        {"dimension_columns": "x", "columns": [], "where": (C("v3") == 1) | (C("y") == 1)},
        InvalidInputError,
        "y is projected away",
    ),
}


@pytest.mark.parametrize(("arguments", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_queries(arguments: dict[str, Any], kind: type[KubothekError], message: str) -> None:
    """A query that cannot be answered is refused with the error that says what to mend."""
    with pytest.raises(InvalidInputError) as caught:
        ask(**arguments)
    assert type(caught.value) is kind
    assert message in str(caught.value)


def test_all_problems_at_once() -> None:
    """Problems of all arguments are reported together."""
    with pytest.raises(InvalidInputError) as caught:
        ask(C("v1") == "a", columns="nope", partition_by=["v1", "p", "p"])
    assert [type(problem) for problem in caught.value.problems] == [
        InvalidInputError,
        UnknownColumnError,
        PredicateTypeError,
        UnindexedColumnError,
    ]


def test_merged_columns() -> None:
    """A column that one dataset has no values of takes its type from another; hidden columns are left out."""
    empty = Member("e", "cube++e", pa.schema([("x", pa.null()), ("__h", pa.int64())]), (), (), MEMBERS[0].files)
    assert merge_columns([empty, MEMBERS[0]]) == pa.schema([("v3", pa.int64()), ("x", pa.int64())])
