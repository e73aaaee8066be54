"""Headers: Kartothek's bytes in and out, our own state, and what is refused."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec.compression import compress, decompress
from kubothek.codec.header import decode_header, decode_state_only, encode_header
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.header import CommitInfo, CommitState, CubeCall, Header, partitions_schema

JSON, MSGPACK = "d.by-dataset-metadata.json", "d.by-dataset-metadata.msgpack.zstd"
BASE = {"dataset_metadata_version": 4, "dataset_uuid": "d"}
GOLDEN = (
    '{"dataset_metadata_version": 4, "dataset_uuid": "d", '
    '"indices": {"i1": "d/indices/i1/2020-01-01T00%3A00%3A00.000001.by-dataset-index.parquet"}, '
    '"metadata": {"creation_time": "2020-01-01T00:00:00.000001", "note": "\\u00fc"}, '
    '"partitions": {"p=a%2Fb/0123": {"files": {"table": "d/table/p=a%2Fb/0123.parquet"}}, '
    '"p=%C3%BC/4567": {"files": {"table": "d/table/p=%C3%BC/4567.parquet"}}}, '
    '"partition_keys": ["p"]}'
)
STATE = CommitState(
    version=7,
    commit="c" * 32,
    recent=("b" * 32, "c" * 32),
    incarnation="1f",
    schema={"table": pa.schema([("p", pa.string()), ("v1", pa.decimal128(5, 2))])},
    unique_writes=("0123456789ab",),
    conformed=True,
    extra={"format": 2},
)


def header(**changes: Any) -> Header:
    """Make the header of two partitions, of which one file's size is known."""
    rows = {
        "label": ["a", "b"],
        "rows": [3, None],
        "bytes": [10, None],
        "file/table": ["d/table/a.parquet", "d/table/b.parquet"],
    }
    return replace(Header("d", ("p",), pa.table(rows, schema=partitions_schema(("table",)))), **changes)


def wire(**entries: Any) -> bytes:
    """Return the bytes of a JSON header with these entries."""
    return json.dumps({**BASE, **entries}).encode()


