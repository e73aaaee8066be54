"""Texts of partition values, labels and file names."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec.keys import data_key
from kubothek.codec.labels import (
    file_name,
    label_prefixes,
    label_texts,
    make_label,
    partition_text,
    partition_texts,
    write_prefix,
)
from kubothek.codec.partition_values import partition_values
from kubothek.codec.quoting import quote, unquote
from kubothek.errors import InvalidInputError, NullValueError

TYPED_VALUES = {
    "bool": (pa.bool_(), st.booleans()),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float64": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "binary": (pa.binary(), st.text(st.characters(exclude_categories=["Cs"])).map(str.encode)),
    "date32": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "decimal128": (pa.decimal128(12, 7), st.decimals(-9999, 9999, places=7)),
}


@pytest.mark.parametrize(
    ("value", "t", "text"),
    [
        (True, pa.bool_(), "True"),
        (-1, pa.int8(), "-1"),
        (2**64 - 1, pa.uint64(), "18446744073709551615"),
        (1, pa.float64(), "1.0"),
        (1e-10, pa.float64(), "1e-10"),
        (1e300, pa.float64(), "1e+300"),
        (-math.inf, pa.float64(), "-inf"),
        (0.1, pa.float32(), "0.10000000149011612"),
        ("", pa.string(), ""),
        (b"\xc3\xbc", pa.binary(), "ü"),
        (dt.date(2020, 1, 1), pa.date32(), "2020-01-01"),
        (dt.datetime.fromisoformat("2020-01-01"), pa.timestamp("ns"), "2020-01-01 00:00:00"),
        (dt.datetime.fromisoformat("2020-01-01 01:02:03.123456"), pa.timestamp("us"), "2020-01-01 01:02:03.123456"),
        (decimal.Decimal("1.10"), pa.decimal128(5, 2), "1.10"),
        (pa.scalar("a", pa.dictionary(pa.int8(), pa.string())), pa.string(), "a"),
    ],
    ids=str,
)
def test_texts_are_what_python_prints(value: Any, t: pa.DataType, text: str) -> None:
    """The text of a value is the one Kartothek writes."""
    assert partition_text(value, t) == text


def test_null_has_no_text() -> None:
    """The format has no place for null, so it is never written as something else."""
    with pytest.raises(NullValueError):
        partition_texts(pa.array(["a", None]))


def test_bytes_that_are_no_text_are_refused() -> None:
    """They could be written but by nobody be read; the message names the column."""
    with pytest.raises(InvalidInputError, match=r"'p'.*UTF-8") as caught:
        partition_text(b"\xff", pa.binary(), "p")
    assert caught.value.column == "p"


@pytest.mark.parametrize("name", TYPED_VALUES)
@given(data=st.data())
def test_values_survive_the_way_through_a_key(name: str, data: st.DataObject) -> None:
    """What goes into a label comes back out of the key, bit for bit."""
    t, strategy = TYPED_VALUES[name]
    values = pa.array(data.draw(st.lists(strategy, min_size=1, max_size=5)), t)
    labels = [make_label([("p /=%ü", text), ("q", "1")], "f") for text in partition_texts(values)]
    keys = pa.array([data_key("d", "table", label) for label in labels])
    schema = pa.schema([("p /=%ü", t), ("q", pa.int64())])
    found = partition_values(keys, "d", "table", ["p /=%ü", "q"], schema)
    assert list(map(repr, found["p /=%ü"].to_pylist())) == list(map(repr, values.to_pylist()))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_texts_are_safe_and_reversible(text: str) -> None:
    """A quoted text has no separator in it and is plain ASCII."""
    quoted = quote(text)
    assert unquote(quoted) == text
    assert not set(quoted) & set("/=+: \n")
    assert quoted.isascii()


@given(st.uuids(version=4), st.binary(min_size=16, max_size=16))
def test_file_names_are_uuids_that_start_like_their_write(write: uuid.UUID, noise: bytes) -> None:
    """Whatever the random digits are, the name is a version 4 UUID and shares the prefix."""
    name = file_name(write.hex, noise.hex())
    assert (uuid.UUID(name).version, uuid.UUID(name).variant) == (4, uuid.RFC_4122)
    assert name.startswith(write_prefix(write.hex))
    assert len(write_prefix(write.hex)) == 12


@pytest.mark.parametrize("bad", ["", "0" * 31, "A" * 32, "0" * 32 + "\n"])
def test_ids_must_be_32_hexadecimal_digits(bad: str) -> None:
    """A prefix cut from anything else would stand for other files."""
    with pytest.raises(InvalidInputError):
        write_prefix(bad)
    with pytest.raises(InvalidInputError):
        file_name("0" * 32, bad)


def test_prefixes_are_those_of_the_last_component() -> None:
    """Partition values never count, whatever they look like."""
    labels = pa.array(["0123456789abcdef=1/abcdefabcdefabcd", "short", "a/b/", None])
    assert label_prefixes(labels).to_pylist() == ["abcdefabcdef", "short", "", None]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2020-01-01%2000%3A00%3A00", "2020-01-01"),
        ("2020-01-01 00:00:00", "2020-01-01"),
        ("2020-01-01%2001%3A02%3A03.123456000", "2020-01-01%2001%3A02%3A03.123456"),
        ("2020-01-01%2001%3A02%3A03.123456", "2020-01-01%2001%3A02%3A03.123456"),
        ("00%3A00%3A00", "00%3A00%3A00"),
    ],
)
def test_texts_of_the_same_time_are_the_same(text: str, same: str) -> None:
    """Days with a time of day and times with nanoseconds, as Kartothek writes them, are those without."""
    assert label_texts(pa.array([f"p={text}/f"])).to_pydict() == {"p": [same]}


def test_texts_in_labels() -> None:
    """Each name is a column; what another layout wrote gives nulls, and labels without values have no columns."""
    labels = pa.array([make_label([("p q", "a/b"), ("q", "")], "f"), "p%20q=1/q=x=y/g", "q=1/p%20q=2/h", "i"])
    assert label_texts(labels).to_pydict() == {"p%20q": ["a%2Fb", "1", None, None], "q": ["", "x=y", None, None]}
    assert label_texts(pa.array(["f", "p=1/g"])).column_names == label_texts(labels[:0]).column_names == []
