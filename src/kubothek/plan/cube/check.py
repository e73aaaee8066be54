"""Whether datasets form a cube: which rules do they break, all at once, whoever wrote them.

:func:`find_problems` looks at the datasets that are there. The rules about columns hold for datasets that are to be
written too (:mod:`kubothek.plan.cube.check_write`), so they look at a :class:`Part`, which either has. Every problem is
found, so that a user mends them in one go; :func:`problems_error` turns them into the error to raise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kubothek.errors import AlreadyExistsError, CubeNotFoundError, InvalidInputError, KubothekError, SchemaError
from kubothek.model.cube import Cube, member_uuid
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.problem import Problem, ProblemKind
from kubothek.plan.cube.members import Member, is_hidden
from kubothek.plan.cube.metadata import metadata_entry


@dataclass(frozen=True, slots=True)
class Part:
    """The columns and layout of one dataset, stored or to be written."""

    dataset_id: str
    schema: pa.Schema
    partition_keys: tuple[str, ...]

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that users see."""
        return frozenset(name for name in self.schema.names if not is_hidden(name))


def find_problems(cube: Cube, members: Sequence[Member]) -> tuple[Problem, ...]:
    """Return every rule that the stored datasets of a cube break; none if they form a cube."""
    parts = [Part(m.dataset_id, m.schema, m.partition_keys) for m in members]
    problems = [*missing_seed(cube, {part.dataset_id for part in parts})]
    problems += different_seed(cube, members)
    for member in members:
        if tuple(member.tables) != (SINGLE_TABLE,):
            found = ", ".join(member.tables) or "none"
            message = f"Dataset {member.dataset_id!r} must have one table, {SINGLE_TABLE!r}, but has {found}."
            problems.append(cube_problem(cube, "wrong_tables", member.dataset_id, message))
    for part in parts:
        problems += layout_problems(cube, part)
    problems += shared_problems(cube, parts)
    for member in members:
        problems += _missing_indices(cube, member)
    return tuple(problems)


def problems_error(cube: Cube, problems: Sequence[Problem]) -> KubothekError:
    """Return the error that reports these problems; ``problems`` of the error lists them.

    Its class follows from the first problem: without a seed there is no cube, and what exists already is no fault of
    the data.
    """
    messages = [problem.message for problem in problems]
    text = messages[0] if len(messages) == 1 else "\n".join(["", *(f"- {message}" for message in messages)])
    details = {"problems": tuple(problems), "columns": tuple(dict.fromkeys(c for p in problems for c in p.columns))}
    kind = _ERRORS.get(problems[0].kind, InvalidInputError)
    return kind(f"Cube {cube.uuid_prefix!r}: {text}", **details)


_ERRORS: dict[ProblemKind, type[KubothekError]] = {
    "missing_seed": CubeNotFoundError,
    "existing_dataset": AlreadyExistsError,
    "different_types": SchemaError,
    "wrong_schema": SchemaError,
}


def cube_problem(cube: Cube, kind: ProblemKind, dataset_id: str, message: str, columns: Iterable[str] = ()) -> Problem:
    """Return a problem of one dataset of a cube; the id may be one that no dataset can have."""
    return Problem(kind, member_uuid(cube.uuid_prefix, dataset_id), None, message, columns=tuple(columns))


def missing_seed(cube: Cube, dataset_ids: set[str]) -> Iterator[Problem]:
    """Whether the dataset that says which cells exist is among these."""
    if cube.seed_dataset not in dataset_ids:
        found = ", ".join(sorted(dataset_ids)) or "no dataset"
        message = f"Seed dataset {cube.seed_dataset!r} is missing; found {found}."
        yield cube_problem(cube, "missing_seed", cube.seed_dataset, message)


def different_seed(cube: Cube, members: Iterable[Member]) -> Iterator[Problem]:
    """Where the seed says that its cells or partitions are others than the specification does, of which nobody knows.

    Read or written by fewer dimensions, different cells would be taken for versions of one.
    """
    for member in members:
        if member.dataset_id == cube.seed_dataset:
            yield from different_entries(cube, member, ("dimension_columns", "partition_columns"))


