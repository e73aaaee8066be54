"""What the copy of a cube consists of: which dataset gets which name, in which order, and what stands against it.

Steps: parse the names that were asked for; give each chosen dataset its new one; look whether the target has that
already, and whether the copies form a cube with the datasets that stay there. One error lists all problems. Whether the
cube to copy is sound does not matter, only its names do; so a broken one can be saved, as long as it breaks no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubothek.errors import AlreadyExistsError, InvalidInputError, KubothekError, combined_error
from kubothek.model.cube import Cube, check_dataset_id, check_name, cube_prefix
from kubothek.plan.cube.check import find_problems
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.metadata import cube_from_metadata, is_seed
from kubothek.plan.cube.selection import dataset_ids, select_datasets


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """Which datasets of a cube to copy (``None`` for all), and the new names of the cube and of some datasets.

    ``seed`` is what the caller takes for the seed; the datasets' own metadata say it too.
    """

    uuid_prefix: str
    new_prefix: str
    datasets: tuple[str, ...] | None
    renamed: Mapping[str, str]
    seed: str | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """What there is where a cube is copied to.

    ``place`` is the store's name for people, and ``is_source`` tells whether the source is in the same. ``taken`` has
    the ids of the datasets that a copy would replace. ``members`` are the datasets that can be read, whose files do not
    matter; ``is_broken`` tells that there are others.
    """

    place: str
    is_source: bool
    taken: frozenset[str]
    members: tuple[Member, ...]
    is_broken: bool = False


def parse_copy(cube: Cube | str, datasets: Any, new_prefix: Any, renamed: Any, *, overwrite: bool) -> CopyRequest:
    """Parse the arguments of :func:`kubothek.copy_cube`.

    Raises
    ------
    InvalidInputError
        They have other types, or a new name is not allowed.
    """
    uuid_prefix, chosen = cube_prefix(cube), dataset_ids(datasets)
    if not isinstance(renamed, Mapping | None):
        raise InvalidInputError(f"renamed_datasets must map ids of datasets to new ids, but is {renamed!r}.")
    prefix = uuid_prefix if new_prefix is None else new_prefix
    names = dict(renamed or {})
    problems = [*_wrong_names([prefix], check_name, "renamed_cube_prefix")]
    problems += _wrong_names(names.values(), check_dataset_id, "new dataset id")
    if problems:
        raise combined_error(f"Cube {uuid_prefix!r} cannot be copied", problems)
    seed = cube.seed_dataset if isinstance(cube, Cube) else None
    return CopyRequest(uuid_prefix, prefix, chosen, names, seed, overwrite)


def plan_cube_copy(
    request: CopyRequest,
    known: Iterable[str],
    source_seeds: Collection[str],
    sources: Sequence[Member],
    target: CopyTarget,
) -> tuple[tuple[str, str], ...]:
    """Decide which datasets get which names.

    Parameters
    ----------
    request
        What was asked for.
    known
        Ids of all datasets of the cube.
    source_seeds
        Those of them that say that they are the seed, as far as they can be read.
    sources
        Those that were chosen; their files do not matter.
    target
        What is there.

    Returns
    -------
    tuple
        Pairs of id and new id in the order in which to commit the copies: the seed last.

    Raises
    ------
    InvalidInputError, AlreadyExistsError
        Something stands against it; the message lists everything, and ``problems`` holds the errors one by one. The
        class is theirs where they are all of one.
    """
    names = {member.dataset_id: request.renamed.get(member.dataset_id, member.dataset_id) for member in sources}
    problems = [*_unknown(request, known), *_coinciding(names), *_in_the_way(request, names, target)]
    if not problems:
        copies = [replace(member, dataset_id=names[member.dataset_id]) for member in sources]
        problems += [*_headless(source_seeds, copies, target), *_misfits(request.new_prefix, copies, target)]
    if problems:
        raise combined_error(
            f"Cube {request.uuid_prefix!r} cannot be copied to {target.place}; nothing was copied", problems
        )
    seeds = {request.seed, *source_seeds}
    return tuple((one, names[one]) for one in sorted(names, key=lambda one: (one in seeds, one)))


def _wrong_names(names: Iterable[Any], check: Callable[[Any, str], None], what: str) -> Iterator[InvalidInputError]:
    for name in names:
        try:
            check(name, what)
        except InvalidInputError as error:
            yield error


def _unknown(request: CopyRequest, known: Iterable[str]) -> Iterator[InvalidInputError]:
    """Find what is to be copied or renamed and is not there, or not copied."""
    ids, chosen = tuple(known), request.datasets
    try:
        select_datasets(request.uuid_prefix, ids, chosen)
    except InvalidInputError as error:
        yield error
    copied = ids if chosen is None else chosen
    idle = tuple(sorted(one for one in request.renamed if one not in copied))
    if idle:
        text = ", ".join(map(repr, idle))
        yield InvalidInputError(
            f"renamed_datasets names {text}, but the datasets to copy are {', '.join(map(repr, copied)) or 'none'}.",
            datasets=idle,
        )


def _coinciding(names: Mapping[str, str]) -> Iterator[InvalidInputError]:
    """Find datasets that would get one name."""
    for name in sorted(set(names.values())):
        old = tuple(one for one, new in names.items() if new == name)
        if len(old) > 1:
            text = " and ".join(map(repr, old))
            yield InvalidInputError(f"Datasets {text} would both be called {name!r}.", datasets=old)


def _in_the_way(request: CopyRequest, names: Mapping[str, str], target: CopyTarget) -> Iterator[KubothekError]:
    """Find new names that datasets of the target have."""
    same = target.is_source and request.new_prefix == request.uuid_prefix
    itself = tuple(sorted(one for one, new in names.items() if same and new == one))
    if itself:
        text = ", ".join(map(repr, itself))
        yield InvalidInputError(
            f"Dataset {text} would be copied onto itself; rename the cube or the dataset, or name another store.",
            datasets=itself,
        )
    there = tuple(sorted(new for one, new in names.items() if new in target.taken and one not in itself))
    if there and not request.overwrite:
        text = ", ".join(map(repr, there))
        yield AlreadyExistsError(
            f"There is a cube {request.new_prefix!r} that has {text} already; choose other names, or pass "
            "overwrite=True to replace what has these.",
            datasets=there,
        )


def _headless(
    source_seeds: Collection[str], copies: Sequence[Member], target: CopyTarget
) -> Iterator[InvalidInputError]:
    """Find out whether the target would have enrichments alone; of a cube that lacks its seed, they can be saved."""
    if copies and source_seeds and not _seeds([*target.members, *copies]) and not target.is_broken:
        text = ", ".join(map(repr, sorted(source_seeds)))
        yield InvalidInputError(
            f"The seed {text} is not among the datasets to copy, and the target has none; what is copied could not be "
            "queried. Copy the seed too, or copy single datasets with copy_dataset.",
            datasets=tuple(sorted(source_seeds)),
        )


def _misfits(prefix: str, copies: Sequence[Member], target: CopyTarget) -> Iterator[InvalidInputError]:
    """Find the rules of a cube that the copies break only because of the datasets that stay in the target.

    A target that is broken anyway is nobody's to protect.
    """
    replaced = {member.dataset_id for member in copies}
    staying = [member for member in target.members if member.dataset_id not in replaced]
    if not staying or target.is_broken or _broken(prefix, target.members):
        return
    seeds, own = _seeds([*staying, *copies]), _seeds(copies)
    if len(own) == 1 and len(seeds) > 1:
        yield InvalidInputError(
            f"There would be two seeds in cube {prefix!r}, {seeds[0]!r} and {own[0]!r}; copy the other datasets only, "
            "or choose another name for the cube.",
            datasets=own,
        )
        return
    spec = _specification(prefix, [*staying, *copies])
    alone = () if spec is None else find_problems(spec, copies)
    for problem in () if spec is None else find_problems(spec, [*staying, *copies]):
        if problem not in alone:
            yield InvalidInputError(problem.message, columns=problem.columns)


def _seeds(members: Iterable[Member]) -> tuple[str, ...]:
    return tuple(member.dataset_id for member in members if is_seed(member.metadata))


def _broken(prefix: str, members: Sequence[Member]) -> bool:
    """Tell whether datasets that have a seed do not form a cube."""
    spec = _specification(prefix, members)
    return bool(_seeds(members)) and (spec is None or bool(find_problems(spec, members)))


def _specification(prefix: str, members: Sequence[Member]) -> Cube | None:
    """Return what datasets say of their cube, ``None`` where they do not say it or contradict each other."""
    try:
        return cube_from_metadata(prefix, members)
    except KubothekError:
        return None
