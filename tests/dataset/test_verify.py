"""Whatever is wrong with a dataset is found, named, and keeps nothing else from being found."""

from __future__ import annotations

import random
import uuid as uuids
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kubothek as kb
from kubothek.codec.header import decode_header, encode_header
from kubothek.codec.index import encode_index
from kubothek.codec.schema import decode_schema
from kubothek.errors import DatasetNotFoundError, StoreError
from kubothek.model.header import Header
from kubothek.store.interface import Store
from kubothek.store.open import open_store
from kubothek.testing.stores import CountingStore, Fault, FaultyStore

ROWS = pa.table({"p": [1, 2, 3], "i1": ["a", "b", "b"], "v1": [1, 2, 3]})
JSON = "u.by-dataset-metadata.json"
SCHEMA = "u/table/_common_metadata"


def written(**settings: Any) -> Store:
    """Return a store with a dataset."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    kb.write_dataset(ROWS, "u", store, **{"partition_on": "p", "secondary_indices": "i1", **settings})
    return store


def header(store: Store) -> Header:
    """Return what the header says."""
    return decode_header(store.get(JSON).data, JSON)


def put_header(store: Store, **changes: Any) -> None:
    """Change what the header says."""
    store.put(JSON, encode_header(replace(header(store), **changes)))


def first_file(store: Store) -> str:
    """Return the key of the first data file."""
    return str(header(store).partitions["file/table"][0].as_py())  # type: ignore[index]


def index_key(store: Store) -> str:
    """Return the key of the index."""
    return header(store).indices["i1"]


def put_rows(store: Store, **columns: Any) -> None:
    """Replace the first data file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    store.put(first_file(store), sink.getvalue().to_pybytes())
    put_recorded(store, "bytes", store.info(first_file(store)).size)


def put_recorded(store: Store, name: str, value: int) -> None:
    """Change what the header records about the first file."""
    partitions = header(store).partitions
    assert partitions is not None
    values = pa.array([value, *partitions[name].to_pylist()[1:]], pa.int64())
    put_header(store, partitions=partitions.set_column(partitions.column_names.index(name), name, values))


def put_label(store: Store, label: str, key: str) -> None:
    """Rename the first partition and its file, everywhere in the header."""
    partitions = header(store).partitions
    assert partitions is not None
    for place, name, value in ((0, "label", label), (3, "file/table", key)):
        partitions = partitions.set_column(place, name, pa.array([value, *partitions[name].to_pylist()[1:]]))
    store.copy(first_file(store), key)
    put_header(store, partitions=partitions, indices={})


def put_index(store: Store, values: list[str], labels: list[list[int | str]]) -> None:
    """Replace the index; labels are given by their place, or as they are."""
    known = list(kb.open_dataset("u", store).partitions)
    names = [[known[label] if isinstance(label, int) else label for label in some] for some in labels]
    store.put(index_key(store), encode_index("i1", [pa.table({"i1": values, "partition": names})]))


def put_plain_schema(store: Store) -> None:
    """Put the schema as a program that does not think of pandas would."""
    sink = pa.BufferOutputStream()
    pq.write_metadata(decode_schema(store.get(SCHEMA).data, SCHEMA), sink)
    store.put(SCHEMA, sink.getvalue().to_pybytes())


def put_two_headers(store: Store) -> None:
    """Put a second header."""
    store.put("u.by-dataset-metadata.msgpack.zstd", encode_header(replace(header(store), format="msgpack")))


FULL = [[0], [1, 2]]

