"""What a cube query asks for: its arguments parsed, and checked against the datasets that are there.

Steps: parse each argument; find the datasets; look up every name; bind the condition and cut it per dataset
(``kubothek.plan.cube.split``); see whether the payload survives the projection. A step that fails leaves a problem and
a harmless stand-in, so that one error lists what is wrong with all arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from kubothek.errors import InvalidInputError, UnindexedColumnError, UnknownColumnError, combined_error
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.model.cube import Cube
from kubothek.model.names import column_names, name_hint
from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.plan.cube.members import Member, merge_columns
from kubothek.plan.cube.selection import dataset_ids, select_datasets
from kubothek.plan.cube.split import SplitCondition, split_condition

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Request:
    """A query whose names, types and conditions are known to fit.

    ``members`` are the datasets to look at, the seed first, and ``available`` are their columns. ``columns`` is
    ``None`` for all of these. ``condition`` is bound, ``split`` is what each dataset decides of it. ``owners`` has, for
    each column to group by that is no partition column of the cube, the dataset that knows its values.
    """

    cube: Cube
    members: tuple[Member, ...]
    available: pa.Schema
    dimension_columns: tuple[str, ...]
    partition_by: tuple[str, ...]
    columns: tuple[str, ...] | None
    condition: Condition
    split: SplitCondition
    owners: Mapping[str, Member]

    @property
    def output(self) -> tuple[str, ...]:
        """Names of the columns of the result, sorted."""
        wanted = self.available.names if self.columns is None else self.columns
        return tuple(sorted({*wanted, *self.dimension_columns, *self.partition_by, *self.cube.partition_columns}))


class _Problems(list[InvalidInputError]):
    """Everything that is wrong with one query."""

    def spared(self, otherwise: Value, make: Callable[[], Value]) -> Value:
        """Return what is made, or a stand-in after noting why it cannot be."""
        try:
            return make()
        except InvalidInputError as error:
            self.append(error)
            return otherwise


def parse_request(
    cube: Cube,
    members: Sequence[Member],
    *,
    where: Any,
    datasets: Any,
    dimension_columns: Any,
    partition_by: Any,
    columns: Any,
) -> Request:
    """Parse and check the arguments of :func:`kubothek.plan.cube.resolve.resolve`, which describes them.

    Raises
    ------
    InvalidInputError
        Something does not fit; the message lists all problems, ``problems`` holds them. It is of their own class
        where they are all of one.
    """
    problems = _Problems()
    everything: Condition = EVERYTHING
    condition = problems.spared(everything, lambda: parse_where(where))
    dimensions = cube.dimension_columns if dimension_columns is None else dimension_columns
    kept = problems.spared(cube.dimension_columns, lambda: _dimensions(cube, dimensions))
    by = problems.spared(_readable(partition_by), lambda: column_names(partition_by, "partition_by"))
    wanted = None if columns is None else problems.spared(_readable(columns), lambda: _names(columns, "columns"))
    selected = problems.spared(_seed_first(cube, members), lambda: _select(cube, members, datasets))
    available = merge_columns(selected)
    problems += _unknown(available, partition_by=by, columns=wanted or ())
    subject = f"cube {cube.uuid_prefix!r}"
    bound = problems.spared(everything, lambda: bind(condition, available, subject=subject))
    owners: dict[str, Member] = problems.spared({}, lambda: _owners(cube, selected, by))
    split = split_condition(bound, cube, selected)
    request = Request(cube, selected, available, kept, by, wanted, bound, split, owners)
    problems += _unprojectable(request)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise combined_error(f"The query of cube {cube.uuid_prefix!r} has problems", problems)
    return request


def _names(value: Any, argument: str) -> tuple[str, ...]:
    """Return names whose order and number do not matter."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        value = tuple(value)
        if all(isinstance(name, str) for name in value):
            return tuple(dict.fromkeys(value))
    return column_names(value, argument)


def _readable(value: Any) -> tuple[str, ...]:
    """Return the names that can be made out in an argument that is refused; they are checked all the same."""
    return tuple(dict.fromkeys(n for n in value if isinstance(n, str))) if isinstance(value, (list, tuple)) else ()


