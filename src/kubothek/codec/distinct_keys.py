"""How JSON and MessagePack are read where each key may stand only once in its object.

The formats allow a key to come again, and every reader keeps another of its values: two programs would see two datasets
in one header. Nobody writes such a thing on purpose.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

_FIX_MAP, _FIX_ARRAY, _FIX_TEXT = 0x80, 0x90, 0xA0
_SIZES = {0xDE: 2, 0xDF: 4}
_ARRAYS = (0xDC, 0xDD)


def read_json(data: bytes | str) -> Any:
    """Return what JSON says, as Python reads it: with NaN, integers of any size and lone surrogates.

    Raises
    ------
    ValueError, RecursionError
        It is no JSON, a key comes twice, a number has thousands of digits, or it is nested too deeply.

    Examples
    --------
    >>> read_json('{"x": 1, "y": {"x": [NaN]}}')
    {'x': 1, 'y': {'x': [nan]}}
    """
    return json.loads(data, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} comes more than once")
    return entries


def read_msgpack(data: bytes | msgspec.Raw) -> Any:
    """Return what MessagePack says.

    Raises
    ------
    ValueError, msgspec.MsgspecError, RecursionError
        It is no MessagePack, holds an extension type or a point in time, a key comes twice, or it is nested too deeply.
    """
    head = int.from_bytes(memoryview(data)[:1], "big")
    if _FIX_MAP <= head < _FIX_ARRAY or head in _SIZES:
        return {name: read_msgpack(raw) for name, raw in cut_msgpack(data).items()}
    if _FIX_ARRAY <= head < _FIX_TEXT or head in _ARRAYS:
        return [read_msgpack(raw) for raw in msgspec.msgpack.decode(data, type=list[msgspec.Raw])]
    value = msgspec.msgpack.decode(data)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise ValueError(f"a header holds no {type(value).__name__}")


def cut_msgpack(data: bytes | msgspec.Raw) -> dict[Any, msgspec.Raw]:
    """Return the entries of a map, each in its own bytes; raises as :func:`read_msgpack` does."""
    entries = msgspec.msgpack.decode(data, type=dict[Any, msgspec.Raw])
    head = bytes(memoryview(data)[:5])
    size = _SIZES.get(head[0], 0)
    count = int.from_bytes(head[1 : 1 + size], "big") if size else head[0] - _FIX_MAP
    if count != len(entries):
        raise ValueError("a key comes more than once")
    return entries
