"""What a cube query will read: the second stage of its plan, and the facts that explain it.

The first stage (``kubothek.plan.cube.resolve``) said what is asked and which indices decide it. With what these
indices answered, the steps here are: drop files of each dataset (``kubothek.plan.cube.prune``), put the rest together
in units (``kubothek.plan.cube.align``), and write both down as a :class:`~kubothek.model.read_plan.ReadPlan`. Each
file of each dataset ends up in the plan or under the rule that drops it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import Condition, all_of, conjuncts
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.read_plan import JoinStep, ReadInput, ReadPlan, files_schema
from kubothek.plan.cube.align import Alignment, Postings, align
from kubothek.plan.cube.members import Member
from kubothek.plan.cube.prune import KeptFiles, prune_member
from kubothek.plan.cube.resolve import MemberRead, ResolvedQuery
from kubothek.plan.keys import Numbers
from kubothek.plan.prune import Lookup

Role = Literal["seed", "inner", "left", "unread"]


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What a plan does with the files of one dataset.

    ``role`` says how it is joined (``unread``: the answer does not depend on it). ``total`` counts its files,
    ``dropped`` maps each rule to the labels it drops (``partition``, ``index``, ``partition_by``, ``no seed``,
    ``alignment``; see ``kubothek.plan.cube.prune`` and ``kubothek.plan.cube.align``). ``files`` counts those that are
    read, ``reads`` how often, as a coarse file serves several units; ``bytes`` and ``rows`` are what they hold, each
    counted once, or ``None`` where it is not recorded. ``overlaid`` counts the units that have to resolve versions of
    cells.
    """

    dataset_id: str
    role: Role
    total: int
    dropped: Mapping[str, pa.Array]
    files: int
    reads: int
    bytes: int | None
    rows: int | None
    overlaid: int


@dataclass(frozen=True, slots=True)
class CubePlan:
    """What a cube query will read, and why not the rest; ``facts`` has one entry per dataset, unread ones last."""

    read: ReadPlan
    facts: tuple[DatasetFacts, ...]


def plan_cube(
    query: ResolvedQuery, index_hits: Mapping[str, Mapping[Lookup, pa.Array]], index_postings: Postings
) -> CubePlan:
    """Decide which files are read, in which units, and how they are joined.

    Parameters
    ----------
    query
        The query, resolved.
    index_hits
        Per dataset id, for each of its ``query.needed_indices``, the labels of files with a matching value.
    index_postings
        For each of ``query.needed_postings`` (dataset id, column) the whole index: the column, and
        ``partition: list<string>`` with the labels of the files that hold the value.
    """
    kept = [prune_member(query.cube, read, index_hits.get(read.member.dataset_id, {})) for read in query.reads]
    alignment = align(query, kept, index_postings)
    files = tuple(
        _file_table(read.member, one, pairs)
        for read, one, pairs in zip(query.reads, kept, alignment.pairs, strict=True)
    )
    everything = {*query.dimension_columns} >= {*query.cube.dimension_columns}
    plan = ReadPlan(
        subject=query.cube.uuid_prefix,
        inputs=tuple(_read_input(read) for read in query.reads),
        files=files,
        units=alignment.units,
        joins=tuple(_join(number, read) for number, read in enumerate(query.reads) if number),
        after=query.after,
        schema=query.schema,
        group_by=query.partition_by,
        pinned=_pinned(query),
        project=() if everything else query.dimension_columns,
        order=(*query.dimension_columns, *query.cube.partition_columns),
    )
    return CubePlan(plan, _facts(query, kept, alignment, files))


def _read_input(read: MemberRead) -> ReadInput:
    member = read.member
    return ReadInput(
        name=member.dataset_id,
        uuid=member.uuid,
        table=SINGLE_TABLE,
        schema=read.schema,
        record=read.record,
        partition_keys=member.partition_keys,
        dimensions=read.dimensions,
        early=_undecided(read.early, member.partition_keys),
        late=read.late,
        stored_columns=len({*member.schema.names} - {*member.partition_keys}),
    )


