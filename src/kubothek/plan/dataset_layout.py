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
from kubothek.plan.layout import share_types


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
        Partition keys, tables or schemas of the change differ from each other or from the base's, or tables give one
        column different types.
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
        return DatasetLayout(keys, share_types(new, f"dataset {uuid!r}"))
    if offered and set(offered) != set(base.schemas):
        raise SchemaError(
            f"Dataset {uuid!r} has the table(s) {listed(base.schemas)}, but '{change.operation}' has "
            f"{listed(offered)}. Each partition has every table."
        )
    merged = {t: _merged([schema, *offered.get(t, ())], t, uuid) for t, schema in base.schemas.items()}
    # What other software has written may be odd; only new rows have to be better.
    return DatasetLayout(keys, share_types(merged, f"dataset {uuid!r}") if offered else merged)


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
    check_index_columns(new, layout, uuid)
    uncovered = [c for c in new if c not in change.build_indices]
    if uncovered and base is not None and base.partitions.num_rows:
        raise InvalidInputError(
            f"Dataset {uuid!r} has indices on {listed(stored)} and partitions that are not indexed by "
            f"{listed(uncovered)}. Build the index first with build_dataset_indices, or leave these columns out of "
            "secondary_indices.",
            columns=tuple(uncovered),
        )
    return columns


def _stored_indices(base: Base | None) -> tuple[str, ...]:
    return () if base is None else tuple(dict.fromkeys((*base.header.indices, *base.header.embedded_indices)))


def check_index_columns(columns: Iterable[str], layout: DatasetLayout, uuid: str) -> None:
    """Refuse columns that cannot have a secondary index.

    Raises
    ------
    UnknownColumnError, SchemaError, InvalidInputError
        They do not exist, have no flat type, or are partition columns; all of them are named.
    """
    found = {column: obstacle for column in columns if (obstacle := _index_obstacle(column, layout)) is not None}
    if not found:
        return
    kinds = {kind for kind, _ in found.values()}
    raise (kinds.pop() if len(kinds) == 1 else InvalidInputError)(
        f"Dataset {uuid!r} cannot have a secondary index on these columns:\n"
        + "\n".join(f"- {column!r} {reason}" for column, (_, reason) in found.items()),
        columns=tuple(found),
    )


def _index_obstacle(column: str, layout: DatasetLayout) -> tuple[type[InvalidInputError], str] | None:
    kind = column_type(layout, column)
    if column in layout.partition_keys:
        return InvalidInputError, "is a partition column, which needs no secondary index."
    if kind is None:
        names = dict.fromkeys(name for schema in layout.schemas.values() for name in schema.names)
        return UnknownColumnError, f"does not exist; there are {listed(names)}."
    if column == LABELS:
        return SchemaError, "has the name under which an index keeps its labels."
    if pa.types.is_null(kind):
        return SchemaError, "holds nulls only and has no type yet; an index can be built once it has values."
    if pa.types.is_nested(kind):
        return SchemaError, f"has type {kind}; an index needs a flat one."
    return None


def column_type(layout: DatasetLayout | Base, column: str) -> pa.DataType | None:
    """Return the type of record of a column, ``None`` where no table has it; a column of nulls leaves it to others."""
    kinds = [schema.field(column).type for schema in layout.schemas.values() if column in schema.names]
    return next((kind for kind in kinds if not pa.types.is_null(kind)), kinds[0] if kinds else None)


def missing_values(columns: Iterable[str], change: ChangeSet) -> tuple[str, ...]:
    """Return those of some columns, sorted, of which a change brings partitions without values to index."""
    brought = (*change.revived, *change.added)
    return tuple(sorted({c for c in columns for part in brought if c not in part.index_values}))


def check_values(indices: Iterable[str], change: ChangeSet, layout: DatasetLayout, uuid: str) -> None:
    """Refuse partitions without the values of indexed columns; those of a column that no table has are null.

    Raises
    ------
    InvalidInputError
        Values are missing; the columns are named.
    """
    missing = missing_values((c for c in indices if column_type(layout, c) is not None), change)
    if missing:
        raise InvalidInputError(
            f"Dataset {uuid!r} keeps an index on {listed(missing)}, but '{change.operation}' brings partitions "
            "without the values of these columns. Write them again now that the index exists, or forget it first with "
            "drop_dataset_indices.",
            columns=missing,
        )


def listed(names: Iterable[str]) -> str:
    """Return names for a message, quoted."""
    return ", ".join(map(repr, names)) or "nothing"
