"""What every store does, done by each server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

# The fixtures beside this file put servers into the place of the stores there.
from tests.store.test_swaps import *  # noqa: F403  the suites, with stores of ours
from tests.store.test_verbs import *  # noqa: F403  the suites, with stores of ours

from kubothek.store.interface import Store

MORE_THAN_A_PAGE = 1001
"""Servers list 1000 objects at a time, and delete at most as many at once."""


def test_more_objects_than_a_page_holds(store: Store) -> None:
    """All are listed, and all are deleted at once."""
    keys = [f"a/{number:04}" for number in range(MORE_THAN_A_PAGE)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda key: store.put(key, b""), keys))
    assert [info.key for info in store.list("a/")] == keys
    assert [info.key for info in store.list_level("a/")[0]] == keys
    store.delete(keys)
    assert list(store.list()) == []
