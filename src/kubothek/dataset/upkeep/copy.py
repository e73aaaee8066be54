"""How a dataset is copied: plan, copy the files, look whether they have arrived, commit.

Within one store the store itself copies; between two, threads pass the bytes on, large files in pieces. Nothing refers
to the files until the commit, which is that of any other change. Where the copy fails, the files that this call made
are deleted, but for those that the target's header names by then: another copy of the same dataset uses the same names.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable, MutableSequence
from contextlib import suppress
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid, index_key, is_deletion_key, schema_key
from kubothek.dataset.commit import WORLD, commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot, find_snapshot, load_snapshot
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.objects import find_headers, list_objects
from kubothek.engine.local import map_in_threads
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitStateUnknownError,
    InvalidInputError,
    KubothekError,
)
from kubothek.model.staged import ChangeSet
from kubothek.plan.copy import CopyPlan, missing_files, plan_copy
from kubothek.plan.garbage import find_garbage, named_keys
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

_PIECE = 8 * 2**20
_PARALLEL = 8
_KEY_TRIES = 1000
_SAFE = timedelta(hours=12)
"""Age from which on a copy does not rely on garbage that it finds: at a day, others may collect it."""


def copy_dataset(
    uuid: str,
    store: StoreLike,
    *,
    to_uuid: str | None = None,
    to_store: StoreLike | None = None,
    overwrite: bool = False,
) -> Dataset:
    """Copy a dataset under another name, to another store, or both.

    The copy is a dataset of its own: it has the content, labels, indices and metadata of the version that is there
    now, time of creation included, and begins at version 1, or goes on where it replaces another dataset. Indices of
    old datasets get keys of today. Files that a former copy has left today are not copied again.

    Parameters
    ----------
    uuid, store
        The dataset.
    to_uuid
        Name of the copy; ``None`` for the same.
    to_store
        Where to; ``None`` for the same store.
    overwrite
        Replace the dataset that is there.

    Returns
    -------
    Dataset
        The copy.

    Raises
    ------
    InvalidInputError
        The copy would be the dataset itself.
    DatasetNotFoundError
        There is no such dataset.
    AlreadyExistsError
        There is one under the new name, and ``overwrite`` was not given; nothing was copied.
    CorruptDatasetError
        Files of the dataset are missing; nothing was copied.
    CommitConflictError
        Others changed the target meanwhile; what was copied was deleted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import copy_dataset, write_dataset
    >>> ds = write_dataset(pa.table({"TEMP": [1.5]}), "weather", "memory://copy_dataset")
    >>> copy_dataset("weather", "memory://copy_dataset", to_uuid="weather-2013").scan().to_arrow().to_pydict()
    {'TEMP': [1.5]}
    """
    check_flag(overwrite, "overwrite")
    origin = open_store(store)
    target = origin if to_store is None else open_store(to_store)
    name = uuid if to_uuid is None else to_uuid
    check_uuid(name)
    if name == uuid and target == origin:
        raise InvalidInputError(f"Dataset {uuid!r} cannot be copied onto itself; give to_uuid or to_store.")
    source, base = load_snapshot(uuid, origin), find_snapshot(name, target)
    if base is not None and not overwrite:
        raise AlreadyExistsError(
            f"Dataset {name!r} exists already in {target.url}. Choose another name, or pass overwrite=True to replace "
            "it. Nothing was copied.",
            uuid=name,
        )
    there = list_objects(name, target)
    # A deletion that is going on, or was cut short, may still delete what had these names.
    deleting = any(map(is_deletion_key, there.filter(pc.equal(there["kind"], "passing"))["key"].to_pylist()))
    now = WORLD.clock()
    plan = plan_copy(
        source.base,
        name,
        source_objects=list_objects(uuid, origin),
        target_objects=there,
        index_keys=_index_keys(source, name, set(there["key"].to_pylist()), now),
        new_name=lambda: uuids.uuid4().hex,
        keep_names=not deleting,
        doomed=find_garbage(there, [] if base is None else [base.header], now - _SAFE),
    )
    return Dataset(_carry_out(plan, source, base, target, there))


def _index_keys(source: Snapshot, uuid: str, taken: set[str], when: datetime) -> dict[str, str]:
    """Return a new key for each index file."""
    times = [when + timedelta(microseconds=i) for i in range(_KEY_TRIES)]

    def free(column: str) -> str:
        keys = (index_key(uuid, column, time) for time in times)
        return next(key for key in keys if key not in taken)

    return {column: free(column) for column in source.header.indices}


def _carry_out(plan: CopyPlan, source: Snapshot, base: Snapshot | None, target: Store, there: pa.Table) -> Snapshot:
    """Copy the files and commit; on failure delete what was made, unless it may be in use."""
    change = ChangeSet(
        write_id=uuids.uuid4().hex,
        operation="copy_dataset",
        restore=plan.header,
        must_be_absent=base is None,
        overwrite=base is not None,
        header_format=source.header.format,
    )
    made: list[str] = []
    if base is None:
        made += set(_schema_keys(plan)) - set(there["key"].to_pylist())
    try:
        _copy_files(plan, source.store, target, made)
        _check_arrived(plan, target, change)
    except BaseException:
        _discard(plan, target, made)
        raise
    try:
        return commit(target, plan.header.uuid, change, base)
    except CommitStateUnknownError:
        raise
    except KubothekError:  # of any other, such as an interrupt, nobody knows whether it came after the commit
        _discard(plan, target, made)
        raise


def _schema_keys(plan: CopyPlan) -> Iterable[str]:
    """Return the keys of the schemas that the commit puts beside the data."""
    return (schema_key(plan.header.uuid, table) for table in plan.header.tables)


def _copy_files(plan: CopyPlan, origin: Store, target: Store, made: MutableSequence[str]) -> None:
    """Copy what is not there yet, several files at a time; ``made`` gets each key before anything is under it."""

    def copy(file: tuple[str, str, int]) -> None:
        made.append(file[1])
        _copy_file(origin, target, *file)

    absent = plan.files.filter(pc.invert(plan.files["there"]))
    files = zip(*(absent[name].to_pylist() for name in ("source", "target", "size")), strict=True)
    for _ in map_in_threads(copy, files, _PARALLEL):
        pass


def _copy_file(origin: Store, target: Store, source: str, key: str, size: int) -> None:
    if origin == target:
        origin.copy(source, key)
    elif size <= _PIECE:
        target.put(key, origin.get(source).data)
    else:
        with target.create_file(key) as stream:
            for start in range(0, size, _PIECE):
                stream.write(origin.get_range(source, start, min(_PIECE, size - start)))


def _check_arrived(plan: CopyPlan, target: Store, change: ChangeSet) -> None:
    """Refuse to commit files that somebody has deleted: a collection of garbage, or another copy that failed."""
    uuid = plan.header.uuid
    gone = missing_files(plan, list_objects(uuid, target))
    if len(gone):
        raise CommitConflictError(
            f"'{change.operation}' to dataset {uuid!r} in {target.url} has not all files there: {len(gone):,} were "
            f"deleted or replaced meanwhile, such as {gone[0].as_py()!r}. Nothing was committed; copy again when "
            "nobody collects garbage or copies to the same name.",
            ours=change.write_id,
            theirs=None,
            keys=tuple(gone.to_pylist()),
        )


def _discard(plan: CopyPlan, target: Store, made: Iterable[str]) -> None:
    """Delete what this call made, unless a dataset has it now; what cannot be deleted stays, unreferenced."""
    with suppress(KubothekError):
        headers = [header for header in find_headers(plan.header.uuid, target).values() if header is not None]
        used = {key for header in headers for key in named_keys(header).to_pylist()}
        if headers:
            used.update(_schema_keys(plan))
        doomed = [key for key in made if key not in used]
        if doomed:
            target.delete(doomed)
