"""Joins on key columns, held against plain Python: tuples, dictionaries and `sorted`."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.engine.join import join_rows, last_of_each, match_codes, sort_rows, take
from kubothek.engine.key_codes import key_codes, stable_order
from kubothek.model.read_plan import JoinStep

OTHER_NAN: float = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0000))[0]
"""What a processor makes of 0/0: not the bits of ``math.nan``."""

FEW = st.integers(-2, 2)
FIRST = datetime(1, 1, 1)  # noqa: DTZ001  no zone
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "few integers": (pa.int64(), FEW),
    "narrow integers": (pa.int8(), FEW),
    "all integers": (pa.int64(), st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 2**62, 2**63 - 1])),
    "unsigned": (pa.uint64(), st.sampled_from([0, 1, 2**63, 2**64 - 1])),
    "floats": (pa.float64(), st.sampled_from([-math.inf, -0.0, 0.0, 1.5, math.inf, math.nan, OTHER_NAN])),
    "narrow floats": (pa.float32(), st.sampled_from([-0.0, 0.0, 1.5, math.nan])),
    "booleans": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.sampled_from(["", "a", "ab", "ä", "𐀀", "\uffff"])),
    "bytes": (pa.binary(), st.sampled_from([b"", b"a", b"\xff"])),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["b", "a"])),
    "dates": (pa.date32(), st.sampled_from([date.min, date(2020, 1, 1), date.max])),
    "timestamps": (pa.timestamp("us"), st.sampled_from([FIRST, FIRST + timedelta(days=10**6)])),
    "times": (pa.time64("us"), st.times()),
    "decimals": (pa.decimal128(5, 2), st.sampled_from([Decimal("-1.50"), Decimal("0.00"), Decimal("999.99")])),
    "nothing": (pa.null(), st.none()),
}

Sides = list[list[pa.ChunkedArray]]


@st.composite
def key_columns(draw: st.DrawFn, *, sides: int) -> Sides:
    """Draw the key columns of some tables, in chunks, with nulls and repetitions."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    lengths = draw(st.lists(st.integers(0, 6), min_size=sides, max_size=sides))
    return [[draw(chunked(*KINDS[kind], length)) for kind in kinds] for length in lengths]


@st.composite
def chunked(draw: st.DrawFn, kind: pa.DataType, values: st.SearchStrategy[Any], length: int) -> pa.ChunkedArray:
    """Draw a column of one or two chunks, or none."""
    drawn = draw(st.lists(values | st.none(), min_size=length, max_size=length))
    cut = draw(st.integers(0, length))
    parts = [part for part in (drawn[:cut], drawn[cut:]) if part]
    return pa.chunked_array([as_array(part, kind) for part in parts], kind)


