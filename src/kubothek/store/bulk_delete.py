"""How are many objects deleted though some cannot be: in bulk, then one by one, and at the end all failures together.

::

    each thousand   one request for all
       └ fails      each key again by itself, several at once: what is gone already is no error
            └ if a whole batch of these fails, it is not about the keys, and the rest of the thousand is given up

A store may stop a request for many at the first key that is absent or must stay, so its failure says little about the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kubothek.errors import StoreError
from kubothek.store.parallel import THREADS, in_parallel

_AT_ONCE = 1000
_SHOWN = 3

Stayed = list[tuple[str, StoreError]]
"""Keys of objects that were not deleted, with the reason."""


def delete_all(keys: Sequence[str], many: Callable[[Sequence[str]], object], one: Callable[[str], object]) -> None:
    """Delete objects.

    Parameters
    ----------
    keys
        All that are to go.
    many, one
        Delete some, or one, of which the latter may be absent; ``StoreError`` where that fails.

    Raises
    ------
    StoreError
        Some objects stay; ``keys`` names them.
    """
    chunks = [keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE)]
    stayed = [pair for found in in_parallel(partial(_delete, many=many, one=one), chunks) for pair in found]
    if not stayed:
        return
    first, reason = stayed[0]
    named = ", ".join(repr(key) for key, _ in stayed[:_SHOWN]) + (", …" if len(stayed) > _SHOWN else "")
    raise StoreError(
        f"delete left {len(stayed)} of {len(keys)} objects where they are: {named}. The first reason: {reason}",
        key=first,
        keys=tuple(key for key, _ in stayed),
        operation="delete",
    ) from reason


def _delete(keys: Sequence[str], many: Callable[[Sequence[str]], object], one: Callable[[str], object]) -> Stayed:
    try:
        many(keys)
    except StoreError:
        pass
    else:
        return []
    stayed: Stayed = []
    for start in range(0, len(keys), THREADS):
        batch = keys[start : start + THREADS]
        failed = [pair for found in in_parallel(partial(_delete_one, one=one), batch) for pair in found]
        stayed += failed
        if len(failed) == THREADS:
            return stayed + [(key, failed[-1][1]) for key in keys[start + THREADS :]]
    return stayed


def _delete_one(key: str, one: Callable[[str], object]) -> Stayed:
    try:
        one(key)
    except StoreError as error:
        return [(key, error)]
    return []
