"""Put one bomb after the other in the place of an object and meet it, in a process that may not have much memory.

``python -m tests.hostile.bomb`` prints the kind of error for each, and how many MiB the process had at most beyond what
it needs for a healthy dataset.
"""

from __future__ import annotations

import base64
import gzip
import json
import resource
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from tests.hostile.stores import HEADER, forge, written

import kubothek as kb
from kubothek.codec.schema import encode_schema
from kubothek.store.interface import Store

LIMIT = 4 * 2**30
MSGPACK = "d.by-dataset-metadata.msgpack.zstd"


def frame(size: int, start: bytes = b"", *, stated: bool = True) -> bytes:
    """Return a frame of so many zeros behind a start, made without having them."""
    compressor = zstandard.ZstdCompressor(write_content_size=stated).compressobj(
        **({"size": size + len(start)} if stated else {})
    )
    pieces = [compressor.compress(start), *(compressor.compress(bytes(2**24)) for _ in range(size // 2**24))]
    return b"".join([*pieces, compressor.flush()])


def packed(data: bytes) -> Callable[[Store], None]:
    """Put a header in MessagePack in the place of the other."""

    def put(store: Store) -> None:
        store.delete([HEADER])
        store.put(MSGPACK, data)

    return put


def kept(store: Store) -> None:
    """Put the bomb in the place of the first version."""
    key = next(info.key for info in store.list("_kubothek/d/"))
    store.put(key, frame(2**30))


def foreign(name: str, data: bytes) -> Callable[[Store], None]:
    """Make the dataset one of other software, with one file."""

    def put(store: Store) -> None:
        schema = pa.schema([("v1", pa.float64())])
        store.put("d/table/_common_metadata", encode_schema(schema))
        store.put(f"d/table/{name}", data)
        header = {"dataset_metadata_version": 4, "dataset_uuid": "d", "partition_keys": []}
        header["partitions"] = {"x": {"files": {"table": f"d/table/{name}"}}}
        store.put(HEADER, json.dumps(header).encode())

    return put


def page() -> bytes:
    """Return a Parquet file with a page of zeros that says it had two GiB, the most that a page can say."""
    sink = pa.BufferOutputStream()
    zeros = pa.table({"v1": pa.array(np.zeros(2**24))})
    options = {"compression": "zstd", "use_dictionary": False, "data_page_size": 2**30, "max_rows_per_page": 2**24}
    pq.write_table(zeros, sink, row_group_size=2**24, write_batch_size=2**24, **options)
    data = sink.getvalue().to_pybytes()
    assert data[4:7] == b"\x15\x00\x15", "the head of a page begins with its type and its size"
    assert data[10] >= 0x80 > data[11]
    return data[:7] + b"\xfe\xff\xff\xff\x0f" + data[12:]


def many_rows() -> bytes:
    """Return a Parquet file whose footer tells of 2^50 rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"v1": [0.5] * 1000}), sink)
    data = sink.getvalue().to_pybytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8].replace(bytes([0x16, 0xD0, 0x0F]), bytes([0x16] + [0x80] * 7 + [0x04]))
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def state(**entries: Any) -> Callable[[Store], None]:
    """Set entries of our own state."""
    return lambda store: forge(store, lambda header: header["kubothek"].update(entries))


BOMBS: dict[str, Callable[[], Callable[[Store], object]]] = {
    "frame": lambda: packed(frame(2**30)),
    "frame of unknown size": lambda: packed(frame(2**30, stated=False)),
    "map of many": lambda: packed(zstandard.ZstdCompressor().compress(b"\xdf\xff\xff\xff\xff" + b"\xa1a\xc0" * 10**6)),
    "list of many": lambda: packed(
        frame(
            2**26,
            b"\x83"
            + b"".join(map(msgspec.msgpack.encode, ["dataset_metadata_version", 4, "dataset_uuid", "d"]))
            + b"\xa1x\xdd\x03\xff\xff\x00",
        )
    ),
    "kept": lambda: kept,
    "numbers": lambda: state(files=base64.b64encode(frame(2**30)).decode()),
    "schema": lambda: state(schema={"table": base64.b64encode(bytes(10**7)).decode()}),
    "deep": lambda: lambda store: store.put(HEADER, b'{"x": ' + b"[" * 10**7),
    "deep packed": lambda: packed(zstandard.ZstdCompressor().compress(b"\x91" * 10**7)),
    "page": lambda: foreign("x.parquet", page()),
    "rows": lambda: foreign("x.parquet", many_rows()),
    "line": lambda: foreign("x.csv.gz", gzip.compress(bytes(2**20)) * 500),
    "names": lambda: foreign("x.csv.gz", gzip.compress(b"v1;" * 2**20) * 100),
    "quotes": lambda: foreign("x.csv.gz", gzip.compress(b'v1\n"') + gzip.compress(b"\n" * 2**20) * 500),
    "note": lambda: lambda store: store.put("_kubothek/d/1f/deletion.json", b'{"keys": ' + b"[" * 10**7),
}


def meet(store: Store) -> None:
    """Do what touches most objects."""
    kb.open_dataset("d", store).scan().to_arrow()
    kb.open_dataset("d", store, at=1)
    kb.delete_dataset("d", store)


def main() -> None:
    """Meet all bombs."""
    meet(written())
    stores = {name: written() for name in BOMBS}
    for name, store in stores.items():
        BOMBS[name]()(store)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    said = {}
    for name, store in stores.items():
        try:
            meet(store)
            said[name] = "nothing"
        except Exception as error:  # noqa: BLE001  the test looks at it
            said[name] = type(error).__name__
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    sys.stdout.write(json.dumps({"said": said, "peak": peak}))


if __name__ == "__main__":
    main()
