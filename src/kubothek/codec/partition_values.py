"""Which values of the partition columns a data file has: decoded from its storage key, by the types of the schema.

A key is ``<uuid>/<table>/<column>=<text>/…/<file>``. All keys of a dataset normally have the same shape, so all are cut
into texts at once, where their slashes are; each distinct text that is quoted is unquoted once and all of them are cast
to the column's type. A key of another shape is cut piece by piece: old Kartothek data has values with a plain ``/`` in
them, of which Kartothek reads the pieces with exactly one ``=`` and skips the others, and so does this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from kubothek.codec.quoting import quote, unquote
from kubothek.errors import CorruptDatasetError
from kubothek.plan.letters import cut_out, has_at, letters_of


def partition_values(
    keys: pa.Array | pa.ChunkedArray, uuid: str, table: str, partition_keys: Sequence[str], schema: pa.Schema
) -> dict[str, pa.Array]:
    """Return the values of each partition column, one per key.

    Parameters
    ----------
    keys
        Storage keys of data files, of the first table; a null (a partition that lacks the table) gives nulls.
    uuid, table
        Where the keys are expected to be.
    partition_keys
        Names of the partition columns.
    schema
        Schema of record, for their types. Timestamps are cut to its microseconds.

    Raises
    ------
    CorruptDatasetError
        If a key has other columns, or a text cannot be decoded; ``key`` is the storage key.

    Examples
    --------
    >>> keys = pa.array(["d/table/P=False/Q=a%2Fb/f.parquet"])
    >>> schema = pa.schema([("P", pa.bool_()), ("Q", pa.string())])
    >>> {name: v.to_pylist() for name, v in partition_values(keys, "d", "table", ["P", "Q"], schema).items()}
    {'P': [False], 'Q': ['a/b']}
    """
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    if not partition_keys:
        return {}
    texts = _cut(keys, uuid, table, partition_keys)
    return {
        name: _decode(text, _column_type(schema, name, uuid, table), name, keys)
        for name, text in zip(partition_keys, texts, strict=True)
    }


def infer_partition_keys(key: str, uuid: str, table: str) -> tuple[str, ...]:
    """Return the partition columns that a data file's key names, for headers that do not.

    Raises
    ------
    CorruptDatasetError
        If the key is not one of this table's, or a name is not UTF-8.

    Examples
    --------
    >>> infer_partition_keys("d/table/P=1/Q%20q=2/f.parquet", "d", "table")
    ('P', 'Q q')
    """
    if not key.startswith(f"{uuid}/{table}/"):
        raise CorruptDatasetError(f"Data file {key!r} does not lie under {uuid}/{table}/.", key=key)
    return tuple(name for name, _ in _pieces(key))


def _cut(keys: pa.Array, uuid: str, table: str, names: Sequence[str]) -> list[pa.Array]:
    """Return the quoted text of each partition column, per key."""
    usual = _split(keys, f"{uuid}/{table}/", [f"{quote(name)}=" for name in names])
    if usual is not None:
        return usual
    pieces = "/".join(f"{re.escape(quote(name))}=(?P<c{i}>[^/=]*)" for i, name in enumerate(names))
    cut = pc.extract_regex(keys, pattern=f"^{re.escape(f'{uuid}/{table}/')}{pieces}/[^/]*$")
    texts = [pc.struct_field(cut, i) for i in range(len(names))]
    odd = pc.and_(pc.is_null(cut), pc.is_valid(keys))
    if not pc.any(odd).as_py():
        return texts
    rows = [_ordered(key, names) for key in keys.filter(odd).to_pylist()]
    return [
        pc.replace_with_mask(text, odd, pa.array([row[i] for row in rows], pa.string())) for i, text in enumerate(texts)
    ]


def _split(keys: pa.StringArray, prefix: str, starts: Sequence[str]) -> list[pa.Array] | None:
    """Return the same where all keys have just these columns, in this order; half the time of the expression."""
    if keys.null_count or not len(keys) or not pc.all(pc.starts_with(keys, prefix)).as_py():
        return None
    letters, places = letters_of(keys)
    found = places[0] + np.flatnonzero(letters[places[0] : places[-1]] == ord("/"))
    folders = prefix.count("/")
    if len(found) != len(keys) * (folders + len(starts)):
        return None
    slashes = found.reshape(len(keys), -1)
    each = (slashes[:, 0] >= places[:-1]).all() and (slashes[:, -1] < places[1:]).all()
    if not each or np.count_nonzero(letters[places[0] : places[-1]] == ord("=")) != len(keys) * len(starts):
        return None
    texts = []
    for number, start in enumerate(starts):
        name = start.encode()
        begins, ends = slashes[:, folders - 1 + number] + 1, slashes[:, folders + number]
        if (ends - begins < len(name)).any() or not has_at(letters, begins, name):
            return None
        texts.append(cut_out(keys.buffers()[2], begins + len(name), ends))
    return texts


def _ordered(key: str, names: Sequence[str]) -> list[str]:
    pieces = _pieces(key)
    found = dict(pieces)
    if len(pieces) != len(names) or set(found) != set(names):
        raise CorruptDatasetError(
            f"Data file {key!r} has the partition columns {', '.join(found) or 'none'}, but the dataset is partitioned "
            f"by {', '.join(names)}.",
            key=key,
        )
    return [found[name] for name in names]


def _pieces(key: str) -> list[tuple[str, str]]:
    """Return (column name, quoted text) for each piece of the key with exactly one ``=``."""
    try:
        split = (piece.split("=") for piece in key.split("/")[2:-1] if piece.count("=") == 1)
        return [(unquote(name), text) for name, text in split]
    except UnicodeDecodeError as error:
        raise CorruptDatasetError(f"Data file {key!r} has a column name that is not UTF-8.", key=key) from error


def _column_type(schema: pa.Schema, name: str, uuid: str, table: str) -> pa.DataType:
    if schema.get_field_index(name) < 0:
        raise CorruptDatasetError(
            f"Dataset {uuid!r} is partitioned by {name!r}, but the schema of its table {table!r} has no such column.",
            key=f"{uuid}/{table}/_common_metadata",
        )
    return schema.field(name).type


def _decode(texts: pa.Array, t: pa.DataType, name: str, keys: pa.Array) -> pa.Array:
    quoted = pc.any(pc.match_substring(texts, "%")).as_py()
    try:
        if not quoted and not types.is_temporal(t):  # fast enough to do for each key
            return _parse(texts, t)
        encoded = pc.dictionary_encode(texts)
        distinct = _unquote_all(encoded.dictionary) if quoted else encoded.dictionary
        return _parse(distinct, t).take(encoded.indices)
    except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _undecodable(texts, t, name, keys) from error


def _unquote_all(texts: pa.Array) -> pa.Array:
    return pa.array([unquote(text) for text in texts.to_pylist()], pa.string())


def _parse(texts: pa.Array, t: pa.DataType) -> pa.Array:
    if types.is_date(t):
        return _parse_dates(texts).cast(t)
    if types.is_timestamp(t):
        # Kartothek writes nanoseconds into the path though its schema has microseconds
        texts = pc.replace_substring_regex(texts, pattern=r"(\.\d{6})\d{3}$", replacement=r"\1")
    return pc.cast(texts, t)


def _parse_dates(texts: pa.Array) -> pa.Array:
    """Read dates, also where they are written as timestamps at midnight."""
    moments = pc.cast(texts, pa.timestamp("us"))
    days = pc.cast(moments, pa.date32())
    if not pc.all(pc.equal(days.cast(pa.timestamp("us")), moments)).as_py() and len(texts):
        raise pa.ArrowInvalid("a date has a time of day")
    return days


def _undecodable(texts: pa.Array, t: pa.DataType, name: str, keys: pa.Array) -> CorruptDatasetError:
    """Find the first text that cannot be decoded, to name its file."""
    for text in pc.unique(texts.drop_null()).to_pylist():
        try:
            _parse(pa.array([unquote(text)], pa.string()), t)
        except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            key = keys[pc.index(texts, text).as_py()].as_py()
            return CorruptDatasetError(
                f"Data file {key!r} has the value {text!r} in its path for partition column {name!r}, which is no {t}.",
                key=key,
            )
    return CorruptDatasetError(f"The values of partition column {name!r} cannot be decoded as {t}.", key=None)
