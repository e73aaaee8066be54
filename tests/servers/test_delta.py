"""An exported dataset is a Delta table on a server, too: delta-rs reads it through its own client."""

from __future__ import annotations

import uuid as uuids

import deltalake
import pyarrow as pa
from tests.servers.kinds import Server

import kubothek as kb

ROWS = pa.table({"p": ["a/b ü", "%41=", "a"], "x": [1, 2, 3]})


def test_delta_rs_reads_what_was_exported(server: Server) -> None:
    """Paths that are percent-encoded name the same objects to both."""
    store = server.store(uuids.uuid4().hex)
    kb.write_dataset(ROWS, "u", store, partition_on="p")
    kb.export_delta("u", store, statistics=True)
    kb.update_dataset(ROWS.slice(2), "u", store, delete_scope=[{"p": "%41="}])
    made = kb.export_delta("u", store)
    options = {name: str(value) for name, value in server.kind.options(server.endpoint).items()}
    found = deltalake.DeltaTable(made.url, storage_options=options | {"allow_http": "true"}).to_pyarrow_table()
    assert (made.version, sorted(found["x"].to_pylist())) == (1, [1, 3, 3])
