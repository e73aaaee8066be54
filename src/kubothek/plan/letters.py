"""The letters of many texts as one array of numbers, which NumPy goes through much faster than an expression does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

STEP = 2**20
"""Letters to look at together, so that what comes between stays in the processor's cache."""


def letters_of(texts: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the bytes of UTF-8 among which the texts lie, without a copy, and where each begins, then the last's end.

    Examples
    --------
    >>> letters, places = letters_of(pa.array(["ab", "ü", ""]))
    >>> bytes(letters[places[0] : places[1]]), places.tolist()
    (b'ab', [0, 2, 4, 4])
    """
    if texts.type != pa.string():
        raise TypeError(f"texts must be of Arrow's type string, not {texts.type}")
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int32)
    return np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4)


def in_steps(letters: NDArray[np.uint8], start: int, stop: int) -> Iterator[NDArray[np.uint8]]:
    """Yield letters in pieces, each with the letter that follows it, so that pairs are seen too."""
    for place in range(start, stop, STEP):
        yield letters[place : min(place + STEP + 1, stop)]


def has_at(letters: NDArray[np.uint8], places: NDArray[np.int64], text: bytes) -> bool:
    """Tell whether a text stands at all of these places, which ascend.

    Examples
    --------
    >>> letters = np.frombuffer(b"p=17/q=5", np.uint8)
    >>> has_at(letters, np.array([1, 6]), b"="), has_at(letters, np.array([0, 5]), b"p=")
    (True, False)
    """
    if not len(places):
        return True
    if places[-1] + len(text) > len(letters):
        return False
    windows = np.lib.stride_tricks.sliding_window_view(letters, len(text))
    return bool((windows[places] == np.frombuffer(text, np.uint8)).all())


def cut_out(data: pa.Buffer, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> pa.StringArray:
    """Return texts that begin and end at places among the letters, where none begins before another ends.

    Examples
    --------
    >>> cut_out(pa.py_buffer(b"p=17/q=5"), np.array([2, 7]), np.array([4, 8])).to_pylist()
    ['17', '5']
    """
    places = np.append(np.stack([begins, ends], axis=1), ends[-1:]).astype(np.int32)
    parts = pa.Array.from_buffers(pa.string(), 2 * len(begins), [None, pa.py_buffer(places), data])
    return parts.take(pa.array(np.arange(0, len(parts), 2)))
