"""How a version of a dataset becomes a Delta table: a log that names its files, which stay where they are.

::

    read      the log that is there, then the dataset
    decide    the columns in Delta's types; files that come and go           plan.delta
    look      into files of which the header does not say what they hold     engine.delta_files
    put       the next commit of the log, only if nobody has put it          else all of it again

The log is read before the dataset. So of two exports at the same time none takes the table back to an older version:
what a later one has committed before is part of what the dataset is now, and what it commits after comes in its way.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.delta_log import commit_keys, delta_log_key, delta_log_prefix, encode_commit, read_log
from kubothek.codec.keys import check_uuid
from kubothek.dataset.at import check_at, load_snapshot_at
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.arguments import check_flag
from kubothek.engine.delta_files import read_delta_files
from kubothek.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptDatasetError,
    InvalidInputError,
    SnapshotExpiredError,
)
from kubothek.model.delta import DeltaChange, DeltaExport, DeltaFile, DeltaLog
from kubothek.plan.delta import check_files, delta_table, plan_delta
from kubothek.store.interface import Doubtful, Store, Swapped
from kubothek.store.open import StoreLike, open_store
from kubothek.version import __version__

_TRIES = 10
_FIRST_PAUSE = 0.02
_EXAMPLES = 3


def export_delta(
    uuid: str,
    store: StoreLike,
    *,
    at: int | datetime | None = None,
    table: str | None = None,
    statistics: bool = False,
) -> DeltaExport:
    """Make a version of a dataset readable as a Delta table, without copying its files.

    The root of the Delta table is the dataset's folder, ``<uuid>/``, and its log is ``<uuid>/_delta_log/``. The first
    export begins the log; each later one adds a commit that names the files which have come and gone since. Who reads
    the Delta table sees the version that was exported last.

    The table is for reading only, and says so to all software that writes Delta. Its files are those of the dataset:
    they go when the version that has them is given up (:func:`~kubothek.garbage_collect_dataset`), so export again
    before that.

    Parameters
    ----------
    uuid, store
        The dataset.
    at
        Which version, as for :func:`~kubothek.open_dataset`; ``None`` stands for now.
    table
        Name of the table; ``None`` for the only one. Of a dataset with several, one can be exported.
    statistics
        Read the footer of each file that comes, one request each, and put into the log how many nulls its columns have,
        and the bounds of whole numbers, texts, dates and timestamps, by which readers skip files.

    Returns
    -------
    DeltaExport
        Where the table is, its version, and how many files it gained and lost.

    Raises
    ------
    DatasetNotFoundError, NotFoundError, SnapshotExpiredError
        There is no such dataset or version, or files of it are gone.
    SchemaError
        Columns have types that Delta lacks, or names that it takes for the same; all are named.
    InvalidInputError
        Files are no Parquet files, hold other types than the schema of record, or have an empty text as a partition
        value; or the log that is there is of another table.
    CommitConflictError, CommitStateUnknownError
        Others export the same dataset at the same time, or the store gave no answer. Export again.
    CorruptDatasetError
        The header, a file or the log that is there cannot be understood.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import export_delta, update_dataset, write_dataset
    >>> ds = write_dataset(
    ...     pa.table({"MONTH": [1, 2], "TEMP": [0.5, 3.0]}), "weather", "memory://delta", partition_on="MONTH"
    ... )
    >>> made = export_delta("weather", "memory://delta")
    >>> made.url, made.version, made.added
    ('memory://delta/weather', 0, 2)
    >>> ds = update_dataset(None, "weather", "memory://delta", delete_scope={"MONTH": 1})
    >>> made = export_delta("weather", "memory://delta")
    >>> made.version, made.added, made.removed
    (1, 0, 1)
    """
    opened = open_store(store)
    check_uuid(uuid)
    check_flag(statistics, "statistics")
    check_at(at, "at", optional=True)
    opened.check_swap()
    for attempt in range(_TRIES):
        log = _load_log(uuid, opened)
        made = _export(load_snapshot_at(uuid, opened, at), table, log, statistics)
        if made is not None:
            return made
        opened.world.pause(_FIRST_PAUSE * 2**attempt)
    raise CommitConflictError(
        f"Others have put commits into the Delta log of dataset {uuid!r} each time in {_TRIES} tries. Export again.",
        ours=None,
        theirs=None,
    )


def _load_log(uuid: str, store: Store) -> DeltaLog:
    keys = commit_keys((info.key for info in store.list(delta_log_prefix(uuid))), uuid)
    blobs = dict(zip(keys, store.get_many(keys), strict=True))
    gone = next((key for key, blob in blobs.items() if blob is None), None)
    if gone is not None:
        raise CorruptDatasetError(f"{gone!r} was deleted while the Delta log was read. Export again.", key=gone)
    return read_log({key: blob.data for key, blob in blobs.items() if blob is not None})


def _export(snapshot: Snapshot, table: str | None, log: DeltaLog, statistics: bool) -> DeltaExport | None:
    """Put the commit that a version needs, if it needs one; ``None`` where others have put theirs meanwhile."""
    uuid, store = snapshot.uuid, snapshot.store
    name = snapshot.table_name(table)
    files = snapshot.file_table(name)
    wanted = delta_table(snapshot.schemas[name], snapshot.partition_keys, uuid, name)
    check_files(files, f"Table {name!r} of dataset {uuid!r}")
    change = plan_delta(log, wanted, files, f"{uuid}/")
    url = store.local_path(uuid) or f"{store.url.rstrip('/')}/{uuid}"
    if change.is_empty:
        return DeltaExport(url, log.version, 0, 0, snapshot.version)
    change = replace(change, added=_with_sizes(snapshot, name, change.added))
    facts = _look(snapshot, name, change, statistics)
    if not _put(snapshot, name, log, change, facts):
        return None
    return DeltaExport(url, log.version + 1, change.added.num_rows, len(change.removed), snapshot.version)


def _with_sizes(snapshot: Snapshot, table: str, files: pa.Table) -> pa.Table:
    """Return files with their sizes, which Delta needs; those that the header does not know are listed."""
    sizes = files["bytes"]
    if not sizes.null_count:
        return files
    listed = {info.key: info.size for info in snapshot.store.list(f"{snapshot.uuid}/{table}/")}
    found = pa.chunked_array([pa.array([listed.get(key) for key in files["key"].to_pylist()], pa.int64())])
    gone = files["key"].filter(pc.is_null(found))
    if len(gone):
        key = gone[0].as_py()
        raise SnapshotExpiredError(f"The data file {key!r} of dataset {snapshot.uuid!r} is gone.", key=key)
    return files.set_column(files.column_names.index("bytes"), "bytes", found)


def _look(snapshot: Snapshot, table: str, change: DeltaChange, statistics: bool) -> list[DeltaFile | None]:
    """Read the footers of the files that come, unless the header says all that is needed.

    Raises
    ------
    InvalidInputError
        Files hold other types than the schema of record says; how many, and some of them, are named.
    """
    state, files = snapshot.header.state, change.added
    if state is not None and state.conformed and not files["rows"].null_count and not statistics:
        return [None] * files.num_rows
    keys = snapshot.partition_keys
    stored = pa.schema([field for field in snapshot.schemas[table] if field.name not in keys])
    found = list(read_delta_files(snapshot.store, files, stored))
    wrong = [
        (key, one.differences) for key, one in zip(files["key"].to_pylist(), found, strict=True) if one.differences
    ]
    if wrong:
        said = "".join(f"\n- {key!r}: {', '.join(different)}" for key, different in wrong[:_EXAMPLES])
        more = f"\n- and {len(wrong) - _EXAMPLES:,} more" if len(wrong) > _EXAMPLES else ""
        raise InvalidInputError(
            f"{len(wrong):,} file(s) of table {table!r} of dataset {snapshot.uuid!r} hold other types than its schema, "
            f"so that not all readers of Delta give the same rows:{said}{more}\nWrite them anew, such as with "
            "write_dataset(dataset.scan(), new_uuid, store, partition_on=dataset.partition_keys).",
            keys=tuple(key for key, _ in wrong),
        )
    return [*found]


def _put(snapshot: Snapshot, table: str, log: DeltaLog, change: DeltaChange, facts: list[DeltaFile | None]) -> bool:
    """Put the next commit of the log; ``False`` where somebody else has put it.

    Raises
    ------
    CommitStateUnknownError
        The store gave no answer, and it is not there yet.
    """
    uuid, store = snapshot.uuid, snapshot.store
    now, write_id = store.world.clock().astimezone(UTC), store.world.new_id()
    when = int(now.timestamp() * 1000)
    info = {
        "timestamp": when,
        "operation": "EXPORT",
        "operationParameters": {"dataset": uuid, "table": table, "version": str(snapshot.version)},
        "engineInfo": f"kubothek/{__version__}",
        "txnId": write_id,  # no other commit has the same bytes
    }
    if log.table is None:
        log = replace(log, id=_as_uuid(write_id), created=when)
    key = delta_log_key(uuid, log.version + 1)
    data = encode_commit(log, change, info, f"{uuid}/", facts)
    outcome = store.create(key, data)
    if isinstance(outcome, Swapped):
        return True
    found = store.get_many([key])[0]
    if found is None and isinstance(outcome, Doubtful):
        raise CommitStateUnknownError(
            f"The store gave no answer when {key!r} was put, and it is not there now. Export again.", write_id=write_id
        ) from outcome.error
    return found is not None and found.data == data


def _as_uuid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
