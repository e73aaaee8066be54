"""What a cube query asks for, checked against the datasets that are there: the first of two stages of its plan.

Steps: parse the arguments; find the datasets; look up every name; bind the condition and cut it per dataset
(``kubothek.plan.cube.split``); decide which datasets are read at all and which columns each gives; list the indices
that the second stage (``kubothek.plan.cube.query``) needs. All problems of one query are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kubothek.errors import InvalidInputError, UnindexedColumnError, UnknownColumnError
from kubothek.model.condition import EVERYTHING, Condition, all_of
from kubothek.model.cube import Cube
from kubothek.plan.bind import bind
from kubothek.plan.cube.members import Member, merge_columns
from kubothek.plan.cube.split import SplitCondition, split_condition
from kubothek.plan.prune import Lookup, index_lookups


@dataclass(frozen=True, slots=True)
class MemberRead:
    """How a query reads one dataset.

    ``cells`` are the dimensions that the dataset has. ``restrictive`` datasets are joined with an inner join.
    ``schema`` holds the columns that the dataset gives to the result or to a condition after the joins, ``record`` all
    that may have to be read. ``groups`` are the ``partition_by`` columns whose values this dataset's index knows.
    ``leaves`` are what to look up in its indices.
    """

    member: Member
    cells: tuple[str, ...]
    restrictive: bool
    early: Condition
    late: Condition
    schema: pa.Schema
    record: pa.Schema
    groups: tuple[str, ...]
    leaves: tuple[Lookup, ...]


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query whose names, types and conditions are known to fit.

    ``reads`` has the seed first, then restrictive datasets, then all others, each sorted by id; ``unread`` are the
    members that the answer does not depend on. ``condition`` is bound; ``after`` is its part for after the joins.
    """

    cube: Cube
    dimension_columns: tuple[str, ...]
    partition_by: tuple[str, ...]
    condition: Condition
    after: Condition
    schema: pa.Schema
    reads: tuple[MemberRead, ...]
    unread: tuple[Member, ...]

    @property
    def needed_indices(self) -> Mapping[str, tuple[Lookup, ...]]:
        """Per dataset id the parts of its conditions to look up in its secondary indices."""
        return {read.member.dataset_id: read.leaves for read in self.reads if read.leaves}

    @property
    def needed_postings(self) -> tuple[tuple[str, str], ...]:
        """Pairs (dataset id, column) of the secondary indices whose values and labels group the result."""
        pairs = [(read.member, column) for read in self.reads for column in read.groups]
        return tuple((member.dataset_id, column) for member, column in pairs if column not in member.partition_keys)


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of a query, parsed, with everything they are checked against."""

    cube: Cube
    members: tuple[Member, ...]
    dimension_columns: tuple[str, ...]
    partition_by: tuple[str, ...]
    columns: frozenset[str] | None
    available: pa.Schema

    @property
    def output(self) -> tuple[str, ...]:
        wanted = self.available.names if self.columns is None else self.columns
        return tuple(sorted({*wanted, *self.dimension_columns, *self.partition_by, *self.cube.partition_columns}))


def resolve(
    cube: Cube,
    members: Sequence[Member],
    *,
    where: Condition = EVERYTHING,
    datasets: str | Iterable[str] | None = None,
    dimension_columns: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    columns: str | Iterable[str] | None = None,
) -> ResolvedQuery:
    """Check a query and decide which datasets and columns it reads and which indices it needs.

    Parameters
    ----------
    cube, members
        The specification and all its datasets, free of problems (``kubothek.plan.cube.check``).
    where
        Condition, unbound.
    datasets
        Ids of the datasets to look at, the seed among them; ``None`` for all.
    dimension_columns
        Dimensions to keep; the seed's cells are made unique by them. ``None`` for all.
    partition_by
        Columns by whose values the result is grouped; each must be a partition column or have an index.
    columns
        Columns wanted beside dimensions and partition columns; ``None`` for all.

    Raises
    ------
    UnknownColumnError
        Columns that no selected dataset has.
    UnindexedColumnError
        Columns to group by whose values no index knows.
    PredicateTypeError
        Literals that their columns cannot hold.
    InvalidInputError
        Everything else, or several of these; the message lists all problems.
    """
    names = {
        "dimension_columns": _ordered(cube.dimension_columns if dimension_columns is None else dimension_columns),
        "partition_by": _ordered(partition_by or ()),
    }
    selected = _select(cube, members, datasets)
    request = _Request(
        cube=cube,
        members=selected,
        dimension_columns=names["dimension_columns"],
        partition_by=names["partition_by"],
        columns=None if columns is None else frozenset(_names(columns)),
        available=merge_columns(selected),
    )
    problems = [*_doubled(names), *_unknown(request)]
    owners: dict[str, Member] = {}
    bound: Condition = EVERYTHING
    try:
        bound = bind(where, request.available, subject=f"cube {cube.uuid_prefix!r}")
    except InvalidInputError as error:
        problems.append(error)
    problems += _unindexed(request, owners)
    _raise(cube, problems)
    split = split_condition(bound, cube, selected)
    _raise(cube, _unprojectable(request, split))
    reads = _reads(request, split, owners)
    taken = {read.member.dataset_id for read in reads}
    return ResolvedQuery(
        cube=cube,
        dimension_columns=request.dimension_columns,
        partition_by=request.partition_by,
        condition=bound,
        after=split.after,
        schema=pa.schema([request.available.field(name) for name in request.output]),
        reads=reads,
        unread=tuple(m for m in sorted(members, key=lambda m: m.dataset_id) if m.dataset_id not in taken),
    )


def _names(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise InvalidInputError(f"Columns and datasets are named by strings, but {wrong[0]!r} is none.")
    return names


def _ordered(value: Any) -> tuple[str, ...]:
    if isinstance(value, (set, frozenset, Mapping)):
        raise InvalidInputError(f"The order of these columns matters, but a {type(value).__name__} has none: {value}.")
    return _names(value)


def _select(cube: Cube, members: Sequence[Member], datasets: str | Iterable[str] | None) -> tuple[Member, ...]:
    """Return the datasets to look at, the seed first."""
    known = {member.dataset_id: member for member in members}
    ids = set(known) if datasets is None else set(_names(datasets))
    unknown = sorted(ids - set(known))
    if unknown:
        raise InvalidInputError(
            f"Cube {cube.uuid_prefix!r} has no dataset {', '.join(unknown)}; it has {', '.join(sorted(known))}.",
            datasets=tuple(unknown),
        )
    if cube.seed_dataset not in ids:
        raise InvalidInputError(
            f"Seed dataset {cube.seed_dataset!r} is missing from the datasets to query ({', '.join(sorted(ids))}); "
            "it says which cells exist, so name it too.",
            datasets=(cube.seed_dataset,),
        )
    return tuple(known[d] for d in [cube.seed_dataset, *sorted(ids - {cube.seed_dataset})])


def _doubled(names: Mapping[str, tuple[str, ...]]) -> Iterator[InvalidInputError]:
    for argument, columns in names.items():
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            yield InvalidInputError(f"{argument} names {', '.join(twice)} more than once.", columns=tuple(twice))
    if not names["dimension_columns"]:
        yield InvalidInputError("dimension_columns must not be empty; leave it out to keep all dimensions.")


def _unknown(request: _Request) -> Iterator[InvalidInputError]:
    asked = (
        ("dimension_columns", request.dimension_columns, request.cube.dimension_columns),
        ("partition_by", request.partition_by, request.available.names),
        ("columns", sorted(request.columns or ()), request.available.names),
    )
    for argument, columns, known in asked:
        missing = tuple(name for name in columns if name not in known)
        if missing:
            message = f"{argument} names {', '.join(missing)}, but the datasets queried have {', '.join(known)}."
            yield UnknownColumnError(message, columns=missing)


def _unindexed(request: _Request, owners: dict[str, Member]) -> Iterator[InvalidInputError]:
    """Find, for each column to group by, the dataset that knows its values; a dimension's are the seed's."""
    cube, seed = request.cube, request.members[0]
    missing: list[str] = []
    for column in request.partition_by:
        shared = column in cube.dimension_columns or column in cube.partition_columns
        holders = [m for m in ((seed,) if shared else request.members) if column in m.columns]
        owner = next((m for m in holders if column in m.indexed), None)
        if owner is not None and column not in cube.partition_columns:
            owners[column] = owner
        elif owner is None and holders:
            missing.append(f"{column} (of dataset {holders[0].dataset_id!r})")
    if missing:
        yield UnindexedColumnError(
            f"partition_by needs an index on each of its columns, but there is none on {', '.join(missing)}; "
            "group by other columns, or group the result instead.",
            columns=tuple(name.split(" (")[0] for name in missing),
        )


def _unprojectable(request: _Request, split: SplitCondition) -> Iterator[InvalidInputError]:
    """Find payload that would have to be of several cells at once."""
    cube, kept = request.cube, set(request.dimension_columns)
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
    lost = split.after.columns & set(cube.dimension_columns) - kept - set(request.partition_by)
    if lost:
        yield InvalidInputError(
            f"The condition ({split.after}) is evaluated after the joins, where {', '.join(sorted(lost))} is projected "
            "away; keep it in dimension_columns.",
            columns=tuple(sorted(lost)),
        )


def _raise(cube: Cube, problems: Iterable[InvalidInputError]) -> None:
    found = list(problems)
    if len(found) == 1:
        raise found[0]
    if found:
        kinds = {type(problem) for problem in found}
        kind = kinds.pop() if len(kinds) == 1 else InvalidInputError
        message = "\n".join([f"The query of cube {cube.uuid_prefix!r} has problems:", *(f"- {p}" for p in found)])
        columns = tuple(dict.fromkeys(c for p in found for c in p.details.get("columns", ())))
        raise kind(message, columns=columns, problems=tuple(found))


def _reads(request: _Request, split: SplitCondition, owners: Mapping[str, Member]) -> tuple[MemberRead, ...]:
    """Decide what is read of each dataset, and leave out those that the answer does not depend on."""
    seed, *others = (_member_read(request, split, owners, member) for member in request.members)
    others = [read for read in others if read.restrictive or read.schema.names]
    return (seed, *sorted(others, key=lambda read: not read.restrictive))


def _member_read(request: _Request, split: SplitCondition, owners: Mapping[str, Member], member: Member) -> MemberRead:
    cube, dataset_id = request.cube, member.dataset_id
    early, late = split.early[dataset_id], split.late[dataset_id]
    groups = tuple(name for name in request.partition_by if owners.get(name) is member)
    wanted = {*request.output} | split.after.columns
    own = member.columns if dataset_id == cube.seed_dataset else member.payload(cube)
    schema = _only(member.schema, own & wanted)
    needed = {*schema.names, *member.dimensions(cube), *member.partition_keys, *early.columns, *late.columns}
    return MemberRead(
        member=member,
        cells=member.dimensions(cube),
        restrictive=dataset_id in split.restricted or (dataset_id != cube.seed_dataset and bool(groups)),
        early=early,
        late=late,
        schema=schema,
        record=_only(member.schema, needed),
        groups=groups,
        leaves=index_lookups(all_of([early, late]), tuple(c for c in member.index_columns if c in member.columns)),
    )


def _only(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Return these fields of a schema, in its order."""
    chosen = set(names)
    return pa.schema([field for field in schema if field.name in chosen])
