"""How the files that nobody needs are found and deleted, those of versions that are given up among them.

::

    list       everything there is
    read       the headers, then the copies of versions that stay              a version that stays needs its files
    decide     which versions are given up, and what nothing else needs        plan.retention, plan.garbage
    commit     from which version on the dataset stays                         no older one can be brought back now
    delete     headers that do not count, copies of versions, all the rest

The listing comes first: what is committed between the two is named by the header then, and what is staged between
them was not listed. Files that were staged earlier and are committed later are protected by their age alone. Where
others have committed between the reading and the commit, what is garbage is found once more, because one of them may
have brought back a version that was just given up. Wherever it ends, each version that is not given up has its files.

A header that says that the dataset's creation was taken back goes too, once it is old, and with it everything else: no
store deletes on a condition, so that it is read once more just before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid
from kubothek.dataset.commit import make_commit
from kubothek.dataset.rivals import came_first
from kubothek.dataset.snapshot import find_snapshot, not_found
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.objects import find_headers, list_objects
from kubothek.dataset.upkeep.retained import GivingUp, spare_history
from kubothek.dataset.upkeep.schema_copies import put_schema_copies
from kubothek.dataset.versions import adopt, is_kept
from kubothek.errors import CommitConflictError, ObjectNotFoundError
from kubothek.model.header import Header
from kubothek.model.staged import ChangeSet
from kubothek.plan.garbage import find_garbage
from kubothek.plan.retention import Retention, plan_retention
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

DAY = timedelta(days=1)
_TRIES = 5


def garbage_collect_dataset(
    uuid: str,
    store: StoreLike,
    *,
    older_than: timedelta = DAY,
    keep: int | timedelta | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Delete the files of a dataset that nobody needs, and give up old versions.

    Versions are given up from the oldest on, as far as ``keep`` and ``older_than`` allow, by a commit that changes
    nothing else; from then on they can neither be opened nor brought back. Data and index files go that no version
    needs which is left: those of versions that were given up, and those that failed and interrupted writes leave
    behind. So do schemas of tables that are gone, what an earlier dataset of this name left behind, a msgpack header
    that a JSON one hides (but for one that was there first, whose hider the next commit takes back), and temporary
    files of writers that were killed. Anything else that somebody put into the
    dataset's folder stays. What a deleted dataset left behind is collected too, and so is a dataset of a cube whose
    creation was taken back.

    Parameters
    ----------
    uuid, store
        The dataset.
    older_than
        How long ago a version must have been replaced to be given up, whatever ``keep`` says: who still reads it finds
        all its files. For files that no version names, the age that they must have, from when they were written. So it
        must be longer than any reader reads, and longer than any write takes from its first file to its commit.
        Temporary files, which all datasets of a store share, are only deleted when they are a day old.
    keep
        Which versions stay besides: so many of the last ones, the present one among them, or those that were the
        present one at some time in this last while. ``None`` is the same as 20. A collection that gives up versions
        makes one itself.
    dry_run
        Only return what would be deleted.

    Returns
    -------
    list of str
        The keys, sorted.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset, and nothing is left of one.
    CorruptDatasetError
        The header, or a version that stays, cannot be understood, so what it refers to is unknown; nothing was deleted.
    CommitStateUnknownError
        Whether the versions were given up is unknown; nothing was deleted. The next collection goes on.
    InvalidInputError
        ``older_than`` is negative, or ``keep`` neither an age nor a number from 1 on.

    Notes
    -----
    Where copies of versions that stay are missing, because a listing lags or somebody has deleted them, their files
    are unknown, and no data or index file is deleted before these versions are given up.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import garbage_collect_dataset, write_dataset
    >>> for temperature in (1.5, 2.5):
    ...     rows = pa.table({"TEMP": [temperature]})
    ...     ds = write_dataset(rows, "weather", "memory://garbage", overwrite=True)
    >>> garbage_collect_dataset("weather", "memory://garbage", keep=1)  # somebody may still read the first version
    []
    >>> gone = garbage_collect_dataset("weather", "memory://garbage", keep=1, older_than=timedelta(0))
    >>> [key.endswith(".parquet") for key in gone]  # the headers of two versions, and one data file
    [False, False, True]
    """
    opened = open_store(store)
    check_uuid(uuid)
    check_flag(dry_run, "dry_run")
    asked = plan_retention(opened.world.clock(), older_than, keep)
    garbage = find_dataset_garbage(uuid, opened, asked)
    if garbage is None:
        raise not_found(uuid, opened)
    if not dry_run:
        garbage = collect_garbage(garbage, opened, asked)
    leftovers = opened.remove_leftovers(min(asked.before, asked.now - DAY), dry_run=dry_run)
    return sorted([*garbage.all_keys, *leftovers])


