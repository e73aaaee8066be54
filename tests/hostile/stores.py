"""A dataset with another beside it, behind a fence that nothing may cross, and its header as somebody may forge it."""

from __future__ import annotations

import json
import uuid as uuids
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa

import kubothek as kb
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import Call, WrappedStore

T = TypeVar("T")

HEADER = "d.by-dataset-metadata.json"
OURS = ("d.", "d/", "_kubothek/d/", "_kubothek/.")
COPY = ("copy.", "copy/", "_kubothek/copy/")


class FencedStore(WrappedStore):
    """Fails the test on any key that is not of the dataset ``d``, or of the copy that is made of it."""

    def around(self, call: Call, act: Callable[[], T]) -> T:
        """Look where the call goes."""
        self._check(call.verb, call.key)
        return act()

    def delete(self, keys: Any) -> None:
        """Look at every key."""
        doomed = list(keys)
        for key in doomed:
            self._check("delete", key)
        super().delete(doomed)

    def get_many(self, keys: Any) -> Any:
        """Look at every key."""
        wanted = list(keys)
        for key in wanted:
            self._check("get_many", key)
        return super().get_many(wanted)

    def copy(self, source: str, target: str) -> None:
        """Look at both keys."""
        self._check("copy", target)
        super().copy(source, target)

    def _check(self, verb: str, key: str) -> None:
        looks_around = verb == "list_level" and key == ""  # for names that look alike
        clean = not {"..", "."} & set(key.split("/")) and key.isprintable()
        if not (looks_around or (clean and key.startswith((*OURS, *COPY))) or verb == "remove_leftovers"):
            raise AssertionError(f"{verb} of {key!r} leaves the dataset")


def rows(*values: int) -> pa.Table:
    """Return rows of the partitions 1 and 2."""
    return pa.table(
        {"p": [1 + v % 2 for v in values], "i1": [f"i{v}" for v in values], "v1": [float(v) for v in values]}
    )


def written(**options: Any) -> Store:
    """Return a store with the dataset ``d`` of two versions, and a neighbour ``e`` whose objects are to stay."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    kb.write_dataset(rows(1, 2), "e", store, partition_on="p")
    kb.write_dataset(rows(1, 2, 3, 4), "d", store, partition_on="p", secondary_indices="i1", **options)
    kb.update_dataset(rows(5, 6), "d", store)
    return store


def forge(store: Store, change: Callable[[dict[str, Any]], Any], key: str = HEADER) -> None:
    """Put a header that somebody has changed and not sealed; ``change`` may return the text."""
    header = json.loads(store.get(key).data)
    header["kubothek"].pop("seal", None)
    text = change(header)
    store.put(key, (text if isinstance(text, str) else json.dumps(header)).encode(errors="surrogatepass"))


def content(store: Store, *besides: str) -> dict[str, bytes]:
    """Return all objects but those under these prefixes."""
    return {info.key: store.get(info.key).data for info in store.list() if not info.key.startswith(besides or ("?",))}
