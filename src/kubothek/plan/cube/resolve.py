"""What a cube query asks for, checked against the datasets that are there: the first of two stages of its plan.

Steps: parse and check the arguments (``kubothek.plan.cube.request``); decide which datasets are read at all and which
columns each gives; list the indices that the second stage (``kubothek.plan.cube.query``) needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kubothek.model.condition import Condition, all_of
from kubothek.model.cube import Cube
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.request import Request, parse_request
from kubothek.plan.prune import Lookup, index_lookups


@dataclass(frozen=True, slots=True)
class MemberRead:
    """How a query reads one dataset.

    ``dimensions`` are those that the dataset has. ``restrictive`` datasets are joined with an inner join.
    ``schema`` holds the columns that the dataset gives to the result or to a condition after the joins, ``record`` all
    that may have to be read. ``groups`` are the ``partition_by`` columns whose values this dataset's index knows.
    ``leaves`` are what to look up in its indices.
    """

    member: Member
    dimensions: tuple[str, ...]
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


def resolve(
    cube: Cube,
    members: Sequence[Member],
    *,
    where: Any = None,
    datasets: Any = None,
    dimension_columns: Any = None,
    partition_by: Any = None,
    columns: Any = None,
) -> ResolvedQuery:
    """Check a query and decide which datasets and columns it reads and which indices it needs.

    Parameters
    ----------
    cube, members
        The specification and all its datasets, free of problems (``kubothek.plan.cube.check``).
    where
        Condition in any of its forms (``kubothek.model.where``).
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
    request = parse_request(
        cube,
        members,
        where=where,
        datasets=datasets,
        dimension_columns=dimension_columns,
        partition_by=partition_by,
        columns=columns,
    )
    reads = _reads(request)
    taken = {read.member.dataset_id for read in reads}
    return ResolvedQuery(
        cube=cube,
        dimension_columns=request.dimension_columns,
        partition_by=request.partition_by,
        condition=request.condition,
        after=request.split.after,
        schema=pa.schema([request.available.field(name) for name in request.output]),
        reads=reads,
        unread=tuple(m for m in sorted(members, key=lambda m: m.dataset_id) if m.dataset_id not in taken),
    )


def _reads(request: Request) -> tuple[MemberRead, ...]:
    """Decide what is read of each dataset, and leave out those that the answer does not depend on."""
    seed, *others = (_member_read(request, member) for member in request.members)
    others = [read for read in others if read.restrictive or read.schema.names]
    return (seed, *sorted(others, key=lambda read: not read.restrictive))


def _member_read(request: Request, member: Member) -> MemberRead:
    cube, split, dataset_id = request.cube, request.split, member.dataset_id
    early, late = split.early[dataset_id], split.late[dataset_id]
    groups = tuple(name for name in request.partition_by if request.owners.get(name) is member)
    wanted = {*request.output} | split.after.columns
    own = member.columns if dataset_id == cube.seed_dataset else member.payload(cube)
    schema = _only(member.schema, own & wanted)
    needed = {*schema.names, *member.dimensions(cube), *member.partition_keys, *early.columns, *late.columns}
    return MemberRead(
        member=member,
        dimensions=member.dimensions(cube),
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
