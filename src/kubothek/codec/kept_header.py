"""How the header of a version is kept: the bytes that were committed, as one Zstandard frame.

A JSON header is compressed for it; a MessagePack header is such a frame already and is kept as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kubothek.codec.compression import compress, decompress
from kubothek.codec.header import HEADER_LIMIT, decode_header, decode_state_only
from kubothek.codec.keys import header_key, parse_version_key
from kubothek.errors import CorruptDatasetError
from kubothek.model.header import CommitState, Header, HeaderFormat

T = TypeVar("T")

_LEVEL = 1
"""What is mostly random names does not get smaller by trying harder."""


def encode_kept(data: bytes, header_format: HeaderFormat) -> bytes:
    """Return what is kept of the bytes of a committed header."""
    return compress(data, _LEVEL) if header_format == "json" else data


def decode_kept(data: bytes, key: str, uuid: str) -> Header:
    """Return the header in a kept version.

    Parameters
    ----------
    data
        What is stored.
    key
        Under which key: its ending tells the encoding, and the rest which version this is.
    uuid
        Name of the dataset.

    Raises
    ------
    CorruptDatasetError
        These are not the bytes of a header, or of that of another version; ``key`` is the key.
    """
    header = _read(data, key, uuid, decode_header)
    _check_identity(header.state, key)
    return header


def decode_kept_state(data: bytes, key: str, uuid: str) -> CommitState:
    """Return our own state in a kept version, and decode nothing else; raises as :func:`decode_kept` does."""
    return _check_identity(_read(data, key, uuid, decode_state_only), key)


def _read(data: bytes, key: str, uuid: str, decode: Callable[[bytes, str], T]) -> T:
    header_format: HeaderFormat = "msgpack" if key.endswith(".msgpack.zst") else "json"
    try:
        stored = decompress(data, HEADER_LIMIT, key) if header_format == "json" else data
        return decode(stored, header_key(uuid, header_format))
    except CorruptDatasetError as error:
        raise CorruptDatasetError(f"The version kept at {key!r} is damaged: {error}", key=key) from error


def _check_identity(state: CommitState | None, key: str) -> CommitState:
    """Refuse a state that is not of the version that the key names."""
    named, incarnation = parse_version_key(key), key.split("/")[2]
    if state is None or named is None or (state.version, state.commit) != (named[0], named[2]):
        found = "a header of other software" if state is None else f"version {state.version} of commit {state.commit}"
    elif state.incarnation != incarnation:
        found = f"a version of incarnation {state.incarnation!r}"
    else:
        return state
    raise CorruptDatasetError(f"{key!r} holds {found}, which is not what its name says.", key=key)
