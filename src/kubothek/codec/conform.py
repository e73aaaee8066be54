"""How the columns of a data file become rows of record, whatever kind of file it is and whoever wrote it.

Stored columns are cast to their types of record; the columns whose value is the same for the whole file are made from
that value; the condition is asked of both. A column of record of type ``dictionary<int32, T>`` is given as a
dictionary, of its own per piece of a file; all others are given plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kubothek.model.condition import EVERYTHING, Condition
from kubothek.plan.match import as_type, match_rows

Columns = dict[str, pa.ChunkedArray]


def conform_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a stored column to its type of record.

    Nanoseconds are cut off; any other value that the type cannot hold raises ``ArrowInvalid``.

    Examples
    --------
    >>> stored = pa.chunked_array([pa.array(["a", "b", "a"]).dictionary_encode()])
    >>> conform_column(stored, pa.large_string()).to_pylist()
    ['a', 'b', 'a']
    """
    if column.type == kind:
        return column
    if pa.types.is_run_end_encoded(column.type):
        decoded = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return conform_column(pa.chunked_array(decoded, column.type.value_type), kind)
    if pa.types.is_dictionary(kind):
        return conform_column(column, kind.value_type).dictionary_encode()
    if pa.types.is_dictionary(column.type):
        # The distinct values first: they are fewer, and Arrow cannot decode a dictionary of views.
        return pa.chunked_array([as_type(c.dictionary, kind).take(c.indices) for c in column.chunks], kind)
    return as_type(column, kind)


def constant_column(value: pa.Scalar, kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column of record that has one value, or null, in all rows."""
    if not value.is_valid:
        return pa.nulls(rows, kind)
    if pa.types.is_dictionary(kind):
        distinct = pa.repeat(value.cast(kind.value_type), 1)
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, kind.index_type), rows), distinct)
    return pa.repeat(value.cast(kind), rows)


def row_mask(
    condition: Condition, columns: Mapping[str, pa.ChunkedArray], constants: Mapping[str, pa.Scalar], rows: int
) -> pa.BooleanArray | None:
    """Return which rows match, or ``None`` where there is nothing to ask."""
    if condition == EVERYTHING:
        return None
    values = dict(columns) | {n: pa.repeat(v, rows) for n, v in constants.items() if n in condition.columns}
    values = values or {"": pa.nulls(rows)}
    return match_rows(condition, pa.table(values))


def assemble(
    found: Mapping[str, pa.ChunkedArray],
    constants: Mapping[str, pa.Scalar],
    record: pa.Schema,
    columns: Sequence[str],
    rows: int,
) -> pa.Table:
    """Put columns together as a table of record of so many rows; constants win over what was stored."""
    if not columns:
        return counted(rows)
    schema = pa.schema([record.field(name) for name in columns])
    arrays = [
        constant_column(constants[field.name], field.type, rows)
        if field.name in constants
        else conform_column(found[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def concat_rows(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Put tables of one schema together, dictionaries unified; rows without columns are counted."""
    tables = [table for table in tables if table.num_rows]  # no chunk is empty
    if not schema.names:  # concatenation would forget how many rows there are
        return counted(sum(table.num_rows for table in tables))
    table = pa.concat_tables(tables or [schema.empty_table()])
    encoded = [pa.types.is_dictionary(kind) and not pa.types.is_null(kind.value_type) for kind in schema.types]
    if not any(encoded):
        return table
    columns = [c.unify_dictionaries() if one else c for c, one in zip(table.columns, encoded, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def counted(rows: int) -> pa.Table:
    """Return a table of so many rows and no columns."""
    return pa.table({"rows": pa.nulls(rows)}).select([])
