"""Which datasets a cube has in a store, pinned together and checked to form a cube.

Steps: list the headers whose name starts with the cube's (one request), fetch them all at once (a second), and turn
each into what planning needs.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa

from kubothek.codec.keys import HEADER_SUFFIXES, is_uuid
from kubothek.codec.labels import label_prefixes
from kubothek.cube.pins import load_pinned, snapshots_by
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot, find_snapshot, find_snapshots
from kubothek.engine.spark_types import as_recorded
from kubothek.errors import CorruptDatasetError, CubeNotFoundError
from kubothek.model.cube import SEPARATOR, Cube, check_name, cube_prefix, member_uuid, split_uuid
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.pin import Pin
from kubothek.plan.cube.check import find_problems, problems_error
from kubothek.plan.cube.members import Member, member_files_schema
from kubothek.plan.cube.metadata import cube_from_metadata
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


@dataclass(frozen=True, slots=True)
class OpenCube:
    """A cube's specification, the pinned snapshots of its datasets by id, sorted, and what planning needs of each."""

    cube: Cube
    snapshots: Mapping[str, Snapshot]
    members: tuple[Member, ...]


def discover_cube(uuid_prefix: str, store: StoreLike) -> tuple[Cube, dict[str, Dataset]]:
    """Recover a cube's specification from the metadata of its datasets.

    Parameters
    ----------
    uuid_prefix
        Name of the cube.
    store
        A URL, a path or a :class:`~kubothek.Store`.

    Returns
    -------
    cube, datasets
        The specification, and the datasets by id. Index columns are those that any dataset has an index on.

    Raises
    ------
    CubeNotFoundError
        There is no such cube, or it lacks its seed.
    CorruptDatasetError
        The seed's metadata does not describe a cube, there are several seeds, or a header cannot be understood.
    InvalidInputError, SchemaError
        The datasets break the rules of a cube; :func:`~kubothek.check_cube` finds all that is wrong.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, discover_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> datasets = build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://discover_cube")
    >>> found, datasets = discover_cube("flights", "memory://discover_cube")
    >>> found == cube, list(datasets)
    (True, ['seed'])
    """
    opened = open_cube(uuid_prefix, open_store(store))
    return opened.cube, {dataset_id: Dataset(snapshot) for dataset_id, snapshot in opened.snapshots.items()}


def open_cube(cube: Cube | str, store: Store, at: Pin | datetime | None = None) -> OpenCube:
    """Pin all datasets of a cube and check that they form one; a name stands for the specification that they carry.

    Parameters
    ----------
    at
        Which versions: those of a pin, those of a time, or, with ``None``, the current ones.

    Raises
    ------
    CubeNotFoundError
        There is none of this name, or no seed.
    SnapshotExpiredError
        Versions are not there any more.
    InvalidInputError, SchemaError
        The datasets do not form a cube; all problems are listed.
    """
    prefix = cube_prefix(cube)
    snapshots = load_pinned(at, store) if isinstance(at, Pin) else find_members(prefix, store, at)
    if not snapshots:
        raise cube_not_found(prefix, store)
    members = tuple(as_member(dataset_id, snapshot) for dataset_id, snapshot in snapshots.items())
    spec = cube_from_metadata(prefix, members) if isinstance(cube, str) else cube
    problems = find_problems(spec, members)
    if problems:
        raise problems_error(spec, problems)
    return OpenCube(spec, snapshots, members)


def cube_not_found(uuid_prefix: str, store: Store) -> CubeNotFoundError:
    """Return the error that there is no such cube, with names that look alike."""
    keys = (info.key for info in store.list_level("")[0] if info.key.endswith(tuple(HEADER_SUFFIXES.values())))
    known = {split[0] for split in map(split_uuid, keys) if split is not None}
    similar = tuple(difflib.get_close_matches(uuid_prefix, sorted(known), n=3))
    hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else f" The store has {len(known)} cube(s)."
    return CubeNotFoundError(
        f"There is no cube {uuid_prefix!r} in {store.url}: no dataset's name starts with "
        f"{uuid_prefix + SEPARATOR!r}.{hint}",
        similar=similar,
    )


