"""Partition values read back from keys, ours and Kartothek's."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec.header import decode_header
from kubothek.codec.keys import schema_key
from kubothek.codec.partition_values import infer_partition_keys, partition_values
from kubothek.codec.schema import decode_schema
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import FILE_PREFIX, Header

moment = dt.datetime.fromisoformat
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, wanted: value in wanted,
}


def decode(text: str, t: pa.DataType) -> Any:
    """Read one value of partition column ``p``."""
    keys = pa.array([f"d/table/p={text}/f.parquet"])
    return partition_values(keys, "d", "table", ["p"], pa.schema([("p", t)]))["p"][0].as_py()


@pytest.mark.parametrize(
    ("text", "t", "value"),
    [
        ("False", pa.bool_(), False),
        ("true", pa.bool_(), True),
        ("1", pa.float64(), 1.0),
        ("1e%2B300", pa.float64(), 1e300),
        ("2020-01-01", pa.date32(), dt.date(2020, 1, 1)),
        ("0001-01-01", pa.date32(), dt.date(1, 1, 1)),
        ("2020-01-01%2000%3A00%3A00", pa.date32(), dt.date(2020, 1, 1)),
        ("2020-01-01", pa.timestamp("us"), moment("2020-01-01")),
        ("2020-01-01T01%3A02%3A03", pa.timestamp("us"), moment("2020-01-01 01:02:03")),
        ("2020-01-01%2001%3A02%3A03.123456789", pa.timestamp("us"), moment("2020-01-01 01:02:03.123456")),
        ("2020-01-01%2001%3A00%3A00%2B01%3A00", pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        ("1.1", pa.decimal128(5, 2), decimal.Decimal("1.10")),
        ("0E-7", pa.decimal128(9, 7), decimal.Decimal("0E-7")),
        ("a%2fb+c", pa.string(), "a/b+c"),
        ("", pa.string(), ""),
        ("%C3%BC", pa.binary(), "ü".encode()),
    ],
)
def test_texts_are_read_by_the_type_of_the_schema(text: str, t: pa.DataType, value: Any) -> None:
    """Also in spellings that only other writers use."""
    assert decode(text, t) == value


@pytest.mark.parametrize(
    ("text", "t"),
    [
        ("x", pa.int64()),
        ("1.5", pa.int64()),
        ("-1", pa.uint64()),
        ("", pa.float64()),
        ("2020-01-01%2012%3A00%3A00", pa.date32()),
        ("%FF", pa.string()),
        ("maybe", pa.bool_()),
        ("a", pa.null()),
    ],
)
def test_texts_of_another_type_are_corrupt(text: str, t: pa.DataType) -> None:
    """The error names the file."""
    with pytest.raises(CorruptDatasetError, match="in its path for partition column 'p'") as caught:
        decode(text, t)
    assert caught.value.key == f"d/table/p={text}/f.parquet"


@pytest.mark.parametrize(
    "key", ["d/table/f", "d/table/q=1/f", "d/table/p=1/p=1/f", "d/table/p=1/r=2/f", "d/table/p%FF=1/f"]
)
def test_keys_of_another_shape_are_corrupt(key: str) -> None:
    """Neither a missing nor a further nor another column is guessed away."""
    with pytest.raises(CorruptDatasetError) as caught:
        partition_values(pa.array(["d/table/p=1/f", key]), "d", "table", ["p"], pa.schema([("p", pa.int64())]))
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ("table", ["d/table/p=a=b/f", "d/table/p=a/f"]),
        ("table", ["d/table/f", "d/table/p=a/b/f"]),
        ("p=1", ["d/p=1/f", "d/p=1/p=a/b/f"]),
        ("p=1", ["d/p=1/p=a/b/f", "d/p=1/f"]),
    ],
)
def test_keys_that_only_together_have_the_usual_shape_are_corrupt(table: str, keys: list[str]) -> None:
    """As many slashes as there should be, in the wrong keys, and a value that would be another text."""
    wrong = next(key for key in keys if key in ("d/table/p=a=b/f", f"d/{table}/f"))
    with pytest.raises(CorruptDatasetError) as caught:
        partition_values(pa.array(keys), "d", table, ["p"], pa.schema([("p", pa.string())]))
    assert caught.value.key == wrong


def test_a_partition_column_must_be_in_the_schema() -> None:
    """Without its type there is no value."""
    with pytest.raises(CorruptDatasetError, match="no such column"):
        partition_values(pa.array(["d/table/p=1/f"]), "d", "table", ["p"], pa.schema([]))


def test_pieces_without_exactly_one_equals_sign_are_skipped() -> None:
    """Kartothek once left the slash of a value as it was, and still reads such keys in this way."""
    keys = pa.chunked_array([["d/table/p=a/b/f", "d/table/p=c/f"], [None, "d/table/p=a/x=y=z/f"]])
    values = partition_values(keys, "d", "table", ["p"], pa.schema([("p", pa.string())]))
    assert values["p"].to_pylist() == ["a", "c", None, "a"]


def test_columns_are_found_by_name_however_quoted() -> None:
    """Another writer may quote more than we do, and differently."""
    schema = pa.schema([("p", pa.int64()), ("q-", pa.string())])
    values = partition_values(pa.array(["d/table/%70=1/q%2d=%7e/f"]), "d", "table", ["p", "q-"], schema)
    assert {name: v.to_pylist() for name, v in values.items()} == {"p": [1], "q-": ["~"]}


TEXTS = st.text("ab=/%ü ~.", max_size=3)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["f", "g=1", "ü"])), max_size=6), st.integers(0, 2))
def test_many_keys_give_the_values_that_they_were_made_of(rows: list[tuple[str, str, str]], skipped: int) -> None:
    """Whatever is in a value or in the name of a file, and wherever in a longer array the keys lie."""
    keys = pa.array([f"d/table/p={quote(p, safe='')}/q%20q={quote(q, safe='')}/{file}" for p, q, file in rows])
    schema = pa.schema([("p", pa.string()), ("q q", pa.string())])
    found = partition_values(keys.cast(pa.string()).slice(skipped), "d", "table", ["p", "q q"], schema)
    assert [*zip(*(values.to_pylist() for values in found.values()), strict=True)] == [
        (p, q) for p, q, _ in rows[skipped:]
    ]


def test_no_partition_columns_mean_no_values() -> None:
    """Whatever the keys look like."""
    assert partition_values(pa.array(["d/table/f"]), "d", "table", [], pa.schema([])) == {}


def test_partition_columns_follow_from_a_key() -> None:
    """For headers that do not list them."""
    assert infer_partition_keys("d/table/p=1/q%20q=a/b/f.parquet", "d", "table") == ("p", "q q")
    with pytest.raises(CorruptDatasetError):
        infer_partition_keys("e/table/p=1/f.parquet", "d", "table")


def tagged(value: dict[str, Any]) -> Any:
    """Return the Python value of a tagged value of the corpus."""
    kinds: dict[str, Callable[[Any], Any]] = {
        "float": float,
        "bytes": base64.b64decode,
        "date": dt.date.fromisoformat,
        "timestamp": moment,
        "decimal": decimal.Decimal,
        "list": lambda items: [tagged(item) for item in items],
    }
    return kinds.get(value["t"], lambda v: v)(value["v"])


def partitioned(corpus: Path) -> Iterator[tuple[dict[str, Any], Header, dict[str, pa.Array]]]:
    """Give the cases, header and partition values of each dataset of the corpus that has some."""
    for path in sorted(corpus.glob("ds_*/cases.json")):
        cases = json.loads(path.read_bytes())
        store, uuid = path.parent / "store", cases["dataset_uuid"]
        header = decode_header((store / cases["metadata_file"]).read_bytes(), cases["metadata_file"])
        if header.tables and header.partition_keys and header.partitions is not None:
            table = header.tables[0]
            key = schema_key(uuid, table)
            schema = decode_schema((store / key).read_bytes(), key)
            keys = header.partitions[FILE_PREFIX + table]
            yield cases, header, partition_values(keys, uuid, table, header.partition_keys, schema)


def test_index_cases_of_kartothek_select_the_same_labels(corpus: Path) -> None:
    """Comparing the decoded values gives the labels that Kartothek's partition index gave."""
    checked = 0
    for cases, header, values in partitioned(corpus):
        labels = header.partitions["label"].to_pylist()
        for case in (c for c in cases["index_cases"] if c["column"] in values and "labels" in c["expect"]):
            compare, wanted = OPERATORS[case["op"]], tagged(case["value"])
            found = [v for v in zip(labels, values[case["column"]].to_pylist(), strict=True) if compare(v[1], wanted)]
            assert sorted(label for label, _ in found) == case["expect"]["labels"], (header.uuid, case)
            checked += 1
    assert checked > 50
