"""What the bytes of a metadata header say, and which bytes say it: JSON or compressed MessagePack, version 4.

Reading: the top level is cut into its entries without looking inside, each known entry is then read by its type, and
everything is checked before anyone sees it, because keys in a header decide what is read, copied and deleted. Writing:
entries in Kartothek's order, bytes as Kartothek writes them, then entries that nobody here knows, then our own state
(:mod:`kubothek.codec.header_state`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa

from kubothek.codec.compression import compress, decompress
from kubothek.codec.distinct_keys import cut_msgpack, read_json, read_msgpack
from kubothek.codec.header_partitions import (
    decode_partitions,
    has_repeats,
    partitions_to_json,
    partitions_to_mapping,
)
from kubothek.codec.header_state import decode_state, encode_state
from kubothek.codec.keys import HEADER_SUFFIXES, check_index_key, check_tables
from kubothek.codec.seal import OPEN, is_whole, seal
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.header import METADATA_VERSION, CommitState, Header, HeaderFormat

STATE = "kubothek"
_KNOWN = ("dataset_metadata_version", "dataset_uuid", "indices", "metadata", "partitions", "partition_keys", STATE)
_SEALED = ("indices", "partitions", "partition_keys", STATE)
"""Entries that one seal is for. Others, such as the user's metadata, may be edited by hand."""

HEADER_LIMIT = 2**31
"""Bytes that a compressed header may expand to: ten million partitions or so."""

Entries = dict[str, msgspec.Raw]


def decode_header(data: bytes, key: str) -> Header:
    """Return what a stored header says.

    Parameters
    ----------
    data
        The stored bytes.
    key
        Storage key of the header; its ending tells the encoding.

    Raises
    ------
    CorruptDatasetError
        If the bytes are no header of version 4, belong to another dataset, list a label twice, or refer to objects
        outside the dataset; ``key`` is the header's.

    Examples
    --------
    >>> text = b'{"dataset_metadata_version": 4, "dataset_uuid": "d", "partition_keys": ["P"]}'
    >>> header = decode_header(text, "d.by-dataset-metadata.json")
    >>> header.uuid, header.partition_keys, header.partitions
    ('d', ('P',), None)
    """
    uuid, header_format = _uuid_and_format(key)
    with _as_corrupt(key):
        entries, data = _open(data, header_format, uuid, key)
        return _read(entries, header_format, uuid, key, data)


def decode_state_only(data: bytes, key: str) -> CommitState | None:
    """Return our own state of a stored header, ``None`` where other software made it, and decode nothing else.

    Raises
    ------
    CorruptDatasetError
        As :func:`decode_header`, as far as it is looked at.
    """
    uuid, header_format = _uuid_and_format(key)
    with _as_corrupt(key):
        entries, _ = _open(data, header_format, uuid, key)
        if STATE not in entries:
            return None
        wire = _value(entries[STATE], header_format, dict[str, Any])
    wire.pop("files", None)  # rows and bytes of the partitions
    return decode_state(wire, None, key)[0]


@contextmanager
def _as_corrupt(key: str) -> Iterator[None]:
    """Turn what readers of JSON and MessagePack raise into the error that the header is none."""
    try:
        yield
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CorruptDatasetError(f"{key!r} is not a dataset's metadata header: {error}.", key=key) from error


def _open(data: bytes, header_format: HeaderFormat, uuid: str, key: str) -> tuple[Entries, bytes]:
    """Cut a header into its entries; return also its bytes without compression."""
    data = decompress(data, HEADER_LIMIT, key) if header_format == "msgpack" else data
    entries = _cut(data, header_format)
    if header_format == "json":
        _check_seal(entries, key)
    _check_identity(entries, header_format, uuid, key)
    return entries, data


def _check_seal(entries: Entries, key: str) -> None:
    """Refuse a header in which something that decides about rows is not as it was written; layout does not matter."""
    if STATE not in entries or b'"seal"' not in bytes(entries[STATE]):
        return
    texts = [memoryview(entries[name]) for name in _SEALED if name in entries]
    if is_whole(bytes(texts[-1]), *texts[:-1]):
        return
    if is_whole("".join(_to_json(read_json(bytes(text))) for text in texts).encode()):
        return
    raise CorruptDatasetError(
        f"{key!r} is damaged, or was edited by hand: {', '.join(_SEALED)} are not what its seal, the last entry of "
        f"{STATE!r}, was made for. Whoever has edited it and means it removes the entry 'seal'.",
        key=key,
    )


def _uuid_and_format(key: str) -> tuple[str, HeaderFormat]:
    for header_format, suffix in HEADER_SUFFIXES.items():
        if key.endswith(suffix):
            return key.removesuffix(suffix), header_format
    raise InvalidInputError(f"{key!r} is not the key of a metadata header; it ends in none of {HEADER_SUFFIXES}.")


def _cut(data: bytes, header_format: HeaderFormat) -> Entries:
    if header_format == "msgpack":
        return msgspec.convert(cut_msgpack(data), Entries)
    try:
        return msgspec.json.decode(data, type=Entries)
    except msgspec.DecodeError:
        # Python writes and reads NaN and lone surrogates, which are no JSON; so may a user's metadata
        plain = read_json(data)
        if not isinstance(plain, dict):
            raise
        return msgspec.convert({k: msgspec.Raw(json.dumps(v).encode()) for k, v in plain.items()}, Entries)


def _value(raw: msgspec.Raw, header_format: HeaderFormat, t: Any = Any) -> Any:
    """Read a small entry."""
    value = read_json(bytes(raw)) if header_format == "json" else read_msgpack(raw)
    return msgspec.convert(value, t)


