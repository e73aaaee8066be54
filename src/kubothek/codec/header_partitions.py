"""How a header's list of partitions becomes an Arrow table, and the table such a list again.

On the wire, ``partitions`` maps each label to ``{"files": {<table>: <key>}}``. In memory it is one row per partition
with a column per table (:func:`kubothek.model.header.partitions_schema`), in the order of the wire, since that order
says which of two files wins. A dataset may have a million partitions, so JSON is written by joining Arrow columns, and
cut into them where it is written the usual way (:mod:`kubothek.codec.usual_partitions`).
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.distinct_keys import read_msgpack
from kubothek.codec.keys import check_keys
from kubothek.codec.usual_partitions import cut_usual
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import FILE_PREFIX, HeaderFormat, partitions_schema

_NEEDS_ESCAPE = r'[^ -~]|["\\]'
_BATCH = 2**17
_FIRST_FILE = len(partitions_schema(()))


class _Partition(msgspec.Struct, gc=False):
    """The wire shape of one partition; other entries are ignored."""

    files: dict[str, str]


_DECODERS: dict[HeaderFormat, msgspec.json.Decoder[Any] | msgspec.msgpack.Decoder[Any]] = {
    "json": msgspec.json.Decoder(dict[str, _Partition]),
    "msgpack": msgspec.msgpack.Decoder(dict[str, _Partition]),
}


def decode_partitions(raw: msgspec.Raw, header_format: HeaderFormat, uuid: str, key: str) -> pa.Table:
    """Return the partitions that a header lists; their rows and bytes are null.

    Raises
    ------
    CorruptDatasetError
        If a partition has no file, or a file lies outside the dataset or under another label; ``key`` is the header's.
    ValueError, msgspec.MsgspecError
        If the list has another shape, or a key comes twice in MessagePack.
    """
    cut = cut_usual(memoryview(raw), uuid) if header_format == "json" else None
    if cut is not None:
        name, labels, keys = cut
        check_keys(keys, uuid, key)
        return _to_table(labels, (name,), [keys])
    table, tables = _parse(raw, header_format)
    _check_complete(table, tables, key)
    for name in tables:
        check_keys(table[FILE_PREFIX + name], uuid, key)
        _check_labels(table["label"], table[FILE_PREFIX + name], f"{uuid}/{name}/", key)
    return table


def _parse(raw: msgspec.Raw, header_format: HeaderFormat) -> tuple[pa.Table, tuple[str, ...]]:
    """Read the list whatever its layout; return also which tables it names."""
    # Collecting garbage while a million small objects are made takes longer than making them.
    collecting = gc.isenabled()
    gc.disable()
    try:
        partitions = _DECODERS[header_format].decode(raw)
        if header_format == "msgpack" and len(msgspec.msgpack.encode(partitions)) < len(memoryview(raw)):
            read_msgpack(raw)  # something is not as short as can be, or comes twice
        tables = tuple(dict.fromkeys(table for partition in partitions.values() for table in partition.files))
        columns = [[partition.files.get(table) for partition in partitions.values()] for table in tables]
    finally:
        if collecting:
            gc.enable()
    return _to_table(list(partitions), tables, columns), tables


def _check_labels(labels: pa.ChunkedArray, files: pa.ChunkedArray, prefix: str, key: str) -> None:
    """Refuse a label with the partition values of another file: one says what is deleted, the other what is read.

    A label without values may be any name.
    """
    usual = pc.binary_join_element_wise(prefix, labels, ".parquet", "")
    odd = pc.invert(pc.equal(files, usual))
    if not pc.any(odd).as_py():
        return
    for label, file in zip(labels.filter(odd).to_pylist(), files.filter(odd).to_pylist(), strict=True):
        folder = label.rpartition("/")[0]
        if "=" in folder and file.removeprefix(prefix).rpartition("/")[0] != folder:
            raise CorruptDatasetError(
                f"{key!r} lists the file {file!r} under the label {label!r}, which has other partition values.",
                key=key,
                label=label,
            )


def _to_table(
    labels: list[str] | pa.Array, tables: tuple[str, ...], columns: Sequence[list[str | None] | pa.Array]
) -> pa.Table:
    unknown = pa.nulls(len(labels), pa.int64())
    arrays = [pa.array(labels, pa.string()), unknown, unknown, *(pa.array(column, pa.string()) for column in columns)]
    return pa.table(arrays, schema=partitions_schema(tables))


def _check_complete(table: pa.Table, tables: tuple[str, ...], key: str) -> None:
    files = [table[FILE_PREFIX + name] for name in tables]
    if any(not column.null_count for column in files):
        return
    empty = pc.is_null(pc.coalesce(pa.nulls(table.num_rows, pa.string()), *files))
    if pc.any(empty).as_py():
        label = table["label"].filter(empty)[0].as_py()
        raise CorruptDatasetError(f"{key!r} lists partition {label!r} without any file.", key=key, label=label)


def has_repeats(data: bytes, entries: Mapping[str, msgspec.Raw], found: pa.Table | None) -> bool:
    """Tell whether a key may come more than once in a JSON header, of which decoding keeps only one.

    To look at every key takes long where there are a million partitions, so the quotes of the whole text are counted:
    there are as many as what was decoded needs, unless something comes twice or is unusual.

    Parameters
    ----------
    data, entries
        The header, and the same cut into its entries.
    found
        The partitions as decoded, if it lists any.
    """
    own = 0
    if found is not None:
        files = sum(len(column) - column.null_count for column in found.columns[_FIRST_FILE:])
        own = 4 * found.num_rows + 4 * files  # of the label and of "files"; of each table and its key
    others = sum(bytes(raw).count(b'"') for name, raw in entries.items() if name != "partitions")
    return data.count(b'"') != 2 * len(entries) + others + own


def partitions_to_json(partitions: pa.Table, tables: tuple[str, ...]) -> str:
    """Return the list as JSON, byte for byte as ``json.dumps`` writes it."""
    rows: list[str] = []
    for batch in partitions.to_batches(max_chunksize=_BATCH):
        files = [_prefixed(f"{json.dumps(table)}: ", _json_texts(batch[FILE_PREFIX + table])) for table in tables]
        joined = pc.binary_join_element_wise(*files, ", ", null_handling="skip")
        labels = _json_texts(batch["label"])
        rows += pc.binary_join_element_wise(labels, ': {"files": {', joined, "}}", "").to_pylist()
    return "{" + ", ".join(rows) + "}"


def _prefixed(prefix: str, texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(prefix, texts, "")


def _json_texts(texts: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(texts, _NEEDS_ESCAPE)).as_py():
        return pa.array([None if text is None else json.dumps(text) for text in texts.to_pylist()], pa.string())
    return pc.binary_join_element_wise('"', texts, '"', "")


def partitions_to_mapping(partitions: pa.Table, tables: tuple[str, ...]) -> dict[str, Any]:
    """Return the list as Python values, for MessagePack."""
    columns = [partitions[FILE_PREFIX + table].to_pylist() for table in tables]
    return {
        label: {"files": {table: key for table, key in zip(tables, keys, strict=True) if key is not None}}
        for label, *keys in zip(partitions["label"].to_pylist(), *columns, strict=True)
    }
