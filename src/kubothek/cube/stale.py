"""Which parts of a computed dataset of a cube are stale: what its header says it was computed from, and what is there.

Steps: pin all datasets of the cube; take the partitions that its sources have, and those that the dataset's header
records (``kubothek.plan.cube.lineage``); compare them unit by unit. Headers alone are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.partition_values import partition_values
from kubothek.cube.members import OpenCube, open_cube
from kubothek.dataset.snapshot import Snapshot
from kubothek.engine.join import sort_rows
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.read_plan import PARTITION_PREFIX
from kubothek.model.stale import StalePartitions
from kubothek.plan.cube.lineage import LABEL, REASON, Source, count_units, find_stale, unit_columns
from kubothek.plan.cube.selection import dataset_ids, select_datasets
from kubothek.store.open import StoreLike, open_store


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What a dataset of a cube was computed from, and which of its units are stale.

    ``snapshot`` is ``None`` where the dataset is yet to be made. ``columns`` tell its units apart. ``sources`` are
    those that count, the seed first. ``own`` are the dataset's labels, and ``stale`` its stale units, as in
    ``kubothek.plan.cube.lineage``; ``found`` says the same to people, in the same order.
    """

    snapshot: Snapshot | None
    columns: tuple[str, ...]
    sources: Mapping[str, Source]
    own: pa.Table
    stale: pa.Table
    found: StalePartitions


def stale_partitions(
    cube: Cube | str, store: StoreLike, dataset: str, *, datasets: str | Iterable[str] | None = None
) -> StalePartitions:
    """Say which physical partitions of a computed dataset do not hold what its sources hold now.

    :func:`refresh_cube` records for a dataset from which partitions of the seed, and of other datasets, it was
    computed. A physical partition is told by the columns by which both the dataset and the cube are partitioned; a
    dataset that shares none is one unit. Only headers are read.

    Whatever replaces files of a source makes the partitions that depend on it stale, also where the new files hold the
    same rows. Partitions of the dataset that others remove or replace count as never computed; appending to them
    changes nothing. A commit by other software forgets the record, so that all are missing.

    Parameters
    ----------
    cube
        The specification, or the cube's name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    dataset
        Id of the computed dataset.
    datasets
        Ids of the datasets that it is computed from beside the seed; ``None`` for those that are recorded.

    Returns
    -------
    StalePartitions
        A sequence with the values of the partition columns and the reason of each, sorted by the values; it is empty
        where all is fresh, and prints as a list.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    InvalidInputError
        The cube lacks one of the datasets, the dataset is the seed, or would be computed from itself.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, refresh_cube, stale_partitions, update_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> flights = pa.table({"FLIGHT": [1, 2, 3], "MONTH": [1, 2, 3], "DELAY": [5, 40, 0]})
    >>> datasets = build_cube(flights, cube, "memory://stale_partitions")
    >>> def predict(rows):
    ...     return rows.drop_columns("DELAY").append_column("LATE", [rows["DELAY"].to_numpy() > 15])
    >>> done = refresh_cube(cube, "memory://stale_partitions", "predictions", predict)
    >>> datasets = update_cube(flights[1:2], cube, "memory://stale_partitions")
    >>> print(stale_partitions(cube, "memory://stale_partitions", "predictions"))
    flights++predictions: 1 of 3 physical partitions stale (1 changed)
      MONTH=2: changed
    """
    opened = open_cube(cube, open_store(store))
    select_datasets(opened.cube.uuid_prefix, opened.snapshots, [dataset])
    return survey(opened, dataset, dataset_ids(datasets), ()).found


