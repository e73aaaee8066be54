"""Indices: what they hold after writes and deletes, and how little of them a lookup reads."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec.index import embedded_values, encode_index, read_index
from kubothek.errors import CorruptDatasetError, InvalidInputError, SchemaError
from kubothek.model.condition import Comparison, IsIn
from kubothek.plan.index_merge import index_from_postings, merge_index

VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "int64": (pa.int64(), st.integers(-3, 3)),
    "uint64": (pa.uint64(), st.sampled_from([0, 1, 2**64 - 1])),
    "float64": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.inf, -math.inf, math.nan])),
    "string": (pa.string(), st.sampled_from(["", "a", "ü", "a/b"])),
    "binary": (pa.binary(), st.sampled_from([b"", b"\x00", b"\xff"])),
    "date32": (pa.date32(), st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 3))),
    "timestamp": (
        pa.timestamp("us"),
        st.datetimes(dt.datetime.fromisoformat("1969-12-31 23:59:59"), dt.datetime.fromisoformat("1970-01-01")),
    ),
    "timestamp UTC": (pa.timestamp("us", "UTC"), st.just(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))),
    "time": (pa.time64("us"), st.sampled_from([dt.time(1), dt.time(2)])),
    "decimal": (pa.decimal128(5, 2), st.sampled_from([decimal.Decimal("1.10"), decimal.Decimal("-2.00")])),
}
Posting = tuple[Any, str]


def postings_of(data: st.DataObject, strategy: st.SearchStrategy[Any], labels: str) -> list[Posting]:
    """Draw pairs of value or null, and label."""
    return data.draw(st.lists(st.tuples(st.none() | strategy, st.sampled_from(labels)), max_size=12))


def expected(postings: Iterable[Posting]) -> list[tuple[Any, list[str]]]:
    """Build the index of these postings in plain Python."""
    index: dict[Any, set[str]] = {}
    for value, label in postings:
        if value is not None and not (isinstance(value, float) and math.isnan(value)):
            index.setdefault(value, set()).add(label)
    return [(value, sorted(labels)) for value, labels in sorted(index.items())]


def build(postings: list[Posting], t: pa.DataType) -> pa.Table:
    """Build the index of these postings with the library."""
    return index_from_postings(
        "i1", pa.array([v for v, _ in postings], t), pa.array([p for _, p in postings], pa.string())
    )


def entries(index: pa.Table) -> list[tuple[Any, list[str]]]:
    """Return an index as Python values."""
    return list(zip(index["i1"].to_pylist(), index["partition"].to_pylist(), strict=True))


def read(data: bytes, t: pa.DataType, condition: Any = None) -> pa.Table:
    """Read an index from bytes."""
    return read_index(pa.BufferReader(data), "d/indices/i1/x", "i1", t, condition)


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_an_index_is_the_sorted_postings(name: str, data: st.DataObject) -> None:
    """Merged, written and read back it is what plain Python makes of the same pairs."""
    t, strategy = VALUES[name]
    base, added = postings_of(data, strategy, "abc"), postings_of(data, strategy, "cde")
    removed = data.draw(st.lists(st.sampled_from("abc"), max_size=2))
    merged = merge_index("i1", build(base, t), build(added, t), pa.array(removed, pa.string()))
    assert entries(merged) == expected([*((v, p) for v, p in base if p not in removed), *added])
    assert read(encode_index("i1", [merged]), t) == merged
    assert merged.schema == pa.schema([("i1", t), ("partition", pa.list_(pa.string()))])


def test_merging_with_nothing_changes_nothing() -> None:
    """Either side may be absent, but not both."""
    index = build([(1, "a"), (2, "a")], pa.int64())
    assert merge_index("i1", index, None, None) == index
    assert merge_index("i1", None, index, pa.array(["a"])) == index
    assert merge_index("i1", index, None, pa.chunked_array([["a"]])).num_rows == 0
    with pytest.raises(InvalidInputError):
        merge_index("i1", None, None, None)


def test_types_are_normalised_and_must_agree() -> None:
    """A narrower type is the same type; another one is an error."""
    narrow = pa.table(
        {"i1": pa.array([1], pa.int8()), "partition": pa.array([["a"]], pa.large_list(pa.large_string()))}
    )
    assert entries(merge_index("i1", narrow, build([(1, "b")], pa.int64()), None)) == [(1, ["a", "b"])]
    with pytest.raises(SchemaError, match="holds int64, but the new values are string"):
        merge_index("i1", narrow, build([("1", "b")], pa.string()), None)


@pytest.mark.parametrize("t", [pa.null(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])], ids=str)
def test_values_without_order_have_no_index(t: pa.DataType) -> None:
    """As in Kartothek."""
    with pytest.raises(SchemaError):
        index_from_postings("i1", pa.nulls(1, t), pa.array(["a"]))


def test_a_column_may_not_have_the_name_of_the_labels() -> None:
    """The format has one name for them."""
    with pytest.raises(InvalidInputError):
        index_from_postings("partition", pa.array([1]), pa.array(["a"]))


def test_a_lookup_reads_one_row_group() -> None:
    """Footer and one row group of a large index are read, whatever the value."""
    n = 100_000
    index = index_from_postings("i1", pa.array(range(n)), pa.array([f"p={i % 100}/x" for i in range(n)]))
    data = encode_index("i1", [index])
    seen: list[int] = []

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            found = super().read(size)
            seen.append(len(found))
            return found

    file = pa.PythonFile(Counting(data), mode="r")
    found = read_index(file, "k", "i1", pa.int64(), Comparison("i1", "==", pa.scalar(77_777)))
    assert entries(found) == [(77_777, ["p=77/x"])]
    assert sum(seen) < 2**16 + len(data) / 8  # Arrow reads 64 KiB at the end, to have the footer at once
    assert pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0).num_rows == 8192


def test_only_matching_entries_are_returned() -> None:
    """Rows of the row groups that were read are filtered too."""
    data = encode_index("i1", [build([("a", "1"), ("b", "1"), ("c", "2")], pa.string())])
    condition = IsIn("i1", pa.array(["c", "a", "z"]))
    assert entries(read(data, pa.string(), condition)) == [("a", ["1"]), ("c", ["2"])]
    assert read(data, pa.string(), Comparison("i1", ">", pa.scalar("x"))).num_rows == 0


@pytest.mark.parametrize("step", [1, 977, 10**9], ids=["all", "some", "one"])
def test_values_are_found_in_many_row_groups(step: int) -> None:
    """Each value comes with its own labels, from whichever row group; those of others are not decoded as texts."""
    values = np.repeat(np.arange(30_000), 2)
    postings = list(zip(values.tolist(), [f"p={n % 7}/{n % 3}" for n in range(len(values))], strict=True))
    data, wanted = encode_index("i1", [build(postings, pa.int64())]), range(0, 30_000, step)
    found = read(data, pa.int64(), IsIn("i1", pa.array(wanted)))
    assert entries(found) == expected((value, label) for value, label in postings if value % step == 0)


def test_values_at_both_ends_of_the_integers() -> None:
    """They are sorted too where they are too far apart for one number to hold a value and a label."""
    postings = [(2**63 - 1, "b"), (-(2**63), "b"), (0, "a"), (2**63 - 1, "a"), (0, "a")]
    assert entries(build(postings, pa.int64())) == expected(postings)


def test_indices_of_other_writers_are_read() -> None:
    """In any order, with large types and other units."""
    table = pa.table(
        {
            "partition": pa.array([["b"], ["a"]], pa.large_list(pa.large_string())),
            "i1": pa.array(
                [dt.datetime.fromisoformat("2020-01-02"), dt.datetime.fromisoformat("2020-01-01")], pa.timestamp("ns")
            ),
            "more": [1, 2],
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=1)
    found = read(sink.getvalue().to_pybytes(), pa.timestamp("us"))
    assert found.schema.types == [pa.timestamp("us"), pa.list_(pa.string())]
    assert found["partition"].to_pylist() == [["b"], ["a"]]


def doubled_column() -> bytes:
    """Return a file with two columns of the same name."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table([[1], [1], [["a"]]], ["i1", "i1", "partition"]), sink)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # PyArrow has no types


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cannot be read as an index"),
        (encode_index("i1", [build([("a", "1")], pa.string())]), "cannot be read as an index"),
        (
            encode_index("i2", [build([(1, "1")], pa.int64()).rename_columns(["i2", "partition"])]),
            "no column, or several, called i1",
        ),
        (encode_index("i1", [pa.table({"i1": [1], "partition": pa.nulls(1, pa.list_(pa.string()))})]), "no labels"),
        (encode_index("i1", [pa.table({"i1": [1], "partition": [[None, "a"]]})]), "null for one"),
        (doubled_column(), "no column, or several, called i1"),
    ],
    ids=["empty", "other type", "other column", "no labels", "a null label", "a column twice"],
)
def test_what_is_no_index_on_the_column_is_corrupt(data: bytes, message: str) -> None:
    """The error names the file."""
    with pytest.raises(CorruptDatasetError, match=message) as caught:
        read(data, pa.int64())
    assert caught.value.key == "d/indices/i1/x"