DAMAGE: dict[str, tuple[Callable[[Store], object], list[str], Callable[[Store], str | None]]] = {
    "torn header": (lambda s: s.put(JSON, b'{"data'), ["unreadable_header"], lambda s: JSON),
    "header without schema": (
        lambda s: (put_header(s, state=None), s.delete([SCHEMA])),
        ["unreadable_schema"],
        lambda s: SCHEMA,
    ),
    "two headers": (put_two_headers, ["second_header"], lambda s: "u.by-dataset-metadata.msgpack.zstd"),
    "no schema copy": (lambda s: s.delete([SCHEMA]), ["missing_schema_copy"], lambda s: SCHEMA),
    "torn schema copy": (lambda s: s.put(SCHEMA, b"PAR1"), ["wrong_schema_copy"], lambda s: SCHEMA),
    "other schema": (
        lambda s: s.put(SCHEMA, other_schema()),
        ["wrong_schema_copy"],
        lambda s: SCHEMA,
    ),
    "schema without pandas": (put_plain_schema, ["no_pandas_metadata"], lambda s: SCHEMA),
    "missing file": (lambda s: s.delete([first_file(s)]), ["missing_file"], first_file),
    "other size": (lambda s: put_recorded(s, "bytes", 1), ["wrong_size"], first_file),
    "other rows": (lambda s: put_recorded(s, "rows", 7), ["wrong_rows"], first_file),
    "no Parquet file": (
        lambda s: s.put(first_file(s), b"x" * s.info(first_file(s)).size),
        ["unreadable_file"],
        first_file,
    ),
    "cut file": (
        lambda s: s.put(first_file(s), s.get(first_file(s)).data[:-9]),
        ["wrong_size", "unreadable_file"],
        first_file,
    ),
    "column gone": (lambda s: put_rows(s, i1=["a"]), ["wrong_columns"], first_file),
    "other type": (lambda s: put_rows(s, i1=["a"], v1=["1"]), ["wrong_columns"], first_file),
    "label and key differ": (
        lambda s: put_label(s, "x", "u/table/p=9/x.parquet"),
        ["wrong_label"],
        lambda s: "u/table/p=9/x.parquet",
    ),
    "undecodable value": (
        lambda s: put_label(s, "p=one/x", "u/table/p=one/x.parquet"),
        ["undecodable_partition"],
        lambda s: "u/table/p=one/x.parquet",
    ),
    "no index": (lambda s: s.delete([index_key(s)]), ["unreadable_index"], index_key),
    "torn index": (lambda s: s.put(index_key(s), b"PAR1"), ["unreadable_index"], index_key),
    "index lacks a label": (lambda s: put_index(s, ["a", "b"], [[0], [1]]), ["missing_index_entries"], index_key),
    "index lacks a value": (lambda s: put_index(s, ["b"], FULL[1:]), ["missing_index_entries"], index_key),
    "index has more": (
        lambda s: put_index(s, ["a", "b", "c"], [*FULL, [1]]),
        ["superfluous_index_entries"],
        index_key,
    ),
    "index names nobody": (
        lambda s: put_index(s, ["a", "b"], [[0, "p=7/x"], [1, 2]]),
        ["unknown_index_labels"],
        index_key,
    ),
    "other values than the index says": (
        lambda s: put_rows(s, i1=["b"], v1=[1]),
        ["missing_index_entries", "superfluous_index_entries"],
        index_key,
    ),
}


def other_schema() -> bytes:
    """Return a schema with another type."""
    store = written()
    kb.write_dataset(ROWS.set_column(2, "v1", pa.array([1.0, 2.0, 3.0])), "u", store, overwrite=True, partition_on="p")
    return store.get(SCHEMA).data


@pytest.mark.parametrize("case", DAMAGE)
def test_damage(case: str) -> None:
    """Each damage gives its own problems, about the object that has them, and says so in words."""
    harm, kinds, place = DAMAGE[case]
    store = written()
    assert kb.verify_dataset("u", store) == []
    harm(store)
    found = kb.verify_dataset("u", store)
    assert [problem.kind for problem in found] == kinds
    assert {(problem.subject, problem.key, problem.repaired) for problem in found} == {("u", place(store), False)}
    assert all(problem.message in str(problem) and len(problem.message) > 20 for problem in found)


def test_everything_at_once() -> None:
    """Several damages are all found in one go."""
    store = written()
    several = ["no schema copy", "two headers", "missing file", "index names nobody"]
    for case in several:
        DAMAGE[case][0](store)
    assert [problem.kind for problem in kb.verify_dataset("u", store)] == [
        "second_header",
        "missing_schema_copy",
        "missing_file",
        "unknown_index_labels",
    ]