def _undecided(condition: Condition, partition_keys: Sequence[str]) -> Condition:
    """Leave out the parts that the file's place has decided already."""
    return all_of(part for part in conjuncts(condition) if not part.columns or part.columns - {*partition_keys})


def _join(number: int, read: MemberRead) -> JoinStep:
    """Join on the dimensions alone: partition columns of the cube are the same in the whole unit."""
    return JoinStep(number, read.dimensions, "inner" if read.restrictive else "left")


def _pinned(query: ResolvedQuery) -> tuple[tuple[int, str], ...]:
    """Restrict inputs to the unit's values: of the index that they come from, and of dimensions, wherever they are."""
    return tuple(
        (number, column)
        for column in query.partition_by
        for number, read in enumerate(query.reads)
        if column not in read.member.apart(query.cube) and (column in read.groups or column in read.dimensions)
    )


def _file_table(member: Member, kept: KeptFiles, pairs: tuple[Numbers, Numbers]) -> pa.Table:
    """Return one row per file and unit, with the columns of :func:`~kubothek.model.read_plan.files_schema`."""
    units, rows = pairs
    files = kept.files.take(pa.array(rows))
    schema = files_schema(pa.schema([member.schema.field(key) for key in member.partition_keys]))
    columns = {name: files.column(name) for name in schema.names if name in files.column_names}
    columns |= {"unit": pa.array(units, pa.int32()), "overlay": pa.array(_overlay(kept, units, rows))}
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _overlay(kept: KeptFiles, units: Numbers, rows: Numbers) -> npt.NDArray[np.bool_]:
    """Mark all files of a unit if any two of them may hold versions of one cell."""
    shared = kept.overlay[rows]
    width = int(kept.together.max(initial=0)) + 1
    sets, counts = np.unique((units * width + kept.together[rows])[shared], return_counts=True)
    marked = np.zeros(int(units.max(initial=0)) + 1, np.bool_)
    marked[(sets // width)[counts > 1]] = True
    return marked[units]


def _facts(
    query: ResolvedQuery, kept: Sequence[KeptFiles], alignment: Alignment, files: Sequence[pa.Table]
) -> tuple[DatasetFacts, ...]:
    reads = [
        _member_facts(read, one, rows, dropped, table, number)
        for number, (read, one, (_, rows), dropped, table) in enumerate(
            zip(query.reads, kept, alignment.pairs, alignment.dropped, files, strict=True)
        )
    ]
    unread = [DatasetFacts(m.dataset_id, "unread", m.files.num_rows, {}, 0, 0, 0, 0, 0) for m in query.unread]
    return (*reads, *unread)


def _member_facts(
    read: MemberRead, kept: KeptFiles, rows: Numbers, dropped: Mapping[str, Numbers], table: pa.Table, number: int
) -> DatasetFacts:
    labels = kept.files.column("label").combine_chunks()
    used = np.zeros(len(labels), np.bool_)
    used[rows] = True
    files = kept.files.filter(pa.array(used))
    return DatasetFacts(
        dataset_id=read.member.dataset_id,
        role="seed" if number == 0 else "inner" if read.restrictive else "left",
        total=read.member.files.num_rows,
        dropped={**kept.dropped, **{rule: labels.take(pa.array(gone)) for rule, gone in dropped.items()}},
        files=int(used.sum()),
        reads=len(rows),
        bytes=known_sum(files.column("bytes")),
        rows=known_sum(files.column("rows")),
        overlaid=len(pc.unique(table.filter(table.column("overlay")).column("unit"))),
    )


def known_sum(numbers: pa.ChunkedArray) -> int | None:
    """Return the sum of numbers, ``None`` where one of them is unknown."""
    return None if numbers.null_count else pc.sum(numbers, min_count=0).as_py()
