"""How headers and parts of them are compressed, and read without letting a small object fill the memory."""

from __future__ import annotations

import zstandard

from kubothek.errors import CorruptDatasetError

_STEP = 2**22
"""Bytes that are expanded at a time."""
_ALWAYS = 2**26
_RATIO = 256
"""Content may be 64 MiB, whatever the size of its frame, and beyond that so many times larger than the frame. Headers
shrink to a tenth: every partition has a random name, of which 16 bytes cannot be saved."""


def compress(data: bytes, level: int = 3) -> bytes:
    """Return one Zstandard frame with a checksum that states its content size, which Kartothek needs to read it."""
    return zstandard.ZstdCompressor(level, write_content_size=True, write_checksum=True).compress(data)


def decompress(data: bytes, limit: int, key: str) -> bytes:
    """Return the content of a Zstandard frame of at most ``limit`` bytes.

    Raises
    ------
    CorruptDatasetError
        If it is no such frame, its checksum is wrong, or its content is larger; ``key`` names the object.
    """
    limit = min(limit, max(_ALWAYS, _RATIO * len(data)))
    try:
        size = zstandard.get_frame_parameters(data).content_size
        if size == zstandard.CONTENTSIZE_UNKNOWN:
            content = _stream(data, limit + 1)
            size = len(content)
        elif size <= limit:
            content = zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptDatasetError(f"{key!r} holds no whole Zstandard frame: {error}.", key=key) from error
    if size > limit:
        raise CorruptDatasetError(f"{key!r} expands to more than {limit:,} bytes; it was not read.", key=key)
    return content


def _stream(data: bytes, most: int) -> bytes:
    """Return the first bytes of the content of a frame that does not state its size."""
    content = bytearray()
    with zstandard.ZstdDecompressor().stream_reader(data) as reader:
        while len(content) < most and (step := reader.read(min(_STEP, most - len(content)))):
            content += step
    return bytes(content)
