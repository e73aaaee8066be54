"""One wrong byte in what we have written: the same answer as before, or an error that names the object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from random import Random

import pyarrow as pa
import pytest
from tests.hostile.stores import HEADER, rows, written

import kubothek as kb
from kubothek.codec.header import decode_header
from kubothek.codec.index import encode_index, read_index
from kubothek.codec.kept_header import decode_kept
from kubothek.codec.keys import HEADER_SUFFIXES
from kubothek.codec.staged_table import read_staged, staged_writer
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import Header

Answer = object


def content(header: Header) -> Answer:
    """Return what a header says of the dataset, without what only our commits know."""
    state = header.state
    known = None if header.partitions is None else header.partitions.select(["label", "file/table"]).to_pylist()
    return (header.uuid, header.partition_keys, known, header.indices, header.metadata, state and dict(state.schema))


BYTES = range(1, 256)
BITS = [1 << bit for bit in range(8)]
"""Of the head of a page Arrow takes two bytes on trust; where one bit is wrong in them, it notices."""


def check(data: bytes, places: Iterable[int], read: Callable[[bytes], Answer], masks: Sequence[int] = BYTES) -> float:
    """Read the bytes with each place wrong, and return the part that was noticed."""
    expected, noticed, random = read(data), 0, Random(0)
    places = list(places)
    for place in places:
        wrong = data[:place] + bytes([data[place] ^ random.choice(masks)]) + data[place + 1 :]
        with suppress(CorruptDatasetError):
            assert read(wrong) == expected, place
            noticed -= 1
        noticed += 1
    return noticed / len(places)


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_headers(header_format: str) -> None:
    """Every byte of a header; in JSON only metadata and the names of the seal and our state can be wrong unnoticed."""
    store = written(header_format=header_format)
    key = "d" + HEADER_SUFFIXES[header_format]  # type: ignore[index]  # a literal

    def read(data: bytes) -> Answer:
        found = decode_header(data, key)
        return content(found) if found.state else content(found)[:5]

    data = store.get(key).data
    whole = read(data)
    noticed = check(data, range(len(data)), lambda one: read(one)[:4])
    assert noticed > 0.9
    assert whole == read(data)


def test_kept_headers() -> None:
    """Every byte of the header of an old version."""
    store = written()
    key = next(info.key for info in store.list("_kubothek/d/"))
    data = store.get(key).data
    assert check(data, range(len(data)), lambda one: content(decode_kept(one, key, "d"))) > 0.98


def test_indices() -> None:
    """Every byte of an index."""
    labels = [[f"p={i % 3}/a", f"p={i % 5}/b"] for i in range(40)]
    data = encode_index("i1", [pa.table({"i1": [f"v{i}" for i in range(40)], "partition": labels})])

    def read(one: bytes) -> Answer:
        return read_index(pa.BufferReader(one), "d/indices/i1/x", "i1", pa.string()).to_pylist()

    assert check(data, range(4, len(data)), read, BITS) > 0.9


def test_staged_values() -> None:
    """Every byte of a staged table."""
    sink, key = pa.BufferOutputStream(), "_kubothek/d/x/staged/w/v.staged"
    with staged_writer(sink, key, pa.schema([("value", pa.int64())])) as writer:
        writer.write_table(pa.table({"value": list(range(50))}))
    data = sink.getvalue().to_pybytes()

    def read(one: bytes) -> Answer:
        return [part.to_pydict() for part in read_staged(pa.BufferReader(one), key)]

    assert check(data, range(4, len(data)), read, BITS) > 0.9


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_data_files(compression: str) -> None:
    """Bytes of a data file, of its pages and of its footer, with conditions that statistics decide."""
    store = written(compression=compression)
    table = pa.table({"x": range(3000), "f": [i / 7 for i in range(3000)], "s": [f"v{i % 50}" for i in range(3000)]})
    kb.write_dataset(table, "f", store, compression=compression, rows_per_row_group=1000)
    [key] = [info.key for info in store.list("f/table/") if info.key.endswith(".parquet")]
    data = store.get(key).data
    places = Random(1).sample(range(4, len(data)), 300)

    def read(one: bytes) -> Answer:
        store.put(key, one)
        ds = kb.open_dataset("f", store)
        return [ds.scan(where=where).to_arrow().to_pydict() for where in (None, kb.C("x") > 2500)]

    assert check(data, places, read, BITS) > 0.9


def test_a_dataset_whose_header_was_damaged_goes_on() -> None:
    """What to do is told: the seal may be taken out, or an older version brought back by hand."""
    store = written()
    data = store.get(HEADER).data
    store.put(HEADER, data.replace(b'"partition_keys": ["', b'"partition_keys": ["x", "'))
    with pytest.raises(CorruptDatasetError, match="removes the entry 'seal'"):
        kb.update_dataset(rows(7), "d", store)
    place = data.rindex(b', "seal"')
    store.put(HEADER, data[:place] + b"}}")
    assert kb.open_dataset("d", store).scan().to_arrow().num_rows == 6
