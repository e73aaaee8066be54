"""How a deletion notes what it deletes: the keys that the header named, as JSON, so that a later one can finish it.

Whoever finishes it deletes what is written there, so the keys are checked as those of a header are.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from kubothek.codec.distinct_keys import read_json
from kubothek.codec.keys import check_index_key, check_keys
from kubothek.errors import CorruptDatasetError


class _Wire(msgspec.Struct):
    keys: list[str]


def encode_deletion(keys: pa.Array) -> bytes:
    """Return the record of the objects that a deletion is about to delete."""
    return msgspec.json.encode(_Wire(keys.to_pylist()))


def decode_deletion(data: bytes, uuid: str, key: str) -> Sequence[str]:
    """Return the keys in a record.

    Raises
    ------
    CorruptDatasetError
        It is no such record, or names objects outside the dataset; ``key`` is the record's.
    """
    try:
        keys = msgspec.convert(read_json(data), _Wire).keys
        pa.array(keys, pa.string())  # half a surrogate pair is no part of a key
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CorruptDatasetError(f"{key!r} does not say what is to be deleted: {error}.", key=key) from error
    inside = [name for name in keys if name.startswith(f"{uuid}/")]
    check_keys(pa.array(inside, pa.string()), uuid, key)
    for name in set(keys).difference(inside):
        check_index_key(name, uuid, key)
    return keys
