"""What was committed to a dataset, by whom and when: its header and the kept copies of those before, newest first.

Of a header only our own state is decoded, which tells about its commit; partitions, which may be a million, are not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime

from kubothek.codec.header import decode_state_only
from kubothek.codec.keys import header_keys
from kubothek.dataset.at import with_state
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.versions import list_kept, load_kept_state, one_line, stored_at
from kubothek.engine.local import map_in_threads
from kubothek.errors import SnapshotExpiredError
from kubothek.model.header import CommitState
from kubothek.model.history import History, HistoryEntry, KeptVersion
from kubothek.plan.foreign import FOREIGN_COMMIT

_PARALLEL = 8


def read_history(snapshot: Snapshot) -> History:
    """Return the commits of a dataset up to a snapshot of it, newest first, without versions that were given up.

    Raises
    ------
    CorruptDatasetError
        A kept header is damaged; ``key`` names it.
    """
    uuid, store = snapshot.uuid, snapshot.store
    known, state = with_state(snapshot)
    now = _state_now(known, state)
    oldest = now.oldest if now is not None and now.incarnation == state.incarnation else state.oldest
    kept = [one for one in list_kept(uuid, store, state.incarnation) if oldest <= one.version <= state.version]
    line = one_line(kept)
    modified = next((one.modified for one in line if one.version == state.version), None)
    last = _entry(state, modified or stored_at(known), now)

    def load(one: KeptVersion) -> HistoryEntry | None:
        try:
            return _entry(load_kept_state(one, uuid, store), one.modified, now)
        except SnapshotExpiredError:  # given up at this moment
            return None

    before = [one for one in reversed(line) if one.version < state.version]
    entries = (last, *(entry for entry in map_in_threads(load, before, _PARALLEL) if entry is not None))
    in_line = set(line)
    beside = [one for one in kept if one not in in_line]
    return History(replace(one, overwrote=(*one.overwrote, *_beside(one, beside))) for one in entries)


def _beside(entry: HistoryEntry, beside: Collection[KeptVersion]) -> Iterator[str]:
    """Yield the commits that were kept when another had their number already, by which they had been overwritten."""
    return (one.commit for one in beside if (one.version, entry.is_foreign) == (entry.version, True))


def _state_now(known: Snapshot, state: CommitState) -> CommitState | None:
    """Return the state of what is in the store now, ``None`` where that is of other software, or nothing."""
    keys = header_keys(known.uuid)
    found = zip(keys, known.store.get_many(keys), strict=True)
    states = (state if blob.etag == known.etag else decode_state_only(blob.data, key) for key, blob in found if blob)
    return next((now for now in states if now is None or not now.withdrawn), None)


def _entry(state: CommitState, modified: datetime, now: CommitState | None) -> HistoryEntry:
    info = state.info
    return HistoryEntry(
        version=state.version,
        commit=state.commit,
        time=modified if info is None else info.time,
        operation="" if info is None else info.operation,
        author="" if info is None else info.author,
        library="" if info is None else info.library,
        added=None if info is None else info.added,
        removed=None if info is None else info.removed,
        rows=None if info is None else info.rows,
        is_foreign=info is not None and info.operation == FOREIGN_COMMIT,
        overwrote=() if info is None else info.overwrote,
        is_current=now is not None and state.commit == now.commit,
    )
