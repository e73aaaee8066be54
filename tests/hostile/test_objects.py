"""Whatever lies in the place of an object beside the header, the error names it, and nothing else is touched."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from tests.hostile.stores import HEADER, FencedStore, content, rows, written

import kubothek as kb
from kubothek.codec.deletion import decode_deletion
from kubothek.errors import CorruptDatasetError, KubothekError
from kubothek.store.interface import Store

NOTE = "_kubothek/d/1f/deletion.json"
MSGPACK = "d.by-dataset-metadata.msgpack.zstd"


def first_key(store: Store, prefix: str) -> str:
    """Return the first key that begins like this."""
    return next(info.key for info in store.list(prefix))


def parquet(**columns: Any) -> bytes:
    """Return a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


NOTES: dict[str, bytes] = {
    "no bytes": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "no keys": b"{}",
    "keys twice": b'{"keys": ["d/a"], "keys": ["d/b"]}',
    "a number": b'{"keys": [1]}',
    "deep": b'{"keys": ' + b"[" * 10**5,
    "half a character": b'{"keys": ["d/\\ud800"]}',
    "of a neighbour": b'{"keys": ["e/table/p=1/x.parquet"]}',
    "header of a neighbour": b'{"keys": ["e.by-dataset-metadata.json"]}',
    "its own header": b'{"keys": ["d.by-dataset-metadata.json"]}',
    "index of a neighbour": b'{"keys": ["e.i1.by-dataset-index.parquet"]}',
    "upwards": b'{"keys": ["d/../e/table/x.parquet"]}',
    "absolute": b'{"keys": ["/etc/passwd"]}',
    "our own objects of others": b'{"keys": ["_kubothek/e/x"]}',
    "a line break": b'{"keys": ["d/x\\n"]}',
    "not UTF-8": b'{"keys": ["d/\xff"]}',
}


@pytest.mark.parametrize("case", NOTES)
def test_forged_notes_of_a_deletion(case: str) -> None:
    """Whoever would finish the deletion deletes nothing."""
    with pytest.raises(CorruptDatasetError) as caught:
        decode_deletion(NOTES[case], "d", NOTE)
    assert caught.value.key == NOTE
    store = written()
    store.put(NOTE, NOTES[case])
    before = content(store)
    with pytest.raises(CorruptDatasetError):
        kb.delete_dataset("d", FencedStore(store))
    assert content(store) == before


def _msgpack(**entries: Any) -> bytes:
    return msgspec.msgpack.encode({"dataset_metadata_version": 4, "dataset_uuid": "d", **entries})


def _frame(content: bytes, **options: Any) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(content)


EMPTY = b"\x83" + b"".join(map(msgspec.msgpack.encode, ["dataset_metadata_version", 4, "dataset_uuid", "d"]))
PACKED: dict[str, bytes] = {
    "no frame": _msgpack(),
    "half a frame": _frame(_msgpack())[:-3],
    "a frame and more": _frame(_msgpack()) + b"x",
    "an extension type": _frame(_msgpack(metadata={"m": msgspec.msgpack.Ext(1, b"x")})),
    "a point in time": _frame(_msgpack(metadata={"m": msgspec.msgpack.Ext(-1, bytes(4))})),
    "an unknown entry of an extension type": _frame(_msgpack(later=msgspec.msgpack.Ext(1, b"x"))),
    "a name twice": _frame(EMPTY + msgspec.msgpack.encode("dataset_uuid") + msgspec.msgpack.encode("d")),
    "a name of bytes": _frame(_msgpack(partition_keys=[b"p"])),
    "not UTF-8": _frame(EMPTY + b"\xa1\xff\x01"),
    "deep": _frame(EMPTY + b"\xa1x" + b"\x91" * 10**5),
    "a map of many": _frame(EMPTY + b"\xaapartitions" + b"\xdf\xff\xff\xff\xff"),
    "a list of many": _frame(EMPTY + b"\xa1x" + b"\xdd\xff\xff\xff\xff"),
    "a text of many": _frame(EMPTY + b"\xa1x" + b"\xdb\xff\xff\xff\xff"),
    "more behind it": _frame(_msgpack() + b"\x01"),
    "a key of a map that is a list": _frame(EMPTY + b"\xa8metadata" + b"\x81\x91\x01\x01"),
}


@pytest.mark.parametrize("case", PACKED)
def test_forged_headers_in_msgpack(case: str) -> None:
    """Every call refuses them and names the header."""
    store = written()
    store.delete([HEADER])
    store.put(MSGPACK, PACKED[case])
    before = content(store)
    for call in (kb.open_dataset, kb.delete_dataset, kb.garbage_collect_dataset):
        with pytest.raises(CorruptDatasetError) as caught:
            call("d", FencedStore(store))
        assert caught.value.key == MSGPACK
    assert content(store) == before


