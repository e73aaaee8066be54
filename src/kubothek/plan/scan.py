"""What a scan of one table reads: names and types checked first, files chosen second.

Steps: :func:`ask_scan` checks the columns and the condition and says which index entries to look up;
:func:`plan_scan` takes what the indices answered and returns the plan, one unit per file, with the files that each
rule dropped. How rows are grouped is in :mod:`kubothek.plan.groups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyarrow import types

from kubothek.errors import InvalidInputError, UnknownColumnError
from kubothek.model.condition import EVERYTHING, Condition
from kubothek.model.header import SINGLE_TABLE
from kubothek.model.read_plan import ReadInput, ReadPlan, files_schema
from kubothek.plan.bind import bind
from kubothek.plan.prune import Lookup, index_lookups, prune_files


@dataclass(frozen=True, slots=True)
class ScanSubject:
    """The table that is scanned: what the names and types of a scan are checked against.

    ``record`` is its schema of record. ``attached`` are columns that no table has, only an index, with one value per
    file (``kubothek.plan.attached``). ``elsewhere`` maps columns that only other tables of the dataset have to one of
    these tables.
    """

    uuid: str
    table: str
    record: pa.Schema
    partition_keys: tuple[str, ...]
    index_columns: tuple[str, ...]
    attached: pa.Schema = field(default_factory=lambda: pa.schema([]))
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def known(self) -> pa.Schema:
        """All columns that can be named."""
        return pa.schema([*self.record, *self.attached])

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns that have one value per file."""
        return (*self.partition_keys, *self.attached.names)

    @property
    def is_alone(self) -> bool:
        """Whether it need not be told from other tables."""
        return self.table == SINGLE_TABLE and not self.elsewhere

    def __str__(self) -> str:
        """Name it in messages."""
        return f"dataset {self.uuid!r}" if self.is_alone else f"table {self.table!r} of dataset {self.uuid!r}"


@dataclass(frozen=True, slots=True)
class ScanQuestion:
    """A scan whose names and types are known to fit; ``lookups`` are what its indices are to be asked."""

    subject: ScanSubject
    columns: tuple[str, ...]
    condition: Condition
    categoricals: frozenset[str]
    lookups: tuple[Lookup, ...]

    def schema_of(self, names: Iterable[str]) -> pa.Schema:
        """Return the schema in which these columns are given: their types of record, categoricals as dictionaries."""
        known = self.subject.known
        return pa.schema([_as_dictionary(known.field(n)) if n in self.categoricals else known.field(n) for n in names])


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The plan, and the files that each rule dropped, with all their facts."""

    plan: ReadPlan
    dropped: Mapping[str, pa.Table]


def ask_scan(
    subject: ScanSubject, columns: Sequence[str] | None, condition: Condition, categoricals: Sequence[str] = ()
) -> ScanQuestion:
    """Check what a scan asks for.

    Parameters
    ----------
    subject
        What is scanned.
    columns
        Columns of the result, distinct and in order; ``None`` for all of the table.
    condition
        Which rows.
    categoricals
        Columns to give as dictionaries; those that are not in the result have no effect.

    Raises
    ------
    UnknownColumnError
        A column does not exist; all that do not are named, and tables that have them.
    InvalidInputError
        A nested column is wanted as a dictionary.
    PredicateTypeError
        The condition holds a value that its column cannot have.
    """
    wanted = tuple(subject.record.names if columns is None else columns)
    check_names(subject, (*wanted, *categoricals))
    nested = [name for name in categoricals if types.is_nested(subject.known.field(name).type)]
    if nested:
        kinds = ", ".join(f"{name!r} of type {subject.known.field(name).type}" for name in nested)
        raise InvalidInputError(
            f"categoricals names {kinds}, but lists and structs cannot be dictionaries.", columns=tuple(nested)
        )
    bound = _bind(subject, condition)
    return ScanQuestion(
        subject=subject,
        columns=wanted,
        condition=bound,
        categoricals=frozenset(categoricals),
        lookups=index_lookups(bound, set(subject.index_columns).difference(subject.constant)),
    )


def check_names(subject: ScanSubject, names: Iterable[str]) -> None:
    """Refuse columns that the table does not have, with a hint where another one does."""
    unknown = tuple(dict.fromkeys(name for name in names if name not in subject.known.names))
    if unknown:
        raise UnknownColumnError(
            f"There is no column {', '.join(map(repr, unknown))} in {subject}; it has "
            f"{', '.join(subject.known.names)}.{_found_elsewhere(subject, unknown)}",
            columns=unknown,
        )


def _bind(subject: ScanSubject, condition: Condition) -> Condition:
    try:
        return bind(condition, subject.known, subject=str(subject))
    except InvalidInputError as error:
        hint = _found_elsewhere(subject, error.details["columns"])
        if not hint:
            raise
        raise type(error)(error.message + hint, **error.details) from None


def _found_elsewhere(subject: ScanSubject, columns: Iterable[str]) -> str:
    tables: dict[str, list[str]] = {}
    for name in columns:
        if name in subject.elsewhere:
            tables.setdefault(subject.elsewhere[name], []).append(name)
    return "".join(
        f" Table {table!r} has {', '.join(map(repr, names))}: tables are scanned one by one, that one by "
        f"table={table!r}."
        for table, names in tables.items()
    )


def _as_dictionary(one: pa.Field) -> pa.Field:
    """A column without any value has no type, and stays as it is."""
    return one if types.is_null(one.type) else one.with_type(pa.dictionary(pa.int32(), one.type))


def plan_scan(question: ScanQuestion, files: pa.Table, hits: Mapping[Lookup, pa.Array]) -> ScanPlan:
    """Choose the files that may hold a matching row.

    Parameters
    ----------
    question
        The checked scan.
    files
        The table's files, with the values of the subject's partition and attached columns.
    hits
        For each of the question's lookups, the labels under which its index has a matching value.
    """
    subject = question.subject
    pruned = prune_files(files, question.condition, subject.constant, hits)
    numbers = np.arange(pruned.kept.num_rows, dtype=np.int32)
    read = dict.fromkeys([*question.columns, *sorted(question.condition.columns)])
    source = ReadInput(
        name=subject.uuid,
        uuid=subject.uuid,
        table=subject.table,
        schema=question.schema_of(question.columns),
        record=question.schema_of(read),
        partition_keys=tuple(name for name in subject.constant if name in read),
        dimensions=(),
        early=EVERYTHING,
        late=question.condition,
        stored_columns=len({*subject.record.names} - {*subject.partition_keys}),
    )
    plan = ReadPlan(
        subject=f"dataset {subject.uuid}" if subject.is_alone else f"table {subject.table} of dataset {subject.uuid}",
        inputs=(source,),
        files=(numbered_files(subject, pruned.kept, numbers),),
        units=pa.table({"unit": pa.array(numbers)}),
        joins=(),
        after=EVERYTHING,
        schema=source.schema,
    )
    return ScanPlan(plan, dict(pruned.dropped.items()))


def numbered_files(subject: ScanSubject, files: pa.Table, units: np.ndarray) -> pa.Table:
    """Return the file table of a plan: the files, each with the number of the unit that reads it."""
    known = subject.known
    schema = files_schema(pa.schema([known.field(name) for name in subject.constant]))
    columns = dict(zip(files.column_names, files.columns, strict=True))
    columns |= {"unit": pa.array(units, pa.int32()), "overlay": pa.repeat(False, files.num_rows)}
    return pa.table([columns[name] for name in schema.names], schema=schema)
