"""How a computed dataset of a cube is brought up to date: what is stale is computed anew, and nothing else.

::

    pin       all datasets of the cube at once: what is computed, and what is recorded of it, are of these versions
    survey    which units are stale (kubothek.cube.stale); without any, nothing happens
    compute   the rows of these units go through the caller's function, and what it returns is staged as files
    commit    the files of the stale units are replaced by these, and the record of what they came from with them

The function sees one Arrow table per unit, in this process or in Spark's tasks, or all of them as one Spark DataFrame.
Where a source changes meanwhile, the record is of what was pinned, so that the unit is stale again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.keys import staged_prefix
from kubothek.codec.labels import write_prefix
from kubothek.cube.computed import Compute, Target, check_inside, compute_groups
from kubothek.cube.members import OpenCube, as_recorded_in_cube, open_cube
from kubothek.cube.query import Query, query_opened
from kubothek.cube.stale import Survey, survey
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import Snapshot, find_snapshot
from kubothek.dataset.staging.arguments import check_flag, parse_metadata
from kubothek.dataset.staging.discard import discard_by_listing, discard_on_error
from kubothek.dataset.staging.incoming import SparkRows, as_tables, parse_rows
from kubothek.dataset.staging.stage import Staged, Written, incarnation, stage_rows
from kubothek.engine import spark as on_spark
from kubothek.engine.spark_types import arrow_schema
from kubothek.engine.writing import cut_runs
from kubothek.errors import InvalidInputError
from kubothek.model.cube import Cube
from kubothek.model.display import plural
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.names import column_names
from kubothek.model.read_plan import PARTITION_PREFIX, ReadPlan
from kubothek.model.schema import merge_schemas, normalise_schema
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.model.stale import StalePartitions
from kubothek.plan.cube.check import problems_error
from kubothek.plan.cube.check_write import check_cube_write
from kubothek.plan.cube.lineage import LABEL, REASON, is_among, next_lineage
from kubothek.plan.cube.metadata import cube_metadata
from kubothek.plan.cube.selection import dataset_ids
from kubothek.plan.layout import Layout, parse_layout
from kubothek.plan.tasks import cut_groups
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refresh_cube(
    cube: Cube | str,
    store: StoreLike,
    dataset: str,
    compute: Compute,
    spark: SparkSession | None = None,
    *,
    datasets: str | Iterable[str] | None = (),
    columns: str | Sequence[str] | None = None,
    per_partition: bool = False,
    partition_on: str | Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    compression: str = "zstd",
) -> StalePartitions:
    """Compute the stale physical partitions of a dataset anew, and replace them in one commit.

    :func:`stale_partitions` says which these are. Only the seed's cells in them are read, and only their files are
    replaced; what vanished from the seed is removed without computing anything. The result is what computing everything
    anew gives, as long as the function computes each partition from that partition alone. Without anything stale
    nothing is computed or committed.

    Parameters
    ----------
    cube
        The specification, or the cube's name.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    dataset
        Id of the computed dataset. It is created where it is not there.
    compute
        The function. It is given the rows of a query of the cube: the seed's and those of ``datasets``, and returns
        those of the computed dataset: its dimension columns, its partition columns, and payload columns that no other
        dataset has. Without a session it is given one Arrow table for each physical partition, sorted by the dimension
        columns, in order, and returns an Arrow table, or anything else that :func:`build_cube` takes; one without rows
        says that the partition has no cells. With a session it is given all stale partitions as one lazy Spark
        DataFrame, and returns one.
    spark
        The session whose tasks read, compute and write; ``None`` for this process, whose memory holds a few physical
        partitions at a time.
    datasets
        Ids of the datasets beside the seed that the function is given. A change to them makes the partitions stale that
        agree with it in the partition columns that both have. ``None`` for those of the last time.
    columns
        Payload columns that the function is given; ``None`` for all.
    per_partition
        With a session, have its tasks call the function once for each physical partition, with an Arrow table as
        without one. Nothing is shuffled; the function must pickle.
    partition_on
        Partition columns of a dataset that is created; ``None`` for those of the cube. A dataset that is there has the
        ones that it has.
    metadata
        User metadata to set.
    compression
        Of the new files, as for :func:`build_cube`.

    Returns
    -------
    StalePartitions
        What was stale and is not any more; empty where nothing was done.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    InvalidInputError, SchemaError, NullValueError, DuplicateCellsError
        The arguments do not fit the cube; or what the function returned cannot be stored, breaks the rules of a cube,
        or has cells outside of the partitions that it was computed from.
    CommitConflictError
        Others computed or removed partitions of the dataset meanwhile.
    CommitStateUnknownError
        The store gave no answer, and what is there now does not tell.

    In all of these cases but the last, and when the function raises, the dataset is as it was and nothing is staged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, append_to_cube, build_cube, query_cube, refresh_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> datasets = build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://refresh_cube")
    >>> def predict(rows):
    ...     print("computing", rows["MONTH"][0])
    ...     return rows.drop_columns("DELAY").append_column("LATE", [rows["DELAY"].to_numpy() > 15])
    >>> done = refresh_cube(cube, "memory://refresh_cube", "predictions", predict)
    computing 1
    >>> more = pa.table({"FLIGHT": [2], "MONTH": [2], "DELAY": [40]})
    >>> datasets = append_to_cube(more, cube, "memory://refresh_cube")
    >>> done = refresh_cube(cube, "memory://refresh_cube", "predictions", predict)
    computing 2
    >>> query_cube(cube, "memory://refresh_cube").to_arrow()["LATE"].to_pylist()
    [False, True]
    """
    _check_arguments(compute, spark, per_partition)
    layout, place = parse_layout(compression=compression), open_store(store)
    entries = {} if metadata is None else parse_metadata(metadata)
    keys = None if partition_on is None else column_names(partition_on, "partition_on")
    opened = open_cube(cube, place)
    opened.cube.dataset_uuid(dataset)
    found = survey(opened, dataset, dataset_ids(datasets), opened.cube.partition_columns if keys is None else keys)
    call = _Call(opened, found, dataset, keys)
    if found.snapshot is not None:
        call.check(found.snapshot.schema(SINGLE_TABLE))
    if not len(found.found):
        return found.found
    place.check_swap()
    base = found.snapshot or _withdrawn(opened.cube.dataset_uuid(dataset), place)
    target = _target(call, base, layout, place.world.new_id())
    written: list[StagedPartition] = []
    with discard_on_error(place, written):
        query = _stale_rows(call, place, columns)
        run = _Run(compute, target, place, written)
        staged = _together(_results(run, call, query, spark, per_partition=per_partition), call)
        change = _change(call, target, base, staged, entries)
    with discard_on_error(place, written, committing=True):
        commit(place, target.uuid, change, base)
    return found.found


def _check_arguments(compute: object, spark: object, per_partition: bool) -> None:
    check_flag(per_partition, "per_partition")
    if not callable(compute):
        raise InvalidInputError(f"compute must be a function from rows to rows, not {compute!r}.")
    if spark is not None:
        on_spark.check_session(spark)


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """What a call is about: the pinned cube, what is stale of the dataset, and the partition columns asked for."""

    opened: OpenCube
    found: Survey
    dataset_id: str
    partition_on: tuple[str, ...] | None

    @property
    def stale(self) -> pa.Table:
        """The units that are computed; those that vanished are only removed."""
        return self.found.stale.filter(pc.not_equal(self.found.stale[REASON], "vanished"))

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """Partition columns of the dataset, as it is or is to be."""
        if self.found.snapshot is not None:
            return self.found.snapshot.partition_keys
        return self.opened.cube.partition_columns if self.partition_on is None else self.partition_on

    def check(self, schema: pa.Schema) -> None:
        """Refuse data of this schema if it breaks a rule of the cube; all problems are named."""
        cube, given = self.opened.cube, self.partition_on
        problems = check_cube_write(
            cube,
            self.opened.members,
            {self.dataset_id: schema},
            mode="extend" if self.found.snapshot is None else "update",
            partition_on={} if given is None else {self.dataset_id: given},
        )
        if problems:
            raise problems_error(cube, problems)


def _withdrawn(uuid: str, store: Store) -> Snapshot | None:
    """Return a dataset whose creation was taken back; one that others have created meanwhile is a conflict later."""
    found = find_snapshot(uuid, store)
    return found if found is not None and found.header.is_withdrawn else None


def _target(call: _Call, base: Snapshot | None, layout: Layout, write_id: str) -> Target:
    snapshot = call.found.snapshot
    expected = None if snapshot is None else snapshot.schema(SINGLE_TABLE)
    indexed = () if snapshot is None else snapshot.index_columns
    return Target(
        cube=call.opened.cube,
        dataset_id=call.dataset_id,
        write_id=write_id,
        incarnation=incarnation(base, write_id),
        layout=layout,
        partition_keys=call.partition_keys,
        columns=call.found.columns,
        indices=None if expected is None else tuple(name for name in indexed if name in expected.names),
        expected=expected,
    )


def _stale_rows(call: _Call, store: Store, columns: Any) -> Query:
    """Plan the query of what the function is given: of the seed's files, those of stale units are left."""
    opened, found = call.opened, call.found
    seed = opened.cube.seed_dataset
    source = found.sources[seed].current
    labels = source.filter(pa.array(is_among(source, call.stale, found.columns)))[LABEL].combine_chunks()
    members = tuple(
        replace(one, files=one.files.filter(pc.is_in(one.files[LABEL], value_set=labels)))
        if one.dataset_id == seed
        else one
        for one in opened.members
    )
    chosen = replace(opened, members=members)
    return query_opened(chosen, store, datasets=tuple(found.sources), partition_by=found.columns, columns=columns)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What computes and stages; ``written`` receives each file."""

    compute: Compute
    target: Target
    store: Store
    written: Written


def _results(
    run: _Run, call: _Call, query: Query, spark: SparkSession | None, *, per_partition: bool
) -> Iterable[Staged]:
    """Compute all stale units, where the function is to run."""
    if query.plan.units.num_rows == 0:
        return ()
    if spark is None:
        return compute_groups(run.compute, run.target, run.store, query.plan, run.written)
    return _in_tasks(run, call, query, spark) if per_partition else (_as_one(run, call, query, spark),)


def _in_tasks(run: _Run, call: _Call, query: Query, spark: SparkSession) -> list[Staged]:
    """Have Spark's tasks read, compute and write one unit after the other."""
    plan, target, compute = query.plan, run.target, run.compute
    starts = cut_runs(plan.units, [PARTITION_PREFIX + name for name in plan.group_by])
    pieces = cut_groups(plan, starts, on_spark.count_plan_tasks(spark, plan))
    text = f"refresh {target.uuid}, {call.stale.num_rows:,} of {plural(call.found.found.total, 'partition')}"

    def body(store: Store, piece: ReadPlan) -> Iterator[Staged]:
        yield from compute_groups(compute, target, store, piece, [], threads=1)
        store.flush()

    try:
        results = on_spark.gather(spark, run.store, pieces, body, text)
    except BaseException:
        staged = staged_prefix(target.uuid, target.incarnation, target.write_id)
        discard_by_listing(run.store, target.uuid, SINGLE_TABLE, target.write_id, staged)
        raise
    run.written.extend(part for one in results for part in one.partitions)
    return results


