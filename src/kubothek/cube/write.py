"""How cubes are built, extended and appended to: check everything, stage everything, commit the seed last.

A cube has one header per dataset, so its commit is several swaps. All data is staged before the first of them, and the
seed, which says which cells exist, comes last: until then readers see the cube as it was, or new enrichment columns of
cells that exist. If a swap fails, the ones before it are taken back by commits that remove exactly what this call
added. After a crash each dataset is consistent by itself; building again completes the cube, and an extension is
completed with ``overwrite=True``, as readers may have seen a part of it.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kubothek.cube.commit import CubeWrite, commit_writes
from kubothek.cube.members import as_member, find_members
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.arguments import parse_metadata
from kubothek.dataset.staging.discard import discard_on_error
from kubothek.dataset.staging.incoming import ArrowRows, Rows, SparkRows, as_tables, parse_rows
from kubothek.dataset.staging.stage import Staged, Staging, Written, incarnation, stage_rows
from kubothek.engine.spark_types import arrow_schema
from kubothek.errors import CubeNotFoundError, InvalidInputError
from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.schema import merge_schemas, normalise_schema
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.cube.check import Mode, check_cube_write, problems_error
from kubothek.plan.cube.layout import cube_layout, parse_partition_on
from kubothek.plan.cube.metadata import cube_from_metadata, cube_metadata
from kubothek.plan.layout import Layout, parse_layout
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def build_cube(
    data: Any,
    cube: Cube,
    store: StoreLike,
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    overwrite: bool = False,
    partition_on: Mapping[str, str | Sequence[str]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Write a new cube: its seed, and any number of enrichments.

    Parameters
    ----------
    data
        Rows of the seed, or a mapping from dataset id to rows. Rows are given as for
        :func:`~kubothek.write_dataset`: Spark, Arrow, Polars or pandas.
    cube
        The specification.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    metadata
        User metadata per dataset id.
    overwrite
        Replace a cube that exists; all its datasets must be given.
    partition_on
        Partition columns per dataset id, where an enrichment's are not those of the cube.
    shuffle
        Give each partition one file (or ``num_buckets``); without it every Spark task and every frame cuts its own.
    bucket_by, num_buckets
        Spread each partition over files by the values of these dimension columns (all if not given).
    compression
        Of the data files.

    Returns
    -------
    dict
        The datasets that were written, by id.

    Raises
    ------
    AlreadyExistsError
        A dataset exists and ``overwrite`` is not set.
    NullValueError, DuplicateCellsError
        A dimension or partition column has no value, or a cell is given twice.
    InvalidInputError, SchemaError
        Columns or types do not fit the cube, or a dataset is given without rows; all problems are listed. Nothing was
        committed in any of these cases.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://build_cube").keys()
    dict_keys(['seed'])
    """
    layout = _parse(shuffle, bucket_by, num_buckets, compression)
    return _write(data, cube, open_store(store), _Request("build", layout, metadata, partition_on, overwrite))


