"""Conditional writes: who comes first wins, and everybody is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from kubothek.store.interface import LostRace, Store, Swapped


def test_create_writes_once(swapping_store: Store) -> None:
    """The second to create an object loses and changes nothing."""
    first = swapping_store.create("a/k", b"first")
    assert first == Swapped(swapping_store.get("a/k").etag)
    assert isinstance(swapping_store.create("a/k", b"second"), LostRace)
    assert swapping_store.get("a/k").data == b"first"


def test_replace_needs_the_tag_of_now(swapping_store: Store) -> None:
    """A tag is good for one replacement, and the outcome has the next."""
    etag = swapping_store.put("k", b"1")
    swapped = swapping_store.replace("k", b"2", etag)
    assert isinstance(swapped, Swapped)
    assert isinstance(swapping_store.replace("k", b"3", etag), LostRace)
    assert isinstance(swapping_store.replace("k", b"4", swapped.etag), Swapped)
    assert swapping_store.get("k").data == b"4"


def test_replace_loses_against_a_plain_put(swapping_store: Store) -> None:
    """A writer who knows nothing of tags is noticed, even if size and time look the same."""
    etag = swapping_store.put("k", b"mine")
    swapping_store.put("k", b"them")
    assert isinstance(swapping_store.replace("k", b"next", etag), LostRace)
    assert swapping_store.get("k").data == b"them"


def test_replace_loses_against_a_delete(swapping_store: Store) -> None:
    """What was deleted does not come back by a replacement."""
    etag = swapping_store.put("k", b"1")
    swapping_store.delete(["k"])
    assert isinstance(swapping_store.replace("k", b"2", etag), LostRace)
    assert list(swapping_store.list()) == []


def test_threads_lose_no_increment(swapping_store: Store) -> None:
    """Four threads that count by replacing end at the sum of what they were told was done."""
    swapping_store.put("k", b"0")

    def count(_: int) -> int:
        blob = swapping_store.get("k")
        return int(isinstance(swapping_store.replace("k", b"%d" % (int(blob.data) + 1), blob.etag), Swapped))

    with ThreadPoolExecutor(4) as pool:
        done = sum(pool.map(count, range(100)))
    assert int(swapping_store.get("k").data) == done > 0


def test_one_of_many_creates(swapping_store: Store) -> None:
    """Of threads that create the same object one wins, and its bytes stay."""
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda n: swapping_store.create("a/b/k", b"%d" % n), range(20)))
    (winner,) = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Swapped)]
    assert swapping_store.get("a/b/k").data == b"%d" % winner
