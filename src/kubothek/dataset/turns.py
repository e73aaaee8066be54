"""How a writer whose attempts take long gets its turn among writers whose attempts do not.

Who is to write a large index needs seconds from looking at the dataset to the swap, and loses each time where others
commit every few milliseconds. After some losses such a writer commits a request, which takes no time: the header then
says for how many seconds others are asked to hold back. Others who find it wait until it is replaced, or that time is
over, which they measure themselves::

    quick    v7      v8  v9  v10              wait . . . . . . . . .   v13
    slow        lost, lost, lost     v11: hold      v12: the index

A header that is replaced asks for nothing any more. So a writer that dies costs the others one wait, and nothing hangs
on it that they do: who does not wait commits, and the slow one has lost again.
"""

from __future__ import annotations

from kubothek.dataset.outcome import FIRST_PAUSE, etag_of
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.model.staged import ChangeSet
from kubothek.store.world import LONGEST_PAUSE, World

_LOSSES = 3
_SLOW = 0.25
_LONGEST_HOLD = 60.0


def needs_turn(change: ChangeSet, losses: int, seconds: float) -> bool:
    """Tell whether a change has lost often enough, with attempts that take so many seconds, to ask others to wait."""
    return losses >= _LOSSES and seconds > _SLOW and not change.hold


def request_for(change: ChangeSet, seconds: float, world: World) -> ChangeSet:
    """Return the commit that asks others to hold back for the next attempt, given how long the last one took."""
    return ChangeSet(world.new_id(), change.operation, hold=min(_LONGEST_HOLD, 2 * seconds))


def wait_for_turn(found: Snapshot) -> Snapshot | None:
    """Return what is there once nobody asks others to hold back, or has asked for long enough."""
    store, state = found.store, found.header.state
    left = 0.0 if state is None else min(_LONGEST_HOLD, state.hold)
    pause = FIRST_PAUSE
    while left > 0:
        store.world.sleep(min(pause, left))
        left, pause = left - pause, min(LONGEST_PAUSE, 2 * pause)
        blob = next((blob for blob in store.get_many([found.key]) if blob is not None), None)
        if blob is None or blob.etag != found.etag:
            now = find_snapshot(found.uuid, store)
            return now if now is None or etag_of(now) == found.etag else wait_for_turn(now)
    return found
