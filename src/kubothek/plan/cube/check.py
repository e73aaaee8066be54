"""Whether datasets form a cube: which rules do they break, all at once, as they are or as they would be written.

:func:`find_problems` looks at the datasets that are there, whoever wrote them. :func:`check_cube_write` looks at what
a build, an extension or an append brings, together with what stays, before anything is written. Both answer with
every problem, so that a user mends them in one go; :func:`problems_error` turns them into the error to raise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from kubothek.errors import AlreadyExistsError, CubeNotFoundError, InvalidInputError, KubothekError, SchemaError
from kubothek.model.cube import Cube
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.schema import merge_schemas
from kubothek.plan.cube.members import Member, is_hidden
from kubothek.plan.index_merge import LABELS

Kind = Literal[
    "seed", "dataset", "exists", "tables", "dimensions", "partitioning", "payload", "types", "schema", "index"
]
Mode = Literal["build", "extend", "append"]


@dataclass(frozen=True, slots=True)
class CubeProblem:
    """One rule that a dataset breaks; ``columns`` names the columns that break it."""

    kind: Kind
    dataset_id: str
    message: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Give the message, which names the dataset."""
        return self.message


@dataclass(frozen=True, slots=True)
class _Part:
    """The columns and layout of one dataset, stored or to be written."""

    dataset_id: str
    schema: pa.Schema
    partition_keys: tuple[str, ...]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(name for name in self.schema.names if not is_hidden(name))


def find_problems(cube: Cube, members: Sequence[Member]) -> tuple[CubeProblem, ...]:
    """Return every rule that the stored datasets of a cube break; none if they form a cube."""
    parts = [_Part(m.dataset_id, m.schema, m.partition_keys) for m in members]
    problems = [*_missing_seed(cube, {part.dataset_id for part in parts})]
    for member in members:
        if tuple(member.tables) != (SINGLE_TABLE,):
            found = ", ".join(member.tables) or "none"
            message = f"Dataset {member.dataset_id!r} must have one table, {SINGLE_TABLE!r}, but has {found}."
            problems.append(CubeProblem("tables", member.dataset_id, message))
    for part in parts:
        problems += _layout_problems(cube, part)
    problems += _shared_problems(cube, parts)
    for member in members:
        problems += _missing_indices(cube, member)
    return tuple(problems)


