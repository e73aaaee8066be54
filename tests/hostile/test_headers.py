"""Whatever a header says, nothing outside the dataset is touched, and the error names the header."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.hostile.stores import HEADER, FencedStore, content, forge, rows, written

import kubothek as kb
from kubothek.errors import CorruptDatasetError
from kubothek.store.interface import Store

CALLS: dict[str, Callable[[Store], object]] = {
    "open": lambda s: kb.open_dataset("d", s),
    "update": lambda s: kb.update_dataset(rows(7), "d", s),
    "overwrite": lambda s: kb.write_dataset(rows(7), "d", s, overwrite=True),
    "delete": lambda s: kb.delete_dataset("d", s),
    "collect": lambda s: kb.garbage_collect_dataset("d", s, older_than=timedelta(0)),
    "copy": lambda s: kb.copy_dataset("d", s, to_uuid="copy"),
    "roll back": lambda s: kb.rollback_dataset("d", s, 1),
    "index": lambda s: kb.build_dataset_indices("d", s, "v1"),
}


def first(header: dict[str, Any]) -> dict[str, Any]:
    """Return the files of the first partition."""
    files: dict[str, Any] = next(iter(header["partitions"].values()))["files"]
    return files


def label(header: dict[str, Any]) -> str:
    """Return the label of the first partition."""
    return next(iter(header["partitions"]))


def key(text: str) -> Callable[[dict[str, Any]], object]:
    """Give the first partition another key, under a label that says nothing."""

    def change(header: dict[str, Any]) -> None:
        header["partitions"] = {"x": {"files": {"table": text}}}
        del header["kubothek"]["files"]

    return change


def state(**entries: Any) -> Callable[[dict[str, Any]], object]:
    """Set entries of our own state."""
    return lambda header: header["kubothek"].update(entries)


def twice(entry: str, place: str) -> Callable[[dict[str, Any]], str]:
    """Put an entry before another one of the same key."""
    return lambda header: json.dumps(header).replace(place, entry + place, 1)


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "key of a neighbour": key("e/table/p=1/x.parquet"),
    "key of a name alike": key("d2/table/p=1/x.parquet"),
    "key upwards": key("d/table/../../e/table/x.parquet"),
    "key upwards at the end": key("d/table/.."),
    "key absolute": key("/etc/passwd"),
    "key of a URL": key("file:///etc/passwd"),
    "key with an empty part": key("d//x.parquet"),
    "key with a point": key("d/./x.parquet"),
    "key with a line break": key("d/table/x\n.parquet"),
    "key with a zero": key("d/table/x\x00.parquet"),
    "key with half a character": key("d/table/\ud800.parquet"),
    "key of our own objects": key("_kubothek/d/x/y.parquet"),
    "key a number": lambda h: first(h).update(table=1),
    "key null": lambda h: first(h).update(table=None),
    "label of other values": lambda h: h["partitions"].update({"p=3/x": h["partitions"].pop(label(h))}),
    "file of other values": lambda h: first(h).update(table="d/table/p=3/x.parquet"),
    "table upwards": lambda h: first(h).update({"..": first(h).pop("table")}),
    "index of a neighbour": lambda h: h["indices"].update(i1="e/indices/i1/x.by-dataset-index.parquet"),
    "index upwards": lambda h: h["indices"].update(i1="d.x/../../e.by-dataset-index.parquet"),
    "index absolute": lambda h: h["indices"].update(i1="/d.i1.by-dataset-index.parquet"),
    "index column of half a character": lambda h: h["indices"].update({"\ud800": h["indices"]["i1"]}),
    "index of lists of numbers": lambda h: h["indices"].update(i1={"a": [1]}),
    "partition column twice": lambda h: h.update(partition_keys=["p", "p"]),
    "partition column of half a character": lambda h: h.update(partition_keys=["\udfff"]),
    "a list of partitions": lambda h: h.update(partitions=[]),
    "metadata a list": lambda h: h.update(metadata=[]),
    "metadata deep": lambda h: json.dumps(h).replace('"metadata": {', '"metadata": {"x": ' + "[" * 10**5),
    "metadata a number of many digits": lambda h: json.dumps(h).replace(
        '"metadata": {', '"metadata": {"x": ' + "9" * 10**4
    ),
    "other name": lambda h: h.update(dataset_uuid="e"),
    "label twice": lambda h: json.dumps(h).replace(
        '"partitions": {', '"partitions": {' + json.dumps(label(h)) + ': {"files": {"table": "d/a"}}, '
    ),
    "files twice": twice('"files": {"table": "d/table/p=1/y.parquet"}, ', '"files": {"table"'),
    "table twice": twice('"table": "d/table/p=1/y.parquet", ', '"table": "d/'),
    "partitions twice": twice('"partitions": {}, ', '"partitions"'),
    "metadata twice": twice('"metadata": {}, ', '"metadata"'),
    "metadata entry twice": twice('"creation_time": 1, ', '"creation_time"'),
    "state twice": twice('"kubothek": {}, ', '"kubothek"'),
    "version twice": twice('"version": 1, ', '"version"'),
    "name twice": twice('"dataset_uuid": "d", ', '"dataset_uuid"'),
    "version 0": state(version=0),
    "version of 64 bits": state(version=2**63),
    "version true": state(version=True),
    "version NaN": state(version=float("nan")),
    "commit upwards": state(commit="../../../e"),
    "commit empty": state(commit=""),
    "commit long": state(commit="c" * 10**6),
    "incarnation upwards": state(incarnation=".."),
    "incarnation a path": state(incarnation="x/../../e"),
    "incarnation of half a character": state(incarnation="\ud800"),
    "schema no text": state(schema={"table": 1}),
    "schema of another table": state(schema={"other": "AAAA"}),
    "schema table upwards": lambda h: h["kubothek"]["schema"].update({"..": h["kubothek"]["schema"]["table"]}),
    "numbers no frame": state(files="AAAA"),
    "recent a text": state(recent="c"),
    "info without a time": state(info={}),
    "streams a list": state(streams=[]),
    "batch a text": state(streams={"q": "1"}),
    "lineage no frame": state(lineage={"seed": "AAAA"}),
    "lineage upwards": state(lineage={"../e": ""}),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_headers(case: str) -> None:
    """Every call refuses it, names the header, and leaves all objects as they were."""
    store = written()
    forge(store, FORGED[case])
    before = content(store)
    for name, call in CALLS.items():
        with pytest.raises(CorruptDatasetError) as caught:
            call(FencedStore(store))
        assert caught.value.key, name
        assert content(store) == before, name
    problems = kb.verify_dataset("d", FencedStore(store))
    assert problems, "verify"


LATER: dict[str, Callable[[dict[str, Any]], object]] = {
    "value of no number": key("d/table/p=one/x.parquet"),
    "value of 64 bits and one": key("d/table/p=9223372036854775808/x.parquet"),
    "value of no text": key("d/table/p=%ff/x.parquet"),
    "no value": key("d/table/x.parquet"),
    "value twice": key("d/table/p=1/p=2/x.parquet"),
    "another column": key("d/table/q=1/x.parquet"),
    "partition column that is nowhere": lambda h: h.update(partition_keys=["p", "q"]),
}


@pytest.mark.parametrize("case", LATER)
def test_headers_that_are_found_out_when_they_are_read(case: str) -> None:
    """What it takes a look at all files to see is an error of what looks at them."""
    store = written()
    forge(store, LATER[case])
    before = content(store)
    with pytest.raises(CorruptDatasetError) as caught:
        kb.open_dataset("d", FencedStore(store)).scan().to_arrow()
    assert caught.value.key
    with pytest.raises(CorruptDatasetError):
        kb.update_dataset(None, "d", FencedStore(store), delete_scope=kb.C("p") == 1)
    assert content(store) == before


def test_a_forged_header_of_a_hidden_kind() -> None:
    """A damaged header that another one hides is in nobody's way."""
    store = written()
    store.put("d.by-dataset-metadata.msgpack.zstd", b"\x28\xb5\x2f\xfd")
    assert kb.open_dataset("d", FencedStore(store)).scan().to_arrow().num_rows == 6
    kb.delete_dataset("d", FencedStore(store))
    assert {key.split("/")[0].split(".")[0] for key in content(store, "_kubothek/")} == {"e"}


def test_an_empty_name_is_no_neighbour() -> None:
    """The fence that these tests rely on holds."""
    store = FencedStore(written())
    with pytest.raises(AssertionError, match="leaves the dataset"):
        store.get("e.by-dataset-metadata.json")
    with pytest.raises(AssertionError, match="leaves the dataset"):
        store.delete(["d/../e"])
    assert store.get(HEADER).data
