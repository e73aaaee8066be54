"""Tables that several threads need are made once, and nobody waits for a table that is not theirs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from kubothek.engine.shared_tables import SharedTables

TABLE = pa.table({"x": range(100)})


def test_made_once() -> None:
    """Threads that ask for the same table at once get the one that the first of them makes."""
    shared, made, start = SharedTables(10**6), [], threading.Barrier(4)

    def make() -> pa.Table:
        made.append(True)
        return TABLE

    def ask() -> pa.Table:
        start.wait(10)
        return shared.get("a", make, unit=0, last=9)

    with ThreadPoolExecutor(4) as pool:
        assert {id(future.result()) for future in [pool.submit(ask) for _ in range(4)]} == {id(TABLE)}
    assert made == [True]


def test_others_do_not_wait() -> None:
    """While one table is being made, another one is there at once."""
    shared, begun, go = SharedTables(10**6), threading.Event(), threading.Event()

    def slow() -> pa.Table:
        begun.set()
        go.wait(10)
        return TABLE

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(shared.get, "slow", slow, unit=0, last=9)
        assert begun.wait(10)
        assert shared.get("quick", lambda: TABLE, unit=0, last=9) is TABLE
        assert not future.done()
        go.set()
        assert future.result() is TABLE


def test_an_error_is_not_kept() -> None:
    """Who asks after an error has the table made anew."""
    shared = SharedTables(10**6)
    with pytest.raises(ZeroDivisionError):
        shared.get("a", lambda: 1 / 0, unit=0, last=9)
    assert shared.get("a", lambda: TABLE, unit=0, last=9) is TABLE


def test_an_error_reaches_those_who_wait() -> None:
    """All who wait for a table learn why there is none."""
    shared, begun, go = SharedTables(10**6), threading.Event(), threading.Event()

    def fail() -> pa.Table:
        begun.set()
        go.wait(10)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(shared.get, "a", fail, unit=0, last=9)]
        assert begun.wait(10)
        futures.append(pool.submit(shared.get, "a", fail, unit=0, last=9))
        go.set()
        assert [str(future.exception(10)) for future in futures] == ["no", "no"]


ROUNDS: dict[str, tuple[list[tuple[str, int, int]], str]] = {
    "all fit": ([("a", 0, 9), ("b", 0, 9), ("a", 1, 9), ("b", 1, 9)], "ab"),
    "no room for a third": ([(name, unit, 9) for unit in range(3) for name in "abc"], "abccc"),
    "wanted no more": ([("a", 0, 0), ("b", 0, 9), ("c", 1, 9), ("b", 1, 9), ("c", 2, 9)], "abc"),
    "one after the other": ([(name, unit, 2 * (unit // 2) + 1) for unit, name in enumerate("aabbccdd")], "abcd"),
    "asked for too late": ([("a", 0, 0), ("b", 1, 9), ("a", 0, 0), ("a", 0, 0)], "aba"),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_what_is_kept(name: str) -> None:
    """Where there is room for two tables, those stay that are there and still wanted by this unit or a later one."""
    asked, expected = ROUNDS[name]
    shared, made = SharedTables(2 * TABLE.nbytes), []
    for table, unit, last in asked:
        shared.get(table, lambda table=table: (made.append(table), TABLE)[1], unit=unit, last=last)  # type: ignore[misc]  # mypy cannot infer it
    assert "".join(made) == expected


def test_what_a_slower_thread_wants_is_kept() -> None:
    """A table stays as long as a unit is read that may want it, whatever others ask for."""
    shared, made = SharedTables(9 * TABLE.nbytes), []
    with shared.under_way(0):
        for table, unit in (("a", 0), ("b", 5), ("a", 0)):
            shared.get(table, lambda table=table: (made.append(table), TABLE)[1], unit=unit, last=unit)  # type: ignore[misc]  # mypy cannot infer it
    assert made == ["a", "b"]


def test_a_table_larger_than_the_room_is_kept_alone() -> None:
    """A single table stays, however large."""
    shared, made = SharedTables(0), []
    for name in "aab":
        shared.get(name, lambda name=name: (made.append(name), TABLE)[1], unit=0, last=9)  # type: ignore[misc]  # mypy cannot infer it
    assert made == ["a", "b"]
