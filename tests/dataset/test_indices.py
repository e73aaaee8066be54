"""Indices built on existing data and dropped: right whatever the files are, and while others write."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from tests.dataset.stored_files import ROWS, copied, foreign, new_store, put_file

from kubothek import (
    Dataset,
    build_dataset_indices,
    drop_dataset_indices,
    open_dataset,
    update_dataset,
    verify_dataset,
    write_dataset,
)
from kubothek.codec.header import encode_header
from kubothek.codec.keys import header_key
from kubothek.dataset.snapshot import find_snapshot
from kubothek.errors import (
    CommitConflictError,
    CorruptDatasetError,
    DatasetNotFoundError,
    IndexNotFoundError,
    InvalidInputError,
    ObjectNotFoundError,
    SchemaError,
    UnknownColumnError,
)
from kubothek.model.header import Header, partitions_schema
from kubothek.store.interface import Store
from kubothek.testing.datasets import PLAIN_NAMES, DatasetCase, dataset_cases, flat_kinds, write_case
from kubothek.testing.stores import Call, CountingStore, WrappedStore


def written(store: Store, data: Any = ROWS, **layout: Any) -> Dataset:
    """Write dataset ``d``, by default partitioned by ``p``."""
    return write_dataset(data, "d", store, **{"partition_on": "p", **layout})


def entries(dataset: Dataset, column: str = "i1") -> dict[Any, list[str]]:
    """Read an index: value to labels."""
    return dict(zip(*dataset.load_index(column).table.to_pydict().values(), strict=True))


def expected_entries(dataset: Dataset, column: str = "i1") -> dict[Any, list[str]]:
    """Find out from the rows of each file which labels each value has."""
    found = defaultdict(set)
    for label, rows in dataset.scan(column).groups():
        for value in rows[column].to_pylist():
            if value is not None and value == value:
                found[value].add(label)
    return {value: sorted(labels) for value, labels in found.items()}


class Busy(WrappedStore):
    """Lets something happen before each of the first swaps of a header."""

    def __init__(self, inner: Store, *happenings: Callable[[], object]) -> None:
        super().__init__(inner)
        self.happenings = list(happenings)

    def around(self, call: Call, act: Callable[[], Any]) -> Any:
        """See :meth:`WrappedStore.around`."""
        if call.verb == "replace" and self.happenings:
            self.happenings.pop(0)()
        return act()


@pytest.mark.parametrize("columns", ["i1", ["i1"], ("v1", "i1")], ids=["one", "list", "two"])
def test_an_index_is_built(columns: Any) -> None:
    """A name or several become indices that say what the rows say; nulls are not in them."""
    store = new_store()
    before = written(store)
    after = build_dataset_indices("d", store, columns)
    assert after.version == 2
    assert set(after.index_columns) == {columns} if isinstance(columns, str) else set(columns)
    assert all(entries(after, c) == expected_entries(before, c) for c in after.index_columns)
    assert entries(open_dataset("d", store)) == entries(after)


@given(dataset_cases(kinds=flat_kinds(), names=PLAIN_NAMES))
def test_an_index_built_later_equals_one_kept(case: DatasetCase) -> None:
    """For values of every type, what is built on the data is what writing would have kept."""
    store = new_store()
    ds = write_case(case, "d", store)
    typed = [f.name for f in ds.schema if f.name not in ds.partition_keys and not pa.types.is_null(f.type)]
    if not typed:
        return
    built = build_dataset_indices("d", store, typed)
    for column in typed:
        assert entries(built, column) == expected_entries(ds, column)
        assert column not in case.secondary_indices or entries(built, column) == entries(ds, column)


def test_special_numbers() -> None:
    """NaN is in no index, and zeros of either sign are one value."""
    store = new_store()
    written(store, pa.table({"p": [1, 2, 3], "i1": [0.0, -0.0, math.nan]}))
    assert [len(labels) for labels in entries(build_dataset_indices("d", store, "i1")).values()] == [2]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_files_of_other_software(suffix: str) -> None:
    """Dictionaries, narrow integers and CSV files are indexed with their types of record."""
    store = new_store()
    content = pa.table({"i1": pa.array([7, None, 8], pa.int8()), "v1": pa.array(["a", "a", "b"]).dictionary_encode()})
    part = put_file(store, content, suffix)
    foreign(store, part)
    built = build_dataset_indices("d", store, ["i1", "v1"])
    assert entries(built) == {7: [part.label], 8: [part.label]}
    assert entries(built, "v1") == {"a": [part.label], "b": [part.label]}


def test_tables_are_united(corpus: Path) -> None:
    """An index on a column of several tables has the values of all of them."""
    source = next(path for path in (corpus / "ds_seed_multi_table").rglob("*.by-dataset-metadata.json"))
    store = copied(source.parent)
    uuid = source.name.partition(".")[0]
    ds = open_dataset(uuid, store)
    for table in ds.tables:
        for column in set(ds._snapshot.schema(table).names) - set(ds.partition_keys):
            built = build_dataset_indices(uuid, store, column)
            holders = [t for t in ds.tables if column in ds._snapshot.schema(t).names]
            rows = [ds.scan(column, table=t).to_arrow()[column].drop_null().to_pylist() for t in holders]
            assert sorted(entries(built, column)) == sorted(set().union(*rows))


@pytest.mark.parametrize(
    ("columns", "error", "named"),
    [
        ("z", UnknownColumnError, ["'z'", "'v1'"]),
        ("p", InvalidInputError, ["partition column"]),
        ("n", SchemaError, ["nulls only"]),
        ("l", SchemaError, ["list<item: int64>"]),
        ("partition", SchemaError, ["labels"]),
        (["z", "i1", "l"], InvalidInputError, ["'z' does not exist", "'l' has type"]),
        ([], InvalidInputError, ["no column"]),
        (["i1", "i1"], InvalidInputError, ["more than once"]),
    ],
    ids=["missing", "partition column", "nulls", "list", "reserved", "several", "none", "twice"],
)
def test_columns_that_cannot_be_indexed(columns: Any, error: type[Exception], named: list[str]) -> None:
    """Each is refused with its reason, all at once, before any file is read."""
    store = CountingStore(new_store())
    extra = {"n": pa.nulls(4), "l": [[1]] * 4, "partition": [1] * 4}
    written(store, pa.table({**dict(zip(ROWS.column_names, ROWS.columns, strict=True)), **extra}))
    store.reset()
    with pytest.raises(error) as caught:
        build_dataset_indices("d", store, columns)
    assert all(text in str(caught.value) for text in named)
    assert {call.verb for call in store.log} <= {"get_many"}


def test_no_dataset() -> None:
    """Without a dataset there is nothing to index."""
    with pytest.raises(DatasetNotFoundError):
        build_dataset_indices("d", new_store(), "i1")


@pytest.mark.parametrize("damage", ["gone", "torn", "incomplete"])
def test_a_damaged_index_is_built_again(damage: str) -> None:
    """An index whose file is missing, unreadable or lacks values is right afterwards."""
    store = new_store()
    before = entries(written(store, secondary_indices="i1"))
    (key,) = [info.key for info in store.list("d/indices/")]
    if damage == "gone":
        store.delete([key])
    else:
        store.put(key, b"PAR1" if damage == "torn" else empty_index())
    if damage != "incomplete":
        with pytest.raises(CorruptDatasetError, match="build_dataset_indices"):
            open_dataset("d", store).load_index("i1")
    assert entries(build_dataset_indices("d", store, "i1")) == before


def empty_index() -> bytes:
    """Encode an index without any value."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"i1": pa.array([], pa.int64()), "partition": pa.array([], pa.list_(pa.string()))}), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def test_rows_added_meanwhile_are_indexed() -> None:
    """Each time others append first, only the new file is read, and the index has its values too."""
    inner = new_store()
    written(inner)
    more = [ROWS.set_column(1, "i1", pa.array([n] * 4)).slice(0, 1) for n in (10, 11, 12)]
    store = CountingStore(Busy(inner, *(lambda rows=rows: update_dataset(rows, "d", inner) for rows in more)))
    built = build_dataset_indices("d", store, "i1")
    assert entries(built) == expected_entries(built)
    assert {3, 4, 10, 11, 12} == set(entries(built))
    read = [call.key for call in store.log if call.verb == "get_range" and "/table/" in call.key]
    assert len({*read}) == len(built.partitions)


