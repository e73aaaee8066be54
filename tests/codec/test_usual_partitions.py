"""Lists of partitions that are cut instead of parsed: the same as a parser gives, or left to it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.codec.usual_partitions import cut_usual


def listed(labels: list[str], table: str = "table") -> dict[str, dict[str, dict[str, str]]]:
    """Return what is on the wire for partitions of dataset d with these labels."""
    return {label: {"files": {table: f"d/{table}/{label}.parquet"}} for label in labels}


def cut(text: str) -> tuple[str, list[str], list[str]] | None:
    """Cut a text and return plain values."""
    found = cut_usual(memoryview(text.encode()), "d")
    return None if found is None else (found[0], found[1].to_pylist(), found[2].to_pylist())


@pytest.mark.parametrize("count", [1, 2, 30_000], ids=["one", "two", "some megabytes"])
def test_usual_lists_are_cut(count: int) -> None:
    """Labels and keys come in the order of the text, also where that is cut in pieces."""
    plain = listed([f"p={number}/{number:032x}" for number in range(count)], "core")
    keys = [partition["files"]["core"] for partition in plain.values()]
    assert cut(json.dumps(plain)) == ("core", list(plain), keys)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        json.dumps(listed(["p=1/a"]), separators=(",", ":")),
        json.dumps(listed(["p=1/a", "p=ü/b"])),
        json.dumps(listed(["p=1/a", "p=ü/b"]), ensure_ascii=False),
        json.dumps(listed(["p=1/a", 'p="/b'])),
        json.dumps(listed(["p=1/a"]) | {"p=2/b": {"files": {"table": "d/table/p=2/b.csv"}}}),
        json.dumps(listed(["p=1/a"]) | {"p=2/b": {"files": {"table": "d/table/p=2/b.parquet", "core": "d/core/b"}}}),
        json.dumps(listed(["p=1/a"]) | listed(["p=2/b"], "core")),
        json.dumps(listed(["p=1/a"]) | {"p=2/b": {"files": {}}}),
        json.dumps(listed(["p=1/a"]) | {"p=2/b": {}}),
        json.dumps(listed(["p=1/a", "p=2/b"])).replace("p=2/b", "p=1/a"),
        json.dumps(listed([f"p=1/{0:032x}", f"p=2/{0:032x}"])).replace("p=2", "p=1"),
        json.dumps(listed(["p=1/a", "p=2/b"]))[:-1] + "]",
        json.dumps(listed(["p=1/a", "p=2/b"])).replace("}}, ", "}}  ,"),
        json.dumps(listed(["p=1/a"]) | {"p=2/b": {"other": {"table": "d/table/p=2/b.parquet"}}}),
        json.dumps(listed(["p=1/a", "p=2/" + "b" * 2**17, *(f"p=3/{n:032x}" for n in range(10_000))])),
    ],
    ids=lambda text: text[:40],
)
def test_other_lists_are_left_to_the_parser(text: str) -> None:
    """What is not exactly as json.dumps writes usual partitions is not cut; a label that comes twice is not either."""
    found = cut(text)
    assert found is None or (found[1] == list(json.loads(text)) and len(set(found[1])) == len(found[1]))
    assert found is None or len(text) > 2**17


@given(st.data())
def test_what_is_cut_is_what_a_parser_finds(data: st.DataObject) -> None:
    """Also where letters of a usual list are others, are missing or come twice."""
    labels = data.draw(st.lists(st.text('p=1/":{}, \\ü', min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
    text = json.dumps(listed(labels), ensure_ascii=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(text) - 1))
        text = text[:place] + data.draw(st.text('p"\\:{}, ', max_size=2)) + text[place + 1 :]
    found = cut(text)
    if found is not None:
        table, cut_labels, keys = found
        plain = {label: {"files": {table: key}} for label, key in zip(cut_labels, keys, strict=True)}
        assert json.loads(text) == plain
        assert len(plain) == len(cut_labels)
