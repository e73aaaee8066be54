"""Whether a header's list of partitions is written the usual way, and its labels and keys if it is.

Nearly every list is as ``json.dumps`` writes partitions of one table whose files are called after their labels::

    {"P=1/5f2c": {"files": {"table": "d/table/P=1/5f2c.parquet"}}, "P=2/9e07": {"files": {"table": "…"}}}

Such a text is cut at its quotes, by NumPy and Arrow, which make no Python object of any partition: a million of them
take a third of the time of a parser. What is cut is believed only if it accounts for every quote of the text and there
is no escape, so that a parser would find the same; everything else is left to the parser.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kubothek.plan.keys import ends_differ
from kubothek.plan.letters import STEP, cut_out, has_at

_BEGIN = re.compile(rb'\{"[^"\\]+": \{"files": \{"([^"\\]+)": "')
_BETWEEN = b'"}}, "'
_END = b'"}}}'
_QUOTES = 8
"""Of one partition: around its label, "files", its table and its key."""
_LONGEST = 2**16
"""Bytes of one partition, of which a key of an object store has at most two times 1024."""
_LAST_ASCII = 127


def cut_usual(text: memoryview, uuid: str) -> tuple[str, pa.Array, pa.Array] | None:
    """Return the table, the labels and the keys of partitions that are listed the usual way, ``None`` for others.

    The labels are distinct.

    Parameters
    ----------
    text
        The JSON of the list.
    uuid
        Name of the dataset.

    Examples
    --------
    >>> text = b'{"P=1/5f2c": {"files": {"table": "d/table/P=1/5f2c.parquet"}}}'
    >>> [part if isinstance(part, str) else part.to_pylist() for part in cut_usual(memoryview(text), "d")]
    ['table', ['P=1/5f2c'], ['d/table/P=1/5f2c.parquet']]
    """
    begin = _BEGIN.match(text)
    if begin is None or text[-len(_END) :] != _END:
        return None
    table = begin[1].decode()
    cut = _cut(text, f'": {{"files": {{"{table}": "'.encode())
    if cut is None:
        return None
    labels, keys = cut
    if not _are_distinct(labels):
        return None
    usual = pc.binary_join_element_wise(f"{uuid}/{table}/", labels, ".parquet", "")
    return (table, labels, keys) if pc.all(pc.equal(keys, usual)).as_py() else None


def _cut(text: memoryview, inside: bytes) -> tuple[pa.Array, pa.Array] | None:
    """Cut a text between partitions and then ``inside`` each, into labels and keys."""
    labels, keys = [], []
    start, end = 2, len(text) - len(_END)
    while start < end:
        near = bytes(text[start + STEP : start + STEP + _LONGEST]).find(_BETWEEN)
        if near < 0 and start + STEP + _LONGEST < end:
            return None
        stop = start + STEP + near if near >= 0 else end
        pairs = _pairs(text[start:stop], inside)
        if pairs is None:
            return None
        labels.append(pairs[0])
        keys.append(pairs[1])
        start = stop + len(_BETWEEN)
    return pa.concat_arrays(labels), pa.concat_arrays(keys)


def _pairs(piece: memoryview, inside: bytes) -> tuple[pa.Array, pa.Array] | None:
    """Return the labels and the keys of the partitions in a piece, found by their quotes."""
    letters = np.frombuffer(piece, np.uint8)
    if letters.max() > _LAST_ASCII or (letters == ord("\\")).any():
        return None
    # The quotes that begin the first label and end the last key are outside.
    found = np.concatenate(([-1], np.flatnonzero(letters == ord('"')), [len(letters)]))
    if len(found) % _QUOTES:
        return None
    quotes = found.reshape(-1, _QUOTES)
    if not has_at(letters, quotes[:, 1], inside) or not has_at(letters, quotes[:-1, -1], _BETWEEN):
        return None
    data = pa.py_buffer(piece)
    return cut_out(data, quotes[:, 0] + 1, quotes[:, 1]), cut_out(data, quotes[:, -2] + 1, quotes[:, -1])


def _are_distinct(labels: pa.Array) -> bool:
    """Tell whether no label comes twice; few of them need to be looked at as a whole, as their ends are random."""
    return ends_differ(labels) or bool(pc.count_distinct(labels).as_py() == len(labels))
