"""What may be handed over as rows, and what may not."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek.dataset.staging.incoming import ArrowRows, parse_rows
from kubothek.errors import InvalidInputError, SchemaError

TABLE = pa.table({"x": [1, 2], "i1": ["a", None]})


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


def pandas(x: Any, i1: Any, **settings: Any) -> pd.DataFrame:
    """Return a pandas DataFrame."""
    return pd.DataFrame({"x": x, "i1": i1}, **settings)


def polars(*types: Any) -> pl.DataFrame:
    """Return the rows as a Polars DataFrame with these types."""
    return pl.DataFrame(TABLE.to_pydict(), dict(zip(TABLE.column_names, types, strict=True)))


GIVEN: dict[str, Callable[[], Any]] = {
    "a table": lambda: TABLE,
    "a record batch": lambda: TABLE.to_batches()[0],
    "a reader": TABLE.to_reader,
    "a struct array": lambda: TABLE.to_struct_array().combine_chunks(),
    "pandas with an index": lambda: pandas([1, 2], ["a", None], index=[7, 9]),
    "pandas with a named index": lambda: pandas([1, 2], ["a", None], index=pd.Index([5, 5], name="x9")),
    "pandas with nullable types": lambda: pandas(pd.array([1, 2], "Int64"), pd.array(["a", None], "string")),
    "pandas with categories": lambda: pandas([1, 2], pd.Categorical(["a", None], ["z", "a"])),
    "polars": lambda: polars(pl.Int8, pl.String),
    "polars with categories": lambda: polars(pl.Int64, pl.Categorical),
    "polars with an enumeration": lambda: polars(pl.UInt8, pl.Enum(["a"])).cast({"x": pl.Int64}),
    "duckdb": lambda: duckdb.sql("SELECT 1 AS x, 'a' AS i1 UNION ALL SELECT 2, NULL ORDER BY x"),
    "a scan": lambda: kb.write_dataset(TABLE, "u", new_url()).scan(),
    "a list of tables": lambda: [TABLE.slice(0, 1), TABLE.slice(1)],
    "a generator of different kinds": lambda: iter([pl.DataFrame(TABLE.slice(0, 1)), TABLE.slice(1).to_pandas()]),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_accepted(name: str) -> None:
    """Whatever exports rows is written, by column name; an index is dropped."""
    ds = kb.write_dataset(GIVEN[name](), "u", new_url())
    assert ds.scan(["x", "i1"]).to_arrow().to_pydict() == TABLE.to_pydict()
    assert ds.schema == pa.schema([("i1", pa.string()), ("x", pa.int64())])


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a number": (lambda: 5, InvalidInputError, "int"),
    "a text": (lambda: "rows", InvalidInputError, "str"),
    "a dictionary": (TABLE.to_pydict, InvalidInputError, "table 'x' .*list"),
    "a lazy frame": (lambda: pl.LazyFrame({"x": [1]}), InvalidInputError, "LazyFrame"),
    "a list of rows": (TABLE.to_pylist, InvalidInputError, "table 'x' .*int"),
    "a list of lists": (lambda: [[TABLE]], InvalidInputError, "Element 0"),
    "a series": (lambda: pl.Series("x", [1]), SchemaError, "stream of rows"),
    "names that are no text": (lambda: pd.DataFrame({0: [1]}), SchemaError, "0 .int."),
    "names in two levels": (lambda: pd.DataFrame({("a", "b"): [1]}), SchemaError, "tuple"),
    "a name twice": (lambda: pa.table([[1], [2]], ["x", "x"]), SchemaError, "more than one column named x"),
    "a name twice in pandas": (lambda: pd.DataFrame([[1, 2]], columns=["x", "x"]), SchemaError, "named x"),
    "a name that the writer uses": (lambda: pa.table({"__kubothek_bucket": [1]}), SchemaError, "Rename"),
    "an integer that is too large": (lambda: pd.DataFrame({"x": [2**70]}), SchemaError, "one type"),
    "half a surrogate pair": (lambda: pd.DataFrame({"x": ["\ud800"]}), SchemaError, "one type"),
    "sparse values": (lambda: pd.DataFrame({"x": pd.array([1.0], dtype="Sparse[float]")}), SchemaError, "one type"),
    "mixed values": (lambda: pd.DataFrame({"x": [1, "a"]}), SchemaError, "one type"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """What is no table of rows is refused, with its kind and what to give instead."""
    given, error, told = REFUSED[name]
    with pytest.raises(error, match=told):
        kb.write_dataset(given(), "u", new_url())


def test_frames_are_taken_one_by_one() -> None:
    """A generator is not run ahead of its use."""
    rows = parse_rows((pytest.fail("taken too early") for _ in range(1)), "dataset 'u'")
    assert isinstance(rows, ArrowRows)
