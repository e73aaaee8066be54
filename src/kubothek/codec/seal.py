"""How bytes that we write tell whether they are still those that were written: a checksum in their midst.

A writer puts :data:`OPEN` somewhere into what it writes. Sealing replaces its zeros by the CRC-32 of all bytes as they
were before; whoever reads puts the zeros back and counts again. One wrong byte is always noticed, and so is any burst
of up to four. It is a guard against storage that decays, not against forgers. What has no seal, because other software
or an earlier release wrote it, counts as whole.
"""

from __future__ import annotations

import zlib

OPEN = b"crc32:00000000"
"""What is to become a seal. It is ASCII without anything that JSON would escape."""

_MARK = b"crc32:"
_DIGITS = len(OPEN) - len(_MARK)


def seal(data: bytes) -> bytes:
    """Return the bytes with the last open seal in them closed.

    Examples
    --------
    >>> sealed = seal(b'{"x": 1, "seal": "' + OPEN + b'"}')
    >>> sealed
    b'{"x": 1, "seal": "crc32:16aa7894"}'
    >>> is_whole(sealed), is_whole(sealed.replace(b"1", b"2", 1)), is_whole(b'{"x": 1}')
    (True, False, True)
    """
    start = data.rindex(OPEN) + len(_MARK)
    return data[:start] + f"{zlib.crc32(data):08x}".encode() + data[start + _DIGITS :]


def is_whole(data: bytes, *before: memoryview) -> bool:
    """Tell whether the bytes are those that were sealed; without a seal they are taken for whole.

    ``before`` is what was sealed with them and stands before them: a hundred megabytes need not be copied for that.
    """
    start = data.rfind(_MARK) + len(_MARK)
    if start < len(_MARK):
        return True
    stated = data[start : start + _DIGITS]
    counted = 0
    for part in before:
        counted = zlib.crc32(part, counted)
    opened = zlib.crc32(b"0" * _DIGITS, zlib.crc32(memoryview(data)[:start], counted))
    return stated == f"{zlib.crc32(memoryview(data)[start + _DIGITS :], opened):08x}".encode()
