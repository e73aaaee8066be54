"""Rows brought into order as a stream: complete, in order, passed on where they were, on disk where they are many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubothek.engine import sort_stream as module
from kubothek.engine.sort_stream import sort_stream

ORDERS: dict[str, list[str]] = {"one": ["p"], "two": ["p", "x"], "text": ["s", "x"], "float": ["v", "x"]}


def rows(count: int, seed: int = 0) -> pa.Table:
    """Rows in no order, with ties, nulls and a NaN; ``x`` numbers them."""
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 7, count)
    v = [float("nan") if n == 0 else None if n == 1 else n / 2 for n in rng.integers(0, 20, count).tolist()]
    s = [None if n == 0 else f"t{n}" for n in rng.integers(0, 9, count).tolist()]
    lists = [[n, None] for n in range(count)]
    return pa.table({"p": p, "x": rng.permutation(count), "s": s, "v": pa.array(v, pa.float64()), "l": lists})


def pieces(table: pa.Table, size: int = 100) -> Iterator[pa.Table]:
    """Cut rows as they come from elsewhere."""
    for start in range(0, table.num_rows, size):
        yield table.slice(start, size)


def in_python(table: pa.Table, columns: list[str]) -> list[tuple[object, ...]]:
    """Sort by the columns and then by ``x``, nulls and NaN last."""

    def key(row: dict[str, object]) -> list[tuple[int, object]]:
        values = [row[name] for name in (*columns, "x")]
        return [(2, 0) if v is None else (1, 0) if v != v else (0, v) for v in values]

    return [(row["x"], repr(row)) for row in sorted(table.to_pylist(), key=key)]


@pytest.mark.parametrize("columns", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("held", [10**6, 500, 100], ids=["held", "few runs", "many runs"])
def test_rows_come_in_order(columns: list[str], held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fits in memory, all rows are there once and in order, as plain Python sorts them."""
    monkeypatch.setattr(module, "_BATCH_ROWS", 32)
    table = rows(3000)
    by = [*columns, *([] if "x" in columns else ["x"])]
    found = pa.concat_tables(sort_stream(pieces(table), by, held_rows=held))
    assert [(row["x"], repr(row)) for row in found.to_pylist()] == in_python(table, columns)


@given(st.lists(st.integers(-3, 3), max_size=60), st.integers(1, 8), st.integers(1, 20))
@settings(max_examples=150, deadline=None)
def test_any_order_any_cut(numbers: list[int], size: int, held: int) -> None:
    """However rows are cut and held, none is lost, and from the first disorder on all others are in order."""
    table = pa.table({"x": pa.array(numbers, pa.int64())})
    found = [v for part in sort_stream(pieces(table, size), ["x"], held_rows=held) for v in part["x"].to_pylist()]
    assert sorted(found) == sorted(numbers)
    falls = [i for i in range(1, len(found)) if found[i] < found[i - 1]]
    assert len(falls) <= 1
    assert not falls or found[: falls[0]] == numbers[: falls[0]]


@given(st.lists(st.integers(-3, 3), max_size=60), st.integers(1, 8), st.integers(1, 20))
@settings(max_examples=150, deadline=None)
def test_the_whole_in_order(numbers: list[int], size: int, held: int) -> None:
    """Where all of it is asked for in order it is, though the first rows were and later ones were not."""
    table = pa.table({"x": pa.array(numbers, pa.int64())})
    stream = sort_stream(pieces(table, size), ["x"], whole=True, held_rows=held)
    assert [v for part in stream for v in part["x"].to_pylist()] == sorted(numbers)


def test_wide_rows_take_little_memory() -> None:
    """Of rows of a mebibyte each, many more are sorted than are held at any time."""
    order = np.random.default_rng(7).permutation(200).tolist()
    tables = (pa.table({"x": [x], "blob": [bytes([x]) * 2**20]}) for x in order)
    before, most, found = pa.total_allocated_bytes(), 0, []
    for part in sort_stream(tables, ["x"], held_bytes=8 * 2**20):
        most = max(most, pa.total_allocated_bytes() - before)
        found += [(x, len(blob), blob[0]) for x, blob in zip(*part.to_pydict().values(), strict=True)]
    assert found == [(x, 2**20, x) for x in range(200)]
    assert most < 100 * 2**20


def test_sorted_rows_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in order are given out run by run while more of them come, and nothing is written."""
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    taken: list[int] = []

    def source() -> Iterator[pa.Table]:
        for number in range(10):
            taken.append(number)
            yield pa.table({"x": list(range(number * 10, number * 10 + 10))})

    stream = sort_stream(source(), ["x"], held_rows=20)
    assert next(stream)["x"].to_pylist() == list(range(20))
    assert len(taken) == 2
    assert [v for part in stream for v in part["x"].to_pylist()] == list(range(20, 100))


def test_without_columns_rows_are_passed_on() -> None:
    """Where no order is asked for, tables are the same objects."""
    given_rows = list(pieces(rows(300)))
    assert all(one is other for one, other in zip(sort_stream(given_rows, []), given_rows, strict=True))


def test_many_runs_are_merged_before_there_are_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """More runs than may be open give the same rows."""
    monkeypatch.setattr(module, "_MOST_RUNS", 3)
    table = rows(2000)
    found = pa.concat_tables(sort_stream(pieces(table), ["x"], held_rows=100))
    assert found["x"].to_pylist() == list(range(2000))


def test_spilled_files_have_no_name(tmp_path: Path) -> None:
    """What is spilled lies in the folder asked for under no name, so that a killed process leaves nothing."""
    stream = sort_stream(pieces(rows(2000)), ["x"], folder=str(tmp_path), held_rows=100)
    assert next(stream).num_rows
    assert list(tmp_path.iterdir()) == []
    stream.close()


def test_memory_stays_bounded() -> None:
    """Sorting takes a small part of the memory that all rows would take."""
    rng = np.random.default_rng(1)
    count, before = 80, pa.default_memory_pool().bytes_allocated()
    made = (pa.table({"x": rng.integers(0, 10**9, 20_000), "v": rng.random(20_000)}) for _ in range(count))
    most = found = 0
    for part in sort_stream(made, ["x"], held_bytes=2 * 2**20):
        found += part.num_rows
        most = max(most, pa.default_memory_pool().bytes_allocated() - before)
    assert found == count * 20_000
    assert most < found * 16 / 4
