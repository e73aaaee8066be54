"""How the rows of a write are laid out in files, and whether that fits the data, before any row is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kubothek.errors import InvalidInputError, SchemaError, UnknownColumnError
from kubothek.model.names import column_names
from kubothek.model.schema import merge_schemas, normalise_schema
from kubothek.plan.index_merge import LABELS

COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
ROWS_PER_ROW_GROUP = 262_144
"""Rows per row group unless the caller says otherwise: small enough to skip, large enough to compress."""

_LIMIT = 2**31
"""What Parquet and Spark take as a number of rows or buckets is less."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are laid out in files.

    ``unique`` are columns of which no two rows may agree that agree in the partition columns ``apart``, and which may
    hold no null: the dimensions of a cube's dataset. All others are the parameters of :func:`kubothek.write_dataset`.
    """

    partition_on: tuple[str, ...] = ()
    secondary_indices: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    shuffle: bool = False
    bucket_by: tuple[str, ...] = ()
    num_buckets: int | None = None
    unique: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    compression: str = "zstd"
    rows_per_row_group: int = ROWS_PER_ROW_GROUP


def parse_layout(
    *,
    partition_on: Any = (),
    secondary_indices: Any = (),
    sort_by: Any = (),
    shuffle: bool = False,
    bucket_by: Any = (),
    num_buckets: int | None = None,
    compression: str = "zstd",
    rows_per_row_group: int | None = None,
) -> Layout:
    """Parse the layout parameters of a write.

    Raises
    ------
    InvalidInputError
        They are malformed or contradict each other; all problems are reported at once.
    """
    layout = Layout(
        partition_on=column_names(partition_on, "partition_on"),
        secondary_indices=column_names(secondary_indices, "secondary_indices"),
        sort_by=column_names(sort_by, "sort_by"),
        shuffle=shuffle,
        bucket_by=column_names(bucket_by, "bucket_by"),
        num_buckets=num_buckets,
        compression=str(compression).lower(),
        rows_per_row_group=ROWS_PER_ROW_GROUP if rows_per_row_group is None else rows_per_row_group,
    )
    problems = list(_problems(layout))
    if problems:
        raise InvalidInputError("The parameters of the write do not fit: " + " ".join(problems))
    return layout


def _problems(layout: Layout) -> Iterable[str]:
    both = sorted(set(layout.partition_on) & set(layout.secondary_indices))
    if both:
        yield f"{', '.join(both)} cannot be both partition column and secondary index."
    if LABELS in layout.secondary_indices:
        yield f"a column called {LABELS!r} cannot have an index, in which the format uses this name itself."
    for name in ("num_buckets", "rows_per_row_group"):
        value = getattr(layout, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _LIMIT):
            yield f"{name} must be a positive integer below 2^31, not {value!r}."
    shuffle: object = layout.shuffle
    if not isinstance(shuffle, bool | np.bool_):
        yield f"shuffle must be True or False, not {shuffle!r}."
    elif (layout.bucket_by or layout.num_buckets is not None) and not layout.shuffle:
        yield "bucket_by and num_buckets need shuffle=True."
    if layout.bucket_by and layout.num_buckets is None:
        yield "bucket_by needs num_buckets, the number of files per partition."
    if layout.compression not in COMPRESSIONS:
        yield f"compression must be one of {', '.join(COMPRESSIONS)}, not {layout.compression!r}."


def record_schema(schema: pa.Schema, layout: Layout, subject: str) -> pa.Schema:
    """Return the schema of record of data that is laid out in this way.

    Raises
    ------
    UnknownColumnError
        A column of the layout is not in the data.
    SchemaError
        A type cannot be held, sorted by or indexed, or nothing is left beside the partition columns.
    """
    asked: dict[str, Sequence[str]] = {
        "partition_on": layout.partition_on,
        "secondary_indices": layout.secondary_indices,
        "sort_by": layout.sort_by,
        "bucket_by": layout.bucket_by,
    }
    missing = {what: [n for n in names if n not in schema.names] for what, names in asked.items()}
    if any(missing.values()):
        told = "; ".join(f"{what} names {', '.join(names)}" for what, names in missing.items() if names)
        raise UnknownColumnError(
            f"The data for {subject} lacks columns: {told}. It has {', '.join(schema.names) or 'none'}.",
            columns=tuple(dict.fromkeys(name for names in missing.values() for name in names)),
        )
    record = normalise_schema(schema, layout.partition_on)
    if not set(record.names) - set(layout.partition_on):
        raise SchemaError(
            f"The data for {subject} has no column beside its partition columns "
            f"({', '.join(layout.partition_on) or 'none'}); a file needs at least one."
        )
    nested = [
        f"{name} ({record.field(name).type}) in {what}"
        for what in ("secondary_indices", "sort_by", "bucket_by")
        for name in asked[what]
        if pa.types.is_nested(record.field(name).type)
    ]
    if nested:
        raise SchemaError(f"Lists and structs have no order: {', '.join(nested)} of the data for {subject}.")
    return record


def record_schemas(schemas: Mapping[str, pa.Schema], layout: Layout, subject: str) -> dict[str, pa.Schema]:
    """Return the schema of record of each table of data that is laid out in this way.

    Partition and bucket columns, which say which rows of several tables belong together, are in all of them; columns to
    index or to sort by are in at least one. A column has one type in all tables that have it.

    Raises
    ------
    InvalidInputError
        As :func:`record_schema`, for the tables together or for one of them.
    """
    if len(schemas) == 1:
        return {table: record_schema(schema, layout, subject) for table, schema in schemas.items()}
    known = {name for schema in schemas.values() for name in schema.names}
    unknown = [name for name in dict.fromkeys((*layout.secondary_indices, *layout.sort_by)) if name not in known]
    if unknown:
        raise UnknownColumnError(
            f"No table of the data for {subject} has the columns {', '.join(unknown)}, which secondary_indices or "
            f"sort_by name. The tables are {', '.join(schemas)}.",
            columns=tuple(unknown),
        )
    if layout.num_buckets is not None and not layout.bucket_by:
        raise InvalidInputError(
            f"The data for {subject} has several tables, so bucket_by must name columns that each of them has: rows of "
            "different tables with equal values there belong together."
        )
    records = {}
    for table, schema in schemas.items():
        own = replace(
            layout,
            secondary_indices=tuple(name for name in layout.secondary_indices if name in schema.names),
            sort_by=tuple(name for name in layout.sort_by if name in schema.names),
        )
        records[table] = record_schema(schema, own, f"table {table!r} of {subject}")
    return share_types(records, subject)


def share_types(schemas: Mapping[str, pa.Schema], subject: str) -> dict[str, pa.Schema]:
    """Return the schemas of record of several tables such that each column has one type in all tables that have it.

    Columns without any value (type null) take the type that the column has elsewhere.

    Raises
    ------
    SchemaError
        A column has different types; all such columns are named.

    Examples
    --------
    >>> share_types({"a": pa.schema([("x", pa.null())]), "b": pa.schema([("x", pa.int64())])}, "dataset 'd'")["a"]
    x: int64
    """
    shared: dict[str, pa.Schema] = {}
    problems = []
    for table, schema in schemas.items():
        for field in schema:
            single = pa.schema([field])
            try:
                shared[field.name] = merge_schemas(shared.get(field.name, single), single, what=subject)
            except SchemaError:
                first = next(t for t, s in schemas.items() if field.name in s.names)
                problems.append(
                    (field.name, f"{shared[field.name].field(0).type} in {first!r}, {field.type} in {table!r}")
                )
    if problems:
        raise SchemaError(
            f"The tables of {subject} have columns of one name and different types: "
            + "; ".join(f"{name!r} ({types})" for name, types in problems)
            + ". Cast them to one type, or rename them.",
            columns=tuple(dict.fromkeys(name for name, _ in problems)),
        )
    return {t: pa.schema([shared[name].field(0) for name in schema.names]) for t, schema in schemas.items()}
