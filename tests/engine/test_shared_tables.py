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
        return shared.get("a", make)

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
        future = pool.submit(shared.get, "slow", slow)
        assert begun.wait(10)
        assert shared.get("quick", lambda: TABLE) is TABLE
        assert not future.done()
        go.set()
        assert future.result() is TABLE


def test_an_error_is_not_kept() -> None:
    """Who asks after an error has the table made anew."""
    shared = SharedTables(10**6)
    with pytest.raises(ZeroDivisionError):
        shared.get("a", lambda: 1 / 0)
    assert shared.get("a", lambda: TABLE) is TABLE


def test_an_error_reaches_those_who_wait() -> None:
    """All who wait for a table learn why there is none."""
    shared, begun, go = SharedTables(10**6), threading.Event(), threading.Event()

    def fail() -> pa.Table:
        begun.set()
        go.wait(10)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(shared.get, "a", fail)]
        assert begun.wait(10)
        futures.append(pool.submit(shared.get, "a", fail))
        go.set()
        assert [str(future.exception(10)) for future in futures] == ["no", "no"]


def test_those_used_longest_ago_go() -> None:
    """Where there is room for two tables, a third takes the place of the one that nobody used since."""
    shared, made = SharedTables(2 * TABLE.nbytes), []
    for name in "abacab":
        shared.get(name, lambda name=name: (made.append(name), TABLE)[1])  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


def test_a_table_larger_than_the_room_is_kept_until_the_next() -> None:
    """A single table stays, however large."""
    shared, made = SharedTables(0), []
    for name in "aab":
        shared.get(name, lambda name=name: (made.append(name), TABLE)[1])  # type: ignore[misc]
    assert made == ["a", "b"]