def extend_cube(
    data: Any,
    cube: Cube | str,
    store: StoreLike,
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    overwrite: bool = False,
    partition_on: Mapping[str, str | Sequence[str]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Add enrichments to a cube; nothing that it has is rewritten.

    Parameters
    ----------
    data
        A mapping from dataset id to rows, as for :func:`build_cube`; the seed is not among them.
    cube
        The specification, or the cube's name.
    store, metadata, partition_on, shuffle, bucket_by, num_buckets, compression
        As for :func:`build_cube`.
    overwrite
        Replace enrichments that exist.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    AlreadyExistsError, NullValueError, DuplicateCellsError, InvalidInputError, SchemaError
        As for :func:`build_cube`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, extend_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> seed = pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]})
    >>> datasets = build_cube(seed, cube, "memory://extend_cube")
    >>> late = pa.table({"FLIGHT": [1], "MONTH": [1], "LATE": [True]})
    >>> extend_cube({"late": late}, cube, "memory://extend_cube").keys()
    dict_keys(['late'])
    """
    layout = _parse(shuffle, bucket_by, num_buckets, compression)
    return _write(data, cube, open_store(store), _Request("extend", layout, metadata, partition_on, overwrite))


def append_to_cube(
    data: Any,
    cube: Cube | str,
    store: StoreLike,
    *,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    shuffle: bool = True,
    bucket_by: str | Sequence[str] = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
) -> dict[str, Dataset]:
    """Add rows to datasets that a cube has, the seed among them.

    A cell that the same partition holds already gets a new version: the last one written is what queries see.

    Parameters
    ----------
    data
        Rows of the seed, or a mapping from dataset id to rows, as for :func:`build_cube`.
    cube
        The specification, or the cube's name.
    store, metadata, shuffle, bucket_by, num_buckets, compression
        As for :func:`build_cube`.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    NullValueError, DuplicateCellsError, InvalidInputError, SchemaError
        As for :func:`build_cube`; a dataset that the cube does not have is an error too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, append_to_cube, build_cube, query_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> datasets = build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://append")
    >>> datasets = append_to_cube(
    ...     pa.table({"FLIGHT": [1, 2], "MONTH": [1, 1], "DELAY": [7, 0]}), cube, "memory://append"
    ... )
    >>> query_cube(cube, "memory://append").to_arrow()["DELAY"].to_pylist()
    [7, 0]
    """
    layout = _parse(shuffle, bucket_by, num_buckets, compression)
    return _write(data, cube, open_store(store), _Request("append", layout, metadata))


def _parse(shuffle: bool, bucket_by: Any, num_buckets: int | None, compression: str) -> Layout:
    return parse_layout(shuffle=shuffle, bucket_by=bucket_by, num_buckets=num_buckets, compression=compression)


@dataclass(frozen=True, slots=True)
class _Request:
    """What the caller asked for beside data, cube and store; what a mode has no parameter for keeps its default."""

    mode: Mode
    layout: Layout
    metadata: Mapping[str, Mapping[str, Any]] | None
    partition_on: Mapping[str, str | Sequence[str]] | None = None
    overwrite: bool = False


def _write(data: Any, cube: Cube | str, store: Store, request: _Request) -> dict[str, Dataset]:
    """Check, stage and commit all datasets of one call."""
    snapshots = find_members(cube if isinstance(cube, str) else cube.uuid_prefix, store)
    spec = _specification(cube, snapshots, store, request.mode)
    rows = {name: _materialised(name, given) for name, given in _by_dataset(data, spec).items() if given is not None}
    writes = _prepare(rows, spec, snapshots, request)
    written: list[StagedPartition] = []
    with discard_on_error(store, written):
        staged = {write.dataset_id: _stage(write, spec, store, written) for write in writes}
        _refuse_empty(staged, spec)
    committed = commit_writes(writes, staged, spec, store)
    return {dataset_id: Dataset(committed[dataset_id]) for dataset_id in sorted(committed)}


def _specification(cube: Cube | str, snapshots: Mapping[str, Snapshot], store: Store, mode: Mode) -> Cube:
    """Return the cube's specification: as given, or as its datasets carry it."""
    if isinstance(cube, Cube):
        return cube
    if mode == "build":
        raise InvalidInputError("A cube is built from a Cube, which says what its dimensions and partitions are.")
    if not snapshots:
        raise CubeNotFoundError(f"There is no cube {cube!r} in {store.url}.")
    return cube_from_metadata(cube, [as_member(name, snapshot) for name, snapshot in snapshots.items()])


def _by_dataset(data: Any, cube: Cube) -> Mapping[str, Any]:
    """Return rows by dataset id; rows without an id are the seed's."""
    if not isinstance(data, Mapping):
        return {cube.seed_dataset: data}
    for dataset_id in data:
        cube.dataset_uuid(dataset_id)
    return data


def _materialised(dataset_id: str, data: Any) -> tuple[Rows, pa.Schema]:
    """Parse the rows of one dataset and find their schema; frames are kept to be looked at twice."""
    rows = parse_rows(data, f"dataset {dataset_id!r}")
    if isinstance(rows, SparkRows):
        return rows, normalise_schema(arrow_schema(rows.frame.schema))
    frames = list(rows.frames)
    schema = normalise_schema(frames[0].schema if frames else pa.schema([]))
    for number, frame in enumerate(frames[1:], start=1):
        what = f"frame {number} of dataset {dataset_id!r}"
        schema = merge_schemas(schema, normalise_schema(frame.schema), what=what, stored=False)
    return ArrowRows(iter(frames)), schema


