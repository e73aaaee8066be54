"""Which 64-bit number stands for the content of a row: equal for equal rows, however and wherever they are stored.

The algorithm is a promise, so that hashes taken years apart can be compared; a pinned value for each type keeps it. All
arithmetic is modulo 2^64, ``^`` is exclusive or, and texts are UTF-8::

    mix(z)       splitmix64's finaliser: z ^= z >> 30;  z *= BF58476D1CE4E5B9;
                                         z ^= z >> 27;  z *= 94D049BB133111EB;  z ^= z >> 31
    seed(text)   BLAKE2b of the text with a digest of 8 bytes, little-endian
    row          mix(seed("row") + sum over columns c of value(v, seed(c)))

    value(v, s)  with k = mix(s ^ seed(kind)), where the kind is the type's name in the table below
      null         mix(k)                                       kind "null", whatever the column's type
      one word     mix(word ^ k)
      words        mix((sum over j of mix(word_j ^ mix(k + j))) + length ^ k)
      list         mix((sum over j of mix(value(item_j, k) ^ mix(k + j))) + length ^ k)
      struct       mix((sum over fields f of value(v_f, mix(k ^ seed(f)))) ^ k)

==============  ================  =====================================================================
kind            type of record    its 64-bit words
==============  ================  =====================================================================
``integer``     int64             two's complement
``unsigned``    uint64
``float``       double            IEEE 754; ``-0.0`` as ``0.0``, to which it is equal, and one NaN
``boolean``     bool              0 or 1
``date``        date32            days since 1970
``time``        time64            microseconds since midnight
``timestamp``   timestamp         microseconds since 1970
``instant``     timestamp, UTC    microseconds since 1970
``decimal s``   decimal(p, s)     unscaled value in four words, the lowest first; length 4
``text``        string            bytes in words, the first byte lowest, the last word filled up with zeros, one
                                  word for an empty text; the length is that in bytes
``bytes``       binary            likewise
``list``        list              the length is the number of items
``struct``      struct
==============  ================  =====================================================================

The sum over columns makes their order irrelevant, while their names count. A set of rows is hashed as the sum of its
row hashes (:mod:`kubothek.engine.hash_sums`): the order of rows is irrelevant, repeated rows count. Collisions are
as likely as for random numbers, but nothing here withstands somebody who searches for them.

Whole columns are computed with numpy, in blocks that stay in the processor's cache; no loop looks at a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kubothek.codec.conform import conform_column
from kubothek.model.schema import normalise_type

Words = npt.NDArray[np.uint64]

_BLOCK = 65_536
_MASK = 2**64 - 1
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_LOW_BYTES = np.array([2 ** (8 * count) - 1 for count in range(9)], np.uint64)
"""Masks that keep the lowest 0 to 8 bytes of a word."""


def hash_rows(table: pa.Table, columns: Sequence[str] | None = None) -> Words:
    """Return the hash of each row.

    Parameters
    ----------
    table
        Rows; every type that a dataset can hold, in any physical width or encoding.
    columns
        Those that count; ``None`` for all.

    Examples
    --------
    >>> rows = pa.table({"MONTH": [1, 2], "TEMP": [0.5, None]})
    >>> narrow = pa.table({"TEMP": [0.5, None], "MONTH": pa.array([1, 2], pa.int8())})
    >>> hash_rows(rows).tolist() == hash_rows(narrow).tolist()
    True
    """
    names = table.column_names if columns is None else columns
    total = np.full(table.num_rows, seed("row"), np.uint64)
    for name in names:
        start = 0
        for chunk in _of_record(table.column(name)).chunks:
            for first in range(0, len(chunk), _BLOCK):
                block = chunk.slice(first, _BLOCK)
                total[start : start + len(block)] += hash_values(block, seed(name))
                start += len(block)
    return _mix(total)


def hash_values(values: pa.Array, start: int) -> Words:
    """Return the hash of each value of an array whose type is one of record; ``start`` is the seed."""
    if values.null_count == len(values):
        return np.full(len(values), _mix_one(_key(start, "null")), np.uint64)
    kind = values.type
    if types.is_dictionary(kind):
        return _of_dictionary(values, start)
    if types.is_list(kind):
        hashes = _of_lists(values, _key(start, "list"))
    elif types.is_struct(kind):
        hashes = _of_structs(values, _key(start, "struct"))
    elif types.is_string(kind) or types.is_binary(kind):
        hashes = _of_bytes(values, _key(start, "text" if types.is_string(kind) else "bytes"))
    elif types.is_decimal(kind):
        hashes = _of_decimals(values, _key(start, f"decimal {kind.scale}"))
    else:
        hashes = _mix(_words(values) ^ np.uint64(_key(start, _KINDS[kind])))
    if values.null_count:
        hashes[_is_null(values)] = _mix_one(_key(start, "null"))
    return hashes


_KINDS = {
    pa.int64(): "integer",
    pa.uint64(): "unsigned",
    pa.float64(): "float",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "instant",
}


@cache
def seed(text: str) -> int:
    """Return the number that stands for a name."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _key(start: int, kind: str) -> int:
    return _mix_one(start ^ seed(kind))


