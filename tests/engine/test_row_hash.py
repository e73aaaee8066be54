"""Row hashes: the same as a reading of the definition in plain Python, blind to storage, awake to every change."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.engine.row_hash import hash_rows
from kubothek.testing.datasets import tidy
from kubothek.testing.kinds import FLAT, Kind, flat_kinds, nested_kinds

MASK = 2**64 - 1
ANY_KIND = st.one_of(flat_kinds(), nested_kinds())
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  no zone


def mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def name(text: str) -> int:
    """What stands for a name."""
    return struct.unpack("<Q", hashlib.blake2b(text.encode(), digest_size=8).digest())[0]  # type: ignore[no-any-return]


def in_parts(parts: Sequence[int], length: int, key: int) -> int:
    """The hash of a value of several parts."""
    return mix((sum(mix(part ^ mix(key + j & MASK)) for j, part in enumerate(parts)) + length & MASK) ^ key)


def words(data: bytes) -> list[int]:
    """Bytes by eight, the last ones filled up, at least one."""
    return [int.from_bytes(data[start : start + 8], "little") for start in range(0, max(len(data), 1), 8)]


def expected_hash(value: Any, kind: pa.DataType, start: int) -> int:
    """The hash of one value, by the definition."""
    types = pa.types
    if value is None:
        return mix(mix(start ^ name("null")))
    if types.is_list(kind):
        key = mix(start ^ name("list"))
        return in_parts([expected_hash(item, kind.value_type, key) for item in value], len(value), key)
    if types.is_struct(kind):
        key = mix(start ^ name("struct"))
        fields = [expected_hash(value[f.name], f.type, mix(key ^ name(f.name))) for f in kind]
        return mix(sum(fields) & MASK ^ key)
    if types.is_string(kind) or types.is_binary(kind):
        data = value.encode() if types.is_string(kind) else value
        return in_parts(words(data), len(data), mix(start ^ name("text" if types.is_string(kind) else "bytes")))
    if types.is_decimal(kind):
        with localcontext(prec=80):
            unscaled = int(value.scaleb(kind.scale)).to_bytes(32, "little", signed=True)
        return in_parts(words(unscaled), 4, mix(start ^ name(f"decimal {kind.scale}")))
    tag, word = one_word(value, kind)
    return mix(word & MASK ^ mix(start ^ name(tag)))


def one_word(value: Any, kind: pa.DataType) -> tuple[str, int]:
    """The kind and the word of a value of fixed width."""
    match value:
        case bool():
            return "boolean", int(value)
        case int():
            return "unsigned" if kind == pa.uint64() else "integer", value
        case float():
            plain = math.nan if math.isnan(value) else value + 0.0
            return "float", int.from_bytes(struct.pack("<d", plain), "little")
        case datetime():
            since = value.replace(tzinfo=None) - EPOCH
            tag = "timestamp" if value.tzinfo is None else "instant"
            return tag, (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        case date():
            return "date", (value - EPOCH.date()).days
        case time():
            return "time", ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    raise TypeError(type(value))


@given(st.data(), ANY_KIND)
def test_hashes_are_what_the_definition_says(data: st.DataObject, kind: Kind) -> None:
    """Whole columns hash as their values do one by one in plain Python, in any physical type."""
    values = data.draw(st.lists(st.none() | kind.values, max_size=5))
    expected = [mix(name("row") + expected_hash(value, kind.record, name("v1")) & MASK) for value in values]
    assert hash_rows(pa.table({"v1": kind.array(values)})).tolist() == expected


@given(st.data(), ANY_KIND)
def test_pieces_hash_as_the_whole(data: st.DataObject, kind: Kind) -> None:
    """Slices and chunks of a column give the same hashes as the column."""
    values = data.draw(st.lists(st.none() | kind.values, min_size=2, max_size=6))
    cut = data.draw(st.integers(0, len(values)))
    whole = pa.table({"v1": pa.array(values, kind.record)})
    pieces = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    assert hash_rows(pieces).tolist() == hash_rows(whole).tolist()
    assert hash_rows(whole.slice(cut)).tolist() == hash_rows(whole).tolist()[cut:]


@given(st.data(), ANY_KIND, ANY_KIND)
def test_a_changed_value_changes_the_hash(data: st.DataObject, kind: Kind, other: Kind) -> None:
    """Whatever value is replaced by a different one, null included, its row hashes differently and no other does."""
    values = data.draw(st.lists(st.none() | kind.values, min_size=1, max_size=4))
    row = data.draw(st.integers(0, len(values) - 1))
    new = data.draw((st.none() | kind.values).filter(lambda v: text(v) != text(values[row])))
    beside = pa.array(data.draw(st.lists(other.values, min_size=len(values), max_size=len(values))), other.record)
    before = hash_rows(pa.table({"v1": pa.array(values, kind.record), "x": beside}))
    after = hash_rows(pa.table({"v1": pa.array([*values[:row], new, *values[row + 1 :]], kind.record), "x": beside}))
    assert np.flatnonzero(before != after).tolist() == [row]


def text(value: Any) -> str:
    """A text that is the same for values that are to hash alike: zeros of either sign, and NaN."""
    match value:
        case list():
            return repr([text(one) for one in value])
        case dict():
            return repr({key: text(one) for key, one in value.items()})
    return tidy({"v1": value}, zeros=["v1"])


@pytest.mark.parametrize("swapped", [False, True], ids=["order", "values"])
def test_names_count_and_order_does_not(swapped: bool) -> None:
    """Columns may come in any order; two that swap their values are another row."""
    one = pa.table({"x": [1, 2], "y": [3, 3]})
    other = one.rename_columns(["y", "x"]) if swapped else one.select(["y", "x"])
    assert (hash_rows(one) == hash_rows(other)).tolist() == [not swapped] * 2


def test_values_that_look_alike_differ() -> None:
    """Nothing that is written alike hashes alike, be it of another type, of another length or null."""
    alike = [
        *([value] for value in (0, 0.0, False, "", "\0", "\0" * 8, b"", b"\0", Decimal("0"), Decimal("0.0"))),
        *([value] for value in ("a", "a" * 8, "a" * 9, [], [None], [0], [0, 0], {"a": None}, {"a": 0}, {"b": 0})),
        *([value] for value in (date(1970, 1, 1), time(0), EPOCH, EPOCH.replace(tzinfo=UTC), None)),
    ]
    hashes = [hash_rows(pa.table({"v1": values})).item() for values in alike]
    assert len(set(hashes)) == len(alike)


def test_a_null_is_a_null_of_any_type() -> None:
    """A column without values hashes the same before and after it gets a type."""
    hashes = {hash_rows(pa.table({"v1": pa.nulls(1, kind.record)})).item() for kind in FLAT.values()}
    assert hashes == {hash_rows(pa.table({"v1": pa.nulls(1)})).item()}


def test_hashes_spread() -> None:
    """Small neighbouring numbers in two columns give hashes that are distinct and set each bit half of the time."""
    numbers = np.arange(300)
    rows = pa.table({"x": np.repeat(numbers, 300), "y": np.tile(numbers, 300)})
    hashes = hash_rows(rows)
    assert len(np.unique(hashes)) == 90_000
    bits = np.unpackbits(hashes.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert abs(bits - 0.5).max() < 0.01


PINNED = {
    "null": (pa.nulls(1), 0x41CE9759240F77F6),
    "integer": (pa.array([-7]), 0x105B1AC836B86523),
    "unsigned": (pa.array([7], pa.uint64()), 0x9F307592603EA777),
    "float": (pa.array([0.5]), 0xCF8BF350697C4BB5),
    "boolean": (pa.array([True]), 0xBF7DA0FC2E40826E),
    "text": (pa.array(["Kubothek, a text of 32 bytes: äöü"]), 0x84632F8D2CC4D8CA),
    "bytes": (pa.array([b"\x00\xff"]), 0xC40813B3E6AEBA41),
    "date": (pa.array([18_000], pa.int32()).cast(pa.date32()), 0x2712A0DFB9891D60),
    "time": (pa.array([3_600_000_001]).cast(pa.time64("us")), 0x0C35127F2FE2C9A8),
    "timestamp": (pa.array([1_600_000_000_000_001]).cast(pa.timestamp("us")), 0x542957FC4B90CE00),
    "instant": (pa.array([1_600_000_000_000_001]).cast(pa.timestamp("us", "UTC")), 0x75C476F1A1C660C4),
    "decimal": (pa.array([Decimal("-12.34")]), 0x38E40E565B10997B),
    "list": (pa.array([["a", None]]), 0x075C20B8B09711B1),
    "struct": (pa.array([{"a": 1, "b": [0.0]}]), 0xC35326BBCC666AC5),
}


@pytest.mark.parametrize("kind", PINNED)
def test_hashes_are_a_promise(kind: str) -> None:
    """These hashes never change; who has kept one can compare it with any later one."""
    value, expected = PINNED[kind]
    assert hash_rows(pa.table({"v1": value})).item() == expected


def test_no_columns() -> None:
    """Rows without columns are all alike, and counted."""
    assert hash_rows(pa.table({"x": [1, 2]}), []).tolist() == [mix(name("row"))] * 2
