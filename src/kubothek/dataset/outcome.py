"""What became of a swap: looking at the store once more, and telling whether a state contains a change.

A swap has one of three ends. Two are values here, :class:`Committed` and :class:`Lost`; where what is in the store does
not tell, it is :func:`unknown`, never a guess. A change is known by its write id, which every header lists for the last
commits. Other software drops that list, and what it puts in its place proves nothing that is not in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import deletion_key, is_deletion_key, private_root
from kubothek.codec.labels import label_prefixes
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.errors import CommitStateUnknownError, CorruptDatasetError, ObjectNotFoundError, StoreError
from kubothek.model.staged import ChangeSet
from kubothek.plan.foreign import is_foreign_id
from kubothek.plan.next_state import RECENT_COMMITS
from kubothek.store.interface import Store
from kubothek.store.world import World

T = TypeVar("T")

TRIES = 5
FIRST_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class Committed:
    """The change took place; ``snapshot`` is the state that it made, or a later one that contains it."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Lost:
    """Others came first; ``surely`` tells that the change did not take place, and will not.

    Else it may have, and nothing is left of it: a request that is carried out twice is refused the second time, and
    other software has replaced the first. What it put may yet refer to index files of the attempt.
    """

    surely: bool = True


def unknown(
    uuid: str, change: ChangeSet, why: str, *, answer: str = "the store gave the request no clear answer"
) -> CommitStateUnknownError:
    """Return the error that nobody can tell whether a change took place."""
    return CommitStateUnknownError(
        f"Whether '{change.operation}' on dataset {uuid!r} was committed is unknown: {answer}, and {why}. Open the "
        f"dataset and look whether it has the change (commit {change.write_id}) before you repeat it; its staged files "
        "were left alone.",
        write_id=change.write_id,
    )


def etag_of(snapshot: Snapshot | None) -> str | None:
    """Return the tag of the header, ``None`` where there is none."""
    return None if snapshot is None else snapshot.etag


def read_back(uuid: str, store: Store, change: ChangeSet) -> Snapshot | None:
    """Pin what is there now; other software does not always write atomically, so a torn header gets another look."""
    return patiently(lambda: find_snapshot(uuid, store), uuid, change, store.world, "the header cannot be read now")


def patiently(look: Callable[[], T], uuid: str, change: ChangeSet, world: World, else_: str) -> T:
    """Look at the store after the swap; one request that fails does not make the outcome unknown."""
    for attempt in range(TRIES):
        try:
            return look()
        except (StoreError, CorruptDatasetError) as error:
            last = error
            world.pause(FIRST_PAUSE * 2**attempt)
    raise unknown(uuid, change, else_) from last


def contains(found: Snapshot, change: ChangeSet, current: Snapshot | None) -> bool:
    """Whether a state contains the change: its id is there or, where ids are not complete, all its partitions.

    Another commit may have brought partitions that were staged by a call of their own, but nothing else of the change.
    """
    if is_noted(change, found):
        return True
    labels = pa.array([part.label for part in change.added], pa.string())
    if not len(labels) or lists_all_since(found, current):
        return False
    known = found.partitions["label"].combine_chunks()
    own = pc.equal(label_prefixes(labels), label_prefixes(pa.array([change.write_id]))[0])
    adds_only = not (change.delete_scope or change.remove_labels or change.metadata)
    return bool(pc.all(pc.is_in(labels, value_set=known)).as_py() and (adds_only or pc.all(own).as_py()))


def is_noted(change: ChangeSet, found: Snapshot) -> bool:
    """Whether the ids in a header, or in the state that it was given, name the change."""
    state = found.header.state
    return state is not None and change.write_id in state.recent


def may_hide(found: Snapshot, current: Snapshot | None) -> bool:
    """Whether a commit that was made on a base may be below this header without being among its ids."""
    new = found.header.state
    if new is None:
        return True
    old = None if current is None else current.header.state
    since = new.version if old is None or new.incarnation != old.incarnation else new.version - old.version
    return since > RECENT_COMMITS or any(map(is_foreign_id, new.recent[max(0, len(new.recent) - since) :]))


def may_be_deleted(uuid: str, store: Store, change: ChangeSet, incarnation: str) -> bool:
    """Whether a new header that is not there may have been, and been deleted with the files that it named.

    A deletion begins with a note and takes it away last. So where there is no note, it is over or has not begun, and
    one of the files tells which. To withdraw a header leaves the files.
    """
    files = [key for part in change.added for key in part.files.values()]

    def look() -> bool:
        notes = [info.key for info in store.list(private_root(uuid)) if is_deletion_key(info.key)]
        found = store.get_many([*notes, deletion_key(uuid, incarnation)])
        return any(found) or not all(map(partial(_is_there, store), files[:1]))

    return patiently(look, uuid, change, store.world, "whether it was deleted cannot be read")


def _is_there(store: Store, key: str) -> bool:
    try:
        store.info(key)
    except ObjectNotFoundError:
        return False
    return True


def lists_all_since(found: Snapshot | None, current: Snapshot | None) -> bool:
    """Whether the ids in a header go back to the base, so that an id that is not among them was not committed.

    Where other software has committed since, its header may stand on a commit that nobody has noted.
    """
    new = None if found is None else found.header.state
    old = None if current is None else current.header.state
    if new is None or old is None or new.incarnation != old.incarnation:
        return False
    since = new.version - old.version
    return 0 < since <= RECENT_COMMITS and not any(map(is_foreign_id, new.recent[-since:]))
