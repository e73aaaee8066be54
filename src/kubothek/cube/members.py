"""Which datasets a cube has in a store, pinned together and checked to form a cube.

Steps: list the headers whose name starts with the cube's (one request), fetch them all at once (a second), and turn
each into what planning needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubothek.codec.keys import HEADER_SUFFIXES
from kubothek.codec.labels import label_prefixes
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot, load_snapshots
from kubothek.errors import CubeNotFoundError, InvalidInputError
from kubothek.model.cube import SEPARATOR, Cube, check_name
from kubothek.model.header import SINGLE_TABLE
from kubothek.plan.cube.check import find_problems, problems_error
from kubothek.plan.cube.members import Member
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


def open_cube(cube: Cube | str, store: Store) -> OpenCube:
    """Pin all datasets of a cube and check that they form one; a name stands for the specification that they carry.

    Raises
    ------
    CubeNotFoundError
        There is none of this name, or no seed.
    InvalidInputError, SchemaError
        The datasets do not form a cube; all problems are listed.
    """
    if not isinstance(cube, (Cube, str)):
        raise InvalidInputError(f"A cube is given by a Cube or by its name, not by a {type(cube).__name__}.")
    prefix = cube if isinstance(cube, str) else cube.uuid_prefix
    snapshots = find_members(prefix, store)
    if not snapshots:
        raise CubeNotFoundError(
            f"There is no cube {prefix!r} in {store.url}: no dataset's name starts with {prefix + SEPARATOR!r}."
        )
    members = tuple(as_member(dataset_id, snapshot) for dataset_id, snapshot in snapshots.items())
    spec = cube_from_metadata(prefix, members) if isinstance(cube, str) else cube
    problems = find_problems(spec, members)
    if problems:
        raise problems_error(spec, problems)
    return OpenCube(spec, snapshots, members)


def find_members(uuid_prefix: str, store: Store) -> dict[str, Snapshot]:
    """Pin every dataset whose name says that it belongs to a cube, by id, sorted."""
    check_name(uuid_prefix, "uuid_prefix")
    start = uuid_prefix + SEPARATOR
    names = [info.key.removeprefix(start) for info in store.list_level(start)[0]]
    ids = sorted({name.removesuffix(end) for name in names for end in HEADER_SUFFIXES.values() if name.endswith(end)})
    snapshots = load_snapshots([start + dataset_id for dataset_id in ids], store)
    return dict(zip(ids, snapshots, strict=True))


def as_member(dataset_id: str, snapshot: Snapshot) -> Member:
    """Return what planning needs of a dataset."""
    table = SINGLE_TABLE if SINGLE_TABLE in snapshot.tables else snapshot.tables[0]
    files = snapshot.file_table(table)
    writes = label_prefixes(files.column("label").combine_chunks())
    state = snapshot.header.state
    return Member(
        dataset_id=dataset_id,
        uuid=snapshot.uuid,
        schema=snapshot.schemas[table],
        partition_keys=snapshot.partition_keys,
        index_columns=snapshot.index_columns,
        files=files.add_column(4, "write", writes),
        metadata=snapshot.header.metadata,
        unique_writes=() if state is None else state.unique_writes,
        tables=snapshot.tables,
    )
