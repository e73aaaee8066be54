"""How the files that no header refers to are found and deleted: list, read the header, decide, delete.

The listing comes first: what is committed between the two is named by the header then, and what is staged between
them was not listed. Files that were staged earlier and are committed later are protected by their age alone. A header
that says that the dataset's creation was taken back goes too, once it is old, and with it everything else: no store
deletes on a condition, so that it is read once more just before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid
from kubothek.dataset.snapshot import find_snapshot, not_found
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.objects import find_headers, list_objects
from kubothek.dataset.upkeep.schema_copies import put_schema_copies
from kubothek.errors import InvalidInputError
from kubothek.model.header import Header
from kubothek.plan.garbage import find_garbage
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

DAY = timedelta(days=1)


def garbage_collect_dataset(
    uuid: str, store: StoreLike, *, older_than: timedelta = DAY, dry_run: bool = False
) -> list[str]:
    """Delete the files of a dataset that its header does not refer to.

    Failed and interrupted writes leave such files, and so does everything that replaces or removes partitions. Data
    and index files are deleted, schemas of tables that are gone, what an earlier dataset of this name left behind, a
    msgpack header that a JSON one hides, and temporary files of writers that were killed. Anything else that somebody
    put into the dataset's folder stays. What a deleted dataset left behind is collected too, and so is a dataset of a
    cube whose creation was taken back.

    Parameters
    ----------
    uuid, store
        The dataset.
    older_than
        Age that a file must have, from when it was written. It must be longer than any write takes from its first file
        to its commit. It says nothing about when a file was replaced: who still reads a version from before may find
        that its files are gone. Temporary files, which all datasets of a store share, are only deleted when they are a
        day old.
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
        The header cannot be understood, so what it refers to is unknown; nothing was deleted.
    InvalidInputError
        ``older_than`` is negative.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import garbage_collect_dataset, write_dataset
    >>> for temperature in (1.5, 2.5):
    ...     rows = pa.table({"TEMP": [temperature]})
    ...     ds = write_dataset(rows, "weather", "memory://garbage", overwrite=True)
    >>> garbage_collect_dataset("weather", "memory://garbage")
    []
    >>> len(garbage_collect_dataset("weather", "memory://garbage", older_than=timedelta(0)))
    1
    """
    opened = open_store(store)
    check_uuid(uuid)
    check_flag(dry_run, "dry_run")
    now = opened.world.clock()
    before = oldest_allowed(now, older_than)
    garbage = find_dataset_garbage(uuid, opened, before)
    if garbage is None:
        raise not_found(uuid, opened)
    if not dry_run:
        delete_garbage(garbage, opened)
    leftovers = opened.remove_leftovers(min(before, now - DAY), dry_run=dry_run)
    return sorted([*garbage.all_keys, *leftovers])


def oldest_allowed(now: datetime, older_than: timedelta) -> datetime:
    """Return the moment before which a file must have been written to be garbage.

    Raises
    ------
    InvalidInputError
        ``older_than`` is no age.
    """
    if not isinstance(older_than, timedelta) or older_than < timedelta(0):
        raise InvalidInputError(f"older_than must be a timedelta that is not negative, but is {older_than!r}.")
    return now - min(older_than, now - datetime.min.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class DatasetGarbage:
    """What may be deleted of one dataset, in this order: headers that do not count any more, then other objects.

    ``withdrawn`` is the header that says that the dataset's creation was taken back, if it is among the headers.
    ``is_dataset`` tells whether there is a header that counts, so that schemas beside the data belong to it.
    """

    uuid: str
    headers: tuple[str, ...]
    keys: tuple[str, ...]
    withdrawn: Header | None
    is_dataset: bool

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Keys of everything."""
        return (*self.headers, *self.keys)


def find_dataset_garbage(uuid: str, store: Store, before: datetime) -> DatasetGarbage | None:
    """Find what may be deleted of a dataset; ``None`` where there is none, and nothing is left of one.

    Raises
    ------
    CorruptDatasetError
        The header cannot be understood, so what it refers to is unknown.
    """
    objects = list_objects(uuid, store)
    headers = find_headers(uuid, store)
    if not headers and pc.all(pc.is_null(objects["kind"])).as_py() is not False:
        return None
    first = next(iter(headers.values()), None)
    # Both are old: nobody is just about to settle which of them stays, or to create the dataset anew.
    settled = _are_old(headers, objects, before)
    withdrawn = first if settled and first is not None and first.is_withdrawn else None
    doomed = list(headers)[0 if withdrawn else 1 :] if settled else []
    live = [header for key, header in headers.items() if header is not None and key not in doomed]
    keys = find_garbage(objects, live, before).to_pylist()
    # The one that counts goes last, so that the other never comes into view.
    return DatasetGarbage(uuid, tuple(reversed(doomed)), tuple(keys), withdrawn, is_dataset=bool(live))


def _are_old(keys: Iterable[str], objects: pa.Table, before: datetime) -> bool:
    ages = dict(zip(objects["key"].to_pylist(), objects["modified"].to_pylist(), strict=True))
    return all(key in ages and ages[key] <= before for key in keys)


def delete_garbage(garbage: DatasetGarbage, store: Store) -> None:
    """Delete what was found: headers before the files that they name, so that they never come back without them."""
    if garbage.withdrawn is not None:
        now = next(iter(find_headers(garbage.uuid, store).values()), None)
        if now is not None and now.state != garbage.withdrawn.state:
            return  # somebody has created the dataset meanwhile
    for keys in (garbage.headers, garbage.keys):
        if keys:
            store.delete(keys)
    if garbage.keys and not garbage.is_dataset:
        # Who creates the dataset at this moment has just put the schemas beside the data, or will.
        snapshot = find_snapshot(garbage.uuid, store)
        if snapshot is not None:
            put_schema_copies(snapshot, snapshot.tables)
