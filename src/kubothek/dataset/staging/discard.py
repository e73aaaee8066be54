"""How a write that fails takes back what it has staged.

What was written is known file by file, but for a Spark job that failed: which of its tasks wrote what nobody can tell,
so that only a listing finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.labels import label_prefixes, write_prefix
from kubothek.errors import CommitStateUnknownError, KubothekError, StoreError
from kubothek.model.staged import StagedPartition
from kubothek.store.interface import Store

_DATA_SUFFIX = ".parquet"


@contextmanager
def discard_on_error(store: Store, written: Iterable[StagedPartition], *, committing: bool = False) -> Iterator[None]:
    """Delete what a write has staged when it fails; what cannot be deleted stays, unreferenced.

    Parameters
    ----------
    store, written
        What was staged until then, and where.
    committing
        Once the write is committing, only errors that say that nothing was committed delete: an interrupt, or memory
        that runs out, may come when the header is already there.
    """
    try:
        yield
    except BaseException as error:
        if not committing or (isinstance(error, KubothekError) and not isinstance(error, CommitStateUnknownError)):
            discard(store, written)
        raise


def discard(store: Store, written: Iterable[StagedPartition]) -> None:
    """Delete what was staged and no header ever named; what cannot be deleted stays."""
    keys = list(dict.fromkeys(key for one in written for key in one.keys))
    if keys:
        with suppress(StoreError):
            store.delete(keys)


def discard_by_listing(store: Store, uuid: str, table: str, write_id: str, staged: str) -> None:
    """Delete whatever a write has staged for one table, found by the names of its files; what cannot be stays.

    Parameters
    ----------
    store, uuid, table, write_id
        Where, and by which write.
    staged
        What the keys of its staged index values begin with.
    """
    with suppress(StoreError):
        listed = (info.key for info in store.list(f"{uuid}/{table}/"))
        keys = pa.array([key.removesuffix(_DATA_SUFFIX) for key in listed if key.endswith(_DATA_SUFFIX)], pa.string())
        ours = keys.filter(pc.equal(label_prefixes(keys), write_prefix(write_id)))
        store.delete([f"{key}{_DATA_SUFFIX}" for key in ours.to_pylist()])
        store.delete([info.key for info in store.list(staged)])