def _as_one(run: _Run, call: _Call, query: Query, spark: SparkSession) -> Staged:
    """Give the function all units as one DataFrame, and have Spark write the one that it returns."""
    target = run.target
    rows = parse_rows(run.compute(query.to_spark(spark)), f"dataset {target.uuid!r}")
    if not isinstance(rows, SparkRows):
        raise InvalidInputError(
            f"compute did not return a Spark DataFrame for dataset {target.uuid!r}, but was given one. Return one, or "
            "have it called with one Arrow table per physical partition (per_partition=True)."
        )
    schema = arrow_schema(rows.frame.schema)
    schema = normalise_schema(as_recorded_in_cube(schema, call.opened.members, target.cube, target.dataset_id))
    call.check(schema)
    layout = target.laid_out(schema.names, shuffle=True)
    made = normalise_schema(schema, layout.partition_on) if target.expected is None else target.expected
    staging = target.staging(run.store, layout, made)
    staged = stage_rows(as_tables(rows, SINGLE_TABLE), staging, run.written)
    check_inside(staged.partitions, target, call.stale)
    return staged


def _together(results: Iterable[Staged], call: _Call) -> Staged:
    """Put results together; each schema that is new to the others is checked as soon as it comes."""
    partitions: list[StagedPartition] = []
    schema: pa.Schema | None = None
    for one in results:
        partitions += one.partitions
        for new in one.schemas.values():
            if new != schema:
                what = f"a later result for dataset {call.dataset_id!r}"
                schema = new if schema is None else merge_schemas(schema, new, what=what, stored=False)
                call.check(schema)
    return Staged(tuple(partitions), {} if schema is None else {SINGLE_TABLE: schema})


