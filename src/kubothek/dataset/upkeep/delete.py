"""How a dataset is deleted such that it is whole or not there at every moment, and nobody else's files go.

::

    note        the keys that the header or a kept version names, as an        the dataset opens as before
                object of our own
    delete      a header that another hides, then the one that counts          the dataset is not found
    delete      the noted keys, but for those that a new dataset needs
    delete      the schemas beside the data, unless there is a new dataset
    delete      our own objects, the note last

A deletion that is cut short is finished by the next one, which finds the note. A dataset of the same name that is
created meanwhile has names of its own for its files; only copies of the same dataset use the same names again. Of a
version whose copy is damaged it is not known what it named: that is left to the collection of garbage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.deletion import decode_deletion, encode_deletion
from kubothek.codec.keys import deletion_key, is_deletion_key, private_root, schema_key
from kubothek.codec.object_kinds import object_kinds
from kubothek.dataset.snapshot import find_snapshot, not_found
from kubothek.dataset.upkeep.objects import find_headers, list_objects, objects_table
from kubothek.dataset.upkeep.retained import HEADERS_AT_ONCE, kept_versions, without_needed
from kubothek.dataset.upkeep.schema_copies import put_schema_copies
from kubothek.dataset.versions import load_kept
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError, SnapshotExpiredError
from kubothek.model.header import Header
from kubothek.model.history import KeptVersion
from kubothek.plan.apply import NO_LABELS
from kubothek.plan.garbage import known_tables, named_keys
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def delete_dataset(uuid: str, store: StoreLike) -> None:
    """Delete a dataset with its history: its header first, then the files that it named, now or in an earlier version.

    What no version names stays: files that a running or failed write staged
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
    doomed = _find_doomed(uuid, store)  # what is damaged ends it here, where nothing is deleted yet
    notes, noted = doomed.notes, doomed.noted
    if doomed.headers:
        own = _note(uuid, store, doomed)
        noted |= _noted(uuid, store, [own])
        notes = list(dict.fromkeys([*notes, own]))
        for key in reversed(list(doomed.headers)):  # the one that counts last, so that the other never comes into view
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
    return _find_doomed(uuid, store).readable


@dataclass(frozen=True, slots=True, eq=False)
class _Doomed:
    """What says what to delete: headers by key, copies of versions, notes of deletions that were cut short, their keys.

    A header that another hides is ``None`` where it cannot be understood.
    """

    headers: Mapping[str, Header | None]
    versions: tuple[KeptVersion, ...]
    notes: list[str]
    noted: set[str]

    @property
    def readable(self) -> list[Header]:
        """The headers that can be understood."""
        return [header for header in self.headers.values() if header is not None]


def _find_doomed(uuid: str, store: Store) -> _Doomed:
    headers = find_headers(uuid, store)
    objects = objects_table(store.list(private_root(uuid)), uuid)
    versions = tuple(kept for line in kept_versions(objects).values() for kept in line)
    notes = [key for key in objects["key"].to_pylist() if is_deletion_key(key)]
    return _Doomed(headers, versions, notes, _noted(uuid, store, notes) if notes else set())


def _noted(uuid: str, store: Store, notes: Sequence[str]) -> set[str]:
    """Return the keys in some notes; a note may be gone where another deletion has just finished this one."""
    stored = zip(notes, store.get_many(notes), strict=True)
    return {key for note, blob in stored if blob is not None for key in decode_deletion(blob.data, uuid, note)}


def _note(uuid: str, store: Store, doomed: _Doomed) -> str:
    """Write down what is to be deleted; return the key of the note."""
    readable = doomed.readable
    keys = pc.unique(pa.concat_arrays([NO_LABELS, *(_keys_of(header) for header in readable)]))
    present = {header.state.commit for header in readable if header.state is not None}
    past = (kept for kept in doomed.versions if kept.commit not in present)
    for named in map_in_threads(lambda kept: _keys_of_version(kept, uuid, store), past, HEADERS_AT_ONCE):
        keys = pc.unique(pa.concat_arrays([keys, named]))
    wanted = ["schema"] if None in map(known_tables, readable) else []
    wanted += ["data"] if any(header.partitions is None for header in readable) else []
    if wanted:  # the header leaves it to the store what there is
        objects = list_objects(uuid, store)
        found = objects["key"].filter(pc.is_in(objects["kind"], value_set=pa.array(wanted, pa.string())))
        keys = pc.unique(pa.concat_arrays([keys, *found.chunks]))
    incarnation = next((h.state.incarnation for h in readable if h.state is not None), store.world.new_id())
    key = deletion_key(uuid, incarnation)
    store.put(key, encode_deletion(keys))
    return key


def _keys_of(header: Header) -> pa.Array:
    """Return the keys of files and schemas that a header tells of."""
    schemas = [schema_key(header.uuid, table) for table in known_tables(header) or ()]
    return pa.concat_arrays([named_keys(header), pa.array(schemas, pa.string())])


def _keys_of_version(kept: KeptVersion, uuid: str, store: Store) -> pa.Array:
    try:
        return _keys_of(load_kept(kept, uuid, store))
    except (SnapshotExpiredError, CorruptDatasetError):
        return NO_LABELS


def _delete_named(uuid: str, store: Store, keys: Iterable[str]) -> None:
    """Delete files and schemas, but for those of a dataset that was created meanwhile."""
    noted = pa.array(sorted(keys), pa.string())
    kinds = pc.fill_null(object_kinds(noted, uuid)["kind"], "")
    files, schemas = (noted.filter(compare(kinds, "schema")) for compare in (pc.not_equal, pc.equal))
    store.delete(without_needed(files, uuid, store).to_pylist())
    if any(find_headers(uuid, store).values()):
        return
    store.delete(schemas.to_pylist())
    # Who creates a dataset finds the old copies, and puts its own after its commit. That may have been just now.
    snapshot = find_snapshot(uuid, store)
    if snapshot is not None:
        put_schema_copies(snapshot, snapshot.tables)


def _delete_private(uuid: str, store: Store, notes: Iterable[str]) -> None:
    """Delete our own objects of the deleted incarnations, but for the notes, and all versions but those of a new one.

    Nothing is kept that was not committed, so that the versions of an incarnation that is not there are of no use. A
    header without state, which other software has put meanwhile, does not tell which one is there.
    """
    objects = objects_table(store.list(private_root(uuid)), uuid)
    headers = find_headers(uuid, store).values()
    live = {header.state.incarnation for header in headers if header and header.state}
    found = _of_incarnations(objects, {note.split("/")[2] for note in notes} - live)
    if all(header is not None and header.state is not None for header in headers):
        versions = pc.equal(pc.fill_null(objects["kind"], ""), "version")
        found = pc.or_(found, pc.and_not(versions, _of_incarnations(objects, live)))
    others = set(objects["key"].filter(found).to_pylist()) - set(notes)
    if others:
        store.delete(others)


def _of_incarnations(objects: pa.Table, incarnations: Iterable[str]) -> pa.ChunkedArray:
    return pc.is_in(objects["name"], value_set=pa.array(sorted(incarnations), pa.string()))
