"""How the commits of a Delta log are stored: one JSON object per line, each an action.

The log lies at the root of the Delta table, which is the folder of the dataset::

    <uuid>/_delta_log/00000000000000000000.json     commit 0; its files are named from <uuid>/ on
    <uuid>/<table>/…                                the data files, which the log names and nobody copies

Readers replay all commits. We write no checkpoints. A writer must know every *feature* that the log names for writers;
ours names one that nobody has (:data:`GUARD`), so that software that keeps to the protocol of Delta neither adds rows
nor removes files with VACUUM, which would be our data. Source: the Delta transaction log protocol, sections "Actions",
"Per-file Statistics" and "Partition Value Serialization".
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.quoting import unquote
from kubothek.errors import CorruptDatasetError
from kubothek.model.delta import DeltaChange, DeltaFile, DeltaLog, DeltaTable
from kubothek.model.read_plan import PARTITION_PREFIX

GUARD = "kubothekReadOnly"
"""Feature that no writer of Delta knows, so that none writes."""

_CONFIGURATION = {
    "delta.deletedFileRetentionDuration": "interval 36500 days",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.enableExpiredLogCleanup": "false",
}
_SOURCE = "kubothek."
_COMMIT = re.compile(r"/_delta_log/(\d{20})\.json\Z", re.ASCII)


class _File(msgspec.Struct):
    path: str


class _Metadata(msgspec.Struct, rename="camel"):
    id: str
    schema_string: str
    partition_columns: list[str]
    configuration: dict[str, str | None] = msgspec.field(default_factory=dict)
    created_time: int | None = None


class _Protocol(msgspec.Struct, rename="camel"):
    reader_features: list[str] | None = None


class _Action(msgspec.Struct, rename="camel"):
    add: _File | None = None
    remove: _File | None = None
    meta_data: _Metadata | None = None
    protocol: _Protocol | None = None


_DECODER = msgspec.json.Decoder(_Action)


def delta_log_prefix(uuid: str) -> str:
    """Return the prefix of the Delta log of a dataset."""
    return f"{uuid}/_delta_log/"


def delta_log_key(uuid: str, version: int) -> str:
    """Return the key of a commit of the Delta log of a dataset.

    Examples
    --------
    >>> delta_log_key("flights", 7)
    'flights/_delta_log/00000000000000000007.json'
    """
    return f"{delta_log_prefix(uuid)}{version:020d}.json"


def commit_keys(keys: Iterable[str], uuid: str) -> list[str]:
    """Return the commits among the objects of a log, in order.

    Raises
    ------
    CorruptDatasetError
        Some are missing, because somebody has deleted them.
    """
    found = sorted(key for key in keys if _COMMIT.search(key))
    missing = next((key for n, key in enumerate(found) if key != delta_log_key(uuid, n)), None)
    if missing is not None:
        raise CorruptDatasetError(
            f"The Delta log of dataset {uuid!r} lacks commits before {missing!r}. Delete the folder "
            f"{delta_log_prefix(uuid)!r}, and export again.",
            key=missing,
        )
    return found


def read_log(commits: Mapping[str, bytes]) -> DeltaLog:
    """Return what the commits of a log amount to; ``commits`` are their bytes by key, in order.

    Raises
    ------
    CorruptDatasetError
        A commit is none; ``key`` names it.
    """
    return reduce(lambda log, item: _replay(log, *item), commits.items(), DeltaLog())


def _replay(log: DeltaLog, key: str, data: bytes) -> DeltaLog:
    try:
        actions = [_DECODER.decode(line) for line in data.splitlines() if line.strip()]
        removed = {unquote(one.remove.path) for one in actions if one.remove}
        added = {unquote(one.add.path): one.add.path for one in actions if one.add}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptDatasetError(f"{key!r} is no commit of a Delta log: {error}.", key=key) from error
    table = log.table
    said = next((one.meta_data for one in actions if one.meta_data), None)
    protocol = next((one.protocol for one in actions if one.protocol), None)
    if said is not None:
        source = {name: value or "" for name, value in said.configuration.items() if name.startswith(_SOURCE)}
        features = frozenset() if table is None else table.features
        table = DeltaTable(said.schema_string, tuple(said.partition_columns), features, source)
    if protocol is not None and table is not None:
        features = frozenset(protocol.reader_features or ())
        table = DeltaTable(table.schema, table.partition_columns, features, table.source)
    return DeltaLog(
        version=log.version + 1,
        id=log.id if said is None else said.id,
        created=log.created if said is None else said.created_time or 0,
        table=table,
        files={name: path for name, path in log.files.items() if name not in removed} | added,
    )


def encode_commit(
    log: DeltaLog, change: DeltaChange, info: Mapping[str, Any], root: str, facts: Sequence[DeltaFile | None]
) -> bytes:
    """Return the bytes of the commit that changes a log.

    Parameters
    ----------
    log
        The log with the table's ``id`` and time of creation, which it keeps.
    change
        What the commit is to say.
    info
        Who made it, when (``timestamp``, in milliseconds since 1970), and from what.
    root
        What the keys of the files begin with, up to the table's root.
    facts
        What the footer of each added file says, ``None`` where it was not read.
    """
    actions: list[dict[str, Any]] = [{"commitInfo": dict(info)}]
    if change.has_new_features:
        actions.append({"protocol": _protocol(change.table.features)})
    if change.has_new_table:
        actions.append({"metaData": _metadata(log, change.table)})
    now = info["timestamp"]
    actions += [{"remove": {"path": p, "deletionTimestamp": now, "dataChange": True}} for p in change.removed]
    actions += [{"add": one} for one in _adds(change.added, now, root, facts)]
    return b"\n".join(map(msgspec.json.encode, actions)) + b"\n"


def _protocol(features: frozenset[str]) -> dict[str, Any]:
    writing = {"minWriterVersion": 7, "writerFeatures": sorted({*features, GUARD})}
    if not features:  # who reads need not know that there are features
        return {"minReaderVersion": 1, **writing}
    return {"minReaderVersion": 3, "readerFeatures": sorted(features), **writing}


def _metadata(log: DeltaLog, table: DeltaTable) -> dict[str, Any]:
    return {
        "id": log.id,
        "name": table.source["kubothek.uuid"],
        "format": {"provider": "parquet", "options": {}},
        "schemaString": table.schema,
        "partitionColumns": list(table.partition_columns),
        "configuration": {**_CONFIGURATION, **table.source},
        "createdTime": log.created,
    }


def _adds(files: pa.Table, now: int, root: str, facts: Sequence[DeltaFile | None]) -> Iterator[dict[str, Any]]:
    """Yield what the log says of each file; texts are made once for each distinct value."""
    prefixed = [name for name in files.column_names if name.startswith(PARTITION_PREFIX)]
    texts = [_texts(files[name].combine_chunks()) for name in prefixed]
    names = [name.removeprefix(PARTITION_PREFIX) for name in prefixed]
    values = zip(*texts, strict=True) if texts else ((),) * files.num_rows
    columns = (files[name].to_pylist() for name in ("rows", "bytes"))
    for path, rows, size, value, fact in zip(file_paths(files["key"], root), *columns, values, facts, strict=True):
        said = {} if fact is None else {"numRecords": fact.rows, **fact.statistics}
        said |= {} if rows is None else {"numRecords": rows}
        yield {
            "path": path,
            "partitionValues": dict(zip(names, value, strict=True)),
            "size": size,
            "modificationTime": now,
            "dataChange": True,
            "stats": msgspec.json.encode(said).decode(),
        }


def file_paths(keys: pa.ChunkedArray, root: str) -> list[str]:
    """Return the paths by which a log names files: from the table's root on, percent-encoded once more.

    Examples
    --------
    >>> file_paths(pa.chunked_array([["d/table/p=a%20b/1.parquet"]]), "d/")
    ['table/p=a%2520b/1.parquet']
    """
    relative = pc.utf8_slice_codeunits(keys, len(root)).to_pylist()
    return [urllib.parse.quote(path, safe="/=") for path in relative]


def _texts(values: pa.Array) -> list[str | None]:
    encoded = values.dictionary_encode()
    texts = pa.array([_text(value) for value in encoded.dictionary.to_pylist()], pa.string())
    found: list[str | None] = texts.take(encoded.indices).to_pylist()
    return found


def _text(value: Any) -> str:
    """Return a partition value as the protocol writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return value.decode()
    return str(value).replace("inf", "Infinity").replace("nan", "NaN") if isinstance(value, float) else str(value)
