"""Scans and queries are Arrow streams to other libraries: the same rows, read when they are asked for."""

from __future__ import annotations

import gc
import threading
import uuid as uuids
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kubothek as kb
from kubothek import Cube
from kubothek.engine.lazy import LazyRows
from kubothek.testing.stores import CountingStore

SEED = pa.table({"x": [2, 1, 3, 4], "p": ["b", "a", "a", "b"], "t": ["ü", None, "", "z"]})
CUBE = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p", seed_dataset="seed")


def stored() -> CountingStore:
    """Write a cube of a seed and an enrichment."""
    store = CountingStore(f"memory://{uuids.uuid4().hex}")
    kb.build_cube({"seed": SEED, "e": pa.table({"x": [1, 2], "p": ["a", "b"], "v1": [[1.5], []]})}, CUBE, store)
    return store


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows sorted by their cell."""
    return rows.sort_by("x").to_pylist()


SOURCES: dict[str, Callable[[CountingStore], LazyRows]] = {
    "scan": lambda store: kb.open_dataset("c++seed", store).scan(),
    "query": lambda store: kb.query_cube(CUBE, store),
}

READERS: dict[str, Callable[[Any], pa.Table]] = {
    "pyarrow table": pa.table,
    "pyarrow reader": lambda rows: pa.RecordBatchReader.from_stream(rows).read_all(),
    "polars": lambda rows: pl.DataFrame(rows).to_arrow(),
    "polars lazy": lambda rows: pl.LazyFrame(rows).collect().to_arrow(),
    "duckdb": lambda rows: pa.table(duckdb.from_arrow(rows)),
    "duckdb by name": lambda rows: pa.table(duckdb.sql("SELECT * FROM rows")),
    "duckdb twice": lambda rows: pa.table(duckdb.sql("SELECT a.* FROM rows a JOIN rows b USING (x) ORDER BY p, x")),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("reader", READERS)
def test_others_read_the_same_rows(reader: str, source: str) -> None:
    """Every library has the rows that `to_arrow` gives; those of a query come partition by partition."""
    rows = SOURCES[source](stored())
    assert in_order(READERS[reader](rows).select(rows.schema.names)) == in_order(rows.to_arrow())


@pytest.mark.skipif(not hasattr(pd.DataFrame, "from_arrow"), reason="pandas before 3 takes no Arrow streams")
def test_pandas_reads_the_same_rows() -> None:
    """Pandas makes a frame of the stream."""
    scan = SOURCES["scan"](stored())
    pd.testing.assert_frame_equal(pd.DataFrame.from_arrow(scan), scan.to_pandas())


def test_the_schema_needs_no_rows() -> None:
    """The schema is exported without a request."""
    store = stored()
    scan = SOURCES["scan"](store)
    store.reset()
    assert pa.schema(scan) == scan.schema
    assert not store.calls


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """Opening the stream is no request; the first batch is."""
    store = stored()
    scan = SOURCES["scan"](store)
    store.reset()
    reader = pa.RecordBatchReader.from_stream(scan)
    assert not store.calls
    reader.read_next_batch()
    assert store.calls


@pytest.mark.parametrize("source", SOURCES)
def test_a_dropped_stream_leaves_no_thread(source: str) -> None:
    """A consumer may stop at any batch."""
    rows, before = SOURCES[source](stored()), threading.active_count()
    reader = pa.RecordBatchReader.from_stream(rows)
    reader.read_next_batch()
    del reader
    gc.collect()
    assert threading.active_count() == before


@pytest.mark.parametrize("source", SOURCES)
def test_other_types_are_given_on_request(source: str) -> None:
    """A consumer gets the types that it asks for."""
    rows = SOURCES[source](stored())
    wanted = pa.schema([f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in rows.schema])
    found = pa.RecordBatchReader.from_stream(rows, wanted).read_all()
    assert found.schema == wanted
    assert in_order(found) == in_order(rows.to_arrow())


def test_no_value_is_lost_to_a_request() -> None:
    """A number that the wanted type cannot hold ends the stream."""
    ds = kb.write_dataset(pa.table({"x": [1, 1000]}), "u", f"memory://{uuids.uuid4().hex}")
    with pytest.raises(pa.ArrowInvalid, match="1000"):
        pa.RecordBatchReader.from_stream(ds.scan(), pa.schema([("x", pa.int8())])).read_all()


@pytest.mark.parametrize(
    "wanted",
    [pa.schema([("y", pa.int64())]), pa.schema([("x", pa.list_(pa.int64())), ("p", pa.string()), ("t", pa.int64())])],
    ids=["other columns", "no cast"],
)
def test_what_cannot_be_given_is_not(wanted: pa.Schema) -> None:
    """The protocol lets the consumer look at what it got instead."""
    scan = kb.open_dataset("c++seed", stored()).scan(["x", "p", "t"])
    capsule = scan.__arrow_c_stream__(wanted.__arrow_c_schema__())
    assert pa.RecordBatchReader._import_from_c_capsule(capsule).read_all().schema == scan.schema
