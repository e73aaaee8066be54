"""How large the datasets of a cube are: what their headers record, and for the rest one listing and the footers.

Headers written here record rows and bytes of every file, so that nothing else is asked for. Other software records
neither: then sizes come from listing the dataset's folder, and rows from footers, several at a time, of just the files
that lack them. Of CSV files, which have no footer, all rows are read.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.cube.members import cube_not_found, find_members
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.data_files import read_facts
from kubothek.engine.local import map_in_threads
from kubothek.errors import CorruptDatasetError
from kubothek.model.cube import Cube, cube_prefix
from kubothek.model.header import FILE_PREFIX
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.model.stats import DatasetStats
from kubothek.plan.cube.selection import dataset_ids, select_datasets
from kubothek.store.open import StoreLike, open_store

_FOOTERS = 16
"""Footers that are read at a time; each is a request of its own to the store."""


def collect_stats(
    cube: Cube | str, store: StoreLike, *, datasets: str | Iterable[str] | None = None
) -> dict[str, DatasetStats]:
    """Count partitions, files, rows and bytes of the datasets of a cube.

    No data is read. What the headers record costs no request; files that other software wrote cost one each, for the
    footer.

    Parameters
    ----------
    cube
        The specification, or the cube's name. Only the name matters: the datasets may break the rules of a cube.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    datasets
        Ids of the datasets to look at; ``None`` for all.

    Returns
    -------
    dict
        By dataset id, sorted.

    Raises
    ------
    CubeNotFoundError
        There is no dataset of such a cube.
    InvalidInputError
        The cube does not have all the datasets; ``datasets`` lists those that it lacks.
    CorruptDatasetError, SnapshotExpiredError
        A header, a key or a footer cannot be understood, or a file is gone; :func:`~kubothek.check_cube` finds all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, collect_stats
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> seed = pa.table({"FLIGHT": [1, 2, 3], "MONTH": [1, 1, 2]})
    >>> datasets = build_cube(seed, cube, "memory://collect_stats")
    >>> stats = collect_stats("flights", "memory://collect_stats")["seed"]
    >>> stats.partitions, stats.files, stats.rows
    (2, 2, 3)
    """
    prefix, opened, chosen = cube_prefix(cube), open_store(store), dataset_ids(datasets)
    snapshots = find_members(prefix, opened)
    if not snapshots:
        raise cube_not_found(prefix, opened)
    return {name: dataset_stats(snapshots[name]) for name in select_datasets(prefix, snapshots, chosen)}


def dataset_stats(snapshot: Snapshot) -> DatasetStats:
    """Count partitions, files, rows and bytes of one dataset."""
    files = _files(snapshot)
    files = _with_sizes(snapshot, files)
    files = _with_rows(snapshot, files)
    return DatasetStats(
        partitions=_count_partitions(snapshot),
        files=sum(len(column) - column.null_count for column in _key_columns(snapshot)),
        rows=pc.sum(files["rows"], min_count=0).as_py(),
        bytes=pc.sum(files["bytes"], min_count=0).as_py(),
    )


def _key_columns(snapshot: Snapshot) -> list[pa.ChunkedArray]:
    return [snapshot.partitions[FILE_PREFIX + table] for table in snapshot.tables]


def _files(snapshot: Snapshot) -> pa.Table:
    """Return what is recorded: a row per partition where its sums are, else one per file, with its table and key."""
    partitions = snapshot.partitions
    recorded = pc.and_(pc.is_valid(partitions["rows"]), pc.is_valid(partitions["bytes"]))
    sums = partitions.filter(recorded).select(["rows", "bytes"])
    others = partitions.filter(pc.invert(recorded))
    single = len(snapshot.tables) == 1  # else what is recorded is the sum over a partition's files
    parts = [sums]
    for table in snapshot.tables:
        facts = {name: others[name] if single else pa.nulls(len(others), pa.int64()) for name in ("rows", "bytes")}
        names = pa.repeat(pa.scalar(table), len(others))
        rows = pa.table({**facts, "key": others[FILE_PREFIX + table], "table": names})
        parts.append(rows.filter(pc.is_valid(rows["key"])))
    return pa.concat_tables(parts, promote_options="default").combine_chunks()


def _with_sizes(snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """Fill in the bytes of files from a listing of the dataset's folder, if any are unknown."""
    if not files["bytes"].null_count:
        return files
    infos = list(snapshot.store.list(f"{snapshot.uuid}/"))
    found = pc.index_in(files["key"], value_set=pa.array([info.key for info in infos], pa.string()))
    sizes = pa.array([info.size for info in infos], pa.int64()).take(found.combine_chunks())
    files = files.set_column(1, "bytes", pc.coalesce(files["bytes"], sizes))
    gone = files["key"].filter(pc.is_null(files["bytes"]))
    if len(gone):
        raise CorruptDatasetError(
            f"{len(gone):,} data file(s) that the header of dataset {snapshot.uuid!r} names are not in "
            f"{snapshot.store.url}, such as {gone[0].as_py()!r}. Collect again, as it may have been committed to "
            "meanwhile; if the error stays, check_cube lists them.",
            key=gone[0].as_py(),
        )
    return files


def _with_rows(snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """Fill in the rows of files from their footers."""
    unknown = pc.is_null(files["rows"])
    places = files.filter(unknown).select(["table", "key", "bytes"])
    given = zip(*(column.to_pylist() for column in places.columns), strict=True)
    counts = list(map_in_threads(lambda place: _count_rows(snapshot, *place), given, _FOOTERS))
    rows = files["rows"].combine_chunks()
    return files.set_column(
        0, "rows", pc.replace_with_mask(rows, unknown.combine_chunks(), pa.array(counts, pa.int64()))
    )


def _count_rows(snapshot: Snapshot, table: str, key: str, size: int) -> int:
    stored = pa.schema([field for field in snapshot.schemas[table] if field.name not in snapshot.partition_keys])
    return read_facts(snapshot.store, key, size, stored)[0]


def _count_partitions(snapshot: Snapshot) -> int:
    if not snapshot.partition_keys:
        return 1
    columns = [PARTITION_PREFIX + name for name in snapshot.partition_keys]
    tables = [snapshot.file_table(table).select(columns) for table in snapshot.tables]
    return int(pa.concat_tables(tables).group_by(columns).aggregate([]).num_rows)
