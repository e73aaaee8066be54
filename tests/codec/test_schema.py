"""Schemas as other readers want them, and as the header keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kubothek.codec.schema import decode_schema, encode_schema, schema_from_text, schema_to_text
from kubothek.errors import CorruptDatasetError
from kubothek.model.schema import normalise_schema

KEY = "d/table/_common_metadata"
EVERY_TYPE = pa.schema(
    [
        ("p", pa.string()),
        ("a", pa.bool_()),
        ("b", pa.int64()),
        ("c", pa.uint64()),
        ("d", pa.float64()),
        ("e", pa.binary()),
        ("f", pa.date32()),
        ("g", pa.time64("us")),
        ("h", pa.timestamp("us")),
        ("i", pa.timestamp("us", "UTC")),
        ("j", pa.decimal128(5, 2)),
        ("k", pa.null()),
        ("l", pa.list_(pa.list_(pa.string()))),
        ("m", pa.struct([("x", pa.list_(pa.timestamp("us")))])),
        ("n ü/", pa.decimal256(50, 3)),
    ]
)


def stored(schema: pa.Schema) -> bytes:
    """Return a Parquet file without rows."""
    sink = pa.BufferOutputStream()
    pq.write_metadata(schema, sink)
    return sink.getvalue().to_pybytes()


def pandas_columns(data: bytes) -> dict[str, Any]:
    """Return the entries of the pandas metadata by column."""
    entry = json.loads(pq.read_schema(pa.BufferReader(data)).metadata[b"pandas"])
    return {column["name"]: column for column in entry["columns"]}


def test_every_type_survives_both_ways_of_storing() -> None:
    """As text in the header and as a file for others."""
    assert decode_schema(encode_schema(EVERY_TYPE), KEY) == EVERY_TYPE
    assert schema_from_text(schema_to_text(EVERY_TYPE), KEY) == EVERY_TYPE


def test_corpus_schemas_are_read_and_are_normal(corpus: Path) -> None:
    """Kartothek's schemas have our types already, and our order."""
    paths = sorted(corpus.glob("*/store/*/*/_common_metadata"))
    assert len(paths) == 91
    for path in paths:
        raw, schema = pq.read_schema(path), decode_schema(path.read_bytes(), KEY)
        assert schema.equals(raw.remove_metadata()), path
        header = path.parents[2] / f"{path.parts[-3]}.by-dataset-metadata.json"
        if header.exists():
            keys = json.loads(header.read_bytes())["partition_keys"]
            assert schema.equals(normalise_schema(schema, keys)), path


def test_our_files_say_what_kartotheks_say(corpus: Path) -> None:
    """Field by field: the Parquet schema, the pandas metadata and its layout; only versions differ."""
    paths = sorted(corpus.glob("*/store/*/*/_common_metadata"))
    assert len(paths) == 91
    for path in paths:
        theirs = pq.read_metadata(path)
        data = encode_schema(decode_schema(path.read_bytes(), KEY))
        ours = pq.read_metadata(pa.BufferReader(data))
        assert str(ours.schema).split("\n", 1)[1] == str(theirs.schema).split("\n", 1)[1], path
        assert (ours.num_rows, ours.num_row_groups) == (0, 0)
        entry, expected = (json.loads(m.metadata[b"pandas"]) for m in (ours, theirs))
        for column in expected[
            "columns"
        ]:  # the type of a category's codes, or of bools with nulls, is not the column's
            if column["numpy_type"] == "int8" or (column["pandas_type"] == "bool" and column["numpy_type"] == "object"):
                column |= pandas_columns(data)[column["name"]]
        expected["index_columns"][0] |= {"start": 0, "stop": 0}
        assert {**entry, "creator": None} == {**expected, "creator": None}, path
        assert list(json.loads(ours.metadata[b"pandas"])) == list(json.loads(theirs.metadata[b"pandas"]))
    assert len(paths) == 91


def test_pandas_metadata_of_types_that_the_corpus_lacks() -> None:
    """Named as the pandas metadata names them."""
    columns = pandas_columns(encode_schema(EVERY_TYPE))
    named = {
        name: (column["pandas_type"], column["numpy_type"], column["metadata"]) for name, column in columns.items()
    }
    assert named["g"] == ("time", "object", None)
    assert named["i"] == ("datetimetz", "datetime64[ns]", {"timezone": "UTC"})
    assert named["l"] == ("list[list[unicode]]", "object", None)
    assert named["m"] == ("object", "object", None)
    assert named["n ü/"] == ("decimal", "object", {"precision": 50, "scale": 3})


def test_schemas_of_other_writers_are_normalised() -> None:
    """Large strings, nanoseconds, other names of list items, required fields, dictionaries."""
    other = pa.schema(
        [
            pa.field("a", pa.large_string(), nullable=False),
            ("b", pa.timestamp("ns")),
            ("c", pa.list_(pa.field("element", pa.large_string()))),
            ("d", pa.dictionary(pa.int32(), pa.string())),
            ("__index_level_0__", pa.int64()),
        ],
        metadata={b"any": b"thing"},
    )
    expected = pa.schema({"a": pa.string(), "b": pa.timestamp("us"), "c": pa.list_(pa.string()), "d": pa.string()})
    assert decode_schema(stored(other), KEY).equals(expected, check_metadata=True)


def test_types_that_we_would_not_write_can_be_read() -> None:
    """Another writer may have more of them."""
    schema = decode_schema(stored(pa.schema([("a", pa.map_(pa.string(), pa.int8()))])), KEY)
    assert pa.types.is_map(schema.field("a").type)


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", stored(pa.schema([("a", pa.int8()), ("a", pa.int8())]))], ids=["empty", "cut", "twice"]
)
def test_files_that_hold_no_schema_are_corrupt(data: bytes) -> None:
    """The error names the file."""
    with pytest.raises(CorruptDatasetError) as caught:
        decode_schema(data, KEY)
    assert caught.value.key == KEY


def test_texts_that_hold_no_schema_are_corrupt() -> None:
    """Neither base64 nor Arrow."""
    for text in ("ü", "AAAA", ""):
        with pytest.raises(CorruptDatasetError):
            schema_from_text(text, KEY)