def _prepare(
    rows: Mapping[str, tuple[Rows, pa.Schema]],
    cube: Cube,
    snapshots: Mapping[str, Snapshot],
    request: _Request,
) -> list[CubeWrite]:
    """Check the call as a whole and return its writes, the seed's last."""
    if not rows:
        raise InvalidInputError(f"There is no data for cube {cube.uuid_prefix!r}.")
    mode = request.mode
    given = parse_partition_on(request.partition_on)
    leftovers = _leftovers(cube, snapshots, mode)
    existing = [as_member(name, snapshot) for name, snapshot in snapshots.items() if name not in leftovers]
    schemas = {name: schema for name, (_, schema) in rows.items()}
    problems = check_cube_write(cube, existing, schemas, mode=mode, partition_on=given, overwrite=request.overwrite)
    if problems:
        raise problems_error(cube, problems)
    user = _metadata(request.metadata, rows)
    writes = []
    for dataset_id in sorted(rows, key=lambda name: (name == cube.seed_dataset, name)):
        base = snapshots.get(dataset_id)
        stored = base if mode == "append" else None
        keys = stored.partition_keys if stored else given.get(dataset_id, cube.partition_columns)
        indices = stored.index_columns if stored else None
        schema = schemas[dataset_id]
        own = cube_layout(request.layout, cube, dataset_id, schema.names, keys, indices)
        change = ChangeSet(
            write_id=uuids.uuid4().hex,
            operation=f"{mode} cube",
            partition_keys=own.partition_on,
            index_columns=own.secondary_indices,
            metadata={**user.get(dataset_id, {}), **cube_metadata(cube, dataset_id)},
            create=mode != "append",
            must_be_absent=mode != "append" and base is None,
            overwrite=mode != "append" and base is not None,
        )
        expected = stored.schemas[SINGLE_TABLE] if stored else None
        writes.append(CubeWrite(dataset_id, rows[dataset_id][0], own, base, expected, change))
    return writes


def _leftovers(cube: Cube, snapshots: Mapping[str, Snapshot], mode: Mode) -> set[str]:
    """Datasets that a build or extension which did not come to its end left behind; they may be written again.

    These are enrichments that were taken back, and, as long as there is no seed, those that saw one commit only.
    """
    if mode == "append" or (mode == "build" and cube.seed_dataset in snapshots):
        return set()
    return {
        name
        for name, snapshot in snapshots.items()
        if name != cube.seed_dataset
        and (snapshot.partitions.num_rows == 0 or (mode == "build" and snapshot.version == 1))
    }


def _metadata(metadata: Mapping[str, Mapping[str, Any]] | None, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
    parsed = parse_metadata(metadata)
    unknown = sorted(set(parsed) - set(datasets))
    if unknown:
        raise InvalidInputError(
            f"metadata names {', '.join(unknown)}, for which there is no data; it maps dataset ids to entries."
        )
    return {dataset_id: parse_metadata(entries) for dataset_id, entries in parsed.items()}


def _stage(write: CubeWrite, cube: Cube, store: Store, written: Written) -> Staged:
    staging = Staging(
        store=store,
        uuid=cube.dataset_uuid(write.dataset_id),
        write_id=write.change.write_id,
        incarnation=incarnation(write.base, write.change.write_id),
        layout=write.layout,
        expected=None if write.expected is None else {SINGLE_TABLE: write.expected},
    )
    return stage_rows(as_tables(write.rows, SINGLE_TABLE), staging, written)


def _refuse_empty(staged: Mapping[str, Staged], cube: Cube) -> None:
    """Refuse datasets without rows, which are more likely a mistake in what made them than meant."""
    empty = [name for name, done in staged.items() if not any(part.rows for part in done.partitions)]
    if empty:
        raise InvalidInputError(
            f"The data for {', '.join(map(repr, empty))} of cube {cube.uuid_prefix!r} has no rows. Leave out what gets "
            "no rows; nothing was committed.",
            datasets=tuple(empty),
        )
