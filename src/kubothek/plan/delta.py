"""What a dataset is as a Delta table: its columns in Delta's types, and the commit that makes the log say so.

Delta has no unsigned integers, no times of day, no decimals beyond 38 digits and no columns without a type. Column
names that differ in upper and lower case alone are the same to it, and an empty text that partitions is a null. All of
these are refused before anything is written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kubothek.errors import InvalidInputError, SchemaError
from kubothek.model.delta import DeltaChange, DeltaLog, DeltaTable
from kubothek.model.read_plan import PARTITION_PREFIX

ZONE_FREE = "timestampNtz"
"""Feature that a reader must know of a table with timestamps of no zone."""

_FLAT = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", "UTC"): "timestamp",
}

_ADVICE = (
    (types.is_unsigned_integer, "cast it to int64, or to decimal128(20, 0) where values are larger"),
    (types.is_time, "store it as text, or as an int64 of microseconds since midnight"),
    (types.is_null, "it has no value yet, so leave it out, or write it with a type"),
    (types.is_decimal256, "cast it to decimal128, which has 38 digits"),
)


def delta_type(kind: pa.DataType) -> Any:
    """Return what Delta calls a type of Arrow: a name, or for lists and structs an object; ``None`` for those it lacks.

    Examples
    --------
    >>> delta_type(pa.list_(pa.int64()))
    {'type': 'array', 'elementType': 'long', 'containsNull': True}
    >>> delta_type(pa.uint64()) is None
    True
    """
    if types.is_dictionary(kind):
        return delta_type(kind.value_type)
    if types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_list(kind) or types.is_large_list(kind):
        item = delta_type(kind.value_type)
        return None if item is None else {"type": "array", "elementType": item, "containsNull": True}
    if types.is_struct(kind):
        fields = [_field(field.name, delta_type(field.type)) for field in kind]
        return None if any(one["type"] is None for one in fields) else {"type": "struct", "fields": fields}
    return _FLAT.get(kind)


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def delta_table(record: pa.Schema, partition_keys: Sequence[str], uuid: str, table: str) -> DeltaTable:
    """Return what a table of a dataset is as a Delta table.

    Raises
    ------
    SchemaError
        Columns have types that Delta lacks, or names that it takes for the same; all are named, with what to do.
    """
    problems = [*_without_type(record), *_same_names(record)]
    if problems:
        raise SchemaError(
            f"Table {table!r} of dataset {uuid!r} cannot be a Delta table:\n"
            + "\n".join(f"- {problem}" for _, problem in problems),
            columns=tuple(dict.fromkeys(name for name, _ in problems)),
        )
    fields = [_field(field.name, delta_type(field.type)) for field in record]
    schema = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
    features = {ZONE_FREE} if any(map(_is_zone_free, record.types)) else set()
    source = {"kubothek.uuid": uuid, "kubothek.table": table}
    return DeltaTable(schema, tuple(partition_keys), frozenset(features), source)


def _without_type(record: pa.Schema) -> Iterator[tuple[str, str]]:
    for field in record:
        if delta_type(field.type) is None:
            leaf = next(kind for kind in _leaves(field.type) if delta_type(kind) is None)
            advice = next((said for belongs, said in _ADVICE if belongs(leaf)), "cast it to a type that Delta has")
            inside = "" if leaf == field.type else f" (in {field.type})"
            yield field.name, f"column {field.name!r} is {leaf}{inside}, which Delta does not have; {advice}."


def _same_names(record: pa.Schema) -> Iterator[tuple[str, str]]:
    counts = Counter(name.lower() for name in record.names)
    for name in record.names:
        if counts[name.lower()] > 1:
            yield name, f"column {name!r} has the name of another one but for upper and lower case; rename one of them."


def _leaves(kind: pa.DataType) -> Iterator[pa.DataType]:
    if not types.is_nested(kind) or not kind.num_fields:
        yield kind
        return
    for number in range(kind.num_fields):
        yield from _leaves(kind.field(number).type)


def _is_zone_free(kind: pa.DataType) -> bool:
    return any(types.is_timestamp(leaf) and leaf.tz is None for leaf in _leaves(kind))


def differences(found: pa.Schema, record: pa.Schema) -> tuple[str, ...]:
    """Say how the columns of a data file differ from those that the log promises its readers.

    Examples
    --------
    >>> differences(pa.schema([("x", pa.int32())]), pa.schema([("x", pa.int64()), ("y", pa.string())]))
    ("'x' is int32 instead of int64", "'y' is missing")
    """
    said = []
    for field in record:
        if field.name not in found.names:
            said.append(f"{field.name!r} is missing")
        elif delta_type(found.field(field.name).type) != delta_type(field.type):
            said.append(f"{field.name!r} is {found.field(field.name).type} instead of {field.type}")
    return tuple(said)


def check_files(files: pa.Table, subject: str) -> None:
    """Refuse files that no Delta table can have: CSV files, and those whose partition value is an empty text.

    Raises
    ------
    InvalidInputError
        There are such files; how many, and one of them, is said.
    """
    problems = []
    other = files["key"].filter(pc.invert(pc.ends_with(files["key"], ".parquet")))
    if len(other):
        problems.append(f"{len(other):,} file(s) are no Parquet files, such as {other[0].as_py()!r}; write them anew.")
    for column in files.column_names:
        texts = files[column]
        if column.startswith(PARTITION_PREFIX) and (types.is_string(texts.type) or types.is_binary(texts.type)):
            count = pc.sum(pc.equal(pc.binary_length(texts), 0)).as_py() or 0
            if count:
                name = column.removeprefix(PARTITION_PREFIX)
                problems.append(
                    f"{count:,} file(s) have an empty text in partition column {name!r}, which is a null to Delta; "
                    "write them with another value."
                )
    if problems:
        raise InvalidInputError(f"{subject} cannot be a Delta table: {' '.join(problems)}")


def plan_delta(log: DeltaLog, table: DeltaTable, files: pa.Table, root: str) -> DeltaChange:
    """Decide which files the next commit of a log adds and removes.

    Parameters
    ----------
    log
        What the log says now.
    table
        What it is to say of the table.
    files
        The files that the table is to have: ``key``, ``rows``, ``bytes`` and ``partition/<name>``.
    root
        What their keys begin with, up to the table's root.

    Raises
    ------
    InvalidInputError
        The log is not that of an earlier export of this table.
    """
    if log.table is not None:
        _check_source(log.table.source, table.source, root)
    there = log.table
    relative = pc.utf8_slice_codeunits(files["key"], len(root))
    is_kept = pc.is_in(relative, value_set=pa.array(list(log.files), pa.string()))
    wanted = set(relative.to_pylist())
    features = table.features | (frozenset() if there is None else there.features)
    is_same = there is not None and (there.schema, there.partition_columns) == (table.schema, table.partition_columns)
    return DeltaChange(
        table=DeltaTable(table.schema, table.partition_columns, features, table.source),
        added=files.filter(pc.invert(is_kept)),
        removed=tuple(path for key, path in log.files.items() if key not in wanted),
        has_new_table=not is_same,
        has_new_features=there is None or features != there.features,
    )


def _check_source(there: Mapping[str, str], ours: Mapping[str, str], root: str) -> None:
    if there == ours:
        return
    name = ", ".join(f"{key.rpartition('.')[2]} {value!r}" for key, value in there.items())
    raise InvalidInputError(
        f"There is a Delta log in '{root}_delta_log/' already, {f'of {name}' if name else 'of other software'}. Delete "
        "that folder if nobody needs it, and export again."
    )