def as_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an array that keeps the bits of every NaN."""
    if pa.types.is_floating(kind):
        plain = np.array([0 if v is None else v for v in values], kind.to_pandas_dtype())
        return pa.array(plain, mask=np.array([v is None for v in values]))
    return pa.array(values, kind)


def keys(columns: Sequence[pa.ChunkedArray]) -> list[tuple[Any, ...]]:
    """Return each row as a tuple that compares as rows should: null equals null and comes last, after NaN."""
    return [tuple(map(comparable, row)) for row in zip(*(column.to_pylist() for column in columns), strict=True)]


def comparable(value: Any) -> tuple[Any, ...]:
    """Return what stands for a value in comparisons."""
    return (2,) if value is None else (1,) if value != value else (0, value)


def ranks(values: Sequence[Any]) -> list[int]:
    """Number the distinct values in their order."""
    numbers = {value: number for number, value in enumerate(sorted(set(values)))}
    return [numbers[value] for value in values]


@given(key_columns(sides=2))
def test_codes_are_equal_and_ordered_as_the_rows_are(sides: Sides) -> None:
    """Codes of several tables compare exactly as their rows do, whatever the types."""
    codes, size = key_codes(sides)
    together = np.concatenate(codes).tolist()
    assert ranks(together) == ranks([key for columns in sides for key in keys(columns)])
    assert all(0 <= code < size for code in together)
    assert [len(code) for code in codes] == [len(columns[0]) for columns in sides]


def test_many_wide_columns_do_not_overflow() -> None:
    """Four columns that each span nearly all integers still get distinct codes, in order."""
    columns = [pa.chunked_array([[-(2**61), 0, 2**61 - 1, 0]]) for _ in range(4)]
    (codes,), _ = key_codes([columns])
    assert ranks(codes.tolist()) == [0, 1, 2, 1]


def test_whole_hours_are_numbered_without_gaps() -> None:
    """Instants at the same distance from each other are neighbours, whatever their unit, a null after all of them."""
    hours = [[0, 5, None, 0], [2], [], [None, 3]]
    sides = [[pa.chunked_array([[h and h * 3_600_000_000 for h in own]], pa.timestamp("us"))] for own in hours]
    codes, size = key_codes(sides)
    assert [own.tolist() for own in codes] == [[0, 5, 6, 0], [2], [], [6, 3]]
    assert size == 7


def test_a_single_odd_value_ends_the_steps() -> None:
    """A value between the steps of a thousand others is told apart from its neighbours."""
    (codes,), _ = key_codes([[pa.chunked_array([[*range(0, 6000, 6), 604, 603]])]])
    assert codes.tolist() == [*range(0, 6000, 6), 604, 603]


codes = st.lists(st.integers(0, 9), max_size=12).map(lambda values: np.array(values, np.int64))
sizes = st.sampled_from([10, 10**7])  # looked up in a table, and searched for


@given(st.lists(st.integers(0, 99), max_size=9).map(lambda values: np.array(values, np.int64)))
def test_match_with_few_partners(right: np.ndarray) -> None:
    """Few right rows, in any order and given twice, are found by many sorted left rows."""
    left = np.arange(0, 100, 2)
    last = {code: number for number, code in enumerate(right.tolist())}
    found = match_codes(left * 10**6, right * 10**6, 10**8)
    assert found is not None
    assert found.tolist() == [last.get(code, -1) for code in left.tolist()]


@given(codes, codes, sizes)
def test_match_finds_the_last_partner(left: np.ndarray, right: np.ndarray, size: int) -> None:
    """Each left row gets the number of the last right row of its code, or -1."""
    last = {code: number for number, code in enumerate(right.tolist())}
    found = match_codes(left * (size // 10), right * (size // 10), size)
    rows = list(range(len(left))) if found is None else found.tolist()
    assert rows == [last.get(code, -1) for code in left.tolist()]


@given(codes)
def test_last_of_each_keeps_the_last_row_of_a_code(values: np.ndarray) -> None:
    """The rows that stay are the last of their code, in the order of codes."""
    rows = last_of_each(values, int(values.max(initial=0)) + 1)
    last = {code: number for number, code in enumerate(values.tolist())}
    assert (list(range(len(values))) if rows is None else rows.tolist()) == [last[code] for code in sorted(last)]


@given(codes, st.sampled_from([0, 2**20, 2**61]))
def test_order_of_codes_is_stable(values: np.ndarray, base: int) -> None:
    """Rows come in the order of their codes, and in their own where codes are equal, however large codes are."""
    found = stable_order(values + base, base + int(values.max(initial=0)) + 1)
    assert found.tolist() == sorted(range(len(values)), key=values.tolist().__getitem__)


@given(key_columns(sides=1))
def test_sort_keeps_the_order_of_ties(sides: Sides) -> None:
    """Rows are sorted as Python sorts their keys: stable, nulls last."""
    (columns,) = sides
    names = [f"k{number}" for number in range(len(columns))]
    table = pa.table([*columns, pa.array(range(len(columns[0])))], [*names, "row"])
    expected = sorted(table["row"].to_pylist(), key=keys(columns).__getitem__)
    assert sort_rows(table, names)["row"].to_pylist() == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(None, [7, 8]), ([1, 0, 1], [8, 7, 8]), ([-1, 1], [None, 8]), ([], [])],
    ids=["identity", "again", "missing", "none"],
)
def test_take_gives_nulls_for_missing_rows(rows: list[int] | None, expected: list[int | None]) -> None:
    """Row numbers say what is taken; -1 gives a null."""
    table = pa.table({"v1": [7, 8]})
    numbers = None if rows is None else np.array(rows, np.int64)
    assert take(table, numbers)["v1"].to_pylist() == expected


NESTED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "lists": (pa.list_(pa.int64()), st.lists(st.integers(0, 2), max_size=2)),
    "structs": (pa.struct([("a", pa.int64())]), st.fixed_dictionaries({"a": st.none() | st.integers(0, 2)})),
}


@given(st.sampled_from(list((KINDS | NESTED).values())), st.integers(0, 6), st.data())
def test_take_keeps_types(kind: tuple[pa.DataType, st.SearchStrategy[Any]], length: int, data: st.DataObject) -> None:
    """Rows come in the type of their column, whatever its chunks and nulls, and missing ones as nulls."""
    column = data.draw(chunked(*kind, length))
    rows = data.draw(st.lists(st.integers(-1, length - 1), max_size=8))
    found = take(pa.table({"v1": column}), np.array(rows, np.int64))["v1"]
    assert found.type == column.type
    assert repr(found.to_pylist()) == repr([None if row < 0 else column[row].as_py() for row in rows])


Cells = list[tuple[int, int]]
cells = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)
ON = (("x", "y"), ("y", "x"), ("x",))


def keyed(rows: Cells) -> pa.Table:
    """Return a table of these cells."""
    return pa.table({"x": pa.array([x for x, _ in rows], pa.int64()), "y": pa.array([y for _, y in rows], pa.int64())})


@given(st.lists(cells, min_size=1, max_size=3), st.data())
def test_joins_of_several_tables(distinct: list[Cells], data: st.DataObject) -> None:
    """Every cell of the seed meets the last row of its keys in each table, also where tables share their keys."""
    drawn = st.tuples(st.sampled_from(distinct), st.sampled_from(ON), st.sampled_from(["inner", "left"]))
    others = sorted(data.draw(st.lists(drawn, max_size=4)), key=lambda other: other[2])
    order = data.draw(st.sampled_from(ON))
    steps = [JoinStep(number, on, how) for number, (_, on, how) in enumerate(others, start=1)]
    tables = {number: keyed(rows) for number, rows in enumerate([distinct[0], *(rows for rows, _, _ in others)])}
    rows = join_rows(steps, order, tables)
    found = [list(range(tables[number].num_rows)) if rows[number] is None else list(rows[number]) for number in tables]
    assert list(zip(*found, strict=True)) == joined(distinct[0], steps, order, [rows for rows, _, _ in others])


def joined(
    seed: Cells, steps: Sequence[JoinStep], order: tuple[str, ...], others: Sequence[Cells]
) -> list[tuple[int, ...]]:
    """Return the row numbers of each row of the result, by dictionaries."""

    def key(cell: tuple[int, int], on: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(cell["xy".index(name)] for name in on)

    last = {key(cell, order): number for number, cell in enumerate(seed)}
    found = []
    for number in (last[place] for place in sorted(last)):
        partners = [
            {key(cell, step.on): row for row, cell in enumerate(rows)}.get(key(seed[number], step.on), -1)
            for step, rows in zip(steps, others, strict=True)
        ]
        if all(row >= 0 for row, step in zip(partners, steps, strict=True) if step.how == "inner"):
            found.append((number, *partners))
    return found
