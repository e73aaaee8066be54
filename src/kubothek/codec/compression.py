"""How parts of a header are compressed, and read without letting a small object fill the memory."""

from __future__ import annotations

import zstandard

from kubothek.errors import CorruptDatasetError

_STEP = 2**22
"""Bytes that are expanded at a time."""


def compress(data: bytes) -> bytes:
    """Return one Zstandard frame that states its content size, which Kartothek needs to read it."""
    return zstandard.ZstdCompressor(write_content_size=True).compress(data)


def decompress(data: bytes, limit: int, key: str) -> bytes:
    """Return the content of a Zstandard frame of at most ``limit`` bytes.

    Raises
    ------
    CorruptDatasetError
        If it is no such frame, or its content is larger; ``key`` names the object.
    """
    content = bytearray()
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            while len(content) <= limit and (step := reader.read(min(_STEP, limit + 1 - len(content)))):
                content += step
        stated = zstandard.get_frame_parameters(data).content_size
    except zstandard.ZstdError as error:
        raise CorruptDatasetError(f"{key!r} holds no Zstandard frame: {error}.", key=key) from error
    if len(content) > limit:
        raise CorruptDatasetError(f"{key!r} expands to more than {limit:,} bytes; it was not read.", key=key)
    if stated not in (zstandard.CONTENTSIZE_UNKNOWN, len(content)):
        raise CorruptDatasetError(f"{key!r} is cut off: {len(content):,} of {stated:,} bytes are there.", key=key)
    return bytes(content)
