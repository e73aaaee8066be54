"""How a dataset is copied: plan, copy the files, look whether they have arrived, commit.

Within one store the store itself copies; between two, threads pass the bytes on, large files in pieces. Nothing refers
to the files until the commit, which is that of any other change. Where the copy fails, the files that this call made
are deleted, but for those that the target's header names by then: another copy of the same dataset uses the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid, index_key, is_deletion_key, schema_key
from kubothek.dataset.commit import commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot, find_dataset, load_snapshot
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.objects import find_headers, list_objects
from kubothek.dataset.upkeep.retained import without_needed
from kubothek.engine.local import map_in_threads
from kubothek.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitStateUnknownError,
    InvalidInputError,
    KubothekError,
)
from kubothek.model.header import CubeCall
from kubothek.model.staged import ChangeSet
from kubothek.plan.copy import CopyPlan, missing_files, plan_copy
from kubothek.plan.garbage import find_garbage
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

_PIECE = 8 * 2**20
_PARALLEL = 8
_KEY_TRIES = 1000
_SAFE = timedelta(hours=12)
"""Age from which on a copy does not rely on garbage that it finds: at a day, others may collect it.

Nor does it rely on what only earlier versions of the target need, since others may give them up.
"""


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
    source, base = load_snapshot(uuid, origin), find_dataset(name, target)
    if base is not None and not overwrite:
        raise AlreadyExistsError(
            f"Dataset {name!r} exists already in {target.url}. Choose another name, or pass overwrite=True to replace "
            "it. Nothing was copied.",
            uuid=name,
        )
    copy = prepare_copy(source, name, target, base)
    made: list[str] = []
    try:
        stage_copy(copy, made)
    except BaseException:
        discard_copy(copy, made)
        raise
    try:
        return Dataset(commit(target, name, copy.change, base))
    except CommitStateUnknownError:
        raise
    except KubothekError:  # of any other, such as an interrupt, nobody knows whether it came after the commit
        discard_copy(copy, made)
        raise


@dataclass(frozen=True, slots=True, eq=False)
class DatasetCopy:
    """A copy on its way: from where, to where, which files, and the commit that will make them visible.

    ``base`` is the dataset that it replaces. ``schemas`` are the keys that only the commit puts something under.
    """

    source: Snapshot
    target: Store
    base: Snapshot | None
    plan: CopyPlan
    change: ChangeSet
    schemas: tuple[str, ...]

    @property
    def uuid(self) -> str:
        """Name of the copy."""
        return self.plan.header.uuid


def prepare_copy(
    source: Snapshot, uuid: str, target: Store, base: Snapshot | None, call: CubeCall | None = None
) -> DatasetCopy:
    """Decide what the copy of a dataset consists of, alone or as part of a call for a cube; nothing is written.

    Raises
    ------
    CorruptDatasetError
        Files of the dataset are missing.
    """
    there = list_objects(uuid, target)
    # A deletion that is going on, or was cut short, may still delete what had these names.
    deleting = any(map(is_deletion_key, there.filter(pc.equal(there["kind"], "passing"))["key"].to_pylist()))
    now = target.world.clock()
    taken = set(there["key"].to_pylist())
    plan = plan_copy(
        source.base,
        uuid,
        source_objects=list_objects(source.uuid, source.store),
        target_objects=there,
        index_keys=_index_keys(source, uuid, taken, now),
        new_name=target.world.new_id,
        keep_names=not deleting,
        doomed=find_garbage(there, [] if base is None else [base.header], now - _SAFE)["key"].combine_chunks(),
    )
    change = ChangeSet(
        write_id=target.world.new_id() if call is None else call.id,
        operation="copy_dataset" if call is None else call.operation,
        restore=plan.header,
        must_be_absent=base is None,
        overwrite=base is not None,
        header_format=source.header.format,
        cube_call=None if call is None or len(call.datasets) == 1 else call,
    )
    schemas = tuple(sorted(set(_schema_keys(plan)) - taken)) if base is None else ()
    return DatasetCopy(source, target, base, plan, change, schemas)


def stage_copy(copy: DatasetCopy, made: MutableSequence[str]) -> None:
    """Copy what is not there yet, several files at a time, and look whether everything has arrived.

    ``made`` gets each key before anything is under it.

    Raises
    ------
    CommitConflictError
        Others deleted files of the copy meanwhile.
    """
    copy.target.check_swap()

    def copy_one(file: tuple[str, str, int]) -> None:
        made.append(file[1])
        _copy_file(copy.source.store, copy.target, *file)

    absent = copy.plan.files.filter(pc.invert(copy.plan.files["there"]))
    files = zip(*(absent[name].to_pylist() for name in ("source", "target", "size")), strict=True)
    for _ in map_in_threads(copy_one, files, _PARALLEL):
        pass
    _check_arrived(copy)


def discard_copy(copy: DatasetCopy, made: Iterable[str]) -> None:
    """Delete what this copy made, unless a dataset has it now; what cannot be deleted stays, unreferenced."""
    with suppress(KubothekError):
        unused = without_needed(pa.array(list(made), pa.string()), copy.uuid, copy.target).to_pylist()
        schemas = () if find_headers(copy.uuid, copy.target) else copy.schemas
        if unused or schemas:
            copy.target.delete([*unused, *schemas])


def _index_keys(source: Snapshot, uuid: str, taken: set[str], when: datetime) -> dict[str, str]:
    """Return a new key for each index file."""
    times = [when + timedelta(microseconds=i) for i in range(_KEY_TRIES)]

    def free(column: str) -> str:
        keys = (index_key(uuid, column, time) for time in times)
        return next(key for key in keys if key not in taken)

    return {column: free(column) for column in source.header.indices}


def _schema_keys(plan: CopyPlan) -> Iterable[str]:
    """Return the keys of the schemas that the commit puts beside the data."""
    return (schema_key(plan.header.uuid, table) for table in plan.header.tables)


def _copy_file(origin: Store, target: Store, source: str, key: str, size: int) -> None:
    if origin == target:
        origin.copy(source, key)
    elif size <= _PIECE:
        target.put(key, origin.get(source).data)
    else:
        with target.create_file(key) as stream:
            for start in range(0, size, _PIECE):
                stream.write(origin.get_range(source, start, min(_PIECE, size - start)))


def _check_arrived(copy: DatasetCopy) -> None:
    """Refuse to commit files that somebody has deleted: a collection of garbage, or another copy that failed."""
    gone = missing_files(copy.plan, list_objects(copy.uuid, copy.target))
    if len(gone):
        raise CommitConflictError(
            f"'{copy.change.operation}' to dataset {copy.uuid!r} in {copy.target.url} has not all files there: "
            f"{len(gone):,} were deleted or replaced meanwhile, such as {gone[0].as_py()!r}. Nothing was committed; "
            "copy again when nobody collects garbage or copies to the same name.",
            ours=copy.change.write_id,
            theirs=None,
            keys=tuple(gone.to_pylist()),
        )