def _change(
    call: _Call, target: Target, base: Snapshot | None, staged: Staged, metadata: Mapping[str, Any]
) -> ChangeSet:
    """Return the commit: the new files for those of all stale units, and what all of it was computed from."""
    found, own, creates = call.found, call.found.own, call.found.snapshot is None
    schema = staged.schemas.get(SINGLE_TABLE)
    if creates and schema is None:
        raise InvalidInputError(
            f"Dataset {target.uuid!r} cannot be created: compute returned no columns for any of the "
            f"{plural(call.stale.num_rows, 'partition')} that it was given. Return tables without rows that have them."
        )
    return ChangeSet(
        write_id=target.write_id,
        operation="refresh_cube",
        added=staged.partitions,
        tables=None if schema is None else staged.schemas,
        partition_keys=target.partition_keys,
        index_columns=None if schema is None else target.laid_out(schema.names).secondary_indices,
        remove_labels=tuple(own.filter(pa.array(is_among(own, found.stale, found.columns)))[LABEL].to_pylist()),
        metadata={**metadata, **cube_metadata(target.cube, target.dataset_id)},
        create=creates,
        must_be_absent=creates,
        overwrite=creates and base is not None,
        unique_write=write_prefix(target.write_id),
        lineage=next_lineage(found.stale, found.sources),
    )
