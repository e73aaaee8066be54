"""Rows that the tests with other software write, and how they are laid out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa


def every_type() -> pa.Table:
    """Four rows with a column per type that all know, and nulls where pandas keeps the type in spite of them."""
    instants = [datetime(2020, 1, 1, 1, 2, 3, 4), None, datetime(1999, 12, 31), datetime(2024, 2, 29)]  # noqa: DTZ001  no zone
    return pa.table(
        {
            "p": pa.array([1, 1, 2, -3], pa.int16()),
            "q": ["a", "a b/c%", "ü=1", "東京"],
            "integer": [1, 2, None, 4],
            "unsigned": pa.array([1, 2**64 - 1, 0, 7], pa.uint64()),
            "double": [0.5, None, -1.0, 0.5],
            "bool": [True, False, None, True],
            "string": ["ü", None, "", "ü"],
            "binary": [b"a", None, b"\x00\xff", b""],
            "date": [date(2020, 1, 1), None, date(1999, 12, 31), date(2020, 1, 1)],
            "timestamp": pa.array(instants, pa.timestamp("us")),
            "instant": pa.array(instants, pa.timestamp("us", "UTC")),
            "time": [time(1, 2, 3, 4), None, time(0), time(4)],
            "decimal": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal(0)], pa.decimal128(10, 2)),
            "list": [[1, 2], [], None, [3]],
            "struct": [{"b": 1, "a": "x"}, None, {"b": None, "a": None}, {"b": 2, "a": ""}],
            "null": pa.nulls(4),
        }
    )


INDEXED = ["integer", "unsigned", "double", "bool", "string", "binary", "date", "timestamp", "instant", "decimal"]

QUESTIONS: dict[str, Any] = {
    "partition": [[("p", "==", 1)]],
    "text": [[("q", "==", "a b/c%")]],
    "index": [[("integer", "==", 4)]],
    "text index": [[("string", "==", "ü")]],
    "day": [[("date", ">=", date(2020, 1, 1))]],
    "or": [[("p", ">", 1)], [("double", "<", 0.6)]],
}


def months(*numbers: int, add: float = 0.0) -> pa.Table:
    """Two rows for each of these partitions."""
    p = [number for number in numbers for _ in range(2)]
    return pa.table(
        {
            "p": p,
            "i1": [number % 2 if i % 2 else 100 + number for i, number in enumerate(p)],
            "s": [f"ü{i % 2}" for i in range(len(p))],
            "v1": pa.array([None if i % 2 else number + add for i, number in enumerate(p)], pa.float64()),
            "t": pa.array([datetime(2024, number, 1) for number in p], pa.timestamp("us")),  # noqa: DTZ001  no zone
        }
    )


SETTINGS: Mapping[str, Any] = {"partition_on": ["p"], "secondary_indices": ["i1"]}


def pairs(values: list[Any], labels: list[str]) -> set[tuple[Any, str]]:
    """Combine values and labels, without nulls and without the names of files."""
    return {(v, label.rpartition("/")[0]) for v, label in zip(values, labels, strict=True) if v is not None}
