"""Values by which files are separated: hostile text, extreme numbers and days, encodings; what comes back."""

from __future__ import annotations

import math
import uuid as uuids
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.errors import InvalidInputError, KubothekError, NullValueError, SchemaError
from kubothek.store.open import open_store

TEXTS = [
    "a/b",
    "trail/",
    "%2F",
    "50%",
    "k=v",
    "a b",
    " ",
    "",
    "é",
    "日本",
    "😀",
    "a\nb",
    "..",
    ".",
    "+",
    "a\0b",
    "None",
]
TEXTS += ["a'b\"c", "*?[x]{y}", "\\", "~", "C:", "False", "1", "p=1/q=2"]
TIMES = ["0001-01-01 00:00:00", "1969-12-31 23:59:59.000001", "9999-12-31 23:59:59.999999"]


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


VALUES: dict[str, pa.Array] = {
    "text": pa.array(TEXTS),
    "extreme numbers": pa.array([math.inf, -math.inf, 1e308, 5e-324, 0.1, -1e-10]),
    "half floats": pa.array([0.1, 1.0], pa.float16()),
    "unsigned": pa.array([0, 2**64 - 1], pa.uint64()),
    "signed": pa.array([-(2**63), 2**63 - 1]),
    "truth": pa.array([True, False]),
    "decimals": pa.array([Decimal("1.10"), Decimal("-0.05"), Decimal("0.00")]),
    "wide decimals": pa.array([Decimal("1.10"), Decimal(-(10**50))], pa.decimal256(60, 2)),
    "days": pa.array([date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)]),
    "times": pa.array(TIMES).cast(pa.timestamp("us")),
    "bytes": pa.array([b"a/b", b"", b"%", "ü".encode()]),
    "a dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(["never", "a", "b"]).slice(1)),
    "a dictionary of numbers": pa.array([7, 5, 7]).dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([5, 6])),
    "views": pa.array(["a", "b"], pa.string_view()),
    "chunks": pa.chunked_array([["b"], [], ["a", "b"]], pa.large_string()),
}


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "as it comes"])
@pytest.mark.parametrize("kind", VALUES)
def test_values_come_back(kind: str, shuffle: bool) -> None:
    """Each distinct value is a partition, and each row has its own value again."""
    values = VALUES[kind]
    data = pa.table({"p": values, "x": range(len(values))})
    store = kb.write_dataset(data, "u", new_url(), partition_on="p", shuffle=shuffle).store
    ds = kb.open_dataset("u", store)
    assert len(ds.partitions) == len(set(values.to_pylist()))
    found = {row["x"]: row["p"] for row in ds.scan().to_arrow().to_pylist()}
    assert found == dict(enumerate(values.to_pylist()))


def test_text_in_a_directory(tmp_path: Path) -> None:
    """Any text can be a folder's name, as far as the file system can hold it; what it cannot is an error."""
    data = pa.table({"p": TEXTS, "x": range(len(TEXTS))})
    ds = kb.write_dataset(data, "u", tmp_path, partition_on="p")
    assert {row["x"]: row["p"] for row in ds.scan().to_arrow().to_pylist()} == dict(enumerate(TEXTS))
    with pytest.raises(KubothekError):
        kb.write_dataset(pa.table({"p": ["ü" * 100], "x": [1]}), "u2", tmp_path, partition_on="p")
    assert not [path for path in tmp_path.rglob("*") if "u2" in path.name]


@pytest.mark.parametrize("shuffle", [True, False], ids=["shuffled", "as it comes"])
@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0], [-0.0]], ids=str)
def test_zeros_are_one_partition(zeros: list[float], shuffle: bool) -> None:
    """The sign of a zero makes no partition, since both are equal: its text is 0.0, and a scope finds it."""
    data = pa.table({"p": [*zeros, 1.0], "x": range(len(zeros) + 1)})
    ds = kb.write_dataset(data, "u", new_url(), partition_on="p", shuffle=shuffle)
    assert [label.partition("/")[0] for label in ds.partitions] == ["p=0.0", "p=1.0"]
    assert ds.scan(where="p == 0").to_arrow().num_rows == len(zeros)
    assert len(kb.update_dataset(None, "u", ds.store, delete_scope=[{"p": -0.0}]).partitions) == 1


CATEGORIES: dict[str, Any] = {
    "pandas": lambda: pd.DataFrame({"p": pd.Categorical(["b", "a", "b"], ["never", "b", "a"]), "x": [1, 2, 3]}),
    "Polars categories": lambda: pl.DataFrame({"p": ["b", "a", "b"], "x": [1, 2, 3]}, {"p": pl.Categorical, "x": None}),
    "a Polars enumeration": lambda: pl.DataFrame(
        {"p": ["b", "a", "b"], "x": [1, 2, 3]}, {"p": pl.Enum(["never", "b", "a"]), "x": None}
    ),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_that_do_not_occur_make_no_partition(name: str) -> None:
    """Files are cut by the values that rows have."""
    ds = kb.write_dataset(CATEGORIES[name](), "u", new_url(), partition_on="p", sort_by="x", secondary_indices="x")
    assert sorted(label.partition("/")[0] for label in ds.partitions) == ["p=a", "p=b"]


def test_a_thousand_partitions() -> None:
    """A frame may be cut into many files, in the order of their values."""
    count = 1000
    data = pa.table({"p": [(7 * x) % count for x in range(count)], "x": range(count)})
    ds = kb.write_dataset(data, "u", new_url(), partition_on="p")
    assert [label.partition("/")[0] for label in ds.partitions] == [f"p={p}" for p in range(count)]


REFUSED: dict[str, tuple[pa.Array, type[Exception], str]] = {
    "nulls": (pa.array([1, None]), NullValueError, "null"),
    "NaN": (pa.array([1.0, math.nan]), NullValueError, "NaN"),
    "nulls in a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])), NullValueError, "null"
    ),
    "nothing but nulls": (pa.nulls(2), SchemaError, "type null"),
    "times of day": (pa.array([1, 2], pa.time64("us")), SchemaError, "time64"),
    "lists": (pa.array([[1], [2]]), SchemaError, "list"),
    "zone-aware times": (pa.array([1, 2], pa.timestamp("us", "UTC")), SchemaError, "zone"),
    "bytes that are no text": (pa.array([b"a", b"\xff"]), InvalidInputError, "UTF-8"),
    "days after the last": (pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()), InvalidInputError, "9999"),
    "nanoseconds": (pa.array([0, 1], pa.timestamp("ns")), SchemaError, "without loss"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_have_no_place_in_a_path(name: str) -> None:
    """They are refused by column, and nothing is left of the write."""
    values, error, told = REFUSED[name]
    store = open_store(new_url())
    with pytest.raises(error, match=f"(?s)'p'.*{told}"):
        kb.write_dataset(pa.table({"p": values, "x": range(2)}), "u", store, partition_on="p")
    assert list(store.list()) == []