def test_partitions_removed_meanwhile_are_left_out() -> None:
    """A file that others delete while the index is built is not in it."""
    inner = new_store()
    written(inner)
    happen = lambda: update_dataset(ROWS.slice(0, 1), "d", inner, delete_scope=[{"p": 2}])
    built = build_dataset_indices("d", Busy(inner, happen), "i1")
    assert entries(built) == expected_entries(built)
    assert len(built.partitions) == 2


def test_a_row_written_afterwards_is_indexed() -> None:
    """Once built, the index is kept by updates."""
    store = new_store()
    written(store)
    build_dataset_indices("d", store, "i1")
    after = update_dataset(pa.table({"p": [5], "i1": [99], "v1": ["e"]}), "d", store)
    assert entries(after) == expected_entries(after)


LATE: dict[str, pa.Array] = {
    "numbers": pa.array([3, None, 3, 1]),
    "other zeros": pa.array([0.0, -0.0, math.nan, None]),
    "dictionary": pa.array(["b", "a", None, "b"]).dictionary_encode(),
    "large": pa.array(["b", "a", None, "b"], pa.large_string()),
    "times": pa.array([1000, 2000, None, 1000], pa.timestamp("ns", "UTC")),
    "nulls": pa.nulls(4),
}


@pytest.mark.parametrize(
    "layout", [{}, {"shuffle": True, "bucket_by": "v1", "num_buckets": 3}, {"partition_on": ()}], ids=str
)
@pytest.mark.parametrize("kind", LATE)
def test_rows_written_meanwhile_are_indexed(kind: str, layout: dict[str, Any]) -> None:
    """An append that loses against the build of an index has its values too, of whatever type, in whatever files."""
    inner, column = new_store(), LATE[kind]
    typed = pa.array([7] * 4) if kind == "nulls" else column
    written(inner, ROWS.set_column(1, "i1", typed), **layout)
    store = CountingStore(Busy(inner, lambda: build_dataset_indices("d", inner, "i1")))
    after = update_dataset(ROWS.set_column(1, "i1", column), "d", store, **layout)
    assert after.version == 3
    assert after.scan().to_arrow().num_rows == 8
    assert entries(after) == expected_entries(after)
    assert verify_dataset("d", inner) == []


