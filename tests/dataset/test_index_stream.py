"""Indices that are merged part by part: the same as those that are merged at once."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterator

import pyarrow as pa
import pytest

from kubothek.codec.index import encode_index, read_index, read_index_parts
from kubothek.codec.staged_table import staged_writer
from kubothek.dataset.indices.files import merged_index, merged_parts
from kubothek.dataset.indices.stream import stream_index
from kubothek.errors import CorruptDatasetError, ObjectNotFoundError
from kubothek.plan.apply import NO_LABELS, IndexMerge
from kubothek.plan.index_merge import index_from_postings
from kubothek.store.interface import Store
from kubothek.store.open import open_store

BASE = pa.table({"x": range(0, 30_000, 2), "partition": [["a", "b"], ["b"], ["c"]] * 5000})


def new_store() -> Store:
    """Return an empty store."""
    return open_store(f"memory://{uuids.uuid4().hex}")


def merge(added: dict[str, pa.Array | str], removed: pa.Array = NO_LABELS, base: bool = True) -> IndexMerge:
    """Return how an index on x changes."""
    return IndexMerge("x", pa.int64(), "base" if base else None, {}, None, tuple(added.items()), removed)


def staged(store: Store, key: str, *runs: range) -> str:
    """Stage values in sorted runs."""
    schema = pa.schema([("value", pa.int64())])
    with store.create_file(key) as sink, staged_writer(sink, key, schema) as writer:
        for run in runs:
            writer.write_table(pa.table({"value": run}, schema=schema))
    return key


def plain(index: pa.Table) -> dict[int, list[str]]:
    """Return an index as a mapping from value to labels."""
    return dict(zip(index["x"].to_pylist(), index["partition"].to_pylist(), strict=True))


@pytest.mark.parametrize("base", [True, False], ids=["on an index", "new"])
def test_staged_values_are_merged(base: bool) -> None:
    """Runs, inline values, an index and removed labels give what plain Python gives."""
    store = new_store()
    store.put("base", encode_index("x", [BASE]))
    runs = [range(100), range(50, 150)]
    change = merge({"d": staged(store, "s", *runs), "e": pa.array([7, 29_998])}, pa.array(["b"]), base)
    expected = {v: [one for one in labels if one != "b"] for v, labels in plain(BASE).items()} if base else {}
    for value, label in [(v, "d") for v in range(150)] + [(7, "e"), (29_998, "e")]:
        expected[value] = sorted({*expected.get(value, []), label})
    found = list(merged_parts(store, change))
    assert plain(pa.concat_tables(found)) == {v: labels for v, labels in sorted(expected.items()) if labels}
    assert list(plain(found[0])) == sorted(plain(found[0]))


def test_parts_of_an_index() -> None:
    """A stored index is read in parts that together are all of it, and written from parts as from one table."""
    data = encode_index("x", [pa.concat_tables([BASE, BASE.slice(0, 0)])])
    kind, parts = read_index_parts(pa.BufferReader(data), "k", "x", None)
    assert kind == pa.int64()
    assert pa.concat_tables(list(parts)) == BASE.cast(pa.schema([("x", kind), ("partition", pa.list_(pa.string()))]))
    halves = encode_index("x", iter([BASE.slice(0, 7000), BASE.slice(7000)]))
    assert read_index(pa.BufferReader(halves), "k", "x", pa.int64()).to_pydict() == BASE.to_pydict()


def test_no_values_are_an_empty_index() -> None:
    """There is always one part, which says the type."""
    store = new_store()
    found = list(stream_index(store, merge({"a": pa.nulls(0)}, base=False), pa.int64(), []))
    assert [part.num_rows for part in found] == [0]
    assert found[0].schema.field("x").type == pa.int64()


def test_what_is_gone_is_named() -> None:
    """A lost index is a damaged dataset, lost staged values are data to be written again."""
    store = new_store()
    with pytest.raises(CorruptDatasetError, match="'base', which does not exist"):
        merged_index(store, merge({"a": pa.array([1])}))
    with pytest.raises(ObjectNotFoundError, match="'s' are gone"):
        merged_index(store, merge({"a": "s"}, base=False))


def test_an_index_is_streamed_as_it_was_merged() -> None:
    """What comes of parts of the base equals the index of all postings at once."""

    def parts() -> Iterator[pa.Table]:
        yield BASE.slice(9000)
        yield BASE.slice(0, 9000)

    values = pa.array([value for value, labels in plain(BASE).items() for _ in labels])
    labels = pa.array([label for labels in plain(BASE).values() for label in labels])
    found = list(stream_index(new_store(), merge({}), pa.int64(), parts()))
    assert pa.concat_tables(found) == index_from_postings("x", values, labels)
