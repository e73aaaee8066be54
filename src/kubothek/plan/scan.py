"""What a scan of one dataset reads: names and types checked first, files chosen second.

Steps: :func:`ask_scan` checks the columns and the condition and says which index entries to look up;
:func:`plan_scan` takes what the indices answered and returns the plan, one unit per file, with the files that each
rule dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kubothek.errors import InvalidInputError, UnknownColumnError
from kubothek.model.condition import EVERYTHING, Condition, Leaf
from kubothek.model.read_plan import ReadInput, ReadPlan, files_schema
from kubothek.plan.bind import bind
from kubothek.plan.prune import index_leaves, prune_files


@dataclass(frozen=True, slots=True)
class ScanQuestion:
    """A scan whose names and types are known to fit; ``leaves`` are what its indices are to be asked."""

    uuid: str
    table: str
    record: pa.Schema
    partition_keys: tuple[str, ...]
    columns: tuple[str, ...]
    condition: Condition
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The plan, and the files that each rule dropped, with all their facts."""

    plan: ReadPlan
    dropped: Mapping[str, pa.Table]


def ask_scan(
    record: pa.Schema,
    *,
    uuid: str,
    table: str,
    partition_keys: Sequence[str],
    index_columns: Sequence[str],
    columns: Sequence[str] | None,
    condition: Condition,
) -> ScanQuestion:
    """Check what a scan asks for.

    Raises
    ------
    UnknownColumnError
        A column does not exist; all that do not are named.
    InvalidInputError
        A column is wanted twice.
    PredicateTypeError
        The condition holds a value that its column cannot have.
    """
    wanted = tuple(record.names if columns is None else columns)
    unknown = [name for name in wanted if name not in record.names]
    if unknown:
        raise UnknownColumnError(
            f"Dataset {uuid!r} has no column {', '.join(map(repr, unknown))}; it has {', '.join(record.names)}.",
            columns=tuple(unknown),
        )
    doubled = sorted({name for name in wanted if wanted.count(name) > 1})
    if doubled:
        raise InvalidInputError(f"columns names {', '.join(doubled)} more than once.", columns=tuple(doubled))
    bound = bind(condition, record, subject=f"dataset {uuid!r}")
    return ScanQuestion(
        uuid=uuid,
        table=table,
        record=record,
        partition_keys=tuple(partition_keys),
        columns=wanted,
        condition=bound,
        leaves=index_leaves(bound, index_columns),
    )


def plan_scan(question: ScanQuestion, files: pa.Table, hits: Mapping[Leaf, pa.Array]) -> ScanPlan:
    """Choose the files that may hold a matching row.

    Parameters
    ----------
    question
        The checked scan.
    files
        The dataset's file table.
    hits
        For each of the question's leaves, the labels under which its index has a matching value.
    """
    pruned = prune_files(files, question.condition, question.partition_keys, hits)
    kept = pruned.kept
    numbers = np.arange(kept.num_rows, dtype=np.int32)
    schema = files_schema(pa.schema([question.record.field(name) for name in question.partition_keys]))
    columns = dict(zip(kept.column_names, kept.columns, strict=True))
    columns |= {"unit": pa.array(numbers), "overlay": pa.repeat(False, kept.num_rows)}
    table = pa.table([columns[name] for name in schema.names], schema=schema)
    read = dict.fromkeys([*question.columns, *sorted(question.condition.columns)])
    source = ReadInput(
        name=question.uuid,
        uuid=question.uuid,
        table=question.table,
        schema=pa.schema([question.record.field(name) for name in question.columns]),
        record=pa.schema([question.record.field(name) for name in read]),
        partition_keys=tuple(name for name in question.partition_keys if name in read),
        cells=(),
        early=EVERYTHING,
        late=question.condition,
    )
    plan = ReadPlan(
        subject=f"dataset {question.uuid}",
        inputs=(source,),
        files=(table,),
        units=pa.table({"unit": pa.array(numbers)}),
        joins=(),
        after=EVERYTHING,
        schema=source.schema,
    )
    return ScanPlan(plan, dict(pruned.dropped.items()))