def _mix_one(z: int) -> int:
    z = (z ^ z >> 30) * _FIRST & _MASK
    z = (z ^ z >> 27) * _SECOND & _MASK
    return z ^ z >> 31


def _mix(words: Words) -> Words:
    """Mix each word, in place."""
    shifted = words >> np.uint64(30)
    words ^= shifted
    words *= np.uint64(_FIRST)
    np.right_shift(words, np.uint64(27), out=shifted)
    words ^= shifted
    words *= np.uint64(_SECOND)
    np.right_shift(words, np.uint64(31), out=shifted)
    words ^= shifted
    return words


def _of_record(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast to the type of record, but leave dictionaries of it: their values are hashed once."""
    wanted = normalise_type(column.type)
    if types.is_dictionary(column.type) and column.type.value_type == wanted:
        return column
    return conform_column(column, wanted)


def _is_null(values: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = values.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _words(values: pa.Array) -> Words:
    """Return one word per value of a flat type of fixed width; what stands for a null is arbitrary."""
    if types.is_floating(values.type):
        numbers = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False) + 0.0  # -0.0 becomes 0.0
        numbers[np.isnan(numbers)] = np.nan
        return _as_words(numbers)
    if types.is_date(values.type):
        values = values.cast(pa.int32())
    integers = values if values.type == pa.uint64() else values.cast(pa.int64())
    return _as_words(pc.fill_null(integers, 0).to_numpy(zero_copy_only=False))


def _as_words(numbers: np.ndarray) -> Words:
    words: Words = numbers.view(np.uint64)
    return words


def _of_dictionary(values: pa.DictionaryArray, start: int) -> Words:
    null = np.array([_mix_one(_key(start, "null"))], np.uint64)
    known = np.append(hash_values(values.dictionary, start), null)
    places = pc.fill_null(values.indices.cast(pa.int64()), len(values.dictionary))
    found: Words = known[places.to_numpy(zero_copy_only=False)]
    return found


def _of_decimals(values: pa.Array, key: int) -> Words:
    width = values.type.bit_width // 64
    stored = np.frombuffer(values.buffers()[1], "<u8").reshape(-1, width)[values.offset : values.offset + len(values)]
    sign = (stored[:, -1].view(np.int64) >> 63).view(np.uint64)
    words = [stored[:, number] if number < width else sign for number in range(4)]
    total = np.full(len(values), 4, np.uint64)
    for word, own in zip(words, _keys(key, 4), strict=True):
        total += _mix(word ^ own)
    return _mix(total ^ np.uint64(key))


def _of_bytes(values: pa.Array, key: int) -> Words:
    """Hash texts by words of eight bytes; those of a batch that all fit into one take a shorter way."""
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    words = _overlapping_words(data, int(bounds[0]), int(bounds[-1]))
    starts, lengths = bounds[:-1] - bounds[0], np.diff(bounds)
    if int(lengths.max()) <= 8:
        total = _mix(words[starts] & _LOW_BYTES[lengths] ^ _keys(key, 1)[0])
    else:
        counts = np.maximum((lengths + 7) // 8, 1)
        places = _places(counts)
        left = np.minimum(np.repeat(lengths, counts) - 8 * places, 8)
        hashes = words[np.repeat(starts, counts) + 8 * places] & _LOW_BYTES[left]
        hashes ^= _keys(key, int(counts.max()))[places]
        total = np.add.reduceat(_mix(hashes), np.cumsum(counts) - counts)
    total += lengths.view(np.uint64)
    return _mix(total ^ np.uint64(key))


def _overlapping_words(data: pa.Buffer | None, start: int, stop: int) -> Words:
    """Return for each byte the word of eight bytes that begins there."""
    padded = np.zeros(stop - start + 8, np.uint8)
    if data is not None:
        padded[: stop - start] = np.frombuffer(data, np.uint8)[start:stop]
    return np.ndarray((stop - start + 1,), "<u8", buffer=padded, strides=(1,))


def _of_lists(values: pa.ListArray, key: int) -> Words:
    bounds = values.offsets.to_numpy().astype(np.int64)
    items = values.values.slice(bounds[0], bounds[-1] - bounds[0])
    bounds -= bounds[0]
    lengths = np.diff(bounds)
    hashes = hash_values(items, key) ^ _keys(key, int(lengths.max()))[_places(lengths)]
    reached = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix(hashes), dtype=np.uint64)])
    total = reached[bounds[1:]] - reached[bounds[:-1]] + lengths.view(np.uint64)
    return _mix(total ^ np.uint64(key))


def _of_structs(values: pa.StructArray, key: int) -> Words:
    total = np.zeros(len(values), np.uint64)
    for number, field in enumerate(values.type):
        total += hash_values(values.field(number), _mix_one(key ^ seed(field.name)))
    return _mix(total ^ np.uint64(key))


def _places(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the parts of each value from 0."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _keys(key: int, count: int) -> Words:
    """Return what is mixed into the parts of a value, by their place."""
    return _mix(np.arange(count, dtype=np.uint64) + np.uint64(key))
