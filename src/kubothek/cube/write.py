"""How a call writes to the datasets of a cube: check everything, stage everything, commit the seed last.

A cube has one header per dataset, so its commit is several swaps. All data is staged before the first of them, and the
seed, which says which cells exist, comes last: until then readers see the cube as it was, or new enrichment columns of
cells that exist. If a swap fails, the ones before it are taken back (:mod:`kubothek.cube.commit`). After a crash each
dataset is consistent by itself and tells which call it belongs to; the same call again completes the cube.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kubothek.codec.labels import write_prefix
from kubothek.cube.commit import CubeCommit, commit_in_order
from kubothek.cube.incoming import DatasetRows, parse_cube_data, parse_cube_metadata
from kubothek.cube.members import as_member, as_recorded_in_cube, cube_not_found, pin_members
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.discard import discard, discard_on_error
from kubothek.dataset.staging.incoming import ArrowRows, Rows, SparkRows, as_tables
from kubothek.dataset.staging.stage import Staged, Staging, Written, incarnation, stage_rows
from kubothek.dataset.staging.staged_files import staged_values
from kubothek.dataset.write_job import WriteJob, plan_job
from kubothek.errors import InvalidInputError
from kubothek.model.condition import Condition
from kubothek.model.cube import Cube, cube_prefix
from kubothek.model.header import SINGLE_TABLE, CubeCall
from kubothek.model.schema import normalise_schema
from kubothek.model.staged import ChangeSet, StagedPartition
from kubothek.plan.cube.check import problems_error
from kubothek.plan.cube.check_write import Mode, check_cube_write
from kubothek.plan.cube.incomplete import resumable
from kubothek.plan.cube.layout import cube_layout, parse_partition_on
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.metadata import cube_from_metadata, cube_metadata
from kubothek.plan.cube.removal import removal_condition, removal_scope, same_partitions
from kubothek.plan.delete_scope import bind_scope
from kubothek.plan.layout import Layout
from kubothek.store.interface import Store

_FUNCTIONS: Mapping[Mode, str] = {
    "build": "build_cube",
    "extend": "extend_cube",
    "append": "append_to_cube",
    "update": "update_cube",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asked for beside data, cube and store; what a mode has no parameter for keeps its default."""

    mode: Mode
    layout: Layout
    metadata: Mapping[str, Mapping[str, Any]] | None
    partition_on: Mapping[str, str | Sequence[str]] | None = None
    overwrite: bool = False
    remove: Any = None

    @property
    def function(self) -> str:
        """Name of the function that was called."""
        return _FUNCTIONS[self.mode]

    @property
    def creates(self) -> bool:
        """Whether datasets are created; otherwise they are there, and stay."""
        return self.mode in ("build", "extend")


@dataclass(frozen=True, slots=True)
class _Write:
    """One dataset on its way: its rows, how they are laid out, and the commit but for what is staged."""

    dataset_id: str
    rows: Rows
    layout: Layout
    base: Snapshot | None
    expected: pa.Schema | None
    change: ChangeSet


def write_cube(data: Any, cube: Cube | str, store: Store, request: Request) -> dict[str, Dataset]:
    """Check, stage and commit all datasets of one call.

    Parameters
    ----------
    data
        Rows of the seed, or a mapping from dataset id to rows.
    cube
        The specification, or the name of a cube that exists.
    store
        Where the cube is.
    request
        Everything else.
    """
    pinned = pin_members(cube_prefix(cube), store)
    members = [as_member(name, snapshot) for name, snapshot in pinned.items() if not snapshot.header.is_withdrawn]
    spec = _specification(cube, members, store, request.mode)
    removed = None if request.remove is None else removal_condition(request.remove, spec)
    given = parse_cube_data(data, spec, members, creates=request.creates)
    kept = _check(given, spec, members, request)
    writes = _writes(given, spec, pinned, kept, request, removed, store.world.new_id())
    written: list[StagedPartition] = []
    with discard_on_error(store, written):
        staged = {write.dataset_id: _stage(write, spec, store, written) for write in writes}
        if removed is None:
            _refuse_empty(staged, spec)
        replaces = request.mode == "update" and removed is None
        commits = [_commit(write, staged[write.dataset_id], spec, replaces=replaces) for write in writes]
    return commit_in_order(commits, spec.uuid_prefix, store, lambda one: discard(store, one.change.added))


def plan_dataset(schema: pa.Schema, dataset_id: str, cube: Cube | str, store: Store, request: Request) -> WriteJob:
    """Plan the write of one dataset whose rows other processes stage (see :mod:`kubothek.dataset.write_job`).

    Parameters
    ----------
    schema
        Columns of the rows, with Spark's types as Arrow has them.
    dataset_id, cube, store
        Where the rows go.
    request
        Everything else; its mode is not ``build``.
    """
    pinned = pin_members(cube_prefix(cube), store)
    members = [as_member(name, snapshot) for name, snapshot in pinned.items() if not snapshot.header.is_withdrawn]
    spec = _specification(cube, members, store, request.mode)
    spec.dataset_uuid(dataset_id)
    stay = [member for member in members if not (request.creates and member.dataset_id == dataset_id)]
    schema = as_recorded_in_cube(schema, stay, spec, dataset_id)
    given = {dataset_id: DatasetRows(ArrowRows(iter(())), normalise_schema(schema))}
    kept = _check(given, spec, members, request)
    (write,) = _writes(given, spec, pinned, kept, request, None, store.world.new_id())
    return plan_job(
        schema,
        store,
        spec.dataset_uuid(dataset_id),
        write.layout,
        write.change,
        write.base,
        replaces=request.mode == "update",
        may_be_empty=False,
    )