@pytest.mark.parametrize("case", ["no schema copy", "torn schema copy", "other schema", "schema without pandas"])
def test_repair(case: str) -> None:
    """The schemas beside the data are put again when asked for, and nothing else is."""
    store = written()
    good = store.get(SCHEMA).data
    DAMAGE[case][0](store)
    DAMAGE["other rows"][0](store)
    found = kb.verify_dataset("u", store, repair=True)
    assert [(problem.kind, problem.repaired) for problem in found] == [
        (DAMAGE[case][1][0], True),
        ("wrong_rows", False),
    ]
    assert store.get(SCHEMA).data == good
    assert [problem.kind for problem in kb.verify_dataset("u", store)] == ["wrong_rows"]


def test_partitions_without_a_table() -> None:
    """Each partition has every table."""
    store = written(secondary_indices=())
    partitions = header(store).partitions
    assert partitions is not None
    nothing = pa.nulls(partitions.num_rows, pa.string())
    state = header(store).state
    assert state is not None
    schemas = {**state.schema, "other": state.schema["table"]}
    put_header(store, partitions=partitions.append_column("file/other", nothing), state=replace(state, schema=schemas))
    store.copy(SCHEMA, "u/other/_common_metadata")
    (problem,) = kb.verify_dataset("u", store)
    assert (problem.kind, problem.key) == ("missing_table", None)


TYPES: dict[str, pa.Array] = {
    "narrow integers": pa.array([1], pa.int8()),
    "nulls": pa.nulls(1),
    "a dictionary": pa.array([1]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_that_fit(kind: str) -> None:
    """Files may hold what readers widen: narrower types, dictionaries, columns of nulls, and further columns."""
    store = written()
    put_rows(store, i1=["a"], v1=TYPES[kind], further=[1])
    assert kb.verify_dataset("u", store) == []


CSV: dict[str, tuple[bytes, list[str]]] = {
    "sound": (b"i1;v1\na;1\n", []),
    "other rows": (b"i1;v1\na;1\na;2\n", ["wrong_rows"]),
    "a column less": (b"i1\na\n", ["unreadable_file"]),
    "no numbers": (b"i1;v1\na;x\n", ["unreadable_file"]),
}


@pytest.mark.parametrize("case", CSV)
def test_csv_files(case: str) -> None:
    """Files without a footer are read as a whole."""
    data, kinds = CSV[case]
    store = written()
    put_label(store, "p=1/x", "u/table/p=1/x.csv")
    store.put(first_file(store), data)
    put_recorded(store, "bytes", len(data))
    assert [problem.kind for problem in kb.verify_dataset("u", store)] == kinds


def test_values_that_an_index_leaves_out() -> None:
    """Nulls and NaN are in no index, and zero is one value whatever its sign."""
    store = open_store(f"memory://{uuids.uuid4().hex}")
    rows = pa.table({"i1": [0.0, -0.0, float("nan"), None], "v1": [1, 2, 3, 4]})
    kb.write_dataset(rows, "u", store, secondary_indices="i1")
    assert kb.verify_dataset("u", store) == []


@pytest.mark.parametrize("seed", range(3))
def test_any_damage_is_reported(seed: int) -> None:
    """Bytes changed at random, in any object, never end in an error."""
    rng = random.Random(seed)
    for _ in range(8):
        store = written()
        key = rng.choice([info.key for info in store.list()])
        data = bytearray(store.get(key).data)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        store.put(key, bytes(data[: rng.choice([None, len(data) // 2, 3])]))
        kb.verify_dataset("u", store)


def test_no_dataset() -> None:
    """Without a dataset there is nothing to verify, and a store that fails says nothing about it."""
    store = written()
    with pytest.raises(DatasetNotFoundError):
        kb.verify_dataset("u2", store)
    with pytest.raises(StoreError):
        kb.verify_dataset("u", FaultyStore(store, lambda call: Fault.FAIL if call.verb == "list" else None))


def test_requests() -> None:
    """Sizes come from one listing, and of each file only the footer and the indexed column are read."""
    store = CountingStore(written(secondary_indices=()))
    kb.verify_dataset("u", store)
    assert (store.calls["info"], store.calls["get"], store.calls["list"], store.calls["get_many"]) == (0, 0, 2, 2)
