"""Which requests fetch the parts of a file that are wanted."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kubothek.plan.ranges import (
    FOOTER_BYTES,
    HOLE_BYTES,
    REQUEST_BYTES,
    ROUND_TRIP_BYTES,
    Range,
    fits_request,
    join_ranges,
    vain_bytes,
)

HALF = REQUEST_BYTES // 2

# What is wanted, and what is asked for.
JOINED: dict[str, tuple[list[Range], list[Range]]] = {
    "nothing": ([], []),
    "neighbours": ([(10, 5), (4, 6)], [(4, 11)]),
    "a hole": ([(0, 1), (1 + HOLE_BYTES, 1)], [(0, HOLE_BYTES + 2)]),
    "a larger hole": ([(0, 1), (2 + HOLE_BYTES, 1)], [(0, 1), (2 + HOLE_BYTES, 1)]),
    "one in the other": ([(0, 100), (20, 30)], [(0, 100)]),
    "twice the same": ([(7, 3), (7, 3)], [(7, 3)]),
    "somewhat more": ([(1, 2 * HALF + 2)], [(1, HALF + 1), (HALF + 2, HALF + 1)]),
    "neighbours that are too long together": ([(0, REQUEST_BYTES), (REQUEST_BYTES, 1)],) * 2,
    "more than one request's worth": ([(0, 3 * REQUEST_BYTES)], [(n * REQUEST_BYTES, REQUEST_BYTES) for n in range(3)]),
}


@pytest.mark.parametrize("name", JOINED)
def test_joined_ranges(name: str) -> None:
    """Neighbours come together, and long ranges in several pieces."""
    wanted, expected = JOINED[name]
    assert join_ranges(wanted) == expected


@pytest.mark.parametrize("seed", range(20))
def test_joined_ranges_have_all_that_is_wanted(seed: int) -> None:
    """Whatever is wanted is in them, no byte comes twice, and no request is longer than allowed."""
    chance = random.Random(seed)
    wanted = [(chance.randrange(0, 2**26), int(2 ** chance.uniform(0, 24))) for _ in range(chance.randrange(1, 30))]
    fetched = np.zeros(2**26 + 2**24, np.int8)
    for start, length in join_ranges(wanted):
        assert 0 < length <= REQUEST_BYTES
        fetched[start : start + length] += 1
    assert fetched.max() == 1
    assert all(fetched[start : start + length].all() for start, length in wanted)


# Bytes of a file, how many of its eight columns are wanted, and whether it is fetched whole.
WHOLE: dict[str, tuple[int, int, bool]] = {
    "no more than a footer": (FOOTER_BYTES, 0, True),
    "hardly anything in vain": (ROUND_TRIP_BYTES, 1, True),
    "a column of eight": (2 * ROUND_TRIP_BYTES, 1, False),
    "seven columns of eight": (8 * ROUND_TRIP_BYTES, 7, True),
    "all of a large one": (REQUEST_BYTES, 8, True),
    "all of a larger one": (REQUEST_BYTES + 1, 8, False),
}


@pytest.mark.parametrize("name", WHOLE)
def test_files_that_are_fetched_whole(name: str) -> None:
    """A file comes whole if that is one request and little of it comes in vain."""
    size, wanted, whole = WHOLE[name]
    assert fits_request(size, vain_bytes(size, wanted, 8)) == whole
    sizes = np.array([size, size])
    assert fits_request(sizes, vain_bytes(sizes, wanted, 8)).tolist() == [whole, whole]


def test_columns_that_nobody_counted() -> None:
    """Where it is not known how many columns a file has, all may come in vain."""
    assert vain_bytes(1000, 3, 0) == 1000
