"""Serializers, which say how data files are written, and Kartothek's predicates, applied to frames in memory.

Predicates are lists of lists of ``(column, operator, value)``, of which any inner list must hold completely. What a
null or another type of value matches is the same here as in all reads of Kubothek.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kubothek.compat.stores import StoreInput, as_store
from kubothek.dataset.staging.pandas_rows import table_from_pandas
from kubothek.errors import InvalidInputError
from kubothek.model.schema import normalise_schema
from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.plan.match import match_rows

__all__ = [
    "ConjunctionType",
    "CsvSerializer",
    "DataFrameSerializer",
    "LiteralType",
    "LiteralValue",
    "ParquetSerializer",
    "PredicatesType",
    "check_predicates",
    "columns_in_predicates",
    "default_serializer",
    "filter_array_like",
    "filter_df",
    "filter_df_from_predicates",
    "filter_predicates_by_column",
]

LiteralValue = TypeVar("LiteralValue")
LiteralType = tuple[str, str, Any]
ConjunctionType = list[LiteralType]
PredicatesType = list[ConjunctionType] | None


class DataFrameSerializer:
    """How frames become files."""

    @staticmethod
    def restore_dataframe(
        store: StoreInput,
        key: str,
        filter_query: str | None = None,
        columns: Sequence[str] | None = None,
        predicate_pushdown_to_io: bool = True,
        categories: Sequence[str] | None = None,
        predicates: PredicatesType = None,
        date_as_object: bool = False,
    ) -> Any:
        """Read one Parquet file as a pandas frame."""
        del predicate_pushdown_to_io
        wanted = None if columns is None else [*dict.fromkeys([*columns, *columns_in_predicates(predicates)])]
        data = pa.BufferReader(as_store(store).get(key).data)
        table = pq.read_table(data, columns=wanted, read_dictionary=list(categories or ()))
        table = table.filter(_mask(table, predicates)) if predicates else table
        table = table if columns is None else table.select(list(columns))
        frame = table.to_pandas(date_as_object=date_as_object, ignore_metadata=True)
        return filter_df(frame, filter_query)


class ParquetSerializer(DataFrameSerializer):
    """Data files in Parquet: how they are compressed, and how many rows a row group has.

    Examples
    --------
    >>> import pandas as pd
    >>> key = ParquetSerializer("ZSTD").store("memory://compat_serializer", "a/b", pd.DataFrame({"x": [1, 2]}))
    >>> (
    ...     key,
    ...     ParquetSerializer.restore_dataframe("memory://compat_serializer", key, predicates=[[("x", ">", 1)]])["x"][
    ...         0
    ...     ],
    ... )
    ('a/b.parquet', np.int64(2))
    """

    def __init__(self, compression: str = "SNAPPY", chunk_size: int | None = None) -> None:
        if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int)):
            raise TypeError(f"chunk_size must be a number of rows, not {chunk_size!r}.")
        if chunk_size is not None and chunk_size < 1:
            raise InvalidInputError(f"chunk_size must be 1 row at least, not {chunk_size}.")
        self.compression = compression
        self.chunk_size = chunk_size

    def store(self, store: StoreInput, key_prefix: str, df: Any) -> str:
        """Write a pandas frame and return its key."""
        out = io.BytesIO()
        table = table_from_pandas(df, f"object {key_prefix!r}")
        pq.write_table(table, out, compression=self.compression, row_group_size=self.chunk_size)
        key = f"{key_prefix}.parquet"
        as_store(store).put(key, out.getvalue())
        return key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParquetSerializer):
            return False
        return (self.compression, self.chunk_size) == (other.compression, other.chunk_size)

    def __hash__(self) -> int:
        return hash((self.compression, self.chunk_size))

    def __repr__(self) -> str:
        return f"ParquetSerializer(compression={self.compression!r}, chunk_size={self.chunk_size!r})"


class CsvSerializer(DataFrameSerializer):
    """Data files as CSV, which old datasets may have; they are read, and not written."""

    def __init__(self, compress: bool = True) -> None:
        self.compress = compress


def default_serializer() -> ParquetSerializer:
    """Return the serializer that Kartothek takes where none is given."""
    return ParquetSerializer()


def check_predicates(predicates: PredicatesType) -> None:
    """Refuse predicates that are none; all problems are named."""
    parse_where(predicates)


def columns_in_predicates(predicates: PredicatesType) -> set[str]:
    """Return the columns that predicates look at.

    >>> sorted(columns_in_predicates([[("x", "==", 1)], [("x", ">", 5), ("y", "in", [1])]]))
    ['x', 'y']
    """
    return set() if predicates is None else set(parse_where(predicates).columns)


def filter_predicates_by_column(predicates: PredicatesType, columns: Iterable[str]) -> PredicatesType:
    """Return what predicates say of these columns alone, ``None`` where that is nothing."""
    if predicates is None:
        return None
    known = set(columns)
    parts = [[literal for literal in conjunction if literal[0] in known] for conjunction in predicates]
    return [part for part in parts if part] or None


def filter_df_from_predicates(df: Any, predicates: PredicatesType, strict_date_types: bool = False) -> Any:
    """Return the rows of a pandas frame that match; which values fit a date is the same in all reads.

    Examples
    --------
    >>> import pandas as pd
    >>> filter_df_from_predicates(pd.DataFrame({"x": [1, 2, 3]}), [[("x", "==", 1)], [("x", ">", 2)]])["x"].tolist()
    [1, 3]
    """
    del strict_date_types
    if predicates is None:
        return df
    looked_at = df[sorted(columns_in_predicates(predicates))]
    return df[_mask(table_from_pandas(looked_at, "the frame"), predicates).to_numpy(zero_copy_only=False)]


def filter_df(df: Any, filter_query: str | None = None) -> Any:
    """Return the rows of a pandas frame that match a text that pandas understands."""
    return df if filter_query is None else df.query(filter_query)


def filter_array_like(
    array_like: Any,
    op: str,
    value: Any,
    mask: Any = None,
    out: Any = None,
    strict_date_types: bool = False,
    column_name: str | None = None,
) -> Any:
    """Return which values of an array match, as a NumPy array of booleans.

    ``mask`` says which values may match at all; ``out`` takes the result.

    Examples
    --------
    >>> filter_array_like([1, 2, 3], ">", 1).tolist()
    [False, True, True]
    """
    del strict_date_types
    column = column_name or "array"
    table = pa.table({column: pa.array(array_like, from_pandas=True)})
    found = _mask(table, [[(column, op, value)]]).to_numpy(zero_copy_only=False)
    allowed = np.ones(len(found), dtype=bool) if mask is None else np.asarray(mask)
    return np.logical_and(found, allowed, out=out)


def _mask(table: pa.Table, predicates: PredicatesType) -> pa.BooleanArray:
    return match_rows(bind(parse_where(predicates), normalise_schema(table.schema), subject="the frame"), table)
