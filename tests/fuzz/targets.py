"""Every parser of what a store or a user may hold: valid samples of its input, and how it is called.

A target reads one input. It may refuse it with the errors named here, and may raise nothing else; what it accepts is
checked where something is to hold of it (every key lies within the dataset, what is written comes back).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import kubothek as kb
from kubothek.codec.compression import compress
from kubothek.codec.deletion import decode_deletion, encode_deletion
from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.index import encode_index, read_index, read_index_parts
from kubothek.codec.kept_header import decode_kept, encode_kept
from kubothek.codec.keys import HEADER_SUFFIXES, check_index_key, check_keys, version_key
from kubothek.codec.partition_values import infer_partition_keys, partition_values
from kubothek.codec.schema import decode_schema, encode_schema, schema_from_text, schema_to_text
from kubothek.codec.staged_table import staged_writer
from kubothek.dataset.indices.stream import staged_values
from kubothek.engine.data_files import FileScan
from kubothek.engine.steps import in_order
from kubothek.errors import CorruptDatasetError, InvalidInputError, SnapshotExpiredError
from kubothek.model.condition_text import parse_text
from kubothek.model.header import FILE_PREFIX, CommitInfo, CommitState, Header, partitions_schema
from kubothek.model.pin import Pin
from kubothek.plan.bind import bind
from kubothek.store.interface import Store

UUID = "d"
JSON, MSGPACK = (UUID + suffix for suffix in HEADER_SUFFIXES.values())
KEPT = version_key(UUID, "1f", 7, datetime(2026, 11, 21, tzinfo=UTC), "c" * 32, "json")
STORE = "memory://fuzz"
STAGED = "_kubothek/d/1f/staged/w/v.staged"
RECORD = pa.schema(
    [("p", pa.int64()), ("s", pa.string()), ("f", pa.float64()), ("t", pa.timestamp("us")), ("l", pa.list_(pa.int64()))]
)


@dataclass(frozen=True)
class Target:
    """One parser: ``read`` is given bytes of the ``form`` that ``samples`` have, and may raise ``refusals`` only."""

    read: Callable[[bytes], object]
    samples: Callable[[], list[bytes]]
    form: str = "bytes"
    tokens: tuple[bytes, ...] = ()
    refusals: tuple[type[Exception], ...] = (CorruptDatasetError,)


@cache
def headers() -> tuple[Header, ...]:
    """Return headers with and without state, indices, several tables and odd names."""
    rows = {
        "label": ["p=1/a", "p=2/b"],
        "rows": [3, None],
        "bytes": [10, None],
        "file/table": ["d/table/p=1/a.parquet", "d/table/p=2/b.parquet"],
        "file/t": ["d/t/p=1/a.parquet", None],
    }
    one = pa.table(rows, schema=partitions_schema(("table", "t"))).drop_columns(["file/t"])
    both = pa.table(rows, schema=partitions_schema(("table", "t")))
    info = CommitInfo(datetime(2026, 11, 21, tzinfo=UTC), "write_dataset", "a", "kubothek 0.1.0", 2, 0, 3)
    state = CommitState(7, "c" * 32, ("b" * 32, "c" * 32), "1f", {"table": RECORD}, ("0123456789ab",), True, info=info)
    state = replace(state, streams={"q": 3}, lineage={"seed": pa.array(["p=1/x", "p=2/y"])})
    plain = Header(UUID, ("p",), one, {"s": "d/indices/s/x.by-dataset-index.parquet"}, {"m": [1, "ü"]})
    return (
        plain,
        replace(plain, state=state),
        replace(plain, partitions=both, extra={"later": 1}, embedded_indices={"i1": {"1": ("p=1/a",)}}),
        Header(UUID, None, None),
    )


def _header_samples(header_format: Any) -> list[bytes]:
    encoded = [encode_header(replace(header, format=header_format)) for header in headers()]
    if header_format == "json":
        return encoded
    return [msgspec.msgpack.encode(json.loads(encode_header(header))) for header in headers()]


def _read_header(data: bytes, key: str) -> Header:
    """Decode a header; its keys lie inside the dataset, and what it says is what its own bytes say."""
    header = decode_header(data, key)
    if header.partitions is not None:
        for table in header.tables:
            check_keys(header.partitions[FILE_PREFIX + table], UUID)
    for index in header.indices.values():
        check_index_key(index, UUID)
    try:
        encoded = encode_header(header)
    except InvalidInputError:
        return header
    again = decode_header(encoded, key)
    assert encode_header(again) == encoded
    return header


def _table() -> pa.Table:
    rows = 40
    columns = {
        "s": [f"v{i % 7}" for i in range(rows)],
        "f": [i / 3 for i in range(rows)],
        "t": [datetime(2020, 1, 1 + i % 20, tzinfo=UTC).replace(tzinfo=None) for i in range(rows)],
        "l": [[i] * (i % 3) for i in range(rows)],
    }
    return pa.table(columns, schema=pa.schema([RECORD.field(name) for name in columns]))


def _parquet(**options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(_table(), sink, row_group_size=20, **options)
    return sink.getvalue().to_pybytes()


def _data_samples() -> list[bytes]:
    return [
        _parquet(),
        _parquet(compression="zstd", write_page_checksum=True),
        _parquet(use_dictionary=False, version="1.0", data_page_version="2.0", compression="gzip"),
    ]


def _scan(data: bytes, key: str, columns: tuple[str, ...]) -> Iterator[pa.Table]:
    store = Store(STORE)
    store.put(key, data)
    constants = {"p": pa.scalar(1, pa.int64())}
    condition = bind((kb.C("s") == "v1") | (kb.C("f") > 3.0), RECORD, subject="d")
    scan = FileScan(store, key, len(data), RECORD, columns, condition, constants)
    yield scan.read()
    yield FileScan(store, key, len(data), RECORD, ("p", "s"), constants=constants).read()
    yield from in_order((scan.step,))


def _read_data(data: bytes) -> None:
    for table in _scan(data, "d/table/p=1/a.parquet", ("p", "s", "f", "t", "l")):
        # Nobody checks text of other writers for UTF-8, which takes long; whoever looks at it finds out.
        table.drop_columns([name for name in ("s",) if name in table.column_names]).validate(full=True)
        table.validate()


def _csv_samples() -> list[bytes]:
    text = b"s;f;t\n" + b"".join(b"v%d;%d.5;2020-01-%02d 00:00:00\n" % (i, i, i + 1) for i in range(9))
    return [text, text + b'"a;b\n""c";;\n']


def _read_csv(suffix: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        for table in _scan(data, f"d/table/p=1/a{suffix}", ("p", "s", "f", "t")):
            table.validate(full=True)

    return read


def _index_samples() -> list[bytes]:
    labels = pa.list_(pa.string())
    entries = {"s": [f"v{i}" for i in range(20)], "partition": [[f"p={i}/a", "p=1/b"] for i in range(20)]}
    table = pa.table(entries, schema=pa.schema([("s", pa.string()), ("partition", labels)]))
    sink = pa.BufferOutputStream()
    pq.write_table(table.cast(pa.schema([("s", pa.large_string()), ("partition", labels)])), sink, row_group_size=5)
    return [encode_index("s", [table]), sink.getvalue().to_pybytes()]


def _read_index(data: bytes) -> None:
    key = "d/indices/s/x.by-dataset-index.parquet"
    for kind in (pa.string(), None):
        read_index(pa.BufferReader(data), key, "s", kind, bind(kb.C("s") == "v1", RECORD, subject="d")).validate(
            full=True
        )
        for part in read_index_parts(pa.BufferReader(data), key, "s", kind)[1]:
            part.validate(full=True)


def _staged_samples() -> list[bytes]:
    sink = pa.BufferOutputStream()
    with staged_writer(sink, STAGED, pa.schema([("value", pa.string())])) as writer:
        writer.write_table(pa.table({"value": [f"v{i}" for i in range(50)]}), row_group_size=25)
    data = sink.getvalue().to_pybytes()
    return [data, data.replace(b"crc32:", b"crc33:")]  # without a seal, what is behind it is reached


def _read_staged(data: bytes) -> None:
    store = Store(STORE)
    store.put(STAGED, data)
    for values in staged_values(store, STAGED):
        values.validate(full=True)


def _schema_samples() -> list[bytes]:
    kinds = [pa.decimal128(5, 2), pa.struct([("x", pa.list_(pa.timestamp("us", "UTC")))]), pa.null(), pa.date32()]
    odd = pa.schema([("a b", kinds[0]), ("ü", kinds[1]), ("k", kinds[2]), ("d", kinds[3])])
    return [encode_schema(RECORD), encode_schema(odd)]


def _read_schema_text(data: bytes) -> None:
    found = schema_from_text(base64.b64encode(data).decode(), JSON)
    assert schema_from_text(schema_to_text(found), JSON) == found


def _schema_text_samples() -> list[bytes]:
    return [base64.b64decode(schema_to_text(decode_schema(data, "k"))) for data in _schema_samples()]


def _read_labels(data: bytes) -> None:
    """Decode partition values of a list of keys, which a header has let in."""
    try:
        keys = pa.array(msgspec.convert(json.loads(data), list[str]), pa.string())
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    check_keys(keys, UUID)
    for key in keys.to_pylist():
        infer_partition_keys(key, UUID, "table")
    columns = {"i": pa.int64(), "d": pa.date32(), "t": pa.timestamp("us"), "b": pa.bool_(), "n": pa.decimal128(4, 1)}
    partition_values(keys, UUID, "table", ["i", "d", "t", "b", "n", "y"], pa.schema({**columns, "y": pa.binary()}))


def _condition_samples() -> list[bytes]:
    texts = ['TEMP < 0 & CC in ("DE", "AT") | not DAY >= 2020-01-31', "`a b` between 1 and 2.5e3 and x is not null"]
    return [text.encode() for text in (*texts, 't > 2020-01-01T12:00:00Z or b == b"\\x00" & ~(d == decimal"1.1")')]


def _read_condition(data: bytes) -> None:
    condition = parse_text(data.decode(errors="surrogateescape"))
    assert str(parse_text(str(condition))) == str(condition)


def _condition_json_samples() -> list[bytes]:
    tree = (kb.C("x") == 1) & kb.C("y").isin([date(2020, 1, 1), None, Decimal("1.5"), b"a", float("inf")])
    return [json.dumps(kb.condition_to_json(one)).encode() for one in (tree, ~tree | kb.C("z").is_null())]


def _read_condition_json(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    condition = kb.condition_from_json(value)
    assert str(kb.condition_from_json(kb.condition_to_json(condition))) == str(condition)


def _read_pin(data: bytes) -> None:
    pin = Pin.parse(data.decode(errors="surrogateescape"))
    assert Pin.parse(str(pin)) == pin


def _read_dataset(data: bytes) -> None:
    """Open a whole dataset of which somebody has written the header, and read it."""
    store = _hostile_store()
    store.put(JSON, data)
    ds = kb.open_dataset(UUID, store)
    ds.scan(where=kb.C("s") == "v1").to_arrow().validate(full=True)
    ds.load_all_indices()
    repr(ds), ds.partitions, list(ds.scan().batches())


@cache
def _hostile_store() -> Store:
    store = Store("memory://fuzz-dataset")
    data = pa.table({"p": [1, 1, 2], "s": ["v1", "v2", "v1"], "f": [0.5, None, 1.0]})
    kb.write_dataset(data, UUID, store, partition_on="p", secondary_indices="s")
    return store


def _dataset_samples() -> list[bytes]:
    return [_hostile_store().get(JSON).data]


_JSON_TOKENS = tuple(
    f'"{name}"'.encode()
    for name in (
        "dataset_metadata_version", "dataset_uuid", "indices", "metadata", "partitions", "partition_keys", "kubothek",
        "files", "table", "version", "commit", "recent", "incarnation", "schema", "cube_call", "info", "oldest",
    )
)  # fmt: skip
_PARQUET_TOKENS = (b"PAR1", b"ARROW:schema", b"\x15\x00", b"\x16\xfe\xff\xff\xff\x0f", b"pandas")

TARGETS: dict[str, Target] = {
    "header_json": Target(lambda data: _read_header(data, JSON), lambda: _header_samples("json"), "json", _JSON_TOKENS),
    "header_msgpack": Target(
        lambda data: _read_header(compress(data), MSGPACK), lambda: _header_samples("msgpack"), "msgpack", _JSON_TOKENS
    ),
    "header_frame": Target(
        lambda data: _read_header(data, MSGPACK), lambda: [compress(one) for one in _header_samples("msgpack")]
    ),
    "schema_text": Target(_read_schema_text, _schema_text_samples),
    "common_metadata": Target(
        lambda data: decode_schema(data, "d/table/_common_metadata"), _schema_samples, tokens=_PARQUET_TOKENS
    ),
    "index": Target(_read_index, _index_samples, tokens=_PARQUET_TOKENS),
    "staged_values": Target(_read_staged, _staged_samples, tokens=(b"ARROW1",)),
    "deletion": Target(
        lambda data: check_keys(pa.array([k for k in decode_deletion(data, UUID, "k") if "/" in k], pa.string()), UUID),
        lambda: [encode_deletion(pa.array(["d/table/p=1/a.parquet", "d.s.by-dataset-index.parquet"]))],
        "json",
    ),
    "data_file": Target(_read_data, _data_samples, tokens=_PARQUET_TOKENS),
    "csv": Target(_read_csv(".csv"), _csv_samples, tokens=(b";", b'"', b"\r\n", b"\xef\xbb\xbf")),
    "csv_gz": Target(_read_csv(".csv.gz"), lambda: [gzip.compress(one) for one in _csv_samples()]),
    "labels": Target(
        _read_labels,
        lambda: [b'["d/table/i=1/d=2020-01-01/t=2020-01-01 00:00:00/b=True/n=1.0/y=%C3%BC/a.parquet"]'],
        "json",
        (b"i=", b"%2F", b"%ff", b"nan", b"9" * 20),
    ),
    "condition_text": Target(
        _read_condition,
        _condition_samples,
        tokens=(b"between", b" in (", b"not ", b"decimal'", b"~("),
        refusals=(InvalidInputError,),
    ),
    "condition_json": Target(_read_condition_json, _condition_json_samples, "json", refusals=(InvalidInputError,)),
    "kept_header": Target(
        lambda data: decode_kept(data, KEPT, UUID), lambda: [encode_kept(encode_header(headers()[1]), "json")]
    ),
    "pin": Target(_read_pin, lambda: [b"flights: seed=7/5f2c, weather=3/91ab"], refusals=(InvalidInputError,)),
    "store_url": Target(
        lambda data: kb.Store(data.decode(errors="surrogateescape")),
        lambda: [
            b"memory://name",
            b"file:///data/x%20y",
            b"/data/x",
            b"s3://bucket/prefix/x",
            b"data",
        ],
        tokens=(b"://", b"%00", b"gs", b"@", b"?", b"#", b":99999"),
        refusals=(InvalidInputError,),
    ),
    "dataset": Target(
        _read_dataset, _dataset_samples, "json", _JSON_TOKENS, (CorruptDatasetError, SnapshotExpiredError)
    ),
}
"""Each parser by name."""
