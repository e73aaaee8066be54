"""How the rows of a write are laid out in files, and whether that fits the data, before any row is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kubothek.errors import InvalidInputError, SchemaError, UnknownColumnError
from kubothek.model.names import column_names
from kubothek.model.schema import normalise_schema

COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
ROWS_PER_ROW_GROUP = 262_144
"""Rows per row group unless the caller says otherwise: small enough to skip, large enough to compress."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are laid out in files.

    ``unique`` are columns of which no two rows of a physical partition may agree, and which may hold no null: the
    dimensions of a cube's dataset. All others are the parameters of :func:`kubothek.write_dataset`.
    """

    partition_on: tuple[str, ...] = ()
    secondary_indices: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    shuffle: bool = False
    bucket_by: tuple[str, ...] = ()
    num_buckets: int | None = None
    unique: tuple[str, ...] = ()
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
        shuffle=bool(shuffle),
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
    for name in ("num_buckets", "rows_per_row_group"):
        value = getattr(layout, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            yield f"{name} must be a positive integer, not {value!r}."
    if (layout.bucket_by or layout.num_buckets is not None) and not layout.shuffle:
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