@pytest.mark.parametrize("column", [".i1", "..", "[0]", "i1.x", "`i1"])
def test_a_column_may_have_a_name_that_looks_like_a_path(column: str) -> None:
    """Arrow finds columns by paths too; a name is meant as it is."""
    index = build([(2, "2"), (1, "1")], pa.int64()).rename_columns([column, "partition"])
    file = pa.BufferReader(encode_index(column, [index]))
    assert read_index(file, "k", column, pa.int64()).to_pydict() == {column: [1, 2], "partition": [["1"], ["2"]]}


def test_values_of_an_index_in_an_old_header() -> None:
    """They are texts, and those that are no values of the column are an error of the header."""
    assert embedded_values("i1", ["1", "2"], pa.int64()) == pa.array([1, 2])
    with pytest.raises(CorruptDatasetError, match="no int64"):
        embedded_values("i1", ["a"], pa.int64())


def tagged(value: dict[str, Any]) -> Any:
    """Return the Python value of a tagged value of the corpus."""
    kinds: dict[str, Any] = {
        "float": float,
        "bytes": base64.b64decode,
        "date": dt.date.fromisoformat,
        "timestamp": dt.datetime.fromisoformat,
    }
    return kinds.get(value["t"], lambda v: v)(value["v"])


def test_indices_of_the_corpus_hold_what_kartothek_saw(corpus: Path) -> None:
    """Values and labels are those that Kartothek reported; merging and writing them keeps them."""
    checked = 0
    for path in sorted(corpus.glob("ds_*/cases.json")):
        cases = json.loads(path.read_bytes())
        header = (
            json.loads((path.parent / "store" / cases["metadata_file"]).read_bytes())
            if cases["metadata_file"].endswith("json")
            else {}
        )
        for column, key in header.get("indices", {}).items():
            t = pq.read_schema(path.parent / "store" / key).field(column).type
            index = read_index(pa.OSFile(str(path.parent / "store" / key)), key, column, t)
            merged = merge_index(column, index, None, None)
            want = [(tagged(v), sorted(labels)) for v, labels in cases["secondary_indices"][column]["values"]]
            found = list(zip(merged[column].to_pylist(), merged["partition"].to_pylist(), strict=True))
            assert found == sorted(want), (path, column)
            checked += 1
    assert checked > 20


def test_our_files_look_like_kartotheks(corpus: Path) -> None:
    """Same columns with the same Parquet types and names, so that its reader takes them."""
    paths = sorted(corpus.glob("*/store/*/indices/*/*.parquet"))
    assert len(paths) == 105
    for path in paths:
        theirs = pq.ParquetFile(path)
        column = theirs.schema_arrow.names[0]
        index = read_index(pa.OSFile(str(path)), path.name, column, theirs.schema_arrow.field(0).type)
        ours = pq.ParquetFile(pa.BufferReader(encode_index(column, [index])))
        assert ours.schema_arrow.equals(theirs.schema_arrow), path
        assert [ours.schema.column(i).path for i in range(2)] == [theirs.schema.column(i).path for i in range(2)]
