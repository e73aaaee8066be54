"""Datasets as other software leaves them: a header without our state, the schema beside the data, any data files."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import kubothek as kb
from kubothek.codec.header import encode_header
from kubothek.codec.schema import encode_schema
from kubothek.model.header import Header
from kubothek.store.interface import Store
from kubothek.store.open import open_store


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def parquet(table: pa.Table, **options: Any) -> bytes:
    """Return a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def put_dataset(
    store: Store, record: pa.Schema, files: Mapping[str, bytes], *, partition_keys: Sequence[str] = ()
) -> kb.Dataset:
    """Put a dataset ``u`` whose header lists no partitions; files are named by label and ending."""
    store.put("u/table/_common_metadata", encode_schema(record))
    for name, data in files.items():
        store.put(f"u/table/{name}", data)
    store.put("u.by-dataset-metadata.json", encode_header(Header("u", tuple(partition_keys), None)))
    return kb.open_dataset("u", store)


def file_of(store: Store, record: pa.Schema, data: bytes, name: str = "a.parquet") -> kb.Dataset:
    """Put a dataset with this one file."""
    return put_dataset(store, record, {name: data})
