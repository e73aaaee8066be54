"""What a scan reads, as a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kubothek.errors import PredicateTypeError, UnknownColumnError
from kubothek.model.condition import EVERYTHING, C, Comparison, Condition
from kubothek.model.read_plan import files_schema
from kubothek.plan.explain import explain_scan
from kubothek.plan.explanation import RULES
from kubothek.plan.scan import ScanPlan, ScanQuestion, ScanSubject, ask_scan, plan_scan

RECORD = pa.schema([("p", pa.int64()), ("i1", pa.string()), ("v1", pa.float64())])
FILES = pa.table(
    {
        "label": ["a", "b", "c"],
        "key": ["u/table/a", "u/table/b", "u/table/c"],
        "rows": [1, 2, None],
        "bytes": [10, 20, None],
        "partition/p": [1, 2, 2],
    }
)


SUBJECT = ScanSubject("u", "table", RECORD, partition_keys=("p",), index_columns=("i1",))


def ask(columns: list[str] | None = None, where: Condition = EVERYTHING) -> ScanQuestion:
    """Ask for columns and rows of a dataset with an index on i1."""
    return ask_scan(SUBJECT, columns, where)


def plan(columns: list[str] | None = None, where: Condition = EVERYTHING, **hits: list[str]) -> ScanPlan:
    """Plan a scan; ``hits`` gives the labels by column."""
    question = ask(columns, where)
    found = {leaf: pa.array(hits[leaf.column], pa.string()) for leaf in question.lookups}
    return plan_scan(question, FILES, found)


def test_each_file_is_a_unit() -> None:
    """Without a condition all files are read, in the order of the header."""
    found = plan().plan
    assert found.files[0].schema == files_schema(RECORD.remove(1).remove(1))
    assert found.files[0]["unit"].to_pylist() == found.units["unit"].to_pylist() == [0, 1, 2]
    assert (found.schema, found.joins, found.order) == (RECORD, (), ())


def test_columns_of_the_condition_are_read_too() -> None:
    """The result has what was asked for; what the condition needs is read beside it."""
    [source] = plan(["v1"], C("i1") == "x", i1=["a"]).plan.inputs
    assert (source.schema.names, source.record.names, source.partition_keys) == (["v1"], ["v1", "i1"], ())


@pytest.mark.parametrize(
    ("where", "hits", "kept", "dropped"),
    [
        (C("p") == 2, {}, ["b", "c"], {"partition": ["a"]}),
        (C("i1") == "x", {"i1": ["c"]}, ["c"], {"index": ["a", "b"]}),
        ((C("i1") == "x") & (C("p") == 2), {"i1": ["a", "c"]}, ["c"], {"partition": ["a"], "index": ["b"]}),
        (C("v1") > 0, {}, ["a", "b", "c"], {}),
    ],
    ids=["partition", "index", "both", "neither"],
)
def test_dropped_files_are_listed_by_rule(
    where: Any, hits: Any, kept: list[str], dropped: dict[str, list[str]]
) -> None:
    """Each file is in the plan or under the rule that drops it, and units are numbered anew."""
    found = plan(None, where, **hits)
    assert found.plan.files[0]["label"].to_pylist() == kept
    assert found.plan.units["unit"].to_pylist() == list(range(len(kept)))
    assert {rule: t["label"].to_pylist() for rule, t in found.dropped.items() if t.num_rows} == dropped


def explained(columns: list[str] | None = None, where: Condition = EVERYTHING, **hits: list[str]) -> list[str]:
    """Return the explanation of a scan as lines of text."""
    return str(explain_scan(ask(columns, where), plan(columns, where, **hits))).splitlines()


def test_the_explanation_as_text() -> None:
    """Files and bytes to read, and the rule that drops each other file; bytes only where all are known."""
    assert explained() == ["dataset u: 3 units, 3 columns", "`- u  scan  3 of 3 files"]
    assert explained(["v1"], C("p") == 9)[2:] == [
        "`- u  scan  0 of 3 files",
        f"     3 files dropped {RULES['partition']}",
    ]
    assert explained(["v1"], (C("p") > 1) & (C("i1") == "x"), i1=["b"]) == [
        "dataset u: 1 unit, 1 column",
        'where (p > 1) & (i1 == "x")',
        "`- u  scan  1 of 3 files  20 B  2 rows",
        '     index asked for i1 == "x"',
        f"     1 file dropped {RULES['partition']}",
        f"     1 file dropped {RULES['index']}",
    ]


def test_categoricals_are_dictionaries() -> None:
    """What is given as a dictionary is so in the result and where it is read; conditions are bound to plain types."""
    question = ask_scan(SUBJECT, ["v1", "p"], C("i1") == "x", ["p", "i1"])
    found = plan_scan(question, FILES, {}).plan
    assert found.schema == pa.schema({"v1": pa.float64(), "p": pa.dictionary(pa.int32(), pa.int64())})
    assert found.inputs[0].record.field("i1").type == pa.dictionary(pa.int32(), pa.string())
    assert question.condition == Comparison("i1", "==", pa.scalar("x"))
    assert found.files[0]["partition/p"].type == pa.int64()


def test_attached_columns_are_like_partition_columns() -> None:
    """A column that only an index has is not in the result unless asked for, and decides which files are read."""
    subject = replace(SUBJECT, attached=pa.schema({"x": pa.int64()}), index_columns=("i1", "x"))
    files = FILES.append_column("partition/x", pa.array([5, None, 6]))
    question = ask_scan(subject, None, (C("x") > 5) & (C("p") == 2))
    found = plan_scan(question, files, {})
    assert (question.lookups, found.plan.schema.names) == ((), RECORD.names)
    assert found.plan.files[0]["label"].to_pylist() == ["c"]
    assert found.plan.inputs[0].partition_keys == ("p", "x")
    assert ask_scan(subject, ["x"], EVERYTHING).columns == ("x",)


def test_what_to_ask_of_indices() -> None:
    """Only what an index can decide is looked up, with literals of the column's type."""
    question = ask(where=(C("i1") == "x") & (C("p") == 1) & C("i1").is_null())
    assert question.lookups == (Comparison("i1", "==", pa.scalar("x")),)


@pytest.mark.parametrize(
    ("columns", "where", "error", "told"),
    [
        (["z1", "v1", "z2"], EVERYTHING, UnknownColumnError, "'z1', 'z2' in dataset 'u'; it has p, i1, v1"),
        (None, C("z") == 1, UnknownColumnError, "z"),
        (None, C("p") == "one", PredicateTypeError, "p"),
    ],
    ids=["columns", "condition", "type"],
)
def test_questions_that_do_not_fit(columns: Any, where: Any, error: type[Exception], told: str) -> None:
    """Names and types are checked before a file is looked at."""
    with pytest.raises(error, match=told):
        ask(columns, where)
