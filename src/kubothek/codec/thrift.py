"""How the few facts that matter are picked out of a Thrift structure in its compact encoding, which Parquet uses.

A *shape* says what is wanted: a mapping of field numbers to the shapes of their values, ``[shape]`` for a list of such
values, :data:`VALUE` for a number or bytes, :data:`LENGTH` for the length of a list. What it does not name is skipped,
as Parquet asks of readers for what a later version adds.
"""

from __future__ import annotations

from typing import Any

VALUE, LENGTH = "value", "length"

Shape = Any
_INTEGERS = (4, 5, 6)
_BYTES, _LIST, _SET, _MAP, _STRUCT = 8, 9, 10, 11, 12
_FLAGS = (1, 2)
_WIDTHS = {**dict.fromkeys(_FLAGS, 0), 3: 1, 7: 8, 13: 16}
"""Bytes of values of a fixed size; a flag is part of the head of its field, but a byte in a list."""
_LONGEST = 70
"""Bits, in sevens, of the longest number."""


def read_struct(data: bytes, start: int, shape: Shape) -> tuple[dict[int, Any], int]:
    """Return the wanted fields of the structure that begins at ``start``, and where it ends.

    Raises
    ------
    ValueError, IndexError, RecursionError
        It is no such structure.

    Examples
    --------
    >>> read_struct(bytes([0x15, 0x08, 0x18, 0x01, 0x41, 0x00]), 0, {2: VALUE})
    ({2: b'A'}, 6)
    """
    found: dict[int, Any] = {}
    number, place = 0, start
    while head := data[place]:
        place += 1
        if head > 0x0F:
            number += head >> 4
        else:
            number, place = _signed(data, place)
        kind = head & 0x0F
        wanted = shape.get(number)
        if wanted is None:
            place = _skip(data, place, kind)
        else:
            found[number], place = _read(data, place, kind, wanted)
    return found, place + 1


def _read(data: bytes, place: int, kind: int, shape: Shape) -> tuple[Any, int]:
    if kind in _INTEGERS:
        return _signed(data, place)
    if kind == _BYTES:
        stop = _skip(data, place, kind)
        return data[_unsigned(data, place)[1] : stop], stop
    if kind == _STRUCT and isinstance(shape, dict):
        return read_struct(data, place, shape)
    if kind != _LIST:
        return None, _skip(data, place, kind)
    count, inner, first = _list_head(data, place)
    if shape == LENGTH:
        return count, _skip(data, place, kind)
    values, place = [], first
    for _ in range(count):
        value, place = _read(data, place, inner, shape[0])
        values.append(value)
    return values, place


def _skip(data: bytes, place: int, kind: int) -> int:
    """Return where a value ends."""
    if kind in _INTEGERS:
        while data[place] & 0x80:
            place += 1
        return place + 1
    if kind == _BYTES:
        length, place = _unsigned(data, place)
        if length > len(data) - place:
            raise ValueError("bytes go beyond the end")
        return place + length
    if kind == _STRUCT:
        while head := data[place]:
            place = _skip(data, place + 1 if head > 0x0F else _unsigned(data, place + 1)[1], head & 0x0F)
        return place + 1
    if kind in (_LIST, _SET):
        count, inner, place = _list_head(data, place)
        for _ in range(count):
            place = _skip(data, place, inner) if inner not in _FLAGS else place + 1
        return place
    if kind == _MAP:
        if data[place]:
            raise ValueError("Parquet has no maps")
        return place + 1
    if kind in _WIDTHS:
        return place + _WIDTHS[kind]
    raise ValueError(f"{kind} is no type")


def _list_head(data: bytes, place: int) -> tuple[int, int, int]:
    """Return how many values there are, of which type, and where the first one is."""
    head = data[place]
    count, place = (head >> 4, place + 1) if head < 0xF0 else _unsigned(data, place + 1)
    if count > len(data) - place:  # each value has a byte
        raise ValueError("a list goes beyond the end")
    return count, head & 0x0F, place


def _unsigned(data: bytes, place: int) -> tuple[int, int]:
    byte = data[place]
    if byte < 0x80:
        return byte, place + 1
    value, shift = byte & 0x7F, 7
    while byte & 0x80:
        place += 1
        byte = data[place]
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _LONGEST:
            raise ValueError("a number has too many bytes")
    return value, place + 1


def _signed(data: bytes, place: int) -> tuple[int, int]:
    value, place = _unsigned(data, place)
    return (value >> 1) ^ -(value & 1), place
