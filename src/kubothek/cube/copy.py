"""How a cube is copied: plan all copies, copy the files of all datasets, then commit one by one, the seed last.

Nothing is copied before everything that stands against it is known. Until the seed is committed, readers of the target
see the cube that was there, or none. If a commit fails, those before it are taken back: what they replaced is restored,
what they created is withdrawn. In the source only names matter, so that a broken cube can be copied too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kubothek.cube.commit import CubeCommit, commit_in_order
from kubothek.cube.members import cube_not_found, describe_member, list_members, pin_each
from kubothek.dataset.dataset import Dataset
from kubothek.dataset.snapshot import Snapshot
from kubothek.dataset.staging.arguments import check_flag
from kubothek.dataset.upkeep.copy import DatasetCopy, discard_copy, prepare_copy, stage_copy
from kubothek.errors import CorruptDatasetError, combined_error
from kubothek.model.cube import SEPARATOR, Cube, member_uuid
from kubothek.model.header import CubeCall
from kubothek.plan.cube.copy import CopyRequest, CopyTarget, parse_copy, plan_cube_copy
from kubothek.plan.cube.incomplete import resumable
from kubothek.plan.cube.metadata import is_seed
from kubothek.store.interface import Store
from kubothek.store.open import StoreLike, open_store

_OPERATION = "copy_cube"
_Pinned = Snapshot | CorruptDatasetError


def copy_cube(
    cube: Cube | str,
    store: StoreLike,
    *,
    to_store: StoreLike,
    datasets: str | Iterable[str] | None = None,
    overwrite: bool = False,
    renamed_cube_prefix: str | None = None,
    renamed_datasets: Mapping[str, str] | None = None,
) -> dict[str, Dataset]:
    """Copy the datasets of a cube to another store, under another name, or both.

    Each copy is that of :func:`~kubothek.copy_dataset`: content, labels, indices and metadata are equal. The seed is
    found by its metadata, so the copy is a cube under its new names. Enrichments are copied without the seed only to
    where a seed is already. The same call again completes a copy whose process was killed.

    Parameters
    ----------
    cube
        The specification, or the cube's name. Only the name matters: the cube may be broken.
    store
        Where it is: a URL, a path or a :class:`~kubothek.Store`.
    to_store
        Where to. It can be the same store if the cube gets another name.
    datasets
        Ids of the datasets to copy; ``None`` for all.
    overwrite
        Replace datasets of the target that have the same names; its other datasets stay.
    renamed_cube_prefix
        New name of the cube; ``None`` for the same.
    renamed_datasets
        New ids of datasets by their ids; what is not named keeps its id.

    Returns
    -------
    dict
        The copies, by their new ids, sorted.

    Raises
    ------
    CubeNotFoundError
        There is no such cube.
    InvalidInputError
        A dataset to copy or to rename is not there, names are not allowed or coincide, a dataset would be copied onto
        itself, or the copies would not form a cube with those that stay in the target. All problems are listed.
    AlreadyExistsError
        The target has datasets of these names, and ``overwrite`` was not given.
    CorruptDatasetError
        A header of a dataset to copy or to replace cannot be read, or files are missing. Nothing was copied in any of
        these cases.
    CommitConflictError
        Others changed the target meanwhile; the target is as they left it.
    CommitStateUnknownError
        A commit failed, and those before it could not be taken back; ``datasets`` lists them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kubothek import Cube, build_cube, copy_cube, query_cube
    >>> cube = Cube(uuid_prefix="flights", dimension_columns="FLIGHT", partition_columns="MONTH")
    >>> seed = pa.table({"FLIGHT": [1], "MONTH": [1], "DELAY": [5]})
    >>> datasets = build_cube(seed, cube, "memory://copy_cube")
    >>> backup = copy_cube(cube, "memory://copy_cube", to_store="memory://backup", renamed_cube_prefix="flights-2013")
    >>> query_cube("flights-2013", "memory://backup").to_arrow().to_pydict()
    {'DELAY': [5], 'FLIGHT': [1], 'MONTH': [1]}
    """
    check_flag(overwrite, "overwrite")
    origin, target = open_store(store), open_store(to_store)
    request = parse_copy(cube, datasets, renamed_cube_prefix, renamed_datasets, overwrite=bool(overwrite))
    pinned = _pin_sources(request, origin)
    sources = _chosen(request, pinned)
    there = pin_each(request.new_prefix, list_members(request.new_prefix, target), target)
    names = plan_cube_copy(
        request,
        pinned,
        _find_seeds(pinned),
        [describe_member(one, snapshot) for one, snapshot in sources.items()],
        _describe_target(there, target, [request.renamed.get(one, one) for one in sources], is_source=target == origin),
    )
    return _carry_out(_prepare(request, names, sources, there, target), request.new_prefix, target)


def _pin_sources(request: CopyRequest, store: Store) -> dict[str, _Pinned]:
    """Pin all datasets of the cube, as far as they can be read, but for withdrawn ones."""
    pinned = pin_each(request.uuid_prefix, list_members(request.uuid_prefix, store), store)
    known = {
        one: found for one, found in pinned.items() if not (isinstance(found, Snapshot) and found.header.is_withdrawn)
    }
    if not known:
        raise cube_not_found(request.uuid_prefix, store)
    return known


def _chosen(request: CopyRequest, pinned: Mapping[str, _Pinned]) -> dict[str, Snapshot]:
    """Return the datasets to copy, all of which can be read."""
    chosen = {one: found for one, found in pinned.items() if request.datasets is None or one in request.datasets}
    _refuse_damaged(request, [found for found in chosen.values() if isinstance(found, CorruptDatasetError)])
    return {one: found for one, found in chosen.items() if isinstance(found, Snapshot)}


def _find_seeds(pinned: Mapping[str, _Pinned]) -> tuple[str, ...]:
    return tuple(one for one, found in pinned.items() if isinstance(found, Snapshot) and is_seed(found.header.metadata))


def _refuse_damaged(request: CopyRequest, errors: Sequence[CorruptDatasetError]) -> None:
    if errors:
        raise combined_error(f"Cube {request.uuid_prefix!r} cannot be copied; nothing was copied", errors)


def _describe_target(
    there: Mapping[str, _Pinned], target: Store, copies: Collection[str], *, is_source: bool
) -> CopyTarget:
    """Return what planning of these copies needs to know of the target; withdrawn datasets count as absent."""
    readable = {
        one: found for one, found in there.items() if isinstance(found, Snapshot) and not found.header.is_withdrawn
    }
    unreadable = {one for one, found in there.items() if isinstance(found, CorruptDatasetError)}
    members = tuple(describe_member(one, snapshot) for one, snapshot in readable.items())
    begun = resumable(members, _OPERATION, copies)
    taken = {one for one in readable if one not in begun}
    return CopyTarget(target.url, is_source, frozenset(taken | unreadable), members, is_broken=bool(unreadable))


def _prepare(
    request: CopyRequest,
    names: Iterable[tuple[str, str]],
    sources: Mapping[str, Snapshot],
    there: Mapping[str, _Pinned],
    target: Store,
) -> list[DatasetCopy]:
    """Decide what each copy consists of, in the order of the commits."""
    call = CubeCall(target.world.new_id(), _OPERATION, tuple(new for _, new in names))
    copies, broken = list[DatasetCopy](), list[CorruptDatasetError]()
    for one, new in names:
        base = there.get(new)
        try:
            if isinstance(base, CorruptDatasetError):
                raise base
            uuid = member_uuid(request.new_prefix, new)
            copies.append(_renamed(prepare_copy(sources[one], uuid, target, base, call), request.renamed))
        except CorruptDatasetError as error:
            broken.append(error)
    _refuse_damaged(request, broken)
    return copies


def _renamed(copy: DatasetCopy, names: Mapping[str, str]) -> DatasetCopy:
    """Let what a copy says of the datasets that it was computed from say it of theirs."""
    header = copy.plan.header
    if header.state is None or not header.state.lineage:
        return copy
    lineage = {names.get(source, source): labels for source, labels in header.state.lineage.items()}
    told = replace(header, state=replace(header.state, lineage=lineage))
    return replace(copy, plan=replace(copy.plan, header=told), change=replace(copy.change, restore=told))


def _carry_out(copies: Sequence[DatasetCopy], prefix: str, target: Store) -> dict[str, Dataset]:
    """Copy all files, then commit; what fails leaves no files that nobody refers to."""
    made: dict[str, list[str]] = {copy.uuid: [] for copy in copies}
    try:
        for copy in copies:
            stage_copy(copy, made[copy.uuid])
    except BaseException:
        for copy in copies:
            discard_copy(copy, made[copy.uuid])
        raise
    by_id = {copy.uuid.removeprefix(prefix + SEPARATOR): copy for copy in copies}
    commits = [CubeCommit(dataset_id, copy.base, copy.change) for dataset_id, copy in by_id.items()]

    def discard(one: CubeCommit) -> None:
        copy = by_id[one.dataset_id]
        discard_copy(copy, made[copy.uuid])

    return commit_in_order(commits, prefix, target, discard)