def test_rows_written_twice_meanwhile_are_read_once() -> None:
    """However often the race is lost, the staged files are read for the new index once, and not for others."""
    inner = new_store()
    written(inner, secondary_indices="v1")
    other = lambda: update_dataset(ROWS, "d", inner)
    store = CountingStore(Busy(inner, lambda: build_dataset_indices("d", inner, "i1"), other, other, other))
    after = update_dataset(ROWS.slice(0, 2), "d", store)
    read = [call.key for call in store.log if call.verb == "get_range" and "/table/" in call.key]
    assert len(read) == 1
    assert after.version >= 6  # more where a slow machine made it ask others to wait
    assert entries(after) == expected_entries(after)
    assert entries(after, "v1") == expected_entries(after, "v1")


UNITED: dict[str, dict[Any, list[str]]] = {
    "i1": {3: ["p=1", "p=1", "p=2", "p=2"], 4: ["p=1"], 9: ["p=3", "p=3"]},
    "v1": {"a": ["p=1"], "b": ["p=1"], "c": ["p=2", "p=2"], "d": ["p=2", "p=2"]},
    "v2": {1.5: ["p=1", "p=1"]},
}


@pytest.mark.parametrize("column", UNITED)
def test_tables_written_meanwhile_are_indexed(column: str) -> None:
    """A partition of several tables gets the values of all that have the column; tables without rows give none."""
    inner = new_store()
    core, helper = ROWS, pa.table({"p": [1, 3], "i1": [3, 9], "v2": [1.5, None]})
    written(inner, {"core": core, "helper": helper})
    store = Busy(inner, lambda: build_dataset_indices("d", inner, column))
    after = update_dataset({"core": core.slice(2), "helper": helper}, "d", store)
    found = {value: [label.split("/")[0] for label in labels] for value, labels in entries(after, column).items()}
    assert found == UNITED[column]
    assert entries(after, column) == entries(build_dataset_indices("d", inner, column), column)


