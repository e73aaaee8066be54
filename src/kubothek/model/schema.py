"""Which types a dataset can hold, and how the schemas of its parts become one.

Data files keep whatever width they were written with; what readers are promised is the *schema of record*, in which
every type is normalised (:func:`normalise_type`), the partition columns come first and all others follow by name
(:func:`normalise_schema`). Two schemas fit if they name the same columns with the same normalised types, where a
column without any value (type null) fits everything and takes the other's type (:func:`merge_schemas`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyarrow import types

from kubothek.errors import SchemaError


def normalise_type(t: pa.DataType) -> pa.DataType:
    """Return the type under which the format keeps values of type ``t``.

    Integers and floats are widened to 64 bits, encodings (dictionary, large, view) are dropped, times are kept in
    microseconds and zone-aware ones in UTC. Lists and structs are normalised inside.

    Raises
    ------
    SchemaError
        If the format has no type that holds these values.

    Examples
    --------
    >>> normalise_type(pa.list_(pa.int8()))
    ListType(list<item: int64>)
    >>> normalise_type(pa.dictionary(pa.int32(), pa.large_string()))
    DataType(string)
    """
    if types.is_dictionary(t) or types.is_run_end_encoded(t):
        return normalise_type(t.value_type)
    if _is_list(t):
        return pa.list_(pa.field("item", normalise_type(t.value_type)))
    if types.is_struct(t) and t.num_fields:
        names = _names(t)
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise SchemaError(
                f"the format cannot hold type {t}: {', '.join(map(repr, doubled))} occurs more than once; rename one"
            )
        return pa.struct([pa.field(f.name, normalise_type(f.type)) for f in t])
    flat = _normalise_flat(t)
    if flat is None:
        raise SchemaError(f"the format cannot hold type {t}; {_ADVICE.get(_family(t), 'cast it to a type it holds')}")
    return flat


def _normalise_flat(t: pa.DataType) -> pa.DataType | None:
    if types.is_timestamp(t):
        return pa.timestamp("us", tz=None if t.tz is None else "UTC")
    if types.is_decimal(t):
        if not 0 <= t.scale <= t.precision:
            return None  # Parquet has no such decimals
        return t if types.is_decimal256(t) else pa.decimal128(t.precision, t.scale)
    for belongs, normalised in _FLAT:
        if belongs(t):
            return normalised
    return None


def _is_list(t: pa.DataType) -> bool:
    return bool(
        types.is_list(t)
        or types.is_large_list(t)
        or types.is_fixed_size_list(t)
        or types.is_list_view(t)
        or types.is_large_list_view(t)
    )


def _is_text(t: pa.DataType) -> bool:
    return bool(types.is_string(t) or types.is_large_string(t) or types.is_string_view(t))


def _is_bytes(t: pa.DataType) -> bool:
    return bool(
        types.is_binary(t) or types.is_large_binary(t) or types.is_binary_view(t) or types.is_fixed_size_binary(t)
    )


_FLAT = (
    (types.is_null, pa.null()),
    (types.is_boolean, pa.bool_()),
    (types.is_signed_integer, pa.int64()),
    (types.is_unsigned_integer, pa.uint64()),
    (types.is_floating, pa.float64()),
    (_is_text, pa.string()),
    (_is_bytes, pa.binary()),
    (types.is_date, pa.date32()),
    (types.is_time, pa.time64("us")),
)

_ADVICE = {
    "duration": "store it as an integer with the unit in the column's name",
    "interval": "store it as an integer with the unit in the column's name",
    "map": "store it as a list of structs with the fields key and value",
    "union": "store one column per alternative",
    "extension": "cast it to its storage type",
}


def _family(t: pa.DataType) -> str:
    if isinstance(t, pa.BaseExtensionType):
        return "extension"
    for name in ("duration", "interval", "map", "union"):
        if getattr(types, f"is_{name}")(t):
            return name
    return "other"


def normalise_schema(schema: pa.Schema, partition_keys: Sequence[str] = ()) -> pa.Schema:
    """Return the schema of record for data of this schema.

    Partition columns come first, in the order of ``partition_keys``, then all others sorted by name. All fields are
    nullable and carry no metadata.

    Raises
    ------
    SchemaError
        If a name occurs twice, a partition column is missing or cannot be one, or a type cannot be held; the message
        lists all problems and ``columns`` names the columns.

    Examples
    --------
    >>> schema = pa.schema([("v1", pa.int8()), ("p", pa.string()), ("i1", pa.date64())])
    >>> normalise_schema(schema, ["p"])
    p: string
    i1: date32[day]
    v1: int64
    """
    names = schema.names
    problems = [(name, "occurs more than once") for name in sorted({n for n in names if names.count(n) > 1})]
    problems += [(key, "is a partition column but not in the data") for key in partition_keys if key not in names]
    fields: dict[str, pa.Field] = {}
    for field in schema:
        try:
            fields[field.name] = pa.field(field.name, normalise_type(field.type))
            if field.name in partition_keys:
                check_partition_type(field)
        except SchemaError as error:
            problems.append((field.name, str(error)))
    if problems:
        raise SchemaError(
            "The columns cannot be stored:\n" + "\n".join(f"- {name!r}: {problem}" for name, problem in problems),
            columns=tuple(dict.fromkeys(name for name, _ in problems)),
        )
    rest = sorted(name for name in fields if name not in partition_keys)
    return pa.schema([fields[name] for name in (*partition_keys, *rest)])


def check_partition_type(field: pa.Field) -> None:
    """Refuse a type whose values have no exact text in a file's path.

    Booleans, integers, floats, decimals, strings, bytes (valid UTF-8 only), dates and zone-free timestamps may be
    partition columns.

    Raises
    ------
    SchemaError
        If the type is another one.
    """
    t = normalise_type(field.type)
    if types.is_timestamp(t) and t.tz is not None:
        raise SchemaError(
            f"partition column {field.name!r} has the zone-aware type {field.type}, which old readers cannot open; "
            f'drop the zone first, on Spark with .cast("timestamp_ntz")',
            columns=(field.name,),
        )
    if types.is_null(t) or types.is_time(t) or types.is_nested(t):
        raise SchemaError(
            f"partition column {field.name!r} has type {field.type}, whose values cannot be part of a path; "
            "partition by a column of booleans, numbers, text, dates or zone-free timestamps",
            columns=(field.name,),
        )


def merge_schemas(base: pa.Schema, new: pa.Schema, *, what: str, stored: bool = True) -> pa.Schema:
    """Return the schema of record that holds for data of both schemas, in the order of ``base``.

    Both are normalised. Types must be equal, except that null gives way to any type, also inside lists and structs.

    Parameters
    ----------
    base, new
        What is there, and what is to fit it.
    what
        For the message: whose schema ``new`` is, such as ``"table 'table' of dataset 'flights'"``.
    stored
        For the message: whether ``base`` is in the store, or comes before ``new`` in the same data.

    Raises
    ------
    SchemaError
        If the columns or types differ; the message shows the difference.

    Examples
    --------
    >>> merge_schemas(pa.schema([("v1", pa.null())]), pa.schema([("v1", pa.int64())]), what="the update")
    v1: int64
    """
    merged = {f.name: _merge_types(f.type, new.field(f.name).type) for f in base if f.name in new.names}
    wrong = sorted({*base.names} ^ {*new.names} | {name for name, t in merged.items() if t is None})
    if wrong:
        before, after = ("stored", ", or overwrite the dataset") if stored else ("first", "")
        raise SchemaError(
            f"The schema of {what} does not fit the {before} one in {', '.join(map(repr, wrong))}:\n"
            f"{_difference(base, new, before)}\nWrite the same columns with the same types{after}.",
            columns=tuple(wrong),
        )
    return pa.schema([pa.field(name, t) for name, t in merged.items()])


def joint_schema(schemas: Iterable[pa.Schema], partition_keys: Sequence[str]) -> pa.Schema:
    """Return the columns of several tables of one dataset: partition columns first, all others by name.

    Tables share a column only with one type, except that it may be null, which gives way to any other.

    Examples
    --------
    >>> joint_schema([pa.schema({"p": pa.int64(), "v1": pa.null()}), pa.schema({"v1": pa.string()})], ["p"])
    p: int64
    v1: string
    """
    fields: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        if field.name not in fields or types.is_null(fields[field.name].type):
            fields[field.name] = field
    rest = sorted(name for name in fields if name not in partition_keys)
    return pa.schema([fields[name] for name in (*(key for key in partition_keys if key in fields), *rest)])


def _merge_types(base: pa.DataType, new: pa.DataType) -> pa.DataType | None:
    if base == new or types.is_null(new):
        return base
    if types.is_null(base):
        return new
    if types.is_list(base) and types.is_list(new):
        item = _merge_types(base.value_type, new.value_type)
        return None if item is None else pa.list_(pa.field("item", item))
    if types.is_struct(base) and types.is_struct(new) and _names(base) == _names(new):
        inner = [(f.name, _merge_types(f.type, new.field(i).type)) for i, f in enumerate(base)]
        return None if any(t is None for _, t in inner) else pa.struct([pa.field(name, t) for name, t in inner])
    return None


def _names(struct: Iterable[pa.Field]) -> list[str]:
    return [field.name for field in struct]


def _difference(base: pa.Schema, new: pa.Schema, before: str) -> str:
    old_lines, new_lines = (
        [f"{name}: {schema.field(name).type}" for name in sorted(schema.names)] for schema in (base, new)
    )
    return "\n".join(difflib.unified_diff(old_lines, new_lines, before, "new", lineterm="", n=1))
