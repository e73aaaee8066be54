"""Which commits other software has overwritten follows from the headers alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from kubothek.model.header import CommitState, Header, partitions_schema
from kubothek.plan.foreign import effect_left, find_overwritten, foreign_commit_id, is_foreign_id
from kubothek.store.world import WORLD


def header(labels: str, number: int = 0, **metadata: Any) -> Header:
    """Describe a header with these partitions, one letter each, made by commit ``c<number>``."""
    nothing = pa.nulls(len(labels), pa.int64())
    files = pa.array([f"d/table/{label}" for label in labels], pa.string())
    table = pa.table(
        [pa.array(list(labels), pa.string()), nothing, nothing, files], schema=partitions_schema(("table",))
    )
    state = CommitState(number, f"c{number}", (), "i", {}) if number else None
    return Header("d", (), table, metadata=metadata, state=state)


def overwritten(now: Header, *before: tuple[str, Mapping[str, Any]] | str) -> tuple[str, ...]:
    """Find what was overwritten, given labels (and metadata) of each version, the first one first."""
    versions = [(one, {}) if isinstance(one, str) else one for one in before]
    made = [header(labels, number, **metadata) for number, (labels, metadata) in enumerate(versions, 1)]
    return find_overwritten(now, [*reversed(made), None])


CASES: dict[str, tuple[tuple[Any, ...], Header, tuple[str, ...]]] = {
    "an append to the newest": (("a", "ab"), header("abx"), ()),
    "nothing but a look": (("a", "ab"), header("ab"), ()),
    "an append not known": (("a", "ab"), header("ax"), ("c2",)),
    "several appends not known": (("a", "ab", "abc", "abcd"), header("ax"), ("c4", "c3", "c2")),
    "an append of which half is there": (("a", "abc"), header("ac"), ()),
    "the dataset created anew": (("a", "ab"), header("x"), ("c2", "c1")),
    "all removed of a dataset that was known": ((("a", {"t": 1}),), header("x", t=1), ()),
    "all removed that came with metadata": (("a", ("ab", {"m": 1})), header("ax", m=1), ()),
    "a removal not known": (("ab", "b"), header("abx"), ("c2",)),
    "a removal known": (("ab", "b"), header("bx"), ()),
    "a replacement not known": (("ab", "bc"), header("abx"), ("c2",)),
    "a replacement replaced again": (("ab", "bc"), header("bx"), ()),
    "two replacements not known": (("ab", "bc", "bd"), header("abx"), ("c3", "c2")),
    "what came and went is not missed": (("a", "ab", "a"), header("ax"), ()),
    "what came and went was not known": (("ab", "bc", "b"), header("abx"), ("c3", "c2")),
    "metadata known": ((("a", {"m": 1}), ("a", {"m": 2})), header("ax", m=2), ()),
    "metadata not known": ((("a", {"m": 1}), ("a", {"m": 2})), header("ax", m=1), ("c2",)),
    "metadata replaced again": ((("a", {"m": 1}), ("a", {"m": 2})), header("ax", m=3), ()),
    "metadata dropped, not known": ((("a", {"m": 1}), "a"), header("ax", m=1), ("c2",)),
    "two changes of metadata": ((("a", {"m": 1}), ("a", {"m": 2}), ("a", {"m": 3})), header("a", m=1), ("c3", "c2")),
    "an index between what is not known": (("a", "ab", "ab", "abc"), header("ax"), ("c4", "c3", "c2")),
    "an index after what is known": (("a", "ab", "ab"), header("abx"), ()),
    "no history": ((), header("a"), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_overwritten(case: str) -> None:
    """Commits of which nothing is left, from the newest backwards to the first of which something is."""
    before, now, expected = CASES[case]
    assert overwritten(now, *before) == expected


def test_no_more_is_read_than_needed() -> None:
    """Where the newest commit is there, the headers before are not looked at."""

    def versions() -> Iterator[Header]:
        yield header("ab", 2)
        yield header("a", 1)
        raise AssertionError

    assert find_overwritten(header("abx"), versions()) == ()


def test_what_is_left_of_one_commit() -> None:
    """Of a commit alone, and of one that others have built on."""
    assert effect_left(header("a"), header("ab"), header("ax")) == "gone"
    assert effect_left(header("a"), header("ab"), header("abx")) == "there"
    assert effect_left(header("a"), header("ab"), header("ax"), newest=header("a")) == "unknown"
    assert effect_left(None, header("a"), header("x")) == "gone"


def test_ids() -> None:
    """The same header has the same id, another one another, and none is like one of ours."""
    ids = [foreign_commit_id(key, etag) for key in ("a", "b") for etag in ("1", "2")]
    assert len(set(ids)) == 4
    assert foreign_commit_id("a", "1") == ids[0]
    assert all(len(one) == 32 and is_foreign_id(one) for one in ids)
    assert not any(is_foreign_id(one) for one in (WORLD.new_id(), "w", ""))
