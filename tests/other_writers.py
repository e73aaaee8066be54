"""Files and headers as other software may have written them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from kubothek.codec.keys import header_key
from kubothek.store.interface import Store
from kubothek.testing.kinds import Kind


def rewrite(store: Store, key: str, kinds: Mapping[str, Kind], data: st.DataObject) -> None:
    """Replace a data file by one with the types that its columns were given with, and other settings."""
    table = pq.read_table(pa.BufferReader(store.get(key).data))
    columns = {name: kinds[name].array(table[name].to_pylist()) for name in table.column_names}
    if data.draw(st.booleans()):
        columns["an extra column"] = pa.nulls(table.num_rows, pa.int8())
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns),
        sink,
        write_statistics=data.draw(st.booleans()),
        use_dictionary=data.draw(st.booleans()),
        store_schema=data.draw(st.booleans()),
        version=data.draw(st.sampled_from(["1.0", "2.4", "2.6"])),
        row_group_size=data.draw(st.integers(1, 3)),
        coerce_timestamps=data.draw(st.sampled_from([None, "us"])),
        use_deprecated_int96_timestamps=data.draw(st.sampled_from([False, False, True])),
    )
    store.put(key, sink.getvalue().to_pybytes())


def forget_state(store: Store, uuid: str) -> None:
    """Take our own state out of a dataset's header, as a commit of other software does."""
    header = json.loads(store.get(header_key(uuid, "json")).data)
    del header["kubothek"]
    store.put(header_key(uuid, "json"), json.dumps(header).encode())
