"""How the files that no header refers to are found and deleted: list, read the header, decide, delete.

The listing comes first: what is committed between the two is named by the header then, and what is staged between
them was not listed. Files that were staged earlier and are committed later are protected by their age alone.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid
from kubothek.dataset.commit import WORLD
from kubothek.dataset.snapshot import not_found
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.objects import find_headers, list_objects
from kubothek.errors import InvalidInputError
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
    put into the dataset's folder stays. What a deleted dataset left behind is collected too.

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
    if not isinstance(older_than, timedelta) or older_than < timedelta(0):
        raise InvalidInputError(f"older_than must be a timedelta that is not negative, but is {older_than!r}.")
    now = WORLD.clock()
    objects = list_objects(uuid, opened)
    headers = find_headers(uuid, opened)
    if not headers and pc.all(pc.is_null(objects["kind"])).as_py() is not False:
        raise not_found(uuid, opened)
    before = now - older_than
    hidden = _hidden_headers(list(headers), objects, before)
    live = [header for key, header in headers.items() if header is not None and key not in hidden]
    garbage = find_garbage(objects, live, before).to_pylist()
    if not dry_run:
        _delete(opened, hidden, garbage)
    leftovers = opened.remove_leftovers(min(before, now - DAY), dry_run=dry_run)
    return sorted([*hidden, *garbage, *leftovers])


def _hidden_headers(keys: list[str], objects: pa.Table, before: datetime) -> list[str]:
    """Return the headers that another hides for good: both are old, so nobody is just about to settle which stays.

    Other software leaves them when it updates a msgpack dataset; when it deletes the JSON header, they are back.
    """
    ages = dict(zip(objects["key"].to_pylist(), objects["modified"].to_pylist(), strict=True)) if keys[1:] else {}
    settled = all(key in ages and ages[key] <= before for key in keys)
    return keys[1:] if settled else []


def _delete(store: Store, hidden: list[str], garbage: list[str]) -> None:
    """Delete a hidden header before the files that it names, so that it never comes back without them."""
    for keys in (hidden, garbage):
        if keys:
            store.delete(keys)
