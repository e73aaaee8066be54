"""What every store does, whatever is behind it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubothek.errors import InvalidInputError, ObjectNotFoundError, StoreError
from kubothek.store.interface import Store

LITERAL = [
    "a%2Fb",
    "a%20b",
    "p=1/q=x y/f.parquet",
    "ü=ß/日本.json",
    "u\u0301",
    "a+b@c,d;e'f(g)",
    "x~#?*|<>",
    "a\\b",
    ".a/..b",
    "%",
]
NO_KEYS = ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "a\0b", "a\nb", "a\udc80"]
TREE = ["a", "a.b", "a/b/c", "a/b.d", "a/x", "ab/c", "b"]


def fill(store: Store, keys: list[str]) -> None:
    """Put each key's own text under it."""
    for key in keys:
        store.put(key, key.encode())


def keys_of(store: Store, prefix: str) -> list[str]:
    """List the keys of a prefix, sorted."""
    return sorted(info.key for info in store.list(prefix))


@pytest.mark.parametrize("key", LITERAL)
def test_keys_are_literal(store: Store, key: str) -> None:
    """A key comes back from a listing as it was put, and nothing in it is decoded."""
    store.put(key, b"v")
    assert [info.key for info in store.list()] == [key]
    assert store.get(key).data == b"v"


@pytest.mark.parametrize("key", NO_KEYS)
def test_what_is_no_key_is_refused(store: Store, key: str) -> None:
    """No verb takes a key that could lead out of the root or that some store could not hold."""
    for act in (
        lambda: store.get(key), lambda: store.put(key, b""), lambda: store.create(key, b""), lambda: store.info(key),
        lambda: store.replace(key, b"", "etag"), lambda: store.delete(["ok", key]), lambda: store.copy("ok", key),
        lambda: store.get_range(key, 0, 1), lambda: store.open_file(key), lambda: store.create_file(key).__enter__(),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError):
            act()


@pytest.mark.parametrize("prefix", ["/", "/a", "../", "a//", "a/../b", "a\0"])
def test_what_begins_no_key_is_no_prefix(store: Store, prefix: str) -> None:
    """Listing refuses such a prefix rather than finding nothing or too much."""
    with pytest.raises(InvalidInputError):
        list(store.list(prefix))
    with pytest.raises(InvalidInputError):
        store.list_level(prefix)


def test_an_absent_object_is_named(store: Store) -> None:
    """Reading what is not there says so, with the key."""
    for act in (store.get, store.info, store.open_file, lambda key: store.get_range(key, 0, 1)):
        with pytest.raises(ObjectNotFoundError) as caught:
            act("x/nothing")
        assert caught.value.key == "x/nothing"
    with pytest.raises(ObjectNotFoundError):
        store.copy("x/nothing", "y")
    assert keys_of(store, "") == []


@given(st.sets(st.text("ab.", min_size=1, max_size=4)), st.text("ab.", max_size=3))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_prefix_is_the_beginning_of_a_text(store: Store, names: set[str], prefix: str) -> None:
    """Listing gives what plain Python gives for ``startswith``."""
    store.delete(keys_of(store, ""))
    keys = {f"d/{name}" for name in names - {".", ".."}}
    fill(store, sorted(keys))
    assert keys_of(store, f"d/{prefix}") == sorted(key for key in keys if key.startswith(f"d/{prefix}"))


@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b", "a/b/", "a.", "ab", "c", "a/b/c", "a/b/c/"])
def test_listing_finds_exactly_the_prefix(store: Store, prefix: str) -> None:
    """Objects are listed at any depth, and a name that only resembles the prefix's folder is not."""
    tree = [key for key in TREE if not any(other.startswith(key + "/") for other in TREE)]
    fill(store, tree)
    assert keys_of(store, prefix) == sorted(key for key in tree if key.startswith(prefix))


@pytest.mark.parametrize(
    ("prefix", "objects", "deeper"),
    [
        ("", ["b"], ["a/", "ab/"]),
        ("a", [], ["a/", "ab/"]),
        ("a/", ["a/b.d", "a/x"], ["a/b/"]),
        ("a/b", ["a/b.d"], ["a/b/"]),
        ("c/", [], []),
    ],
)
def test_one_level_stops_at_the_next_slash(store: Store, prefix: str, objects: list[str], deeper: list[str]) -> None:
    """A level holds its own objects and the beginnings of what lies deeper, sorted."""
    fill(store, ["a/b/c", "a/b.d", "a/x", "ab/c", "b"])
    found, prefixes = store.list_level(prefix)
    assert ([info.key for info in found], prefixes) == (objects, deeper)