def _specification(cube: Cube | str, members: Sequence[Member], store: Store, mode: Mode) -> Cube:
    """Return the cube's specification: as given, or as its datasets carry it."""
    if mode == "build" and not isinstance(cube, Cube):
        raise InvalidInputError("A cube is built from a Cube, which says what its dimensions and partitions are.")
    if mode != "build" and not members:
        raise cube_not_found(cube.uuid_prefix if isinstance(cube, Cube) else cube, store)
    return cube if isinstance(cube, Cube) else cube_from_metadata(cube, members)


def _check(given: Mapping[str, DatasetRows], cube: Cube, members: Sequence[Member], request: Request) -> frozenset[str]:
    """Check the call as a whole and return the ids of the datasets that count as there.

    Those that a call like this one left behind when it did not come to its end may be written again.
    """
    leftovers = resumable(members, request.function, given) if request.creates else frozenset()
    existing = [member for member in members if member.dataset_id not in leftovers]
    problems = check_cube_write(
        cube,
        existing,
        {name: one.schema for name, one in given.items()},
        mode=request.mode,
        partition_on=parse_partition_on(request.partition_on),
        overwrite=request.overwrite,
    )
    if problems:
        raise problems_error(cube, problems)
    return frozenset(member.dataset_id for member in existing)


def _writes(
    given: Mapping[str, DatasetRows],
    cube: Cube,
    pinned: Mapping[str, Snapshot],
    kept: Collection[str],
    request: Request,
    removed: Condition | None,
    write_id: str,
) -> list[_Write]:
    """Return the writes of a call that may start, the seed's last."""
    metadata = parse_cube_metadata(request.metadata, given)
    ids = tuple(sorted(given, key=lambda name: (name == cube.seed_dataset, name)))
    call = CubeCall(write_id, request.function, ids) if len(ids) > 1 else None
    writes = []
    for name in ids:
        base, rows = pinned.get(name), given[name]
        stored = None if request.creates else base
        layout = _layout(name, rows.schema, cube, stored, request)
        change = ChangeSet(
            write_id=write_id,
            operation=request.function,
            partition_keys=layout.partition_on,
            index_columns=layout.secondary_indices,
            delete_scope=() if stored is None or removed is None else (_scope(removed, stored),),
            metadata={**metadata.get(name, {}), **cube_metadata(cube, name)},
            create=request.creates,
            must_be_absent=request.creates and name not in kept,
            overwrite=request.creates and base is not None,
            cube_call=call,
        )
        writes.append(_Write(name, rows.rows, layout, base, _expected(rows, layout, stored), change))
    return writes


def _layout(dataset_id: str, schema: pa.Schema, cube: Cube, stored: Snapshot | None, request: Request) -> Layout:
    """Return how the rows of one dataset are laid out: as it is stored, or as the cube and the caller want it."""
    if stored is None:
        keys = parse_partition_on(request.partition_on).get(dataset_id, cube.partition_columns)
        return cube_layout(request.layout, cube, dataset_id, schema.names, keys)
    indices = [column for column in stored.index_columns if column in stored.schema(SINGLE_TABLE).names]
    return cube_layout(request.layout, cube, dataset_id, schema.names, stored.partition_keys, indices)


def _expected(given: DatasetRows, layout: Layout, stored: Snapshot | None) -> pa.Schema | None:
    """Return the schema of record that rows must fit; that of a new one, where Spark's types do not say it all."""
    if stored is not None:
        return stored.schema(SINGLE_TABLE)
    return normalise_schema(given.schema, layout.partition_on) if isinstance(given.rows, SparkRows) else None


def _scope(removed: Condition, base: Snapshot) -> Condition:
    """Return what is removed from one dataset; a value that its columns cannot have is an error before anything."""
    scope = removal_scope(removed, base.partition_keys)
    bind_scope((scope,), base.schema(SINGLE_TABLE), base.partition_keys, (), base.uuid)
    return scope


def _stage(write: _Write, cube: Cube, store: Store, written: Written) -> Staged:
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


def _commit(write: _Write, staged: Staged, cube: Cube, *, replaces: bool) -> CubeCommit:
    """Complete a commit with what was staged, which may also tell what it replaces."""
    change = replace(
        write.change,
        added=staged.partitions,
        tables=staged.schemas,
        unique_write=write_prefix(write.change.write_id),
    )
    if replaces:
        uuid, columns = cube.dataset_uuid(write.dataset_id), write.layout.partition_on
        values = staged_values(staged.partitions, uuid, SINGLE_TABLE, columns, staged.schemas[SINGLE_TABLE])
        change = replace(change, delete_scope=(same_partitions(values),))
    return CubeCommit(write.dataset_id, write.base, change)