@dataclass(frozen=True, slots=True)
class DatasetGarbage:
    """What may be deleted of one dataset, in this order: headers that do not count any more, copies of versions, files.

    ``withdrawn`` is the header that says that the dataset's creation was taken back, if it is among the headers.
    ``giving_up`` are the versions that must be given up before. ``is_dataset`` tells whether there is a header that
    counts, so that schemas beside the data belong to it.
    """

    uuid: str
    headers: tuple[str, ...]
    versions: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    withdrawn: Header | None = None
    giving_up: GivingUp | None = None
    is_dataset: bool = False

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Keys of everything."""
        return (*self.headers, *self.versions, *self.keys)


def find_dataset_garbage(
    uuid: str, store: Store, asked: Retention, *, may_give_up: bool = True
) -> DatasetGarbage | None:
    """Find what may be deleted of a dataset; ``None`` where there is none, and nothing is left of one.

    Raises
    ------
    CorruptDatasetError
        A header cannot be understood, so what it refers to is unknown.
    """
    objects = list_objects(uuid, store)
    headers = find_headers(uuid, store)
    if not headers and pc.all(pc.is_null(objects["kind"])).as_py() is not False:
        return None
    first = next(iter(headers.values()), None)
    # Both are old: nobody is just about to settle which of them stays, or to create the dataset anew.
    settled = _are_old(headers, objects, asked.before)
    withdrawn = first if settled and first is not None and first.is_withdrawn else None
    doomed = list(headers)[0 if withdrawn else 1 :] if settled and not _is_rival(headers, store) else []
    live = [header for key, header in headers.items() if header is not None and key not in doomed]
    garbage = find_garbage(objects, live, asked.before)
    garbage, giving_up = spare_history(objects, garbage, live, store, asked, may_rise=may_give_up)
    is_version = pc.equal(garbage["kind"], "version")
    return DatasetGarbage(
        uuid,
        headers=tuple(reversed(doomed)),  # the one that counts goes last, so that the other never comes into view
        versions=tuple(garbage.filter(is_version)["key"].to_pylist()),
        keys=tuple(garbage.filter(pc.invert(is_version))["key"].to_pylist()),
        withdrawn=withdrawn,
        giving_up=giving_up,
        is_dataset=bool(live),
    )


def _is_rival(headers: Mapping[str, Header | None], store: Store) -> bool:
    """Whether the hidden one of two headers is that which stays: the next commit takes back the other."""
    if len(headers) < 2:
        return False
    counts, hidden = headers.values()
    if counts is None or hidden is None or counts.is_withdrawn or hidden.is_withdrawn:
        return False
    return came_first(hidden, counts, store) and not is_kept(store, counts)


def _are_old(keys: Collection[str], objects: pa.Table, before: datetime) -> bool:
    listed = objects.filter(pc.is_in(objects["key"], value_set=pa.array(list(keys), pa.string())))
    return len(listed) == len(keys) and all(modified <= before for modified in listed["modified"].to_pylist())


def collect_garbage(garbage: DatasetGarbage, store: Store, asked: Retention) -> DatasetGarbage:
    """Give up versions and delete what was found; return what was deleted.

    Raises
    ------
    CorruptDatasetError, CommitStateUnknownError
        As for :func:`garbage_collect_dataset`.
    """
    if garbage.giving_up is not None and not _give_up(garbage.uuid, garbage.giving_up, store):
        found = find_dataset_garbage(garbage.uuid, store, asked, may_give_up=False)
        garbage = found or DatasetGarbage(garbage.uuid, ())
    _delete(garbage, store)
    return garbage


def _give_up(uuid: str, versions: GivingUp, store: Store) -> bool:
    """Commit that versions are given up; tell whether the dataset was still as it had been looked at.

    What was decided holds for whatever others make of the same dataset, an overwrite included.
    """
    change = ChangeSet(store.world.new_id(), "garbage_collect_dataset", oldest=versions.oldest)
    for _ in range(_TRIES):
        base = find_snapshot(uuid, store)
        if base is None:
            return False
        with suppress(CommitConflictError, ObjectNotFoundError):
            state = adopt(base).header.state
            if state is None or state.withdrawn or state.incarnation != versions.state.incarnation:
                return False
            made = make_commit(store, uuid, change, base)
            return state.commit == versions.state.commit and made.before is not None and made.before.etag == base.etag
    return False


def _delete(garbage: DatasetGarbage, store: Store) -> None:
    """Delete what was found: headers before the files that they name, so that they never come back without them."""
    if garbage.withdrawn is not None:
        now = next(iter(find_headers(garbage.uuid, store).values()), None)
        if now is not None and now.state != garbage.withdrawn.state:
            return  # somebody has created the dataset meanwhile
    for keys in (garbage.headers, garbage.versions, garbage.keys):
        if keys:
            store.delete(keys)
    if garbage.keys and not garbage.is_dataset:
        # Who creates the dataset at this moment has just put the schemas beside the data, or will.
        snapshot = find_snapshot(garbage.uuid, store)
        if snapshot is not None:
            put_schema_copies(snapshot, snapshot.tables)
