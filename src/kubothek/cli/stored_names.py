"""Which datasets a store has whose names begin so, as one listing tells."""

from __future__ import annotations

from kubothek.codec.keys import HEADER_SUFFIXES
from kubothek.store.interface import Store


def find_datasets(store: Store, start: str) -> set[str]:
    """Return the names of the datasets.

    Examples
    --------
    >>> from kubothek import Store
    >>> find_datasets(Store("memory://find_datasets"), "flights")
    set()
    """
    objects, _folders = store.list_level(start)
    suffixes = tuple(HEADER_SUFFIXES.values())
    return {info.key.partition(".by-dataset-metadata")[0] for info in objects if info.key.endswith(suffixes)}