def different_entries(cube: Cube, member: Member, entries: Iterable[str]) -> Iterator[Problem]:
    """Which of these metadata entries of a dataset name other columns than the specification; order does not matter."""
    for entry in entries:
        said, wanted = metadata_entry(member.metadata, entry), getattr(cube, entry)
        if said is not None and not (isinstance(said, list) and set(map(str, said)) == set(wanted)):
            message = (
                f"The metadata of dataset {member.dataset_id!r} has {entry} {said!r}, but the cube is taken to have "
                f"{list(wanted)!r}. Give the Cube as it was written, or its name, or write the dataset again."
            )
            yield cube_problem(cube, "wrong_metadata", member.dataset_id, message)


def layout_problems(cube: Cube, part: Part) -> Iterator[Problem]:
    """Which columns a dataset lacks, and which it may not have as ordinary data."""
    name, seed = part.dataset_id, part.dataset_id == cube.seed_dataset
    missing = [d for d in cube.dimension_columns if d not in part.columns]
    if missing and seed:
        message = f"Seed dataset {name!r} lacks dimension columns {', '.join(missing)}."
        yield cube_problem(cube, "missing_dimensions", name, message, missing)
    elif len(missing) == len(cube.dimension_columns):
        message = f"Dataset {name!r} needs at least one of the dimension columns {', '.join(missing)}, but has none."
        yield cube_problem(cube, "missing_dimensions", name, message, missing)
    needed = (*cube.partition_columns, *part.partition_keys) if seed else part.partition_keys
    absent = [k for k in dict.fromkeys(needed) if k not in part.schema.names]
    if absent:
        message = f"Dataset {name!r} lacks partition columns {', '.join(absent)}."
        yield cube_problem(cube, "wrong_partitioning", name, message, absent)
    loose = [k for k in cube.partition_columns if k in part.columns and k not in part.partition_keys]
    if loose:
        message = (
            f"Dataset {name!r} has the cube's partition columns {', '.join(loose)} as ordinary columns; "
            f"name them in partition_on[{name!r}], or drop them."
        )
        yield cube_problem(cube, "wrong_partitioning", name, message, loose)


def shared_problems(cube: Cube, parts: Sequence[Part], only: set[str] | None = None) -> Iterator[Problem]:
    """What datasets may not share, and where shared columns differ in type; ``only`` of these are reported."""
    shared = {*cube.dimension_columns, *cube.partition_columns}
    owners: dict[str, list[Part]] = defaultdict(list)
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
            yield from _type_problems(cube, column, holders)
    for ids, columns in sorted(collisions.items()):
        message = f"Datasets {' and '.join(ids)} share {', '.join(columns)}; a payload column belongs to one dataset."
        yield cube_problem(cube, "shared_payload", ids[-1], message, columns)


def _type_problems(cube: Cube, column: str, holders: Iterable[Part]) -> Iterator[Problem]:
    types = {holder.dataset_id: holder.schema.field(column).type for holder in holders}
    typed = {dataset_id: t for dataset_id, t in types.items() if not pa.types.is_null(t)}
    if len(set(typed.values())) > 1:
        text = ", ".join(f"{t} in {dataset_id}" for dataset_id, t in sorted(typed.items()))
        message = f"Column {column!r} must have the same type in all datasets, but is {text}."
        yield cube_problem(cube, "different_types", sorted(typed)[-1], message, (column,))


def _missing_indices(cube: Cube, member: Member) -> Iterator[Problem]:
    seed = member.dataset_id == cube.seed_dataset
    dimensions = set(cube.dimension_columns) - set(cube.suppress_index_on) if seed else set()
    wanted = member.columns & (dimensions | set(cube.index_columns))
    missing = tuple(sorted(wanted - member.indexed))
    if missing:
        message = (
            f"Dataset {member.dataset_id!r} has no index on {', '.join(missing)}. Make it with "
            f"build_dataset_indices({member.uuid!r}, store, {list(missing)!r}), or give a Cube that asks for none."
        )
        yield cube_problem(cube, "missing_index", member.dataset_id, message, missing)
