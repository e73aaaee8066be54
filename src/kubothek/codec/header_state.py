"""How our own part of a header is written: what the commit protocol knows beyond version 4 of the format.

On the wire it is the header's last entry, ``kubothek``::

    {"version": 3, "commit": "<write id>", "recent": ["<write id>", …], "incarnation": "…",
     "schema": {"<table>": "<base64 of an Arrow IPC schema>"}, "unique_writes": ["<prefix>", …], "conformed": true,
     "cube_call": {"id": "<write id>", "operation": "build_cube", "datasets": ["<id>", …]}, "withdrawn": true,
     "files": "<base64 of a Zstandard frame of an Arrow IPC stream: rows, bytes, in the order of the partitions>"}

``cube_call`` is missing where the commit was not part of a call for several datasets, ``withdrawn`` where it is not
true, and ``files`` where nothing is known about any file. Entries that a later version added are kept.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.codec.compression import compress, decompress
from kubothek.codec.keys import check_incarnation
from kubothek.codec.schema import schema_from_text, schema_to_text
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import CommitState, CubeCall

_FILES = pa.schema([("rows", pa.int64()), ("bytes", pa.int64())])
_BYTES_PER_FILE = 2 * 8 + 1
_OVERHEAD = 2**16


class _Wire(msgspec.Struct):
    version: int
    commit: str
    recent: list[str]
    incarnation: str
    schema: dict[str, str]
    unique_writes: list[str] = msgspec.field(default_factory=list)
    conformed: bool = False
    cube_call: CubeCall | None = None
    withdrawn: bool = False
    files: str | None = None


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
    if partitions is not None and any(partitions[name].null_count < partitions.num_rows for name in _FILES.names):
        wire["files"] = _encode_files(partitions.select(_FILES.names))
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
    except msgspec.ValidationError as error:
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
        extra={name: value for name, value in wire.items() if name not in _Wire.__struct_fields__},
    )
    if known.files is not None:
        partitions = _add_files(partitions, known.files, key)
    return state, partitions


def _encode_files(files: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _FILES) as writer:
        writer.write_table(files.combine_chunks())
    return base64.b64encode(compress(sink.getvalue().to_pybytes())).decode()


def _add_files(partitions: pa.Table | None, text: str, key: str) -> pa.Table:
    count = 0 if partitions is None else partitions.num_rows
    try:
        stream = decompress(base64.b64decode(text, validate=True), _OVERHEAD + count * _BYTES_PER_FILE, key)
        files = pa.ipc.open_stream(stream).read_all()
        files.validate(full=True)
    except (ValueError, pa.ArrowException, OSError) as error:
        raise CorruptDatasetError(f"The rows and bytes of files in {key!r} are damaged: {error}.", key=key) from error
    if partitions is None or files.schema != _FILES or files.num_rows != count:
        raise CorruptDatasetError(
            f"{key!r} lists {count:,} partitions, but has rows and bytes for {files.num_rows:,} "
            f"with the columns {', '.join(files.schema.names)}.",
            key=key,
        )
    for i, name in enumerate(_FILES.names, start=partitions.schema.get_field_index("rows")):
        if pc.any(pc.less(files[name], 0)).as_py():
            raise CorruptDatasetError(f"{key!r} has a file with a negative number of {name}.", key=key)
        partitions = partitions.set_column(i, name, files[name])
    return partitions