def test_staged_rows_that_are_gone_are_not_indexed() -> None:
    """Without its file an append that has to be read again fails, says so, and changes nothing."""
    inner = new_store()
    before = written(inner)
    known = {info.key for info in inner.list("d/table/")}

    def build_and_lose() -> None:
        build_dataset_indices("d", inner, "i1")
        inner.delete([info.key for info in inner.list("d/table/") if info.key not in known])

    with pytest.raises(ObjectNotFoundError, match=r"staged file .* is gone.*'i1'.*nothing was committed"):
        update_dataset(ROWS.slice(0, 1), "d", Busy(inner, build_and_lose))
    after = open_dataset("d", inner)
    assert (after.version, after.partitions) == (2, before.partitions)


@pytest.mark.parametrize("how", ["overwritten", "deleted"])
def test_another_dataset_meanwhile(how: str) -> None:
    """Where the dataset is replaced or deleted meanwhile the build gives up and says so."""
    inner = new_store()
    written(inner)
    happen: dict[str, Callable[[], object]] = {
        "overwritten": lambda: written(inner, overwrite=True),
        "deleted": lambda: inner.delete([header_key("d", "json")]),
    }
    with pytest.raises(CommitConflictError, match=how):
        build_dataset_indices("d", Busy(inner, happen[how]), "i1")


def test_without_partitions() -> None:
    """A dataset without files gets an empty index, which later writes fill."""
    store = new_store()
    written(store)
    update_dataset(None, "d", store, delete_scope=[{"p": 1}, {"p": 2}])
    assert entries(build_dataset_indices("d", store, "i1")) == {}
    after = update_dataset(ROWS, "d", store)
    assert entries(after) == expected_entries(after)


def test_indices_are_dropped() -> None:
    """What is dropped is gone, the others and the rows stay, and it can be built again."""
    store = new_store()
    before = written(store, secondary_indices=["i1", "v1"])
    after = drop_dataset_indices("d", store, "i1")
    assert (after.index_columns, after.version) == (("v1",), 2)
    assert entries(after, "v1") == entries(before, "v1")
    assert drop_dataset_indices("d", store, ["v1"]).index_columns == ()
    assert entries(build_dataset_indices("d", store, "i1")) == entries(before)


@pytest.mark.parametrize("column", ["v1", "p", "z"])
def test_an_unknown_index_cannot_be_dropped(column: str) -> None:
    """Without such an index the message lists those that exist, and all stay."""
    store = new_store()
    written(store, secondary_indices="i1")
    with pytest.raises(IndexNotFoundError, match=f"{column!r}.*'i1'"):
        drop_dataset_indices("d", store, ["i1", column])
    assert open_dataset("d", store).index_columns == ("i1",)


def test_a_damaged_index_can_be_dropped() -> None:
    """An index whose file is gone is in nobody's way."""
    store = new_store()
    written(store, secondary_indices="i1")
    store.delete([info.key for info in store.list("d/indices/")])
    assert drop_dataset_indices("d", store, "i1").index_columns == ()


def test_indices_of_no_table_and_in_old_headers_are_dropped() -> None:
    """An index on a column that no table has, and one that an old header holds itself, can both be forgotten."""
    store = new_store()
    ds = written(store)
    (label, *_) = ds.partitions
    snapshot = find_snapshot("d", store)
    assert snapshot is not None
    old = Header(
        uuid="d",
        partition_keys=snapshot.partition_keys,
        partitions=snapshot.partitions.select(partitions_schema(("table",)).names),
        metadata=snapshot.header.metadata,
        embedded_indices={"source": {"a": (label,)}, "v1": {"a": (label,)}},
    )
    store.put(snapshot.key, encode_header(old))
    assert set(drop_dataset_indices("d", store, "source").index_columns) == {"v1"}
    assert drop_dataset_indices("d", store, "v1").index_columns == ()


def test_dropping_what_others_dropped() -> None:
    """An index that others drop at the same time is dropped, which is what was asked."""
    inner = new_store()
    written(inner, secondary_indices="i1")
    dropped = drop_dataset_indices("d", Busy(inner, lambda: drop_dataset_indices("d", inner, "i1")), "i1")
    assert (dropped.index_columns, dropped.version) == ((), 3)


def test_advice_of_other_calls() -> None:
    """Who asks a write for an index that does not exist yet is told how to get it."""
    store = new_store()
    written(store)
    with pytest.raises(InvalidInputError, match="build_dataset_indices"):
        update_dataset(ROWS, "d", store, secondary_indices="i1")