def listed(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return the wire shape of a list of partitions, given label and key."""
    return {label: {"files": {"table": key}} for label, key in pairs}


def test_a_header_by_example() -> None:
    """The text on the left, the value on the right; neither may ever change."""
    found = decode_header(GOLDEN.encode(), JSON)
    assert (found.uuid, found.partition_keys, found.format, found.tables) == ("d", ("p",), "json", ("table",))
    assert found.indices == {"i1": "d/indices/i1/2020-01-01T00%3A00%3A00.000001.by-dataset-index.parquet"}
    assert found.metadata == {"creation_time": "2020-01-01T00:00:00.000001", "note": "ü"}
    assert found.partitions is not None
    assert found.partitions["label"].to_pylist() == ["p=a%2Fb/0123", "p=%C3%BC/4567"]
    assert found.partitions["file/table"].to_pylist() == [
        "d/table/p=a%2Fb/0123.parquet",
        "d/table/p=%C3%BC/4567.parquet",
    ]
    assert found.partitions["rows"].null_count == 2
    assert encode_header(found) == GOLDEN.encode()


def test_every_header_of_the_corpus_comes_back_byte_for_byte(corpus: Path) -> None:
    """Decoding and encoding a header of Kartothek's changes nothing."""
    paths = sorted(corpus.glob("*/store/*.by-dataset-metadata.*"))
    assert {path.suffix for path in paths} == {".json", ".zstd"}
    assert len(paths) == 90
    for path in paths:
        stored, written = path.read_bytes(), encode_header(decode_header(path.read_bytes(), path.name))
        if path.suffix == ".zstd":
            stored, written = (zstandard.ZstdDecompressor().decompress(data) for data in (stored, written))
        assert written == stored, path


def test_headers_of_the_corpus_list_what_kartothek_saw(corpus: Path) -> None:
    """Labels, partition keys, metadata and indices are those that Kartothek reported."""
    for path in sorted(corpus.glob("ds_*/cases.json")):
        cases = json.loads(path.read_bytes())
        key = cases["metadata_file"]
        found = decode_header((path.parent / "store" / key).read_bytes(), key)
        assert list(found.partition_keys or ()) == cases["partition_keys"]
        assert (found.partitions is not None) == cases["explicit_partitions"]
        assert found.indices.keys() == cases["secondary_indices"].keys()
        assert {k: v for k, v in found.metadata.items() if k != "creation_time"} == cases["user_metadata"]
        if found.partitions is not None:
            assert sorted(found.partitions["label"].to_pylist()) == cases["partition_labels"]
    assert len(list(corpus.glob("ds_*/cases.json"))) == 39


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
@given(data=st.data())
def test_headers_survive_a_round_trip(header_format: Any, data: st.DataObject) -> None:
    """Whatever labels, tables and metadata there are, with and without state."""
    text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
    without_values = text.filter(lambda label: "=" not in label.rpartition("/")[0])  # others say where the file is
    labels = data.draw(st.lists(without_values, unique=True, max_size=5))
    plain = [re.sub(r"[/\x00-\x1f\x7f]", "", label) for label in labels]
    safe = [f"d/table/{i}{label}" for i, label in enumerate(plain)]
    sizes = data.draw(st.lists(st.none() | st.integers(0, 2**57), min_size=len(labels), max_size=len(labels)))
    tables = ("table", 'ü"') if labels else ()
    columns = [labels, sizes, sizes, safe, [*safe[:1], *[None] * len(safe[1:])]][: 3 + len(tables)]
    given = header(
        partitions=pa.table(columns, schema=partitions_schema(tables)),
        metadata=data.draw(st.dictionaries(text, st.none() | st.integers(-(2**60), 2**60) | text | st.lists(text))),
        extra=data.draw(st.dictionaries(text.map("x{}".format), text)),
        format=header_format,
        state=STATE,
    )
    key = JSON if header_format == "json" else MSGPACK
    encoded = encode_header(given)
    assert (decode_header(encoded, key), decode_state_only(encoded, key)) == (given, given.state)
    assert decode_state_only(encode_header(replace(given, state=None)), key) is None


def test_json_is_what_python_writes() -> None:
    """Escapes, separators and order are those of ``json.dumps``, also where a label needs escaping."""
    rows = [['a"\x7f', "ü\\"], [1, 2], [3, 4], ["d/a\t", "d/b"]]
    text = encode_header(header(partitions=pa.table(rows, schema=partitions_schema(("table",)))))
    assert text == json.dumps(json.loads(text)).encode()


def test_our_state_is_the_last_entry_after_what_nobody_knows() -> None:
    """Without it the bytes are Kartothek's; unknown entries stay."""
    given = header(state=STATE, extra={"later": [1]}, metadata={"m": 1}, indices={"i1": "d/indices/i1/x"})
    names = ["dataset_metadata_version", "dataset_uuid", "indices", "metadata", "partitions", "partition_keys", "later"]
    stored = json.loads(encode_header(given))
    assert list(stored) == [*names, "kubothek"]
    known = ["version", "commit", "recent", "incarnation", "schema", "unique_writes", "conformed", "files"]
    assert list(stored["kubothek"]) == [*known, "format", "seal"]
    assert list(json.loads(encode_header(replace(given, state=None)))) == names


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_calls_for_several_datasets_and_withdrawals_are_entries_of_their_own(header_format: Any) -> None:
    """Where there is nothing to say, the bytes are those of before these entries existed."""
    plain = header(state=STATE, format=header_format)
    told = replace(plain, state=replace(STATE, cube_call=CubeCall("c" * 32, "build_cube", ("e", "ü")), withdrawn=True))
    assert decode_header(encode_header(told), JSON if header_format == "json" else MSGPACK) == told
    stored = json.loads(encode_header(replace(told, format="json")))["kubothek"]
    assert stored.pop("cube_call") == {"id": "c" * 32, "operation": "build_cube", "datasets": ["e", "ü"]}
    assert stored.pop("withdrawn") is True
    before = json.loads(encode_header(replace(plain, format="json")))["kubothek"]
    assert stored | {"seal": before["seal"]} == before


LINEAGE = {"seed": pa.array(["p=1/ü", "p=2/b"]), "empty": pa.array([], pa.string())}


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_streams_and_lineage_are_entries_of_their_own(header_format: Any) -> None:
    """The order of the queries stays, an empty list is not none, and without any the bytes are as before."""
    plain = header(state=STATE, format=header_format)
    told = replace(plain, state=replace(STATE, streams={"b": 2, "a": 2**63 - 1}, lineage=LINEAGE))
    found = decode_header(encode_header(told), JSON if header_format == "json" else MSGPACK)
    assert found == told
    assert list(found.state.streams) == ["b", "a"]
    stored = json.loads(encode_header(replace(told, format="json")))["kubothek"]
    assert decompress(base64.b64decode(stored.pop("lineage")["seed"]), 100, "k") == "p=1/ü\np=2/b\n".encode()
    before = json.loads(encode_header(replace(plain, format="json")))["kubothek"]
    assert stored | {"seal": before["seal"]} == before | {"streams": {"b": 2, "a": 2**63 - 1}}


def test_a_lineage_that_nobody_could_read_is_not_written() -> None:
    """Some million labels are its limit."""
    sources = {f"s{i}": pa.array([], pa.string()) for i in range(1025)}
    many = {"seed": pa.array(["x" * 2**20] * 257)}
    short = {"seed": pa.repeat("", 2**22), "f": pa.repeat("", 2**22 + 1)}
    for lineage in (sources, many, short):
        with pytest.raises(InvalidInputError, match="computed from them"):
            encode_header(header(state=replace(STATE, lineage=lineage)))


INFO = CommitInfo(datetime(2026, 11, 21, 16, 50, 12, 123456, UTC), "update_dataset", "ü@x", "kubothek 0", 2, 1, None)


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_what_a_commit_did_is_an_entry_of_its_own(header_format: Any) -> None:
    """Headers from before it open as ever; those that have it come back whole."""
    plain = header(state=STATE, format=header_format)
    for info in (INFO, replace(INFO, rows=7, overwrote=("a" * 32,))):
        told = replace(plain, state=replace(STATE, info=info, oldest=5, hold=1.5))
        assert decode_header(encode_header(told), JSON if header_format == "json" else MSGPACK) == told
    stored = json.loads(encode_header(header(state=replace(STATE, info=INFO, oldest=5))))["kubothek"]
    known = {"operation": "update_dataset", "author": "ü@x", "library": "kubothek 0", "added": 2, "removed": 1}
    assert stored.pop("info") == {"time": "2026-11-21T16:50:12.123456Z", **known, "rows": None}
    assert stored.pop("oldest") == 5
    before = json.loads(encode_header(replace(plain, format="json")))["kubothek"]
    assert stored | {"seal": before["seal"]} == before


def test_sizes_that_nobody_knows_take_no_place() -> None:
    """An adopted dataset starts without them."""
    rows = (
        header()
        .partitions.set_column(1, "rows", pa.nulls(2, pa.int64()))
        .set_column(2, "bytes", pa.nulls(2, pa.int64()))
    )
    given = header(state=STATE, partitions=rows)
    assert "files" not in json.loads(encode_header(given))["kubothek"]
    assert decode_header(encode_header(given), JSON) == given


def test_a_header_without_partitions_lists_none() -> None:
    """No list and an empty list are two things."""
    assert decode_header(wire(partition_keys=["p"]), JSON).partitions is None
    assert decode_header(wire(partitions={}), JSON).partitions.num_rows == 0
    assert decode_header(wire(), JSON).partition_keys is None


def test_partitions_may_lack_a_table() -> None:
    """Kartothek writes such datasets; the key is null."""
    partitions = {"a": {"files": {"x": "d/x/a"}}, "b": {"files": {"y": "d/y/b"}, "metadata": {}}}
    found = decode_header(wire(partitions=partitions), JSON)
    assert found.tables == ("x", "y")
    assert found.partitions.select(["file/x", "file/y"]).to_pydict() == {
        "file/x": ["d/x/a", None],
        "file/y": [None, "d/y/b"],
    }


def test_indices_may_be_in_the_header_itself() -> None:
    """Old datasets keep them there; they are kept on the next commit."""
    indices = {"i1": {"1": ["a"], "2": ["a", "b"]}, "i2": "d.i2.by-dataset-index.parquet"}
    found = decode_header(wire(indices=indices), JSON)
    assert found.embedded_indices == {"i1": {"1": ("a",), "2": ("a", "b")}}
    assert found.indices == {"i2": "d.i2.by-dataset-index.parquet"}
    assert json.loads(encode_header(found))["indices"] == indices
    packed = compress(msgspec.msgpack.encode({**BASE, "indices": {"i1": {1: ["a"]}}}))
    assert decode_header(packed, MSGPACK).embedded_indices == {"i1": {"1": ("a",)}}


def test_metadata_may_be_what_only_python_takes_for_json() -> None:
    """Kartothek writes NaN, integers of any size and lone surrogates."""
    metadata = {"nan": math.nan, "large": 2**80, "half": "\ud800"}
    found = decode_header(wire(metadata=metadata, partitions=listed(("a", "d/a"))), JSON)
    assert math.isnan(found.metadata["nan"])
    assert (found.metadata["large"], found.metadata["half"]) == (2**80, "\ud800")
    assert encode_header(found) == wire(metadata=metadata, partitions=listed(("a", "d/a")))


def test_metadata_that_is_no_json_is_refused() -> None:
    """In both encodings alike."""
    for header_format in ("json", "msgpack"):
        with pytest.raises(InvalidInputError, match="must be JSON values"):
            encode_header(header(metadata={"m": {1, 2}}, format=header_format))


def _state(**changes: Any) -> bytes:
    stored = json.loads(encode_header(header(state=STATE)))
    del stored["kubothek"]["seal"]
    stored["kubothek"] |= changes
    return json.dumps(stored).encode()


def _info(**changes: Any) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(encode_header(header(state=replace(STATE, info=INFO))))["kubothek"]["info"]
    return stored | changes


def _lineage(content: bytes, source: str = "seed") -> dict[str, Any]:
    return {"lineage": {source: base64.b64encode(compress(content)).decode()}}


def _files(rows: int, low: int = 0) -> str:
    return base64.b64encode(compress(np.array([low] * rows + [1] * rows, "<i8").tobytes())).decode()


CORRUPT: dict[str, tuple[Callable[[], bytes], str]] = {
    "no bytes": (lambda: b"", "not a dataset's metadata header"),
    "no JSON": (lambda: b"{", "not a dataset's metadata header"),
    "a list": (lambda: b"[]", "not a dataset's metadata header"),
    "deep": (lambda: b"[" * 100_000, "not a dataset's metadata header"),
    "empty": (lambda: b"{}", "lacks dataset_metadata_version and dataset_uuid"),
    "version 3": (lambda: wire(dataset_metadata_version=3), "metadata version 3, but this library reads version 4"),
    "version 5": (lambda: wire(dataset_metadata_version=5), "metadata version 5"),
    "other dataset": (lambda: wire(dataset_uuid="e"), "header of dataset 'e'"),
    "label twice": (
        lambda: wire(partitions=listed(("a", "d/1"), ("b", "d/2"))).replace(b'"b"', b'"a"'),
        "key 'a' comes more than once",
    ),
    "no files": (lambda: wire(partitions={"a": {"files": {}}}), "partition 'a' without any file"),
    "no list": (lambda: wire(partitions=["a"]), "not a dataset's metadata header"),
    "key outside": (lambda: wire(partitions=listed(("a", "e/table/a.parquet"))), "does not lie within dataset 'd'"),
    "key upwards": (lambda: wire(partitions=listed(("a", "d/../e/a.parquet"))), "does not lie within dataset 'd'"),
    "key absolute": (lambda: wire(partitions=listed(("a", "/d/a.parquet"))), "does not lie within dataset 'd'"),
    "index outside": (lambda: wire(indices={"i1": "e/indices/i1/x"}), "does not lie within dataset 'd'"),
    "index a number": (lambda: wire(indices={"i1": 1}), "not a dataset's metadata header"),
    "column twice": (lambda: wire(partition_keys=["p", "p"]), "partition column twice"),
    "metadata a list": (lambda: wire(metadata=[1]), "not a dataset's metadata header"),
    "state a list": (lambda: wire(kubothek=[]), "entry 'kubothek'"),
    "state incomplete": (lambda: wire(kubothek={"version": 1}), "entry 'kubothek'"),
    "state mistyped": (lambda: _state(version="1"), "entry 'kubothek'"),
    "call no object": (lambda: _state(cube_call="c"), "entry 'kubothek'"),
    "call incomplete": (lambda: _state(cube_call={"id": "c"}), "entry 'kubothek'"),
    "version 0": (lambda: _state(version=0), "entry 'kubothek'"),
    "version too large": (lambda: _state(version=2**63), "entry 'kubothek'"),
    "oldest 0": (lambda: _state(oldest=0), "entry 'kubothek'"),
    "hold negative": (lambda: _state(hold=-1), "entry 'kubothek'"),
    "info incomplete": (lambda: _state(info={"author": "me"}), "entry 'kubothek'"),
    "info without zone": (lambda: _state(info=_info(time="2026-11-21T16:50:12")), "entry 'kubothek'"),
    "info before all time": (lambda: _state(info=_info(time="0001-01-01T00:00:00+14:00")), "entry 'kubothek'"),
    "info negative": (lambda: _state(info=_info(added=-1)), "entry 'kubothek'"),
    "withdrawn a number": (lambda: _state(withdrawn=2), "entry 'kubothek'"),
    "streams a list": (lambda: _state(streams=["q"]), "entry 'kubothek'"),
    "batch a text": (lambda: _state(streams={"q": "1"}), "entry 'kubothek'"),
    "batch true": (lambda: _state(streams={"q": True}), "entry 'kubothek'"),
    "batch negative": (lambda: _state(streams={"q": -1}), "entry 'kubothek'"),
    "batch too large": (lambda: _state(streams={"q": 2**63}), "entry 'kubothek'"),
    "query without a name": (lambda: _state(streams={"": 1}), "entry 'kubothek'"),
    "query of a long name": (lambda: _state(streams={"q" * 257: 1}), "entry 'kubothek'"),
    "query of half a character": (lambda: _state(streams={"\ud800": 1}), "entry 'kubothek'"),
    "too many queries": (lambda: _state(streams={f"q{i}": 1 for i in range(1025)}), "entry 'kubothek'"),
    "lineage a text": (lambda: _state(lineage="p=1/a"), "entry 'kubothek'"),
    "lineage a list": (lambda: _state(lineage={"seed": ["p=1/a"]}), "entry 'kubothek'"),
    "lineage of no dataset": (lambda: _state(**_lineage(b"a\n", "../x")), "entry 'kubothek'"),
    "lineage of too many": (lambda: _state(lineage={f"s{i}": "" for i in range(1025)}), "entry 'kubothek'"),
    "lineage no base64": (lambda: _state(lineage={"seed": "?"}), "of the partitions of 'seed'"),
    "lineage no frame": (lambda: _state(lineage={"seed": "AAAA"}), "no whole Zstandard frame"),
    "lineage no UTF-8": (lambda: _state(**_lineage(b"\xff\n")), "of the partitions of 'seed'"),
    "lineage cut off": (lambda: _state(**_lineage(b"p=1/a\np=2")), "last label of 'seed'"),
    "lineage of too many labels": (lambda: _state(**_lineage(b"\n" * (2**23 + 1))), "more than 8,388,608 labels"),
    "lineage a bomb": (lambda: _state(**_lineage(bytes(2**27))), "expands to more than"),
    "lineage of many bombs": (
        lambda: _state(lineage={f"s{i}": _lineage(bytes(2**26 - 1) + b"\n")["lineage"]["seed"] for i in range(5)}),
        "expands to more than",
    ),
    "table upwards": (
        lambda: wire(partitions={"a": {"files": {"..": "d/a.parquet"}}}),
        "cannot be the name of a folder",
    ),
    "schema no base64": (lambda: _state(schema={"table": "ü"}), "schema that cannot be read"),
    "schema no Arrow": (lambda: _state(schema={"table": "AAAA"}), "schema that cannot be read"),
    "files no base64": (lambda: _state(files="?"), "are damaged"),
    "files no frame": (lambda: _state(files="AAAA"), "no whole Zstandard frame"),
    "files too few": (lambda: _state(files=_files(1)), "lists 2 partitions, but has rows and bytes for 1"),
    "files negative": (lambda: _state(files=_files(2, low=-2)), "negative number of rows"),
    "files too large": (lambda: _state(files=_files(2, low=2**60)), "more rows than any store can hold"),
    "files a bomb": (
        lambda: _state(files=base64.b64encode(compress(bytes(2**24))).decode()),
        "expands to more than",
    ),
}


@pytest.mark.parametrize("case", CORRUPT)
def test_damaged_headers_are_corrupt(case: str) -> None:
    """Every damage is one error that names the header and says what is wrong."""
    make, message = CORRUPT[case]
    with pytest.raises(CorruptDatasetError) as caught:
        decode_header(make(), JSON)
    assert caught.value.key == JSON
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("count", "entries"), [(1, b"\x81"), (2, b"\x82"), (2, b"\xde\x00\x02"), (2, b"\xdf\x00\x00\x00\x02")], ids=str
)
def test_a_label_twice_is_noticed_in_msgpack(count: int, entries: bytes) -> None:
    """A map says how many entries it has."""
    entry = msgspec.msgpack.encode("a") + msgspec.msgpack.encode({"files": {"table": "d/a"}})
    top = b"\x83" + b"".join(msgspec.msgpack.encode(part) for pair in BASE.items() for part in pair)
    data = compress(top + msgspec.msgpack.encode("partitions") + entries + entry * count)
    if count == 1:
        assert decode_header(data, MSGPACK).partitions.num_rows == 1
        return
    with pytest.raises(CorruptDatasetError, match="key comes more than once"):
        decode_header(data, MSGPACK)


def test_a_table_may_be_called_files() -> None:
    """The word that counts partitions is also a name."""
    found = decode_header(
        wire(partitions={"a": {"files": {"files": "d/files/a"}}, "files": {"files": {"files": "d/b"}}}), JSON
    )
    assert found.partitions["label"].to_pylist() == ["a", "files"]


def test_frames_are_read_only_up_to_a_limit() -> None:
    """Whether or not the frame states its size; a cut-off frame is noticed."""
    data = compress(b"x" * 1000)
    assert decompress(data, 1000, "k") == b"x" * 1000
    assert decompress(zstandard.ZstdCompressor(write_content_size=False).compress(b"xy"), 2, "k") == b"xy"
    for frame, limit in [(data, 999), (data[:-1], 1000), (data[:8], 1000), (b"x" * 100, 1000)]:
        with pytest.raises(CorruptDatasetError) as caught:
            decompress(frame, limit, "k")
        assert caught.value.key == "k"


def test_only_keys_of_headers_are_decoded() -> None:
    """The key tells uuid and encoding."""
    with pytest.raises(InvalidInputError):
        decode_header(wire(), "d/table/_common_metadata")