def survey(opened: OpenCube, dataset_id: str, datasets: Sequence[str] | None, partition_keys: Sequence[str]) -> Survey:
    """Find the stale units of a dataset in a cube that is pinned.

    Parameters
    ----------
    opened
        The cube.
    dataset_id
        The computed dataset.
    datasets
        Ids of its sources beside the seed; ``None`` for those that are recorded.
    partition_keys
        Its partition columns, where it is yet to be made.
    """
    cube, snapshot = opened.cube, opened.snapshots.get(dataset_id)
    state = None if snapshot is None else snapshot.header.state
    recorded = {} if state is None else state.lineage
    ids = _sources(opened, dataset_id, recorded if datasets is None else datasets, known=datasets is not None)
    columns = unit_columns(cube, partition_keys if snapshot is None else snapshot.partition_keys)
    kinds = pa.schema([opened.snapshots[cube.seed_dataset].schema(SINGLE_TABLE).field(name) for name in columns])
    try:
        sources = {name: _source(opened.snapshots[name], recorded.get(name), kinds) for name in ids}
    except CorruptDatasetError:  # labels of a source that was partitioned otherwise: they say nothing any more
        recorded = {}
        sources = {name: _source(opened.snapshots[name], None, kinds) for name in ids}
    dropped = {name: _unwanted(labels) for name, labels in recorded.items() if name not in ids}
    own = _labels({}, kinds) if snapshot is None else _files(snapshot, kinds)
    stale = find_stale(columns, cube.seed_dataset, sources | dropped, own)
    stale = sort_rows(stale, [PARTITION_PREFIX + name for name in columns])
    total = count_units(columns, [sources[cube.seed_dataset].current, sources[cube.seed_dataset].recorded, own])
    values = pa.table({name: stale[PARTITION_PREFIX + name] for name in columns})
    found = StalePartitions(cube.dataset_uuid(dataset_id), values, stale[REASON].combine_chunks(), total)
    return Survey(snapshot, columns, sources, own, stale, found)


def _sources(opened: OpenCube, dataset_id: str, datasets: Iterable[str], *, known: bool) -> tuple[str, ...]:
    """Return the ids of the sources, the seed first; recorded ones that are gone are left out, others an error."""
    cube = opened.cube
    if dataset_id == cube.seed_dataset:
        raise InvalidInputError(
            f"Dataset {dataset_id!r} is the seed of cube {cube.uuid_prefix!r}, which says what there is; only other "
            "datasets are computed from it.",
            datasets=(dataset_id,),
        )
    others = [name for name in datasets if name != cube.seed_dataset and (known or name in opened.snapshots)]
    if dataset_id in others:
        raise InvalidInputError(
            f"Dataset {dataset_id!r} of cube {cube.uuid_prefix!r} cannot be computed from itself; leave it out of "
            "datasets.",
            datasets=(dataset_id,),
        )
    return (cube.seed_dataset, *select_datasets(cube.uuid_prefix, opened.snapshots, others))


def _source(snapshot: Snapshot, recorded: pa.Array | None, kinds: pa.Schema) -> Source:
    """Return what a source has and what was recorded of it.

    Raises
    ------
    CorruptDatasetError
        What was recorded are no labels of a dataset that is partitioned as this one is.
    """
    shared = pa.schema([field for field in kinds if field.name in snapshot.partition_keys])
    labels = pa.nulls(0, pa.string()) if recorded is None else recorded
    keys = pc.binary_join_element_wise(f"{snapshot.uuid}/{SINGLE_TABLE}", labels, "/")
    schema = snapshot.schema(SINGLE_TABLE)
    values = partition_values(keys, snapshot.uuid, SINGLE_TABLE, snapshot.partition_keys, schema)
    then = _labels({LABEL: labels} | {PARTITION_PREFIX + name: found for name, found in values.items()}, kinds)
    return Source(tuple(shared.names), then, _files(snapshot, kinds))


def _unwanted(labels: pa.Array) -> Source:
    """Return what was recorded of a dataset that is no source any more: all that was computed from it changed."""
    then = pa.table({LABEL: labels})
    return Source((), then, then[:0])


def _files(snapshot: Snapshot, kinds: pa.Schema) -> pa.Table:
    """Return the labels that a dataset has, with the values of those columns that it is partitioned by."""
    files = snapshot.file_table()
    return _labels({name: files[name] for name in files.column_names}, kinds)


def _labels(columns: Mapping[str, pa.Array | pa.ChunkedArray], kinds: pa.Schema) -> pa.Table:
    """Return labels with values of these types; a column that is not given is null."""
    labels = columns.get(LABEL, pa.nulls(0, pa.string()))
    values = {
        PARTITION_PREFIX + field.name: pc.cast(columns[PARTITION_PREFIX + field.name], field.type)
        if PARTITION_PREFIX + field.name in columns
        else pa.nulls(len(labels), field.type)
        for field in kinds
    }
    return pa.table({LABEL: labels} | values)
