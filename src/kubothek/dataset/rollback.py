"""How a dataset gets back what it was: the content of an old version becomes its next one.

Steps: pin the dataset, read the header of the version that is meant, look whether all its files are there, commit, and
put the copies of the schemas right, which other software reads. Nothing is deleted and no version is lost: a rollback
is a commit like any other and can be rolled back in turn.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import check_uuid
from kubothek.dataset.at import check_at, expired, snapshot_at, with_state
from kubothek.dataset.commit import commit
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot, load_snapshot
from kubothek.dataset.upkeep.schema_copies import missing_schema_copies, put_schema_copies
from kubothek.errors import KubothekError
from kubothek.model.staged import ChangeSet
from kubothek.plan.garbage import named_keys
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def rollback_dataset(uuid: str, store: StoreLike, to: int | datetime) -> Dataset:
    """Bring back an old version of a dataset, as a new commit.

    Rows, schema, partition columns, indices and user metadata become what they were at that version. What was committed
    since stays in the history, and can be brought back likewise. A dataset of a cube goes back alone; whether the cube
    is still one tells :func:`~kubothek.check_cube`.

    Parameters
    ----------
    uuid
        Name of the dataset.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    to
        The number of the version, or a time (UTC where it has no zone), which stands for the newest version that was
        committed by then. The version that is current already is no commit.

    Raises
    ------
    DatasetNotFoundError, NotFoundError
        There is no such dataset, or it never had such a version.
    SnapshotExpiredError
        The version has been given up, or files of it are gone; ``keys`` lists them. Nothing was committed.
    CommitConflictError
        Others committed meanwhile, which would be undone too; ``ours`` and ``theirs`` name both. Nothing was committed.
    CommitStateUnknownError
        The store gave no answer, and what is there now does not tell.
    InvalidInputError
        ``to`` is neither a number nor a time.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import rollback_dataset, update_dataset, write_dataset
    >>> ds = write_dataset(pa.table({"TEMP": [1.5]}), "weather", "memory://rollback_dataset")
    >>> ds = update_dataset(pa.table({"TEMP": [999.0]}), "weather", "memory://rollback_dataset")
    >>> ds = rollback_dataset("weather", "memory://rollback_dataset", to=1)
    >>> ds.version, ds.scan().to_arrow().to_pydict()
    (3, {'TEMP': [1.5]})
    """
    check_uuid(uuid)
    check_at(to, "to")
    return Dataset(roll_back(load_snapshot(uuid, open_store(store)), to))


def roll_back(current: Snapshot, to: int | datetime) -> Snapshot:
    """Bring back an old version of a dataset that has just been pinned; raises as :func:`rollback_dataset` does."""
    uuid, store = current.uuid, current.store
    known, state = with_state(current)
    wanted = snapshot_at(known, to)
    if wanted.version is None or wanted.version == state.version:
        return current
    missing = missing_files(named_keys(wanted.header), uuid, store)
    if missing:
        why = f"{len(missing):,} of its files are not in the store, such as {missing[0]!r}."
        raise expired(uuid, wanted.version, why, keys=missing)
    change = ChangeSet(
        write_id=store.world.new_id(),
        operation="rollback_dataset",
        restore=wanted.header,
        restored_version=wanted.version,
    )
    made = commit(store, uuid, change, current)
    with suppress(KubothekError):  # the commit holds all the same
        put_schema_copies(made, missing_schema_copies(made))
    return made


def missing_files(keys: pa.Array, uuid: str, store: Store) -> tuple[str, ...]:
    """Return which of these files of a dataset a listing does not show."""
    if not len(keys):
        return ()
    beside = pc.any(pc.starts_with(keys, f"{uuid}.")).as_py()  # indices of old datasets
    prefixes = (f"{uuid}/", f"{uuid}.") if beside else (f"{uuid}/",)
    there = pa.array([info.key for prefix in prefixes for info in store.list(prefix)], pa.string())
    missing: list[str] = keys.filter(pc.invert(pc.is_in(keys, value_set=there))).to_pylist()
    return tuple(missing)
