"""The door: turns what a caller may name a store by into a store, so that inside there is one type."""

from __future__ import annotations

import os

from kubothek.errors import InvalidInputError
from kubothek.store.interface import Store

StoreLike = str | os.PathLike[str] | Store
"""Whatever may name a store."""


def open_store(store: StoreLike) -> Store:
    """Give the store that is meant.

    Parameters
    ----------
    store
        A URL or path (see :class:`kubothek.store.interface.Store`), a path object, or a store, returned as it is.

    Raises
    ------
    InvalidInputError
        Nothing that names a store, or a URL scheme that is not known.

    Examples
    --------
    >>> open_store("memory://examples")
    MemoryStore('memory://examples')
    """
    if isinstance(store, Store):
        return store
    if isinstance(store, str | os.PathLike):
        return Store(store)
    raise InvalidInputError(
        f"A store is given as a URL, a path or a Store, and this is of type {type(store).__name__}. "
        "Write for example '/data', 's3://bucket/prefix' or Store(url, **options)."
    )
