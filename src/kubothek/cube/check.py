"""How a cube is checked: which of its datasets can be read, whether they form a cube, and whether each one is whole.

Nothing has to be right for the rest to be checked: datasets that cannot be read are left out of what concerns all, and
where their metadata does not tell the specification, the nearest to it is taken. Each dataset is then verified as
:func:`~kubothek.verify_dataset` does, and the cells of files that nobody has checked are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kubothek.cube.check_cells import check_cells
from kubothek.cube.cleanup import list_traces
from kubothek.cube.members import cube_not_found, describe_member, list_members, pin_each
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.garbage import DAY, find_dataset_garbage
from kubothek.dataset.upkeep.verify import unreadable_dataset, verify_snapshot
from kubothek.dataset.upkeep.verify_files import UNREADABLE
from kubothek.errors import CorruptDatasetError
from kubothek.model.cube import Cube, cube_prefix, member_uuid
from kubothek.model.problem import Problem, Problems
from kubothek.plan.cube.check import find_problems
from kubothek.plan.cube.check_metadata import find_specification, metadata_problems
from kubothek.plan.cube.incomplete import find_incomplete
from kubothek.plan.cube.members import Member
from kubothek.plan.retention import plan_retention
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store


def check_cube(cube: Cube | str, store: StoreLike, *, files: bool = True) -> list[Problem]:
    """Look for everything that is wrong with a cube.

    Checked are the rules that the datasets of a cube keep (a seed, one table each, dimension and partition columns,
    payload that belongs to one dataset, equal types, indices), what their metadata says of the cube, calls that were
    committed to some datasets only, what deleted datasets have left behind for more than a day, and all that
    :func:`~kubothek.verify_dataset` checks of each dataset. In files of other software, cells must be unique and
    dimension columns must not hold nulls; of those written here that was checked before their commit.

    Parameters
    ----------
    cube
        The specification, which is then compared with what the datasets say, or the cube's name. The cube may be
        broken in any way.
    store
        A URL, a path or a :class:`~kubothek.Store`.
    files
        Whether to look into files: the footer of each, the column of each index, and the dimension columns of files
        that other software wrote. Without it, a few requests per dataset tell which files are there, and how large.

    Returns
    -------
    list of Problem
        What was found: of the cube first, then dataset by dataset; empty where all is well.

    Raises
    ------
    CubeNotFoundError
        There is no dataset of such a cube.
    StoreError
        The store cannot be read, which says nothing about the cube.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, check_cube, drop_dataset_indices
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> datasets = build_cube(pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]}), cube, "memory://check_cube")
    >>> check_cube("flights", "memory://check_cube")
    []
    >>> seed = drop_dataset_indices("flights++seed", "memory://check_cube", "FLIGHT")
    >>> [problem.kind for problem in check_cube("flights", "memory://check_cube")]
    ['missing_index']
    """
    check_flag(files, "files")
    prefix, opened = cube_prefix(cube), open_store(store)
    pinned = pin_each(prefix, list_members(prefix, opened), opened)
    snapshots = {name: one for name, one in pinned.items() if isinstance(one, Snapshot) and not one.header.is_withdrawn}
    broken = {name: one for name, one in pinned.items() if isinstance(one, CorruptDatasetError)}
    if not snapshots and not broken:
        raise cube_not_found(prefix, opened)
    members = [describe_member(name, snapshot) for name, snapshot in snapshots.items()]
    problems = [unreadable_dataset(member_uuid(prefix, name), error) for name, error in broken.items()]
    spec, found = _check_rules(cube, members, broken)
    problems += [*found, *_incomplete_calls(prefix, members, broken)]
    for name, snapshot in snapshots.items():
        problems += _check_dataset(name, snapshot, spec, files=files)
    return Problems([*problems, *_orphans(prefix, pinned, opened)])


def _check_rules(
    cube: Cube | str, members: Sequence[Member], unreadable: Collection[str]
) -> tuple[Cube | None, list[Problem]]:
    """Check what concerns all datasets; return the specification that was taken, too."""
    is_given = isinstance(cube, Cube)
    spec, told = (cube, ()) if isinstance(cube, Cube) else find_specification(cube, members)
    broken: list[Problem] = []
    if spec is not None:
        broken += [*find_problems(spec, members), *metadata_problems(spec, members, is_given=is_given)]
    problems = [*told, *(problem for problem in dict.fromkeys(broken) if not _is_told(problem, told))]
    if unreadable and (not is_given or (spec is not None and spec.seed_dataset in unreadable)):
        # One that cannot be read may be the seed, and is reported as what it is.
        problems = [problem for problem in problems if problem.kind != "missing_seed"]
    return spec, problems


def _is_told(problem: Problem, told: Sequence[Problem]) -> bool:
    """Tell whether that the specification could not be found says the same in other words."""
    same = [one for one in told if one.kind == problem.kind]
    return any(one.kind == "missing_seed" or one.subject == problem.subject for one in same)


def _incomplete_calls(prefix: str, members: Sequence[Member], unreadable: Collection[str]) -> Iterator[Problem]:
    for call in find_incomplete(members):
        missing = [name for name in call.missing if name not in unreadable]
        if missing:
            message = (
                f"{call.operation} was committed to {', '.join(call.done)}, but not to {', '.join(missing)}: it was "
                "cut short, is still running, or what is missing was deleted since. The same call again completes it."
            )
            yield Problem("incomplete_call", prefix, None, message)


def _check_dataset(dataset_id: str, snapshot: Snapshot, cube: Cube | None, *, files: bool) -> list[Problem]:
    problems = verify_snapshot(snapshot, files=files)
    if files and cube is not None and not any(problem.kind == "undecodable_partition" for problem in problems):
        unreadable = {problem.key for problem in problems if problem.kind in UNREADABLE}
        problems += check_cells(dataset_id, snapshot, cube, unreadable)
    return problems


def _orphans(prefix: str, pinned: Mapping[str, object], store: Store) -> Iterator[Problem]:
    """Find what datasets without a header have left behind; what is younger may be that of a first write."""
    known = {member_uuid(prefix, name) for name in pinned}
    asked = plan_retention(store.world.clock(), DAY, None)
    for uuid in list_traces(prefix, store):
        garbage = None if uuid in known else find_dataset_garbage(uuid, store, asked)
        if garbage is not None and garbage.all_keys and not garbage.is_dataset:
            message = (
                f"{len(garbage.all_keys):,} object(s) are left of a dataset without a header: it was deleted half-way, "
                "or its first write was cut short. cleanup_cube deletes them."
            )
            yield Problem("orphaned_files", uuid, garbage.all_keys[0], message)
