from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kubothek.plan.verify import ValuesByLabel, check_columns, check_index_values, check_labels, compare_values

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