def test_listings_tell_size_and_time(store: Store) -> None:
    """Sizes are bytes and times are recent, in UTC; ``info`` agrees with the listing."""
    store.put("k", b"12345")
    (listed,) = store.list()
    found = store.info("k")
    assert (listed.key, listed.size) == (found.key, found.size) == ("k", 5)
    assert abs(listed.modified - found.modified) < timedelta(seconds=1)  # a header of HTTP tells no less
    assert abs(datetime.now(UTC) - listed.modified) < timedelta(minutes=1)


def test_ranges_are_exact(store: Store) -> None:
    """A range gives its bytes, and one that goes beyond the end is an error, never fewer bytes."""
    store.put("k", b"0123456789")
    assert store.get_range("k", 2, 3) == b"234"
    assert store.get_range("k", 4, 0) == b""
    for start, length in [(8, 3), (10, 1), (20, 1)]:
        with pytest.raises(StoreError):
            store.get_range("k", start, length)


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    [(2, 3, b"234"), (8, 3, b"89"), (0, 99, b"0123456789"), (None, 4, b"6789"), (None, 99, b"0123456789")],
)
def test_parts_come_with_what_the_whole_is(store: Store, start: int | None, length: int, expected: bytes) -> None:
    """A part has its bytes, as far as the object goes, and tells size and tag of the object, which change with it."""
    store.put("k", b"0123456789")
    part = store.get_part("k", start, length)
    assert (part.data, part.size, part.etag) == (expected, 10, store.get_part("k", 0, 1).etag)
    store.put("k", b"9876543210")
    assert not part.etag or store.get_part("k", start, length).etag != part.etag


def test_many_are_read_in_order(store: Store) -> None:
    """Reading many gives one answer per key, ``None`` where nothing is."""
    fill(store, ["k1", "k3"])
    found = store.get_many(["k3", "k2", "k1"])
    assert [blob and blob.data for blob in found] == [b"k3", None, b"k1"]
    assert store.get_many([]) == []


def test_put_replaces_whatever_is_there(store: Store) -> None:
    """The last put holds, and its tag is the one that reading gives."""
    store.put("k", b"old")
    etag = store.put("k", b"new")
    assert (store.get("k").data, store.get("k").etag) == (b"new", etag)


def test_copies_are_independent(store: Store) -> None:
    """A copy has the source's bytes, replaces its target, and outlives the source."""
    fill(store, ["a/source", "b/target"])
    store.copy("a/source", "b/target")
    store.delete(["a/source"])
    assert store.get("b/target").data == b"a/source"


def test_deleting_takes_absent_keys(store: Store) -> None:
    """All that is there goes, and what is not there keeps nothing else from going."""
    fill(store, ["a/b/c", "a/d", "e"])
    store.delete(iter(["nothing", "a/b/c", "x/y", "a/d"]))
    store.delete([])
    assert keys_of(store, "") == ["e"]


@pytest.mark.parametrize("size", [None, "known"])
def test_parquet_reads_from_any_store(store: Store, size: str | None) -> None:
    """A table streamed into a store comes back through ``open_file``, with and without its size known."""
    table = pa.table({"x": range(5000), "v1": [str(i) for i in range(5000)]})
    with store.create_file("t.parquet") as file, pq.ParquetWriter(file, table.schema) as writer:
        writer.write_table(table, row_group_size=1000)
    known = store.info("t.parquet").size if size else None
    assert pq.ParquetFile(store.open_file("t.parquet", known)).read() == table


@pytest.mark.parametrize("written", [0, 10, 9_000_000], ids=["nothing", "a little", "several parts"])
def test_a_stream_is_seen_when_it_ends(store: Store, written: int) -> None:
    """An object that is being streamed shows only after a clean end."""
    with store.create_file("a/k") as file:
        file.write(b"x" * written)
        assert keys_of(store, "") == []
    assert store.info("a/k").size == written


@pytest.mark.parametrize("written", [0, 10, 9_000_000], ids=["nothing", "a little", "several parts"])
def test_a_stream_that_fails_leaves_nothing(store: Store, written: int) -> None:
    """The body's own error comes out, and neither an object nor a part of one stays."""
    with pytest.raises(ZeroDivisionError), store.create_file("a/k") as file:
        assert file.write(b"x" * written) / 0
    assert keys_of(store, "") == []
    assert store.remove_leftovers(datetime.now(UTC) + timedelta(days=1)) == []
