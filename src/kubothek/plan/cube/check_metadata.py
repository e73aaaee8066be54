"""Whether the datasets of a cube agree on what the cube is: what their metadata says, and what a given Cube says.

:func:`find_specification` returns the specification by which the other rules are checked. Where the datasets do not
tell it, that is a problem, and the nearest specification that can be made of what they say stands in for it.
:func:`metadata_problems` then compares all datasets with the specification.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubothek.errors import KubothekError
from kubothek.model.cube import Cube
from kubothek.model.problem import Problem
from kubothek.plan.cube.check import cube_problem, different_entries, find_problems
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.metadata import cube_from_metadata, is_former, is_seed, metadata_entry

_ENTRIES = ("dimension_columns", "partition_columns", "suppress_index_on")
_NEEDED = ("dimension_columns", "is_seed", "partition_columns")


def find_specification(uuid_prefix: str, members: Sequence[Member]) -> tuple[Cube | None, tuple[Problem, ...]]:
    """Return the specification that the datasets of a cube carry, and why they do not tell it, if so.

    Parameters
    ----------
    uuid_prefix
        Name of the cube.
    members
        Those of its datasets that can be read.

    Returns
    -------
    cube, problems
        Where there are problems, ``cube`` is what one of the seeds says, or else one of the other datasets: the one
        that the datasets fit best; ``None`` where none says enough.
    """
    try:
        return cube_from_metadata(uuid_prefix, members), ()
    except KubothekError as error:
        message = error.message
    seeds = [member for member in members if is_seed(member.metadata)]
    if len(seeds) == 1:
        problem = Problem("wrong_metadata", seeds[0].uuid, None, message)
    else:
        problem = Problem("several_seeds" if seeds else "missing_seed", uuid_prefix, None, message)
    told = (_as_told_by(member, uuid_prefix, members) for member in (seeds if len(seeds) > 1 else members))
    cubes = [cube for cube in told if cube is not None]
    return min(cubes, key=lambda cube: len(find_problems(cube, members)), default=None), (problem,)


def _as_told_by(teller: Member, uuid_prefix: str, members: Sequence[Member]) -> Cube | None:
    """Return what one dataset says of the cube; who the seed is it knows only of itself."""
    flagged = [replace(m, metadata={**m.metadata, "ktk_cube_is_seed": m is teller}) for m in members]
    try:
        cube = cube_from_metadata(uuid_prefix, flagged)
    except KubothekError:
        return None
    return cube if is_seed(teller.metadata) else cube.copy(seed_dataset="seed")


def metadata_problems(cube: Cube, members: Sequence[Member], *, is_given: bool) -> Iterator[Problem]:
    """Find datasets whose metadata lacks entries, or contradicts the specification.

    Who the seed is, is compared with a specification that was given; one that was found says it as the datasets do.
    """
    for member in members:
        lacking = [name for name in _NEEDED if metadata_entry(member.metadata, name) is None]
        if lacking and not (is_former(member.metadata) and lacking == ["partition_columns"]):
            names = ", ".join(f"ktk_cube_{name}" for name in lacking)
            yield cube_problem(
                cube,
                "wrong_metadata",
                member.dataset_id,
                f"The metadata of dataset {member.dataset_id!r} lacks {names}. Its name makes it a part of the cube; "
                "write it with the functions for cubes if it is meant to be one, else under another name.",
            )
        yield from different_entries(cube, member, _ENTRIES)
        if is_given:
            yield from _seed_problems(cube, member)


def _seed_problems(cube: Cube, member: Member) -> Iterator[Problem]:
    if is_seed(member.metadata) and member.dataset_id != cube.seed_dataset:
        message = (
            f"Dataset {member.dataset_id!r} is marked as the seed (metadata entry ktk_cube_is_seed), but the cube's "
            f"seed is {cube.seed_dataset!r}. Give the Cube as it was written, or its name, or write the dataset again."
        )
        yield cube_problem(cube, "several_seeds", member.dataset_id, message)
    if metadata_entry(member.metadata, "is_seed") is False and member.dataset_id == cube.seed_dataset:
        message = (
            f"The metadata of dataset {member.dataset_id!r} says that it is not the seed (ktk_cube_is_seed), but the "
            "Cube names it. Give the Cube as it was written, or its name."
        )
        yield cube_problem(cube, "wrong_metadata", member.dataset_id, message)
