"""Which tables, schemas, partition keys and indices a dataset has after a change.

The base's hold, and the change must fit them; only what a column of nulls left open is filled in (null gives way to a
type). Without a base, or where the base is overwritten, the change says it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from kubothek.errors import InvalidInputError, SchemaError, UnknownColumnError
from kubothek.model.header import Header
from kubothek.model.schema import merge_schemas, normalise_schema
from kubothek.model.staged import ChangeSet
from kubothek.plan.index_merge import LABELS


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """The dataset to which a change is applied.

    ``partition_keys`` and ``partitions`` are known here, also where the header leaves them open; ``schemas`` is the
    schema of record per table, in order.
    """

    header: Header
    partition_keys: tuple[str, ...]
    partitions: pa.Table
    schemas: Mapping[str, pa.Schema]


@dataclass(frozen=True, slots=True, eq=False)
class DatasetLayout:
    """Partition keys of a dataset, and its schema of record per table."""

    partition_keys: tuple[str, ...]
    schemas: Mapping[str, pa.Schema]


def next_layout(base: Base | None, change: ChangeSet, uuid: str) -> DatasetLayout:
    """Return partition keys and schemas after a change.

    Raises
    ------
    SchemaError
        Partition keys, tables or schemas of the change differ from each other or from the base's.
    """
    keys = change.partition_keys
    if base is not None:
        stored = base.partition_keys
        if keys is not None and keys != stored:
            raise SchemaError(
                f"Dataset {uuid!r} is partitioned by {listed(stored)}, but '{change.operation}' is partitioned by "
                f"{listed(keys)}. Partition the data alike, or overwrite the dataset.",
                columns=keys,
            )
        keys = stored
    keys = keys or ()
    offered = _offered_schemas(change)
    if base is None:
        if not offered:
            raise SchemaError(f"Dataset {uuid!r} cannot be created without a schema: give data, or a schema.")
        new = {t: normalise_schema(_merged(schemas, t, uuid), keys) for t, schemas in offered.items()}
        return DatasetLayout(keys, new)
    if offered and set(offered) != set(base.schemas):
        raise SchemaError(
            f"Dataset {uuid!r} has the table(s) {listed(base.schemas)}, but '{change.operation}' has "
            f"{listed(offered)}. Each partition has every table."
        )
    merged = {t: _merged([schema, *offered.get(t, ())], t, uuid) for t, schema in base.schemas.items()}
    return DatasetLayout(keys, merged)


def _offered_schemas(change: ChangeSet) -> dict[str, list[pa.Schema]]:
    """Return the different schemas per table that a change brings; a write has few, however many files it has."""
    offered: dict[str, dict[pa.Schema, None]] = {}
    for schemas in (change.tables or {}, *(part.schema for part in change.added)):
        for table, schema in schemas.items():
            offered.setdefault(table, {})[schema] = None
    return {table: list(schemas) for table, schemas in offered.items()}


def _merged(schemas: list[pa.Schema], table: str, uuid: str) -> pa.Schema:
    merged = schemas[0]
    for schema in schemas[1:]:
        merged = merge_schemas(merged, schema, what=f"table {table!r} of dataset {uuid!r}")
    return merged


def next_indices(base: Base | None, change: ChangeSet, layout: DatasetLayout, uuid: str) -> tuple[str, ...]:
    """Return the columns that have a secondary index after a change, those of the base first.

    Raises
    ------
    InvalidInputError
        An index would not cover all partitions, or its column cannot be indexed.
    """
    stored = _stored_indices(base)
    wanted = (*(change.index_columns or ()), *change.build_indices)
    columns = tuple(c for c in dict.fromkeys((*stored, *wanted)) if c not in change.drop_indices)
    new = [c for c in columns if c not in stored]
    for column in new:
        _check_index_column(column, layout, uuid)
    uncovered = [c for c in new if c not in change.build_indices]
    if uncovered and base is not None and base.partitions.num_rows:
        raise InvalidInputError(
            f"Dataset {uuid!r} has indices on {listed(stored)} and partitions that are not indexed by "
            f"{listed(uncovered)}. Leave these columns out of secondary_indices, or overwrite the dataset.",
            columns=tuple(uncovered),
        )
    _check_values(columns, change, uuid)
    return columns


def _stored_indices(base: Base | None) -> tuple[str, ...]:
    return () if base is None else tuple(dict.fromkeys((*base.header.indices, *base.header.embedded_indices)))


def _check_index_column(column: str, layout: DatasetLayout, uuid: str) -> None:
    kind = column_type(layout, column)
    if column in layout.partition_keys:
        raise InvalidInputError(
            f"Column {column!r} of dataset {uuid!r} is a partition column, which needs no secondary index.",
            columns=(column,),
        )
    if kind is None:
        raise UnknownColumnError(f"Dataset {uuid!r} has no column {column!r} to index.", columns=(column,))
    if pa.types.is_null(kind) or pa.types.is_nested(kind) or column == LABELS:
        raise SchemaError(
            f"Column {column!r} of dataset {uuid!r} cannot be indexed: an index needs a flat type (it has {kind}) and "
            f"a name other than {LABELS!r}.",
            columns=(column,),
        )


def column_type(layout: DatasetLayout, column: str) -> pa.DataType | None:
    """Return the type of record of a column, ``None`` where no table has it."""
    return next((s.field(column).type for s in layout.schemas.values() if column in s.names), None)


def _check_values(columns: tuple[str, ...], change: ChangeSet, uuid: str) -> None:
    missing = sorted({c for c in columns for part in change.added if c not in part.index_values})
    if missing:
        raise InvalidInputError(
            f"Dataset {uuid!r} keeps an index on {listed(missing)}, but '{change.operation}' brings partitions "
            "without the values of these columns. Write them again now that the index exists, or drop it first.",
            columns=tuple(missing),
        )


def listed(names: Iterable[str]) -> str:
    """Return names for a message, quoted."""
    return ", ".join(map(repr, names)) or "nothing"