def _check_identity(entries: Entries, header_format: HeaderFormat, uuid: str, key: str) -> None:
    missing = [name for name in _KNOWN[:2] if name not in entries]
    if missing:
        raise CorruptDatasetError(f"{key!r} lacks {' and '.join(missing)}; it is no metadata header.", key=key)
    version, stored = (_value(entries[name], header_format) for name in _KNOWN[:2])
    if version != METADATA_VERSION:
        raise CorruptDatasetError(
            f"{key!r} has metadata version {version!r}, but this library reads version {METADATA_VERSION}.",
            key=key,
            version=version,
        )
    if stored != uuid:
        raise CorruptDatasetError(f"{key!r} is the header of dataset {stored!r}, which was moved or renamed.", key=key)


def _read(entries: Entries, header_format: HeaderFormat, uuid: str, key: str, data: bytes) -> Header:
    def value(name: str, t: Any, default: Any = None) -> Any:
        return _value(entries[name], header_format, t) if name in entries else default

    indices = value("indices", dict[str, str | dict[Any, list[str]]] | None) or {}
    for index in indices.values():
        if isinstance(index, str):
            check_index_key(index, uuid, key)
    keys = value("partition_keys", list[str] | None)
    "".join([*(keys or ()), *indices]).encode()  # half a surrogate pair is no part of a key
    if keys is not None and len(set(keys)) < len(keys):
        raise CorruptDatasetError(f"{key!r} names a partition column twice: {', '.join(keys)}.", key=key)
    header = Header(
        uuid=uuid,
        partition_keys=None if keys is None else tuple(keys),
        partitions=_partitions(entries, header_format, uuid, key, data),
        indices={column: index for column, index in indices.items() if isinstance(index, str)},
        metadata=value("metadata", dict[str, Any] | None) or {},
        format=header_format,
        embedded_indices={column: _postings(index) for column, index in indices.items() if isinstance(index, dict)},
        extra={name: _value(raw, header_format) for name, raw in entries.items() if name not in _KNOWN},
    )
    check_tables(header.tables, key)
    if STATE not in entries:
        return header
    state, partitions = decode_state(value(STATE, Any), header.partitions, key)
    check_tables(state.schema, key)
    return replace(header, state=state, partitions=partitions)


def _postings(index: Mapping[Any, list[str]]) -> dict[str, tuple[str, ...]]:
    return {str(value): tuple(labels) for value, labels in index.items()}


def _partitions(entries: Entries, header_format: HeaderFormat, uuid: str, key: str, data: bytes) -> pa.Table | None:
    raw = entries.get("partitions")
    table = None if raw is None else decode_partitions(raw, header_format, uuid, key)
    if header_format == "json" and has_repeats(data, entries, table):
        read_json(data)
    return table


def encode_header(header: Header) -> bytes:
    r"""Return the bytes of a header; without ``state`` those that Kartothek writes for the same content.

    Raises
    ------
    InvalidInputError
        If the user's metadata cannot be written as JSON.

    Examples
    --------
    >>> encode_header(Header("d", ("P",), None, metadata={"m": "ü"}))
    b'{"dataset_metadata_version": 4, "dataset_uuid": "d", "metadata": {"m": "\\u00fc"}, "partition_keys": ["P"]}'
    """
    if header.format == "json":
        entries = _entries(header, _to_json, partitions_to_json)
        if header.state is not None:
            sealed = seal("".join(entries[name] for name in _SEALED if name in entries).encode())
            entries[STATE] = sealed[-len(entries[STATE]) :].decode()
        return ("{" + ", ".join(f"{_to_json(name)}: {text}" for name, text in entries.items()) + "}").encode()
    return compress(msgspec.msgpack.encode(_entries(header, _to_plain, partitions_to_mapping)))


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise ``InvalidInputError`` unless user metadata can be written as JSON, and read back."""
    try:
        read_json(_to_json(metadata))
    except ValueError as error:  # keys 1 and "1", or the digits of a huge number
        raise InvalidInputError(f"The metadata of a dataset cannot be read back from JSON: {error}.") from error


def _entries(
    header: Header, write: Callable[[Any], Any], write_partitions: Callable[[pa.Table, tuple[str, ...]], Any]
) -> dict[str, Any]:
    """Return the entries in order, each written by ``write``."""
    entries = {"dataset_metadata_version": write(METADATA_VERSION), "dataset_uuid": write(header.uuid)}
    indices = {**header.indices, **header.embedded_indices}
    if indices:
        entries["indices"] = write(indices)
    if header.metadata:
        entries["metadata"] = write(dict(header.metadata))
    if header.partitions is not None:
        entries["partitions"] = write_partitions(header.partitions, header.tables)
    if header.partition_keys is not None:
        entries["partition_keys"] = write(list(header.partition_keys))
    entries |= {name: write(value) for name, value in header.extra.items()}
    if header.state is not None:
        sealed = {"seal": OPEN.decode()} if header.format == "json" else {}  # a frame has a checksum of its own
        entries[STATE] = write(encode_state(header.state, header.partitions) | sealed)
    return entries


def _to_json(value: Any) -> str:
    try:
        return json.dumps(value, default=_as_dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"The metadata of a dataset must be JSON values: {error}.") from error


def _to_plain(value: Any) -> Any:
    """Return what JSON would give back, so that both encodings hold the same."""
    return json.loads(_to_json(value))


def _as_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}")
