"""How a valid sample becomes an input that nobody would write: bytes changed, or the tree of values that they encode.

Bytes are flipped, cut, doubled and spliced with those of another sample, and tokens of the format put in. JSON and
MessagePack are also changed as trees, so that what comes out still parses: values replaced by odd ones, entries
repeated under one key, left out, or nested deeply.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

ODD_BYTES = (
    b"\x00",
    b"\xff" * 4,
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\x80",
    b"..",
    b"/",
    b"%",
    b"\n",
    b'"',
    b"\xed\xa0\x80",
)
ODD_VALUES = (
    None, True, 0, -1, 2**31, 2**63, -(2**63), 2**64, 10**30, 1.5, float("nan"), float("-inf"),
    "", ".", "..", "/", "a/../b", "/etc/passwd", "d/../e", "d/", "_kubothek", "\x00", "\ud800", "é", "%2e%2e", "a=b",
    "x" * 300, [], ["a", "a"], [[]], 4,
)  # fmt: skip
_DEEP = 3000


class Pairs(list[tuple[Any, Any]]):
    """The entries of an object, of which several may have one key."""


def mutate(data: bytes, others: Sequence[bytes], tokens: Sequence[bytes], form: str, random: Random) -> bytes:
    """Return ``data`` changed in one to three ways; ``form`` is ``"json"``, ``"msgpack"`` or ``"bytes"``."""
    for _ in range(random.randint(1, 3)):
        tree = _parse(data, form) if form != "bytes" and random.random() < 0.7 else None
        if tree is None:
            data = _mutate_bytes(data, others, tokens, random)
        else:
            changed = _mutate_tree(tree, _parse(random.choice(others), form), random)
            data = _write_json(changed).encode(errors="replace") if form == "json" else _write_msgpack(changed)
    return data


def _mutate_bytes(data: bytes, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> bytes:
    start, stop = sorted(random.randint(0, len(data)) for _ in range(2))
    stop = min(stop, start + random.choice((1, 4, 16, 256)))
    piece = data[start:stop]
    match random.randrange(7):
        case 0:
            flipped = bytes(byte ^ (1 << random.randrange(8)) for byte in data[start : start + 1])
            return data[:start] + flipped + data[start + 1 :]
        case 1:
            return data[:start] + random.randbytes(len(piece)) + data[stop:]
        case 2:
            return data[:start] + data[stop:]
        case 3:
            return data[:stop] + piece * random.choice((1, 2, 50)) + data[stop:]
        case 4:
            return data[:start] + random.choice((*tokens, *ODD_BYTES)) + data[random.choice((start, stop)) :]
        case 5:
            other = random.choice(others)
            place = random.randint(0, len(other))
            return data[:start] + other[place : place + len(piece)] + data[stop:]
        case _:
            return data[:start] if random.random() < 0.5 else data[start:]


def _parse(data: bytes, form: str) -> Any:
    """Return the tree with :class:`Pairs` for objects, ``None`` where there is none."""
    try:
        if form == "json":
            return json.loads(data, object_pairs_hook=Pairs)
        return _paired(msgspec.msgpack.decode(data))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _paired(value: Any) -> Any:
    if isinstance(value, dict):
        return Pairs((key, _paired(one)) for key, one in value.items())
    return [_paired(one) for one in value] if isinstance(value, list) else value


def _mutate_tree(tree: Any, other: Any, random: Random) -> Any:
    """Change one node of a tree, found by going down at random."""
    if not isinstance(tree, list) or not tree or random.random() < 0.15:
        return _replaced(tree, other, random)
    tree, place = type(tree)(tree), random.randrange(len(tree))
    match random.randrange(8):
        case 0:
            del tree[place]
        case 1:
            tree.insert(random.randint(0, len(tree)), tree[place])
        case 2 if isinstance(tree, Pairs):
            tree[place] = (
                random.choice([*(one for one in ODD_VALUES if isinstance(one, str)), tree[0][0]]),
                tree[place][1],
            )
        case _ if isinstance(tree, Pairs):
            tree[place] = (tree[place][0], _mutate_tree(tree[place][1], other, random))
        case _:
            tree[place] = _mutate_tree(tree[place], other, random)
    return tree


def _replaced(node: Any, other: Any, random: Random) -> Any:
    choice = random.random()
    if choice < 0.02:
        for _ in range(_DEEP):
            node = [node]
        return node
    if choice < 0.3 and isinstance(node, str):
        place = random.randint(0, len(node))
        return node[:place] + random.choice([one for one in ODD_VALUES if isinstance(one, str)]) + node[place:]
    if choice < 0.5:
        return _any_node(other, random)
    return random.choice(ODD_VALUES)


def _any_node(tree: Any, random: Random) -> Any:
    while isinstance(tree, list) and tree and random.random() < 0.8:
        tree = random.choice(tree)
        tree = tree[1] if isinstance(tree, tuple) else tree
    return tree


def _write_json(tree: Any) -> str:
    depth = 0
    while isinstance(tree, list) and len(tree) == 1 and not isinstance(tree, Pairs):
        depth, tree = depth + 1, tree[0]
    if isinstance(tree, Pairs):
        text = "{" + ", ".join(f"{json.dumps(str(key))}: {_write_json(value)}" for key, value in tree) + "}"
    elif isinstance(tree, list):
        text = "[" + ", ".join(map(_write_json, tree)) + "]"
    else:
        text = json.dumps(tree)
    return "[" * depth + text + "]" * depth


def _write_msgpack(tree: Any) -> bytes:
    depth = 0
    while isinstance(tree, list) and len(tree) == 1 and not isinstance(tree, Pairs):
        depth, tree = depth + 1, tree[0]
    if isinstance(tree, Pairs):
        data = b"\xdf" + len(tree).to_bytes(4, "big")
        data += b"".join(_write_msgpack(key) + _write_msgpack(value) for key, value in tree)
    elif isinstance(tree, list):
        data = b"\xdd" + len(tree).to_bytes(4, "big") + b"".join(map(_write_msgpack, tree))
    elif isinstance(tree, str):
        raw = tree.encode(errors="surrogatepass")
        data = b"\xdb" + len(raw).to_bytes(4, "big") + raw
    else:
        wide = isinstance(tree, int) and not -(2**63) <= tree < 2**64
        data = msgspec.msgpack.encode(msgspec.msgpack.Ext(1, str(tree).encode()) if wide else tree)
    return b"\x91" * depth + data