def find_members(uuid_prefix: str, store: Store, at: datetime | None = None) -> dict[str, Snapshot]:
    """Pin every dataset whose name says that it belongs to a cube, by id, sorted; none whose creation was withdrawn.

    With a time they are pinned as they were then. Datasets that were deleted since are not found.
    """
    pinned = pin_members(uuid_prefix, store)
    if pinned and at is not None:
        pinned = snapshots_by(uuid_prefix, pinned, at)
    return {dataset_id: snapshot for dataset_id, snapshot in pinned.items() if not snapshot.header.is_withdrawn}


def pin_members(uuid_prefix: str, store: Store) -> dict[str, Snapshot]:
    """Pin every dataset whose name says that it belongs to a cube, by id, sorted; withdrawn ones are among them."""
    ids = list_members(uuid_prefix, store)
    snapshots = find_snapshots([member_uuid(uuid_prefix, dataset_id) for dataset_id in ids], store)
    # Between the listing and the request, somebody may have deleted one.
    return {dataset_id: snapshot for dataset_id, snapshot in zip(ids, snapshots, strict=True) if snapshot is not None}


def pin_each(uuid_prefix: str, dataset_ids: Sequence[str], store: Store) -> dict[str, Snapshot | CorruptDatasetError]:
    """Pin some datasets of a cube, or find why one cannot be read; one that somebody deletes meanwhile is left out."""
    names = [member_uuid(uuid_prefix, dataset_id) for dataset_id in dataset_ids]
    try:
        found: list[Snapshot | CorruptDatasetError | None] = [*find_snapshots(names, store)]
    except CorruptDatasetError:  # which says it of the first one only
        found = [_pin_alone(name, store) for name in names]
    return {one: pinned for one, pinned in zip(dataset_ids, found, strict=True) if pinned is not None}


def _pin_alone(uuid: str, store: Store) -> Snapshot | CorruptDatasetError | None:
    try:
        return find_snapshot(uuid, store)
    except CorruptDatasetError as error:
        return error


def list_members(uuid_prefix: str, store: Store) -> tuple[str, ...]:
    """Return the ids of all datasets of a cube that have a header, sorted, whatever state they are in; one request."""
    check_name(uuid_prefix, "uuid_prefix")
    start = uuid_prefix + SEPARATOR
    keys = [info.key for info in store.list_level(start)[0]]
    uuids = {key.removesuffix(end) for key in keys for end in HEADER_SUFFIXES.values() if key.endswith(end)}
    return tuple(sorted(uuid.removeprefix(start) for uuid in uuids if is_member(uuid, uuid_prefix)))


def is_member(uuid: str, uuid_prefix: str) -> bool:
    """Tell whether the name of a dataset makes it one of this cube, not of one whose name goes on with ``+``."""
    split = split_uuid(uuid)
    return split is not None and split[0] == uuid_prefix and is_uuid(uuid)


def as_recorded_in_cube(schema: pa.Schema, members: Sequence[Member], cube: Cube, dataset_id: str) -> pa.Schema:
    """Return the types that columns from Spark have in a dataset of a cube, where Spark shows some in another form.

    What the dataset itself has decides, then what the seed has, then the others.
    """
    for member in sorted(members, key=lambda one: (one.dataset_id != dataset_id, one.dataset_id != cube.seed_dataset)):
        schema = as_recorded(schema, member.schema)
    return schema


def as_member(dataset_id: str, snapshot: Snapshot) -> Member:
    """Return what planning needs of a dataset."""
    member = describe_member(dataset_id, snapshot)
    table = SINGLE_TABLE if SINGLE_TABLE in snapshot.tables else snapshot.tables[0]
    files = snapshot.file_table(table)
    writes = label_prefixes(files.column("label").combine_chunks())
    return replace(member, files=files.add_column(4, "write", writes))


def describe_member(dataset_id: str, snapshot: Snapshot) -> Member:
    """Return what can be said of a dataset without its files, whose table is empty, so that it can be broken too."""
    table = SINGLE_TABLE if SINGLE_TABLE in snapshot.tables else snapshot.tables[0]
    state = snapshot.header.state
    return Member(
        dataset_id=dataset_id,
        uuid=snapshot.uuid,
        schema=snapshot.schemas[table],
        partition_keys=snapshot.partition_keys,
        index_columns=snapshot.index_columns,
        files=member_files_schema(pa.schema([])).empty_table(),
        metadata=snapshot.header.metadata,
        unique_writes=() if state is None else state.unique_writes,
        tables=snapshot.tables,
        recent=() if state is None else state.recent,
        cube_call=None if state is None else state.cube_call,
    )
