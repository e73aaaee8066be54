"""Which datasets have many files that are too small to be read well, and what to do about it."""

from __future__ import annotations

from kubothek.model.display import human_bytes, plural

MANY_FILES = 100
SMALL_BYTES = 1_000_000
"""Bytes of a file below which its request and its footer cost about as much as its data."""


def has_small_files(files: int, size: int) -> bool:
    """Tell whether a dataset has many files of less than a megabyte each on average.

    Examples
    --------
    >>> has_small_files(files=400, size=80_000_000), has_small_files(files=4, size=1_000)
    (True, False)
    """
    return files >= MANY_FILES and size < SMALL_BYTES * files


def small_files_advice(name: str, partitions: int, files: int, size: int) -> str:
    """Say what is small about the files of a dataset, and what to do.

    Examples
    --------
    >>> print(small_files_advice("weather", 12, 400, 80_000_000))
    weather has 400 files of 200.0 kB on average. Larger ones are read faster: write its partitions again with
    update_cube.
    """
    advice = "write its partitions again with update_cube" if files > partitions else "partition it by fewer columns"
    mean = human_bytes(size // files)
    return f"{name} has {plural(files, 'file')} of {mean} on average. Larger ones are read faster: {advice}."
