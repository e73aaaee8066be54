from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kubothek.model.header import CommitInfo, CommitState, Header
from kubothek.plan.verify import (
    ValuesByLabel,
    check_columns,
    check_index_values,
    check_labels,
    check_overwritten,
    compare_values,
)

FITS: dict[str, tuple[pa.DataType, pa.DataType]] = {
    "the same": (pa.int64(), pa.int64()),
    "narrower": (pa.int8(), pa.int64()),
    "nulls": (pa.null(), pa.string()),
    "dictionary": (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
    "nanoseconds": (pa.timestamp("ns"), pa.timestamp("us")),
    "a list of nulls": (pa.list_(pa.null()), pa.list_(pa.int64())),
    "a large list": (pa.large_list(pa.int8()), pa.list_(pa.int64())),
    "fewer digits": (pa.decimal128(5, 2), pa.decimal128(9, 3)),
    "a type that we do not write": (pa.duration("us"), pa.duration("us")),
}
MISFITS: dict[str, tuple[pa.DataType, pa.DataType]] = {
    "text for numbers": (pa.string(), pa.int64()),
    "numbers for text": (pa.int64(), pa.string()),
    "values for nulls": (pa.int64(), pa.null()),
    "floats for integers": (pa.float64(), pa.int64()),
    "signs for none": (pa.int64(), pa.uint64()),
    "more digits": (pa.decimal128(9, 3), pa.decimal128(5, 2)),
    "a zone for none": (pa.timestamp("us", "UTC"), pa.timestamp("us")),
    "a type that we do not write": (pa.duration("us"), pa.int64()),
}


def complaints(found: dict[str, pa.DataType], record: dict[str, pa.DataType]) -> list[str]:
    """Return what is said about the columns of a file."""
    schemas = pa.schema(list(record.items())), pa.schema(list(found.items()))
    return [problem.message for problem in check_columns("u", "k", *schemas)]


@pytest.mark.parametrize("case", FITS)
def test_types_that_fit(case: str) -> None:
    """What a reader widens to the type of record fits, whatever else is in the file."""
    found, record = FITS[case]
    assert complaints({"v1": found, "further": pa.int8()}, {"v1": record}) == []


@pytest.mark.parametrize("case", MISFITS)
def test_types_that_do_not(case: str) -> None:
    """Any other type is told, with the one of record."""
    found, record = MISFITS[case]
    (message,) = complaints({"v1": found}, {"v1": record})
    assert f"'v1' is {found} instead of {record}" in message


def test_all_columns_are_told() -> None:
    """One complaint per file names every column."""
    (message,) = complaints({"b": pa.string()}, {"a": pa.int64(), "b": pa.int64()})
    assert ("'a' is missing" in message, "'b' is string" in message) == (True, True)


def test_a_column_that_is_there_twice() -> None:
    """Which of both is meant cannot be told, so it is a complaint of its own."""
    found = pa.schema([("a", pa.int64()), ("a", pa.int64())])
    (problem,) = check_columns("u", "k", pa.schema([("a", pa.int64())]), found)
    assert "'a' is there 2 times" in problem.message


LABELS = [
    ("p=1/x", "u/table/p=1/x.parquet", True),
    ("p=1/x", "u/table/p=1/another.parquet", True),
    ("x", "u/table/x.parquet", True),
    ("p=1/x", "u/table/p=2/x.parquet", False),
    ("p=1/x", "u/table/x.parquet", False),
    ("x", "u/other/x.parquet", False),
]


@pytest.mark.parametrize(("label", "key", "fine"), LABELS)
def test_labels(label: str, key: str, fine: bool) -> None:
    """A partition's file lies in the folder that its label says; the file's own name is free."""
    files = pa.table({"label": [label], "key": [key]})
    assert (list(check_labels("u", "table", files)) == []) == fine


@pytest.mark.parametrize(
    ("indexed", "held", "missing", "superfluous"),
    [
        ([1, 2], [2, 1, 1, None], [], []),
        ([1], [1, 2], [2], []),
        ([1, 2], [], [], [1, 2]),
        ([0.0], [-0.0, float("nan")], [], []),
        ([Decimal("1.00")], [Decimal("1.00")], [], []),
    ],
    ids=["equal", "missing", "superfluous", "floats", "decimals"],
)
def test_values(indexed: list[Any], held: list[Any], missing: list[Any], superfluous: list[Any]) -> None:
    """An index names the distinct values that are neither null nor NaN."""
    values = pa.array(indexed)
    found = compare_values("l", "i1", values, pa.array(held, values.type))
    assert (found.missing.to_pylist(), found.superfluous.to_pylist()) == (missing, superfluous)


def test_values_by_label() -> None:
    """An index turned round gives each label its values."""
    index = ValuesByLabel("i1", pa.table({"i1": [1, 2, 3], "partition": [["b", "a"], ["b"], ["a"]]}))
    assert {label: index[label].to_pylist() for label in (*index.labels, "c")} == {"a": [1, 3], "b": [1, 2], "c": []}
    assert (
        ValuesByLabel(
            "i1", pa.table({"i1": pa.array([], pa.int64()), "partition": pa.array([], pa.list_(pa.string()))})
        )["a"].to_pylist()
        == []
    )


def test_differences_are_told_together() -> None:
    """One problem per kind counts all of them and shows some."""
    differences = [
        compare_values(f"l{i}", "i1", pa.array([0, i], pa.int64()), pa.array([0], pa.int64())) for i in range(1, 9)
    ]
    (problem,) = check_index_values("u", "i1", "k", differences)
    assert problem.kind == "superfluous_index_entries"
    assert "8 value(s)" in problem.message
    assert problem.message.count(" of 'l") == 3


def version(number: int, *labels: str, **metadata: Any) -> Header:
    """Return a header with these partitions."""
    info = CommitInfo(datetime(2026, 7, number, tzinfo=UTC), "update_dataset", "a", "l", 1, 0, 1)
    state = CommitState(number, f"c{number}", (), "1f", {}, info=info)
    return Header("u", (), pa.table({"label": pa.array(labels, pa.string())}), metadata=metadata, state=state)


OVERWRITTEN: dict[str, tuple[Header | None, Header, Header, bool]] = {
    "added": (version(1, "a"), version(2, "a", "b"), version(4, "a"), True),
    "came back": (version(1, "a"), version(2, "a", "b"), version(4, "a", "b"), False),
    "came back in part": (version(1, "a"), version(2, "a", "b", "c"), version(4, "a", "c"), False),
    "removed": (version(1, "a", "b"), version(2, "a"), version(4, "a", "b"), True),
    "removed again": (version(1, "a", "b"), version(2, "a"), version(4, "a"), False),
    "metadata": (version(1, "a", k=1), version(2, "a", k=2), version(4, "a", k=1), True),
    "nothing seen": (version(1, "a"), version(2, "a"), version(4, "a"), False),
    "first": (None, version(1, "a"), version(4, "b"), True),
    "replaced": (version(1, "a"), version(2, "b"), version(4, "c", creation_time="2026"), False),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_what_is_lost_of_an_overwritten_commit(name: str) -> None:
    """Told is a commit of which nothing is there, unless somebody has brought it back or replaced everything."""
    before, lost, now, missed = OVERWRITTEN[name]
    found = list(check_overwritten(now, lost, before, 3, "k"))
    assert [(one.kind, one.subject, one.key) for one in found] == [("overwritten_commit", "u", "k")] * missed
    said = f"update_dataset by a at 2026-07-0{lost.state.version} 00:00:00 UTC): other software put version 3"  # type: ignore[union-attr]
    assert all(said in one.message for one in found)
