"""How a dataset is deleted such that it is whole or not there at every moment, and nobody else's files go.

::

    note        the keys that the header names, among our own objects          the dataset opens as before
    delete      a header that another hides, then the one that counts          the dataset is not found
    delete      the noted keys, but for those that a new header names
    delete      the schemas beside the data, unless there is a new dataset
    delete      our own objects, the note last

A deletion that is cut short is finished by the next one, which finds the note. A dataset of the same name that is
created meanwhile has names of its own for its files; only copies of the same dataset use the same names again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.deletion import decode_deletion, encode_deletion
from kubothek.codec.keys import deletion_key, is_deletion_key, private_root, schema_key
from kubothek.codec.object_kinds import object_kinds
from kubothek.dataset.snapshot import find_snapshot, not_found
from kubothek.dataset.upkeep.objects import find_headers, list_objects, objects_table
from kubothek.dataset.upkeep.schema_copies import put_schema_copies
from kubothek.model.header import Header
from kubothek.plan.garbage import known_tables, named_keys
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def delete_dataset(uuid: str, store: StoreLike) -> None:
    """Delete a dataset: its header first, then the files that the header named.

    What the header does not name stays: files that a running or failed write staged
    (:func:`~kubothek.garbage_collect_dataset` collects them) and whatever else lies in the dataset's folder. A deletion
    that failed half-way is finished by deleting again.

    Parameters
    ----------
    uuid, store
        The dataset.

    Raises
    ------
    DatasetNotFoundError
        There is no such dataset, and no deletion of one to finish.
    CorruptDatasetError
        The header, or what a deletion that was cut short has noted, cannot be understood; nothing was deleted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Store, delete_dataset, write_dataset
    >>> ds = write_dataset(pa.table({"TEMP": [1.5]}), "weather", "memory://delete_dataset")
    >>> delete_dataset("weather", "memory://delete_dataset")
    >>> list(Store("memory://delete_dataset").list())
    []
    """
    opened = open_store(store)
    opened.delete(delete_contents(uuid, opened))


def delete_contents(uuid: str, store: Store) -> list[str]:
    """Delete everything of a dataset but the notes without which nobody would finish it; return their keys.

    Raises
    ------
    DatasetNotFoundError, CorruptDatasetError
        As for :func:`delete_dataset`.
    """
    headers, notes, noted = _find_doomed(uuid, store)  # what is damaged ends it here, where nothing is deleted yet
    if headers:
        own = _note(uuid, store, headers)
        noted |= _noted(uuid, store, [own])
        notes = list(dict.fromkeys([*notes, own]))
        for key in reversed(list(headers)):  # the one that counts last, so that the other never comes into view
            store.delete([key])
    if not notes:
        raise not_found(uuid, store)
    _delete_named(uuid, store, noted)
    _delete_private(uuid, store, notes)
    return notes


def check_deletable(uuid: str, store: Store) -> list[Header]:
    """Return the headers that a deletion would delete, as far as anybody reads them.

    Raises
    ------
    CorruptDatasetError
        The dataset cannot be deleted, because what says what to delete cannot be understood.
    """
    headers, _, _ = _find_doomed(uuid, store)
    return [header for header in headers.values() if header is not None]


def _find_doomed(uuid: str, store: Store) -> tuple[dict[str, Header | None], list[str], set[str]]:
    """Return headers by key, the notes of deletions that were cut short, and the keys in these."""
    headers = find_headers(uuid, store)
    notes = [info.key for info in store.list(private_root(uuid)) if is_deletion_key(info.key)]
    return headers, notes, _noted(uuid, store, notes) if notes else set()


def _noted(uuid: str, store: Store, notes: Sequence[str]) -> set[str]:
    """Return the keys in some notes; a note may be gone where another deletion has just finished this one."""
    stored = zip(notes, store.get_many(notes), strict=True)
    return {key for note, blob in stored if blob is not None for key in decode_deletion(blob.data, uuid, note)}


def _note(uuid: str, store: Store, headers: Mapping[str, Header | None]) -> str:
    """Write down what is to be deleted; return the key of the note."""
    readable = [header for header in headers.values() if header is not None]
    tables = [known_tables(header) for header in readable]
    known = {schema_key(uuid, table) for names in tables for table in names or ()}
    keys = [*map(named_keys, readable), pa.array(sorted(known), pa.string())]
    wanted = ["schema"] if None in tables else []
    wanted += ["data"] if any(header.partitions is None for header in readable) else []
    if wanted:  # the header leaves it to the store what there is
        objects = list_objects(uuid, store)
        found = pc.is_in(objects["kind"], value_set=pa.array(wanted, pa.string()))
        keys += objects["key"].filter(found).chunks
    incarnation = next((h.state.incarnation for h in readable if h.state is not None), store.world.new_id())
    key = deletion_key(uuid, incarnation)
    store.put(key, encode_deletion(pc.unique(pa.concat_arrays(keys))))
    return key


def _delete_named(uuid: str, store: Store, keys: Iterable[str]) -> None:
    """Delete files and schemas, but for those of a dataset that was created meanwhile."""
    created = [header for header in find_headers(uuid, store).values() if header is not None]
    named = {key for header in created for key in named_keys(header).to_pylist()}
    doomed = pa.array(sorted(set(keys) - named), pa.string())
    kinds = pc.fill_null(object_kinds(doomed, uuid)["kind"], "")
    files, schemas = (doomed.filter(mask(kinds, "schema")).to_pylist() for mask in (pc.not_equal, pc.equal))
    store.delete(files)
    if created:
        return
    store.delete(schemas)
    # Who creates a dataset finds the old copies, and puts its own after its commit. That may have been just now.
    snapshot = find_snapshot(uuid, store)
    if snapshot is not None:
        put_schema_copies(snapshot, snapshot.tables)


def _delete_private(uuid: str, store: Store, notes: Iterable[str]) -> None:
    """Delete our own objects of the deleted incarnations, but for the notes."""
    objects = objects_table(store.list(private_root(uuid)), uuid)
    live = {header.state.incarnation for header in find_headers(uuid, store).values() if header and header.state}
    deleted = {note.split("/")[2] for note in notes} - live
    found = pc.is_in(objects["name"], value_set=pa.array(sorted(deleted), pa.string()))
    others = set(objects["key"].filter(found).to_pylist()) - set(notes)
    if others:
        store.delete(others)