def check_cube_write(
    cube: Cube,
    existing: Sequence[Member],
    new: Mapping[str, pa.Schema],
    *,
    mode: Mode,
    partition_on: Mapping[str, Sequence[str]] | None = None,
    overwrite: bool = False,
) -> tuple[CubeProblem, ...]:
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
        ``build`` makes the cube, ``extend`` adds datasets, ``append`` adds files to datasets that exist.
    partition_on
        Per dataset id its partition columns, where they are not the cube's; an append takes the stored ones.
    overwrite
        Whether datasets that exist may be replaced.
    """
    stored = {member.dataset_id: member for member in existing}
    layout = {dataset_id: tuple(columns) for dataset_id, columns in (partition_on or {}).items()}
    default = {member.dataset_id: member.partition_keys for member in existing} if mode == "append" else {}
    keys = {d: layout.get(d, default.get(d, cube.partition_columns)) for d in new}
    parts = [_Part(dataset_id, schema, keys[dataset_id]) for dataset_id, schema in new.items()]
    kept = [_Part(m.dataset_id, m.schema, m.partition_keys) for m in existing if m.dataset_id not in new]
    problems = [*_scope_problems(cube, stored, set(new), mode, overwrite)]
    problems += _partition_on_problems(cube, set(new), layout, stored if mode == "append" else {})
    for part in parts:
        problems += _layout_problems(cube, part)
        problems += _storage_problems(cube, part)
        if mode == "append" and part.dataset_id in stored:
            problems += _append_problems(stored[part.dataset_id], part)
    problems += _shared_problems(cube, [*kept, *parts], only={*new})
    return tuple(problems)


def problems_error(cube: Cube, problems: Sequence[CubeProblem]) -> KubothekError:
    """Return the error that reports these problems; ``problems`` of the error lists them.

    Its class follows from the first problem: without a seed there is no cube, and what exists already is no fault of
    the data.
    """
    text = str(problems[0]) if len(problems) == 1 else "\n".join(["", *(f"- {problem}" for problem in problems)])
    details = {"problems": tuple(problems), "columns": tuple(dict.fromkeys(c for p in problems for c in p.columns))}
    kind = _ERRORS.get(problems[0].kind, InvalidInputError)
    return kind(f"Cube {cube.uuid_prefix!r}: {text}", **details)


_ERRORS: dict[Kind, type[KubothekError]] = {
    "seed": CubeNotFoundError,
    "exists": AlreadyExistsError,
    "types": SchemaError,
    "schema": SchemaError,
}


def _missing_seed(cube: Cube, dataset_ids: set[str]) -> Iterator[CubeProblem]:
    if cube.seed_dataset not in dataset_ids:
        found = ", ".join(sorted(dataset_ids)) or "no dataset"
        yield CubeProblem("seed", cube.seed_dataset, f"Seed dataset {cube.seed_dataset!r} is missing; found {found}.")


def _scope_problems(
    cube: Cube, stored: Mapping[str, Member], new: set[str], mode: Mode, overwrite: bool
) -> Iterator[CubeProblem]:
    """Which datasets a write may touch at all."""
    if mode == "build":
        yield from _missing_seed(cube, new)
        left = sorted(set(stored) - new) if overwrite else []
        if left:
            message = f"Overwriting a cube replaces all its datasets, but there is no data for {', '.join(left)}."
            yield CubeProblem("dataset", left[0], message)
    elif mode == "extend":
        yield from _missing_seed(cube, set(stored) | new)
        if cube.seed_dataset in new:
            message = f"Seed dataset {cube.seed_dataset!r} cannot be written by an extension; build the cube anew."
            yield CubeProblem("dataset", cube.seed_dataset, message)
    else:
        for dataset_id in sorted(new - set(stored)):
            known = ", ".join(sorted(stored)) or "none"
            message = f"Cannot append to {dataset_id!r}: the cube has no such dataset (it has {known})."
            yield CubeProblem("dataset", dataset_id, message)
    for dataset_id in sorted(new & set(stored)) if mode != "append" and not overwrite else []:
        message = f"Dataset {dataset_id!r} exists already; append to it, or pass overwrite=True."
        yield CubeProblem("exists", dataset_id, message)


def _partition_on_problems(
    cube: Cube, new: set[str], layout: Mapping[str, tuple[str, ...]], fixed: Mapping[str, Member]
) -> Iterator[CubeProblem]:
    for dataset_id, columns in sorted(layout.items()):
        text = ", ".join(columns) or "nothing"
        if dataset_id not in new:
            message = f"partition_on names dataset {dataset_id!r}, for which there is no data."
            yield CubeProblem("dataset", dataset_id, message)
        if len(set(columns)) < len(columns):
            message = f"partition_on of dataset {dataset_id!r} names a column twice: {text}."
            yield CubeProblem("partitioning", dataset_id, message, columns)
        if dataset_id == cube.seed_dataset and columns != cube.partition_columns:
            must = ", ".join(cube.partition_columns)
            message = f"Seed dataset {dataset_id!r} must be partitioned on {must}, but partition_on says {text}."
            yield CubeProblem("partitioning", dataset_id, message, columns)
        if dataset_id in fixed and columns != fixed[dataset_id].partition_keys:
            has = ", ".join(fixed[dataset_id].partition_keys) or "nothing"
            message = f"Dataset {dataset_id!r} is partitioned on {has}, but partition_on says {text}."
            yield CubeProblem("partitioning", dataset_id, message, columns)


def _layout_problems(cube: Cube, part: _Part) -> Iterator[CubeProblem]:
    """Which columns a dataset lacks, and which it may not have as ordinary data."""
    name, seed = part.dataset_id, part.dataset_id == cube.seed_dataset
    missing = [d for d in cube.dimension_columns if d not in part.columns]
    if missing and seed:
        message = f"Seed dataset {name!r} lacks dimension columns {', '.join(missing)}."
        yield CubeProblem("dimensions", name, message, tuple(missing))
    elif len(missing) == len(cube.dimension_columns):
        message = f"Dataset {name!r} needs at least one of the dimension columns {', '.join(missing)}, but has none."
        yield CubeProblem("dimensions", name, message, tuple(missing))
    needed = (*cube.partition_columns, *part.partition_keys) if seed else part.partition_keys
    absent = [k for k in dict.fromkeys(needed) if k not in part.schema.names]
    if absent:
        message = f"Dataset {name!r} lacks partition columns {', '.join(absent)}."
        yield CubeProblem("partitioning", name, message, tuple(absent))
    loose = [k for k in cube.partition_columns if k in part.columns and k not in part.partition_keys]
    if loose:
        message = (
            f"Dataset {name!r} has the cube's partition columns {', '.join(loose)} as ordinary columns; "
            f"name them in partition_on[{name!r}], or drop them."
        )
        yield CubeProblem("partitioning", name, message, tuple(loose))


def _storage_problems(cube: Cube, part: _Part) -> Iterator[CubeProblem]:
    """What the format cannot hold."""
    if not set(part.schema.names) - set(part.partition_keys):
        message = f"Dataset {part.dataset_id!r} has no column beside its partition columns; a file needs at least one."
        yield CubeProblem("partitioning", part.dataset_id, message, part.partition_keys)
    indexed = {*cube.dimension_columns, *cube.index_columns} - {*cube.suppress_index_on, *part.partition_keys}
    if LABELS in part.columns & indexed:
        message = f"Column {LABELS!r} of dataset {part.dataset_id!r} cannot have an index; rename it."
        yield CubeProblem("index", part.dataset_id, message, (LABELS,))


def _append_problems(member: Member, part: _Part) -> Iterator[CubeProblem]:
    try:
        merge_schemas(member.schema, part.schema, what=f"the data for dataset {member.dataset_id!r}")
    except SchemaError as error:
        yield CubeProblem("schema", member.dataset_id, str(error), tuple(error.details.get("columns", ())))


def _shared_problems(cube: Cube, parts: Sequence[_Part], only: set[str] | None = None) -> Iterator[CubeProblem]:
    """What datasets may not share, and where shared columns differ in type; ``only`` of these are reported."""
    shared = {*cube.dimension_columns, *cube.partition_columns}
    owners: dict[str, list[_Part]] = defaultdict(list)
    for part in parts:
        for column in part.columns:
            owners[column].append(part)
    collisions: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for column, holders in sorted(owners.items()):
        ids = tuple(sorted(holder.dataset_id for holder in holders))
        if only is not None and not only.intersection(ids):
            continue
        if column not in shared and len(ids) > 1:
            collisions[ids].append(column)
        if column in shared:
            yield from _type_problems(column, holders)
    for ids, columns in sorted(collisions.items()):
        message = f"Datasets {' and '.join(ids)} share {', '.join(columns)}; a payload column belongs to one dataset."
        yield CubeProblem("payload", ids[-1], message, tuple(columns))


def _type_problems(column: str, holders: Iterable[_Part]) -> Iterator[CubeProblem]:
    types = {holder.dataset_id: holder.schema.field(column).type for holder in holders}
    typed = {dataset_id: t for dataset_id, t in types.items() if not pa.types.is_null(t)}
    if len(set(typed.values())) > 1:
        text = ", ".join(f"{t} in {dataset_id}" for dataset_id, t in sorted(typed.items()))
        message = f"Column {column!r} must have the same type in all datasets, but is {text}."
        yield CubeProblem("types", sorted(typed)[-1], message, (column,))


def _missing_indices(cube: Cube, member: Member) -> Iterator[CubeProblem]:
    seed = member.dataset_id == cube.seed_dataset
    dimensions = set(cube.dimension_columns) - set(cube.suppress_index_on) if seed else set()
    wanted = member.columns & (dimensions | set(cube.index_columns))
    missing = tuple(sorted(wanted - member.indexed))
    if missing:
        message = (
            f"Dataset {member.dataset_id!r} has no index on {', '.join(missing)}; "
            "name the cube instead of giving a Cube, or give one that asks for the indices that are there, "
            "or write the dataset again."
        )
        yield CubeProblem("index", member.dataset_id, message, missing)
