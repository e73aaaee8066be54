"""What the bytes of a metadata header say, and which bytes say it: JSON or compressed MessagePack, version 4.

Reading: the top level is cut into its entries without looking inside, each known entry is then read by its type, and
everything is checked before anyone sees it, because keys in a header decide what is read, copied and deleted. Writing:
entries in Kartothek's order, bytes as Kartothek writes them, then entries that nobody here knows, then our own state
(:mod:`kubothek.codec.header_state`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa

from kubothek.codec.compression import compress, decompress
from kubothek.codec.header_partitions import (
    check_duplicates,
    decode_partitions,
    partitions_to_json,
    partitions_to_mapping,
)
from kubothek.codec.header_state import decode_state, encode_state
from kubothek.codec.keys import HEADER_SUFFIXES, check_index_key, check_tables
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.header import METADATA_VERSION, Header, HeaderFormat

STATE = "kubothek"
_KNOWN = ("dataset_metadata_version", "dataset_uuid", "indices", "metadata", "partitions", "partition_keys", STATE)
_LIMIT = 2**31
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
    data = decompress(data, _LIMIT, key) if header_format == "msgpack" else data
    try:
        entries = _cut(data, header_format)
        _check_identity(entries, header_format, uuid, key)
        return _read(entries, header_format, uuid, key, data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CorruptDatasetError(f"{key!r} is not a dataset's metadata header: {error}.", key=key) from error


def _uuid_and_format(key: str) -> tuple[str, HeaderFormat]:
    for header_format, suffix in HEADER_SUFFIXES.items():
        if key.endswith(suffix):
            return key.removesuffix(suffix), header_format
    raise InvalidInputError(f"{key!r} is not the key of a metadata header; it ends in none of {HEADER_SUFFIXES}.")


def _cut(data: bytes, header_format: HeaderFormat) -> Entries:
    if header_format == "msgpack":
        return msgspec.msgpack.decode(data, type=Entries)
    try:
        return msgspec.json.decode(data, type=Entries)
    except msgspec.DecodeError:
        # Python writes and reads NaN and lone surrogates, which are no JSON; so may a user's metadata
        plain = json.loads(data)
        if not isinstance(plain, dict):
            raise
        return msgspec.convert({k: msgspec.Raw(json.dumps(v).encode()) for k, v in plain.items()}, Entries)


def _value(raw: msgspec.Raw, header_format: HeaderFormat, t: Any = Any) -> Any:
    """Read a small entry; JSON with Python's own reader, which keeps large integers and NaN."""
    value = json.loads(bytes(raw)) if header_format == "json" else msgspec.msgpack.decode(raw)
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
    if raw is None:
        return None
    table = decode_partitions(raw, header_format, uuid, key)
    others = (bytes(other) for name, other in entries.items() if name != "partitions")
    mentions = data.count(b'"files"') - sum(other.count(b'"files"') for other in others)
    check_duplicates(raw, header_format, mentions, table.num_rows, key)
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
        return ("{" + ", ".join(f"{_to_json(name)}: {text}" for name, text in entries.items()) + "}").encode()
    return compress(msgspec.msgpack.encode(_entries(header, _to_plain, partitions_to_mapping)))


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise ``InvalidInputError`` unless user metadata can be written as JSON."""
    _to_json(metadata)


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
        entries[STATE] = write(encode_state(header.state, header.partitions))
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