KEPT: dict[str, Callable[[bytes], bytes]] = {
    "no bytes": lambda data: b"",
    "no frame": lambda data: b"x" * 100,
    "half a frame": lambda data: data[: len(data) // 2],
    "a frame of nothing": lambda data: _frame(b""),
    "the header itself": lambda data: zstandard.ZstdDecompressor().decompress(data),
    "another version": lambda data: _forged(data, version=7),
    "another commit": lambda data: _forged(data, commit="x"),
    "another incarnation": lambda data: _forged(data, incarnation="x"),
    "commit upwards": lambda data: _forged(data, commit="../x"),
    "of a neighbour": lambda data: _frame(zstandard.ZstdDecompressor().decompress(data).replace(b'"d"', b'"e"')),
    "key of a neighbour": lambda data: _frame(zstandard.ZstdDecompressor().decompress(data).replace(b'"d/', b'"e/')),
    "without our state": lambda data: _frame(_without_state(data)),
}


def _forged(data: bytes, **entries: Any) -> bytes:
    header = json.loads(zstandard.ZstdDecompressor().decompress(data))
    del header["kubothek"]["seal"]
    header["kubothek"].update(entries)
    return _frame(json.dumps(header).encode())


def _without_state(data: bytes) -> bytes:
    header = json.loads(zstandard.ZstdDecompressor().decompress(data))
    del header["kubothek"]
    return json.dumps(header).encode()


@pytest.mark.parametrize("case", KEPT)
def test_forged_versions(case: str) -> None:
    """Who asks for the version is told; who would delete files by it deletes none; the present stays readable."""
    store = written()
    key = first_key(store, "_kubothek/d/")
    store.put(key, KEPT[case](store.get(key).data))
    before = content(store)
    for call in (
        lambda s: kb.open_dataset("d", s, at=1),
        lambda s: kb.rollback_dataset("d", s, 1),
        lambda s: kb.garbage_collect_dataset("d", s, older_than=timedelta(0), keep=5),
    ):
        with pytest.raises(CorruptDatasetError) as caught:
            call(FencedStore(store))
        assert caught.value.key == key
        assert content(store) == before
    assert kb.open_dataset("d", FencedStore(store)).scan().to_arrow().num_rows == 6
    assert kb.update_dataset(rows(7), "d", FencedStore(store)).scan().to_arrow().num_rows == 7
    kb.delete_dataset("d", FencedStore(store))
    assert kb.open_dataset("e", store).scan().to_arrow().num_rows == 2


@pytest.mark.parametrize(
    "name",
    ["x", "00000000000000000001", f"{2**63:020d}-20200101T000000.000000Z-c.json.zst", "%2e%2e/x"],
    ids=["any", "half", "a version of 64 bits", "escaped"],
)
def test_other_objects_among_the_versions(name: str) -> None:
    """What no version is called is none."""
    store = written()
    place = first_key(store, "_kubothek/d/").rpartition("/")[0]
    store.put(f"{place}/{name}", b"x")
    assert [entry.version for entry in kb.open_dataset("d", FencedStore(store)).history()] == [2, 1]
    assert set(kb.garbage_collect_dataset("d", FencedStore(store), older_than=timedelta(0))) <= {f"{place}/{name}"}


INDICES: dict[str, Callable[[bytes], bytes]] = {
    "no bytes": lambda data: b"",
    "no Parquet": lambda data: b"PAR1" * 20,
    "half": lambda data: data[: len(data) // 2],
    "without its end": lambda data: data[:-1],
    "another column": lambda data: parquet(i2=["a"], partition=[["x"]]),
    "no labels": lambda data: parquet(i1=["i1"]),
    "labels of numbers": lambda data: parquet(i1=["i1"], partition=[[[1]]]),
    "labels null": lambda data: parquet(i1=["i1"], partition=pa.array([None], pa.list_(pa.string()))),
    "values of another type": lambda data: parquet(i1=[[1]], partition=[["x"]]),
    "values that are no UTF-8": lambda data: parquet(i1=pa.array([b"\xff"]).view(pa.string()), partition=[["x"]]),
    "a footer of many bytes": lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1",
}


@pytest.mark.parametrize("case", INDICES)
def test_forged_indices(case: str) -> None:
    """Whoever asks the index, or merges it, is told which file it is and how to mend it."""
    store = written()
    key = first_key(store, "d/indices/i1/")
    for info in list(store.list("d/indices/i1/")):
        store.put(info.key, INDICES[case](store.get(info.key).data))
    before = content(store)
    for call in (
        lambda s: kb.open_dataset("d", s).scan(where=kb.C("i1") == "i1").to_arrow(),
        lambda s: kb.open_dataset("d", s).load_all_indices(),
        lambda s: kb.update_dataset(rows(7), "d", s),
    ):
        with pytest.raises(CorruptDatasetError, match="build_dataset_indices") as caught:
            call(FencedStore(store))
        assert caught.value.key.startswith(key.rpartition("/")[0])
    assert {k: v for k, v in content(store).items() if not k.startswith("d/table/")} == {
        k: v for k, v in before.items() if not k.startswith("d/table/")
    }


def test_labels_that_the_dataset_does_not_have() -> None:
    """An index that names other files leads to none of them."""
    store = written()
    for info in list(store.list("d/indices/i1/")):
        store.put(info.key, parquet(i1=["i1"], partition=[["../../e/table/p=1/x", "p=9/x"]]))
    found = kb.open_dataset("d", FencedStore(store)).scan(where=kb.C("i1") == "i1").to_arrow()
    assert found.num_rows == 0


FILES: dict[str, Callable[[bytes], bytes]] = {
    "no bytes": lambda data: b"",
    "no Parquet": lambda data: b"PAR1" * 300,
    "half": lambda data: data[: len(data) // 2],
    "its end only": lambda data: data[100:],
    "another schema": lambda data: parquet(x=[1]),
    "text in place of numbers": lambda data: parquet(i1=["i1"], v1=["b"]),
    "a column twice": lambda data: _twice(),
}


def _twice() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array([1.0]), pa.array([2.0])], ["i1", "v1", "v1"]), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("case", FILES)
def test_forged_data_files(case: str) -> None:
    """Reading them is an error that names the file."""
    store = written()
    key = first_key(store, "d/table/p=1/")
    store.put(key, FILES[case](store.get(key).data))
    with pytest.raises(CorruptDatasetError) as caught:
        kb.open_dataset("d", FencedStore(store)).scan(["i1", "v1"]).to_arrow()
    assert caught.value.key == key


SCHEMAS: dict[str, bytes] = {
    "no bytes": b"",
    "no Parquet": b"PAR1" * 20,
    "a column twice": _twice(),
    "without the partition column": parquet(v1=[1.0]),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_forged_schemas_for_others(case: str) -> None:
    """They count only where a header does not have the schema, and are errors there that name the file."""
    store = written()
    store.put("d/table/_common_metadata", SCHEMAS[case])
    assert kb.open_dataset("d", FencedStore(store)).scan().to_arrow().num_rows == 6
    header = json.loads(store.get(HEADER).data)
    del header["kubothek"]
    store.put(HEADER, json.dumps(header).encode())
    before = content(store)
    for call in (kb.open_dataset, kb.copy_dataset):
        with pytest.raises(CorruptDatasetError) as caught:
            call("d", FencedStore(store), **({"to_uuid": "copy"} if call is kb.copy_dataset else {}))
        assert caught.value.key == "d/table/_common_metadata"
    assert content(store) == before


def test_no_code_of_a_file_is_run() -> None:
    """An extension type that would be unpickled, as old versions of Arrow did, is read as what it is stored as."""
    entries = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": b"cos\nabort\n(tR."}
    schema = pa.schema([("p", pa.int64()), pa.field("v1", pa.int64(), metadata=entries)])
    store = written()
    header = json.loads(store.get(HEADER).data)
    del header["kubothek"]["seal"]
    header["kubothek"]["schema"] = {"table": base64.b64encode(schema.serialize()).decode()}
    store.put(HEADER, json.dumps(header).encode())
    assert kb.open_dataset("d", store).schema == pa.schema([("p", pa.int64()), ("v1", pa.int64())])
    del header["kubothek"]
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    store.put("d/table/_common_metadata", sink.getvalue().to_pybytes())
    store.put(HEADER, json.dumps(header).encode())
    assert kb.open_dataset("d", store).schema == pa.schema([("p", pa.int64()), ("v1", pa.int64())])


CUBES: dict[str, dict[str, Any]] = {
    "dimensions a number": {"ktk_cube_dimension_columns": 1},
    "dimensions of numbers": {"ktk_cube_dimension_columns": [1, None]},
    "dimensions twice": {"ktk_cube_dimension_columns": ["x", "x"]},
    "dimensions nowhere": {"ktk_cube_dimension_columns": ["z"]},
    "partition columns an object": {"ktk_cube_partition_columns": {"p": 1}},
    "partition columns deep": {"ktk_cube_partition_columns": [[["p"]]]},
    "suppressed a number": {"ktk_cube_suppress_index_on": 5},
    "half a character": {"ktk_cube_dimension_columns": ["\ud800"]},
    "no seed": {"ktk_cube_is_seed": False},
}


@pytest.mark.parametrize("case", CUBES)
def test_forged_metadata_of_a_cube(case: str) -> None:
    """It is one of our errors, whoever asks."""
    store = written()
    cube = kb.Cube(uuid_prefix="c", dimension_columns="x", partition_columns="p")
    kb.build_cube(pa.table({"x": [1], "p": [1], "v1": [1]}), cube, store)
    key = "c++seed.by-dataset-metadata.json"
    header = json.loads(store.get(key).data)
    del header["kubothek"]["seal"]
    header["metadata"].update(CUBES[case])
    store.put(key, json.dumps(header).encode())
    for call in (kb.discover_cube, kb.query_cube):
        with pytest.raises(KubothekError):
            call("c", store)
    kb.check_cube("c", store)
