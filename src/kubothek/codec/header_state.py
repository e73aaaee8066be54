"""How our own part of a header is written: what the commit protocol knows beyond version 4 of the format.

On the wire it is the header's last entry, ``kubothek``::

    {"version": 3, "commit": "<write id>", "recent": ["<write id>", …], "incarnation": "…",
     "schema": {"<table>": "<base64 of an Arrow IPC schema>"}, "unique_writes": ["<prefix>", …], "conformed": true,
     "cube_call": {"id": "<write id>", "operation": "build_cube", "datasets": ["<id>", …]}, "withdrawn": true,
     "info": {"time": "2026-11-21T16:50:12.123456Z", "operation": "update_dataset", "author": "…",
              "library": "kubothek 0.1.0", "added": 2, "removed": 0, "rows": 17, "overwrote": ["<write id>", …]},
     "oldest": 2, "hold": 1.5, "streams": {"<query>": 17}, "lineage": {"<dataset>": "<base64 of a Zstandard frame>"},
     "files": "<base64 of a Zstandard frame>", "seal": "crc32:…"}

``cube_call`` is missing where the commit was not part of a call for several datasets, ``withdrawn`` where it is not
true, ``info`` in headers from before there was any, ``overwrote`` where there is nothing to say, ``oldest`` where it is
1, ``hold`` where it is 0, ``streams`` and ``lineage`` where they are empty, and ``files`` where nothing is known about
any file. Its content are the rows of the partitions, in their order, and then their bytes, as little-endian 64-bit
integers, -1 where unknown. The content of a frame of ``lineage`` are labels in UTF-8, one a line, each ended by a
newline. ``seal`` stands in JSON only, last of all (:mod:`kubothek.codec.seal`). Entries that a later version added are
kept.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.compression import compress, decompress
from kubothek.codec.keys import check_incarnation
from kubothek.codec.schema import schema_from_text, schema_to_text
from kubothek.errors import CorruptDatasetError, InvalidInputError
from kubothek.model.header import BATCH_AT_MOST, STREAM_QUERY, STREAMS_AT_MOST, CommitInfo, CommitState, CubeCall

_FILES = ("rows", "bytes")
_NUMBER = np.dtype("<i8")
_UNKNOWN = -1
_MOST = 2**60
"""What all files together stay below, so that no sum overflows."""
_LINEAGE_LIMIT = 2**28
"""Bytes of all labels of a lineage: some millions."""
_LABELS_AT_MOST = 2**23
"""As many as the limit holds, since the name of a file alone has 32 digits."""
_SOURCES_AT_MOST = 1024

_Version = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_Commit = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-zA-Z_\-]{1,128}\Z")]  # it is part of keys
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Source = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-zA-Z+_\-]{1,256}\Z")]
_Query = Annotated[str, msgspec.Meta(pattern=STREAM_QUERY)]
_Batch = Annotated[int, msgspec.Meta(ge=0, le=BATCH_AT_MOST)]


class _Info(msgspec.Struct):
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    operation: str
    author: str
    library: str
    added: _Count
    removed: _Count
    rows: _Count | None = None
    overwrote: list[str] = msgspec.field(default_factory=list)


class _Wire(msgspec.Struct):
    version: _Version
    commit: _Commit
    recent: list[str]
    incarnation: str
    schema: dict[str, str]
    unique_writes: list[str] = msgspec.field(default_factory=list)
    conformed: bool = False
    cube_call: CubeCall | None = None
    withdrawn: bool = False
    info: _Info | None = None
    oldest: _Version = 1
    hold: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    streams: Annotated[dict[_Query, _Batch], msgspec.Meta(max_length=STREAMS_AT_MOST)] = msgspec.field(
        default_factory=dict
    )
    lineage: Annotated[dict[_Source, str], msgspec.Meta(max_length=_SOURCES_AT_MOST)] = msgspec.field(
        default_factory=dict
    )
    files: str | None = None
    seal: str | None = None


# msgspec (up to 0.22) ends the process where two threads are the first to convert to a type: so this is the first time.
msgspec.json.Decoder(_Wire)


def encode_state(state: CommitState, partitions: pa.Table | None) -> dict[str, Any]:
    """Return the wire shape of the state, with what ``partitions`` knows about rows and bytes."""
    wire: dict[str, Any] = {
        "version": state.version,
        "commit": state.commit,
        "recent": list(state.recent),
        "incarnation": state.incarnation,
        "schema": {table: schema_to_text(schema) for table, schema in state.schema.items()},
        "unique_writes": list(state.unique_writes),
        "conformed": state.conformed,
    }
    if (call := state.cube_call) is not None:
        wire["cube_call"] = {"id": call.id, "operation": call.operation, "datasets": list(call.datasets)}
    if state.withdrawn:
        wire["withdrawn"] = True
    if state.info is not None:
        wire["info"] = _encode_info(state.info)
    if state.oldest > 1:
        wire["oldest"] = state.oldest
    if state.hold:
        wire["hold"] = state.hold
    if state.streams:
        wire["streams"] = dict(state.streams)
    if state.lineage:
        wire["lineage"] = _encode_lineage(state.lineage)
    if partitions is not None and any(partitions[name].null_count < partitions.num_rows for name in _FILES):
        wire["files"] = _encode_files(partitions)
    return wire | dict(state.extra)


def decode_state(wire: Any, partitions: pa.Table | None, key: str) -> tuple[CommitState, pa.Table | None]:
    """Return the state and the partitions completed with their rows and bytes.

    Raises
    ------
    CorruptDatasetError
        If the state has another shape or does not fit the partitions; ``key`` is the header's.
    """
    try:
        known = msgspec.convert(wire, _Wire)
        info = None if known.info is None else _decode_info(known.info)
    except (msgspec.ValidationError, OverflowError) as error:
        raise CorruptDatasetError(f"The entry 'kubothek' of {key!r} is damaged: {error}.", key=key) from error
    check_incarnation(known.incarnation, key)
    state = CommitState(
        version=known.version,
        commit=known.commit,
        recent=tuple(known.recent),
        incarnation=known.incarnation,
        schema={table: schema_from_text(text, key) for table, text in known.schema.items()},
        unique_writes=tuple(known.unique_writes),
        conformed=known.conformed,
        cube_call=known.cube_call,
        withdrawn=known.withdrawn,
        info=info,
        oldest=known.oldest,
        hold=known.hold,
        streams=known.streams,
        lineage=_decode_lineage(known.lineage, key),
        extra={name: value for name, value in wire.items() if name not in _Wire.__struct_fields__},
    )
    if known.files is not None:
        partitions = _add_files(partitions, known.files, key)
    return state, partitions


def _encode_info(info: CommitInfo) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "time": info.time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z",
        "operation": info.operation,
        "author": info.author,
        "library": info.library,
        "added": info.added,
        "removed": info.removed,
        "rows": info.rows,
    }
    return wire | ({"overwrote": list(info.overwrote)} if info.overwrote else {})


def _decode_info(wire: _Info) -> CommitInfo:
    """Raise ``OverflowError`` for a time that is not within the years 1 to 9999 in UTC."""
    return CommitInfo(
        time=wire.time.astimezone(UTC),
        operation=wire.operation,
        author=wire.author,
        library=wire.library,
        added=wire.added,
        removed=wire.removed,
        rows=wire.rows,
        overwrote=tuple(wire.overwrote),
    )


def _encode_lineage(lineage: Mapping[str, pa.Array]) -> dict[str, str]:
    """Raise ``InvalidInputError`` for more labels than could be read again."""
    size = sum(len(labels) + (pc.sum(pc.binary_length(labels)).as_py() or 0) for labels in lineage.values())
    count = sum(map(len, lineage.values()))
    if len(lineage) > _SOURCES_AT_MOST or size > _LINEAGE_LIMIT or count > _LABELS_AT_MOST:
        raise InvalidInputError(
            f"A header can tell of at most {_SOURCES_AT_MOST:,} datasets, and {_LABELS_AT_MOST:,} labels of theirs "
            f"with {_LINEAGE_LIMIT:,} bytes, that a dataset was computed from them, but there are {len(lineage):,}, "
            f"{count:,} and {size:,}."
        )
    return {source: base64.b64encode(compress(_lines(labels))).decode() for source, labels in lineage.items()}


def _lines(labels: pa.Array) -> bytes:
    text: str = pc.binary_join(pa.ListArray.from_arrays([0, len(labels)], labels), "\n")[0].as_py()
    return f"{text}\n".encode() if len(labels) else b""


def _decode_lineage(wire: Mapping[str, str], key: str) -> dict[str, pa.Array]:
    lineage, left, labels = dict[str, pa.Array](), _LINEAGE_LIMIT, _LABELS_AT_MOST
    for source, text in wire.items():
        try:
            content = decompress(base64.b64decode(text, validate=True), left, key)
            labels -= content.count(b"\n")
            if labels < 0:
                raise ValueError(f"it lists more than {_LABELS_AT_MOST:,} labels")
            lines = pc.split_pattern(pa.array([content.decode()], pa.string()), "\n").flatten()
        except ValueError as error:
            raise CorruptDatasetError(
                f"What {key!r} says of the partitions of {source!r} from which it was computed is damaged: {error}.",
                key=key,
            ) from error
        if lines[-1].as_py():
            raise CorruptDatasetError(f"The last label of {source!r} in the lineage of {key!r} is cut off.", key=key)
        lineage[source] = lines[:-1]
        left -= len(content)
    return lineage


def _encode_files(partitions: pa.Table) -> str:
    """Write the numbers as they lie in memory: nothing in them says how much there is, so nothing can lie about it."""
    numbers = [pc.fill_null(partitions[name].combine_chunks(), _UNKNOWN).to_numpy() for name in _FILES]
    return base64.b64encode(compress(np.concatenate(numbers).astype(_NUMBER).tobytes())).decode()


def _add_files(partitions: pa.Table | None, text: str, key: str) -> pa.Table:
    count = 0 if partitions is None else partitions.num_rows
    width = len(_FILES) * _NUMBER.itemsize
    try:
        stored = decompress(base64.b64decode(text, validate=True), count * width, key)
    except ValueError as error:
        raise CorruptDatasetError(f"The rows and bytes of files in {key!r} are damaged: {error}.", key=key) from error
    if partitions is None or len(stored) != count * width:
        raise CorruptDatasetError(
            f"{key!r} lists {count:,} partitions, but has rows and bytes for {len(stored) / width:,g}.", key=key
        )
    for name, numbers in zip(_FILES, np.split(np.frombuffer(stored, _NUMBER), len(_FILES)), strict=True):
        if count and numbers.min() < _UNKNOWN:
            raise CorruptDatasetError(f"{key!r} has a file with a negative number of {name}.", key=key)
        if numbers.sum(dtype=np.float64) >= _MOST:
            raise CorruptDatasetError(f"{key!r} has files with more {name} than any store can hold.", key=key)
        column = pa.array(numbers, mask=numbers == _UNKNOWN)
        partitions = partitions.set_column(partitions.schema.get_field_index(name), name, column)
    return partitions
