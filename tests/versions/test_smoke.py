"""What everybody does works with the oldest and the newest versions of what we use: `make versions-test`."""

from __future__ import annotations

import uuid as uuids
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import kubothek as kb
from kubothek import C, Cube

# ruff: noqa: DTZ001  (zone-free timestamps are what is tested)

ROWS = pa.table({"p": ["a", "a", "b/ü"], "i1": [7, 8, 7], "v1": [0.5, None, float("inf")]})
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [True, None]),
    "int": (pa.int64(), [-(2**63), 2**63 - 1]),
    "uint": (pa.uint64(), [0, 2**64 - 1]),
    "double": (pa.float64(), [-0.5, None]),
    "text": (pa.string(), ["", "Zürich, 東京 🙂"]),
    "bytes": (pa.binary(), [b"\x00\xff", None]),
    "date": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "time": (pa.time64("us"), [time(23, 59, 59, 999999), None]),
    "wall": (pa.timestamp("us"), [datetime(1, 1, 1), datetime(2024, 7, 1, 12, 0, 0, 1)]),
    "instant": (pa.timestamp("us", "UTC"), [datetime(2024, 7, 1, tzinfo=UTC), None]),
    "decimal": (pa.decimal128(38, 18), [Decimal("-1.500000000000000000"), None]),
    "list": (pa.list_(pa.int64()), [[], [1, None]]),
    "struct": (pa.struct([("a", pa.list_(pa.string()))]), [{"a": ["x"]}, None]),
}


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


@pytest.mark.parametrize("place", ["memory", "directory"])
def test_a_dataset_is_written_read_and_updated(place: str, tmp_path: Path) -> None:
    """Rows, conditions, indices, history and garbage collection."""
    store = kb.Store(new_url() if place == "memory" else tmp_path)
    kb.write_dataset(ROWS, "u", store, partition_on="p", secondary_indices="i1")
    ds = kb.update_dataset(ROWS.slice(2), "u", store, delete_scope=[{"p": "a"}])
    assert ds.scan(where=(C("i1") == 7) & (C("p") == "b/ü")).to_arrow().num_rows == 2
    assert ds.load_index("i1").eval_operator("==", 7) == frozenset(ds.partitions)
    assert kb.open_dataset("u", store, at=1).scan().to_arrow().num_rows == 3
    assert ([entry.version for entry in ds.history()], kb.verify_dataset("u", store)) == ([2, 1], [])
    assert kb.garbage_collect_dataset("u", store) == []


def test_a_file_without_rows_is_read() -> None:
    """A dataset that is not partitioned has a file even where there are no rows."""
    ds = kb.write_dataset(ROWS.slice(0, 0), "u", new_url())
    assert (len(ds.partitions), ds.scan(["p", "v1"]).to_arrow().num_rows) == (1, 0)


def test_a_name_is_taken_once() -> None:
    """Who creates a dataset that is there is told so."""
    store = new_url()
    kb.write_dataset(ROWS, "u", store)
    with pytest.raises(kb.errors.AlreadyExistsError):
        kb.write_dataset(ROWS, "u", store)


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_every_type_comes_back(header_format: Any) -> None:
    """Each type of record keeps its values."""
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in VALUES.items()})
    ds = kb.write_dataset(table, "u", new_url(), header_format=header_format)
    found = ds.scan(list(VALUES)).to_arrow()
    assert found.schema == table.schema
    assert found.to_pylist() == table.to_pylist()


def test_a_cube_is_built_extended_and_asked() -> None:
    """Two datasets are one table, updated by partition, and checked."""
    cube, store = Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p"), new_url()
    kb.build_cube(pa.table({"x": [1, 2, 3], "p": ["a", "a", "b"]}), cube, store)
    kb.extend_cube({"e": pa.table({"x": [1, 3], "p": ["a", "b"], "v1": [1.5, 2.5]})}, cube, store)
    kb.update_cube({"e": pa.table({"x": [3], "p": ["b"], "v1": [9.5]})}, cube, store)
    assert kb.query_cube(cube, store).to_arrow()["v1"].to_pylist() == [1.5, None, 9.5]
    assert kb.query_cube(cube, store, where="v1 > 2").to_arrow().to_pylist() == [{"p": "b", "v1": 9.5, "x": 3}]
    assert kb.check_cube(cube, store) == []


@pytest.mark.parametrize(
    "given",
    [ROWS.to_pandas(), pl.from_arrow(ROWS), ROWS.to_reader(), pads.dataset(ROWS)],
    ids=["pandas", "polars", "reader", "dataset"],
)
def test_rows_come_from_every_library(given: Any) -> None:
    """Whatever exports rows is written."""
    assert kb.write_dataset(given, "u", new_url()).scan(["p", "i1"]).to_arrow() == ROWS.select(["p", "i1"])


def test_rows_go_to_every_library() -> None:
    """Each library has them as its own."""
    scan = kb.write_dataset(ROWS, "u", new_url(), partition_on="p").scan(["p", "i1"])
    assert sum(batch.num_rows for batch in scan.batches()) == 3
    assert scan.to_pandas()["i1"].tolist() == scan.to_polars()["i1"].to_list() == [7, 8, 7]
    assert pa.table(scan) == pa.RecordBatchReader.from_stream(scan).read_all() == scan.to_arrow()
    assert pl.DataFrame(scan)["i1"].to_list() == pl.LazyFrame(scan).collect()["i1"].to_list() == [7, 8, 7]
    if hasattr(pd.DataFrame, "from_arrow"):
        pd.testing.assert_frame_equal(pd.DataFrame.from_arrow(scan), scan.to_pandas())


def test_object_stores_can_be_named() -> None:
    """Options of object stores are known; nothing is asked of them."""
    assert str(kb.Store("s3://bucket", region="eu-west-1", skip_signature=True).url) == "s3://bucket"
