"""Whether what is kept of old versions can be read, and whether commits were lost: overwritten by other software.

That replaces the header without looking for commits since it has read it. Its versions are told by their ids, so that
without looking into what is kept nothing is read of a dataset that has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from kubothek.dataset.at import with_state
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.upkeep.retained import kept_versions
from kubothek.dataset.versions import load_kept, load_kept_state, one_line
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, SnapshotExpiredError
from kubothek.model.header import CommitState, Header
from kubothek.model.history import KeptVersion
from kubothek.model.problem import Problem
from kubothek.plan.foreign import is_foreign_id
from kubothek.plan.verify import check_overwritten
from kubothek.store.interface import Store

_PARALLEL = 8


def check_history(snapshot: Snapshot, objects: pa.Table, *, files: bool) -> Iterator[Problem]:
    """Find versions that cannot be read, and commits of which other software has left nothing.

    ``objects`` is what a listing tells (``kubothek.plan.garbage.OBJECTS``). Commits are looked at as far as their
    versions are still kept; without ``files``, versions that other software did not make are not read for themselves.
    """
    uuid, store = snapshot.uuid, snapshot.store
    known, state = with_state(snapshot)
    listed = kept_versions(objects).get(state.incarnation, ())
    kept = [one for one in listed if state.oldest <= one.version < state.version]
    looked_at = [one for one in kept if files or is_foreign_id(one.commit)]
    states = list(map_in_threads(lambda one: _load_state(one, uuid, store), looked_at, _PARALLEL))
    yield from (one for one in states if isinstance(one, Problem))
    line = one_line(kept)
    overwritten = _overwritten([*(one for one in states if isinstance(one, CommitState)), state])
    overwritten |= {one.commit: one.version for one in kept if one not in line}  # another had their number already
    now = replace(known.header, partitions=snapshot.partitions)
    for one in (one for one in kept if one.commit in overwritten):
        for before, lost in _lost(one, line, uuid, store):
            yield from check_overwritten(now, lost, before, overwritten[one.commit], snapshot.key)


def _load_state(kept: KeptVersion, uuid: str, store: Store) -> CommitState | Problem | None:
    try:
        return load_kept_state(kept, uuid, store)
    except SnapshotExpiredError:  # given up at this moment
        return None
    except CorruptDatasetError as error:
        return Problem("unreadable_version", uuid, kept.key, error.message)


def _overwritten(states: Sequence[CommitState]) -> dict[str, int]:
    """Return the commits that were overwritten, each with the version that did so first."""
    told = [(one.info.overwrote, one.version) for one in states if one.info is not None]
    return {commit: version for commits, version in reversed(told) for commit in commits}


def _lost(
    one: KeptVersion, line: Sequence[KeptVersion], uuid: str, store: Store
) -> Iterator[tuple[Header | None, Header]]:
    """Yield the header before an overwritten commit and that of it, unless it cannot be told what the commit did."""
    before = next((other for other in line if other.version == one.version - 1), None)
    if before is None and one.version > 1:
        return
    # what is given up at this moment is of no interest, and what cannot be read is a problem of its own
    with suppress(SnapshotExpiredError, CorruptDatasetError):
        yield None if before is None else load_kept(before, uuid, store), load_kept(one, uuid, store)
