"""Which units a grouped scan has, and which files each of them reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kubothek.model.condition import EVERYTHING, C, Condition
from kubothek.model.read_plan import ReadPlan
from kubothek.plan.groups import ask_groups, plan_groups
from kubothek.plan.scan import ScanSubject, ask_scan, plan_scan

RECORD = pa.schema({"p": pa.int64(), "i1": pa.string(), "i2": pa.int64(), "v1": pa.float64()})
SUBJECT = ScanSubject("u", "table", RECORD, partition_keys=("p",), index_columns=("i1", "i2"))
FILES = pa.table(
    {
        "label": ["a", "b", "c"],
        "key": ["u/table/a", "u/table/b", "u/table/c"],
        "rows": [1, 2, None],
        "bytes": [10, 20, None],
        "partition/p": [2, 1, 2],
    }
)
INDICES = {
    "i1": pa.table({"i1": ["x", "y"], "partition": [["a", "b"], ["b", "c", "gone"]]}),
    "i2": pa.table({"i2": [5, 6], "partition": [["c"], ["b"]]}),
}


def grouped(by: list[str], where: Condition = EVERYTHING, columns: list[str] | None = None) -> ReadPlan:
    """Plan the groups of a scan whose indices dropped nothing."""
    question = ask_scan(SUBJECT, columns, where)
    scan = plan_scan(question, FILES, {})
    grouping = ask_groups(question, by)
    postings = {name: INDICES[name] for name in grouping.needed}
    return plan_groups(question, grouping, scan.plan, scan.plan.files[0], postings)


def units(plan: ReadPlan) -> list[tuple[Any, ...]]:
    """Return the values of each unit, and the labels of its files."""
    files = plan.files[0].to_pylist()
    values = plan.units.drop_columns(["unit"]).to_pylist()
    assert plan.units["unit"].to_pylist() == list(range(len(values)))
    return [(*v.values(), "".join(f["label"] for f in files if f["unit"] == n)) for n, v in enumerate(values)]


@pytest.mark.parametrize(
    ("by", "where", "expected"),
    [
        (["p"], EVERYTHING, [(1, "b"), (2, "ac")]),
        (["i1"], EVERYTHING, [("x", "ab"), ("y", "bc")]),
        (["i1", "p"], EVERYTHING, [("x", 1, "b"), ("x", 2, "a"), ("y", 1, "b"), ("y", 2, "c")]),
        (["i2", "i1"], EVERYTHING, [(5, "y", "c"), (6, "x", "b"), (6, "y", "b")]),
        (["i1"], C("i1") == "y", [("y", "bc")]),
        (["i1"], (C("i1") == "y") | (C("v1") > 0), [("x", "ab"), ("y", "bc")]),
        (["i1"], (C("i1") == "y") & ((C("p") == 1) | (C("v1") > 0)), [("y", "bc")]),
        (["p"], C("p") == 9, []),
        (["i2"], C("i1").is_null(), [(5, "c"), (6, "b")]),
    ],
    ids=["partition", "index", "both", "two indices", "condition", "or", "nested", "nothing", "null"],
)
def test_units(by: list[str], where: Condition, expected: list[tuple[Any, ...]]) -> None:
    """There is a unit per combination of values, sorted, with the files that may hold it."""
    assert units(grouped(by, where)) == expected


def test_files_are_in_the_order_of_units() -> None:
    """Files are listed once per unit, in ascending order of units, and then in their own."""
    files = grouped(["i1"]).files[0]
    assert (files["unit"].to_pylist(), files["label"].to_pylist()) == ([0, 0, 1, 1], ["a", "b", "b", "c"])


def test_only_indexed_columns_are_pinned() -> None:
    """Rows are compared with the values of indexed columns, which are read for it; a partition is one value."""
    plan = grouped(["p", "i1"], columns=["v1"])
    assert (plan.pinned, plan.group_by) == (((0, "i1"),), ("p", "i1"))
    assert (plan.schema.names, plan.inputs[0].record.names) == (["v1"], ["v1", "i1"])


def test_what_is_needed_of_indices() -> None:
    """Indices are needed for columns without partition, and only what the condition leaves of them."""
    question = ask_scan(SUBJECT, None, (C("i1") > "a") & (C("i1") != "b") & (C("v1") > 0))
    needed = ask_groups(question, ["p", "i1", "i2"]).needed
    assert {name: str(condition) for name, condition in needed.items()} == {
        "i1": '(i1 > "a") & (i1 != "b")',
        "i2": "true",
    }


def test_odd_indices_of_others() -> None:
    """Values that an index lists twice make one unit, and NaN makes none."""
    record = pa.schema({"i1": pa.float64()})
    subject = ScanSubject("u", "table", record, partition_keys=(), index_columns=("i1",))
    question = ask_scan(subject, None, EVERYTHING)
    scan = plan_scan(question, FILES.drop_columns(["partition/p"]), {}).plan
    values = [float("nan"), -0.0, 0.0, 0.0, None]
    index = pa.table({"i1": values, "partition": [["a"], ["b"], ["b"], ["c", "c"], ["a"]]})
    plan = plan_groups(question, ask_groups(question, ["i1"]), scan, scan.files[0], {"i1": index})
    assert units(plan) == [(0.0, "bc")]
