"""Whether a write of a cube may start: which rules would what it brings break, together with what stays.

:func:`check_cube_write` knows the schemas and the layout of the new data before anything is staged, and answers with
every problem: which datasets a build, an extension, an append or an update may touch, the rules for stored cubes
(:mod:`kubothek.plan.cube.check`), and what the format cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import pyarrow as pa

from kubothek.errors import SchemaError
from kubothek.model.cube import Cube
from kubothek.model.problem import Problem
from kubothek.model.schema import merge_schemas
from kubothek.plan.cube.check import Part, cube_problem, different_seed, layout_problems, missing_seed, shared_problems
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.metadata import is_seed
from kubothek.plan.index_merge import LABELS

Mode = Literal["build", "extend", "append", "update"]
_VERBS = {"append": "append to", "update": "update"}


def check_cube_write(
    cube: Cube,
    existing: Sequence[Member],
    new: Mapping[str, pa.Schema],
    *,
    mode: Mode,
    partition_on: Mapping[str, Sequence[str]] | None = None,
    overwrite: bool = False,
) -> tuple[Problem, ...]:
    """Return every rule that a write would break; none if it may start.

    Parameters
    ----------
    cube
        The specification.
    existing
        The datasets of the cube that the store has.
    new
        Per dataset id the normalised schema of its data, partition columns included.
    mode
        ``build`` makes the cube, ``extend`` adds datasets, ``append`` adds files to datasets that exist, and ``update``
        replaces files of theirs.
    partition_on
        Per dataset id its partition columns, where they are not the cube's; datasets that stay have the stored ones.
    overwrite
        Whether datasets that exist may be replaced.
    """
    stored = {member.dataset_id: member for member in existing}
    layout = {dataset_id: tuple(columns) for dataset_id, columns in (partition_on or {}).items()}
    stays = stored if mode in ("append", "update") else {}
    default = {dataset_id: member.partition_keys for dataset_id, member in stays.items()}
    keys = {d: layout.get(d, default.get(d, cube.partition_columns)) for d in new}
    parts = [Part(dataset_id, schema, keys[dataset_id]) for dataset_id, schema in new.items()]
    kept = [Part(m.dataset_id, m.schema, m.partition_keys) for m in existing if m.dataset_id not in new]
    problems = [*_scope_problems(cube, stored, set(new), mode, overwrite)]
    problems += different_seed(cube, existing) if mode != "build" else ()
    problems += _partition_on_problems(cube, set(new), layout, stays)
    for part in parts:
        problems += layout_problems(cube, part)
        problems += _storage_problems(cube, part)
        if part.dataset_id in stays:
            problems += _append_problems(cube, stays[part.dataset_id], part)
    problems += shared_problems(cube, [*kept, *parts], only={*new})
    return tuple(problems)


def _scope_problems(
    cube: Cube, stored: Mapping[str, Member], new: set[str], mode: Mode, overwrite: bool
) -> Iterator[Problem]:
    """Which datasets a write may touch at all."""
    if mode == "build":
        yield from missing_seed(cube, new)
        yield from _second_seed(cube, [member for member in stored.values() if member.dataset_id not in new])
        left = sorted(set(stored) - new) if overwrite else []
        if left:
            message = f"Overwriting a cube replaces all its datasets, but there is no data for {', '.join(left)}."
            yield cube_problem(cube, "unwritable_dataset", left[0], message)
    elif mode == "extend":
        yield from missing_seed(cube, {*stored, *(new & {cube.seed_dataset})})
        if cube.seed_dataset in new:
            message = f"Seed dataset {cube.seed_dataset!r} cannot be written by an extension; build the cube anew."
            yield cube_problem(cube, "unwritable_dataset", cube.seed_dataset, message)
    else:
        yield from missing_seed(cube, set(stored))
        for dataset_id in sorted(new - set(stored)):
            known = ", ".join(sorted(stored)) or "none"
            message = f"Cannot {_VERBS[mode]} {dataset_id!r}: the cube has no such dataset (it has {known})."
            yield cube_problem(cube, "unwritable_dataset", dataset_id, message)
    creates = mode in ("build", "extend")
    for dataset_id in sorted(new & set(stored)) if creates and not overwrite else []:
        message = f"Dataset {dataset_id!r} exists already; append to it, or pass overwrite=True."
        yield cube_problem(cube, "existing_dataset", dataset_id, message)


def _second_seed(cube: Cube, staying: Sequence[Member]) -> Iterator[Problem]:
    """Which datasets that stay say that they are the seed, beside the one that is built."""
    for member in staying:
        if is_seed(member.metadata):
            message = (
                f"Dataset {member.dataset_id!r} is the seed already, and a cube has one. Name it as seed_dataset, "
                "choose another uuid_prefix, or delete the cube first."
            )
            yield cube_problem(cube, "existing_dataset", member.dataset_id, message)


def _partition_on_problems(
    cube: Cube, new: set[str], layout: Mapping[str, tuple[str, ...]], fixed: Mapping[str, Member]
) -> Iterator[Problem]:
    for dataset_id, columns in sorted(layout.items()):
        text = ", ".join(columns) or "nothing"
        if dataset_id not in new:
            message = f"partition_on names dataset {dataset_id!r}, for which there is no data."
            yield cube_problem(cube, "unwritable_dataset", dataset_id, message)
        if len(set(columns)) < len(columns):
            message = f"partition_on of dataset {dataset_id!r} names a column twice: {text}."
            yield cube_problem(cube, "wrong_partitioning", dataset_id, message, columns)
        if dataset_id == cube.seed_dataset and columns != cube.partition_columns:
            must = ", ".join(cube.partition_columns)
            message = f"Seed dataset {dataset_id!r} must be partitioned on {must}, but partition_on says {text}."
            yield cube_problem(cube, "wrong_partitioning", dataset_id, message, columns)
        if dataset_id in fixed and columns != fixed[dataset_id].partition_keys:
            has = ", ".join(fixed[dataset_id].partition_keys) or "nothing"
            message = f"Dataset {dataset_id!r} is partitioned on {has}, but partition_on says {text}."
            yield cube_problem(cube, "wrong_partitioning", dataset_id, message, columns)


def _storage_problems(cube: Cube, part: Part) -> Iterator[Problem]:
    """What the format cannot hold."""
    if not set(part.schema.names) - set(part.partition_keys):
        message = f"Dataset {part.dataset_id!r} has no column beside its partition columns; a file needs at least one."
        yield cube_problem(cube, "wrong_partitioning", part.dataset_id, message, part.partition_keys)
    indexed = {*cube.dimension_columns, *cube.index_columns} - {*cube.suppress_index_on, *part.partition_keys}
    if LABELS in part.columns & indexed:
        message = f"Column {LABELS!r} of dataset {part.dataset_id!r} cannot have an index; rename it."
        yield cube_problem(cube, "unwritable_dataset", part.dataset_id, message, (LABELS,))


def _append_problems(cube: Cube, member: Member, part: Part) -> Iterator[Problem]:
    try:
        merge_schemas(member.schema, part.schema, what=f"the data for dataset {member.dataset_id!r}")
    except SchemaError as error:
        yield cube_problem(cube, "wrong_schema", member.dataset_id, str(error), error.details.get("columns", ()))
