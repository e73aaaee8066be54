"""Which bytes of a file are fetched by which requests, where each answer is a round trip away.

What counts is how many answers are waited for one after the other, then how many bytes come in vain. So a file comes
whole if what is not wanted of it takes about as long as one round trip; else its footer comes first, and then all
column chunks that are wanted, each range of neighbours by a request of its own, side by side. The constants are for
round trips of 10 to 100 ms and connections of 50 to 100 MB/s, as those to object stores are::

    file     |  a  |  b  |     c     |  d  |  a  |  b  |     c     |  d  | footer
    wanted            b         c                   b         c
    fetched        [-----------------]         [-----------------]          [---]
                       2nd, at once                2nd, at once              1st
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

FOOTER_BYTES = 2**16
"""Bytes at the end of a file that are fetched to read its footer."""

ROUND_TRIP_BYTES = 2**19
"""Bytes that may be fetched in vain if that saves a round trip: 10 ms at 50 MB/s, since files share the network."""

REQUEST_BYTES = 8 * 2**20
"""Bytes from which on a range is fetched by several requests, since one connection has only so much to give."""

HOLE_BYTES = 2**16
"""Bytes between two ranges up to which one request fetches both, and what is between them."""

Sizes = TypeVar("Sizes", int, npt.NDArray[np.int64])
Range = tuple[int, int]
"""Where something begins in a file, and how many bytes it has."""


def vain_bytes(size: Sizes, wanted: int, stored: int) -> Sizes:
    """Return about how many bytes of a file are not wanted, if so many of its columns are, all taken to be equal.

    Where the number of stored columns is not known (0), none may be wanted.

    Examples
    --------
    >>> vain_bytes(800, 2, 8)
    600
    """
    return size - size * min(wanted, stored) // max(stored, 1)


def fits_request(size: Sizes, vain: Sizes) -> Sizes:
    """Tell whether a file of a known size is fetched whole, with so many bytes in vain: by one request.

    Examples
    --------
    >>> [bool(fits_request(size, vain)) for size, vain in [(2**19, 2**19), (2**23, 2**18), (2**24, 0)]]
    [True, True, False]
    """
    return (size <= FOOTER_BYTES) | ((size <= REQUEST_BYTES) & (vain <= ROUND_TRIP_BYTES))  # type: ignore[return-value]


def join_ranges(ranges: Sequence[Range]) -> list[Range]:
    """Return the ranges to ask for to have all of these: neighbours joined, long ones cut, and no byte twice.

    Examples
    --------
    >>> join_ranges([(4, 100), (104, 50), (1_000_000, 8), (2_000_000, REQUEST_BYTES + 1)])
    [(4, 150), (1000000, 8), (2000000, 4194304), (6194304, 4194305)]
    """
    joined: list[list[int]] = []
    for start, length in sorted(ranges):
        first, stop = max(start, joined[-1][1] if joined else 0), start + length
        if first >= stop:
            continue  # it is in the one before
        if joined and first - joined[-1][1] <= HOLE_BYTES and stop - joined[-1][0] <= REQUEST_BYTES:
            joined[-1][1] = stop
        else:
            joined.append([first, stop])
    return [piece for start, stop in joined for piece in _cut(start, stop)]


def _cut(start: int, stop: int) -> list[Range]:
    """Cut a range into as few pieces of about equal length as requests are needed for it."""
    bounds = np.linspace(start, stop, max(-(-(stop - start) // REQUEST_BYTES), 1) + 1).astype(np.int64).tolist()
    return [(first, last - first) for first, last in pairwise(bounds)]