def _dimensions(cube: Cube, value: Any) -> tuple[str, ...]:
    names = column_names(value, "dimension_columns")
    if not names:
        raise InvalidInputError("dimension_columns must not be empty; leave it out to keep all dimensions.")
    unknown = tuple(name for name in names if name not in cube.dimension_columns)
    if unknown:
        known = ", ".join(cube.dimension_columns)
        message = f"dimension_columns names {', '.join(unknown)}, but the dimensions of the cube are {known}."
        raise UnknownColumnError(message, columns=unknown)
    return names


def _seed_first(cube: Cube, members: Iterable[Member]) -> tuple[Member, ...]:
    return tuple(sorted(members, key=lambda member: (member.dataset_id != cube.seed_dataset, member.dataset_id)))


def _select(cube: Cube, members: Sequence[Member], datasets: Any) -> tuple[Member, ...]:
    """Return the datasets to look at, the seed first."""
    known = {member.dataset_id: member for member in members}
    ids = select_datasets(cube.uuid_prefix, known, dataset_ids(datasets))
    if cube.seed_dataset not in ids:
        raise InvalidInputError(
            f"Seed dataset {cube.seed_dataset!r} is missing from the datasets to query "
            f"({', '.join(ids) or 'none'}); it says which cells exist, so name it too.",
            datasets=(cube.seed_dataset,),
        )
    return _seed_first(cube, (known[dataset_id] for dataset_id in ids))


def _unknown(available: pa.Schema, **asked: Sequence[str]) -> Iterator[InvalidInputError]:
    for argument, columns in asked.items():
        missing = tuple(name for name in columns if name not in available.names)
        if missing:
            shown = ", ".join(f"{name} ({name_hint(name, available.names)})" for name in missing)
            message = f"{argument} names columns that none of the datasets queried has: {shown}."
            yield UnknownColumnError(message, columns=missing)


def _owners(cube: Cube, members: Sequence[Member], partition_by: Sequence[str]) -> dict[str, Member]:
    """Find, for each column to group by, the dataset that knows its values; a dimension's are the seed's."""
    owners: dict[str, Member] = {}
    missing: dict[str, str] = {}
    for column in partition_by:
        shared = column in (*cube.dimension_columns, *cube.partition_columns)
        holders = [m for m in (members[:1] if shared else members) if column in m.columns]
        owner = next((m for m in holders if column in m.indexed), None)
        if owner is not None and column not in cube.partition_columns:
            owners[column] = owner
        elif owner is None and holders:
            missing[column] = f"{column} (of dataset {holders[0].dataset_id!r})"
    if missing:
        raise UnindexedColumnError(
            f"partition_by needs an index on each of its columns, but there is none on {', '.join(missing.values())}; "
            "group by other columns, or group the result instead.",
            columns=tuple(missing),
        )
    return owners


def _unprojectable(request: Request) -> Iterator[InvalidInputError]:
    """Find payload that would have to be of several cells at once."""
    cube, split, kept = request.cube, request.split, {*request.dimension_columns}
    for member in request.members:
        dimensions = member.dimensions(cube)
        payload = member.payload(cube) & ({*request.output} | split.columns(member))
        if payload and not kept.issuperset(dimensions):
            yield InvalidInputError(
                f"Dataset {member.dataset_id!r} has the dimensions {', '.join(dimensions)} and cannot be projected to "
                f"{', '.join(request.dimension_columns)} while its columns {', '.join(sorted(payload))} are asked for; "
                "keep its dimensions, or choose columns and conditions without them.",
                columns=tuple(sorted(payload)),
            )
    lost = split.after.columns & {*cube.dimension_columns} - kept - {*request.partition_by}
    if lost:
        yield InvalidInputError(
            f"The condition ({split.after}) is evaluated after the joins, where {', '.join(sorted(lost))} is projected "
            "away; keep it in dimension_columns.",
            columns=tuple(sorted(lost)),
        )
