"""Hashes of datasets: the content decides, and nothing else."""

from __future__ import annotations

import math
import uuid as uuids
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dataset.stored_files import foreign, new_store, put_file

from kubothek import hash_dataset, open_dataset, update_dataset, write_dataset
from kubothek.engine.row_hash import hash_rows
from kubothek.errors import DatasetNotFoundError, InvalidInputError, SchemaError, UnknownColumnError
from kubothek.testing.datasets import PLAIN_NAMES, DatasetCase, dataset_cases, write_case

ROWS = pa.table(
    {
        "p": [1, 1, 2, 2, 3],
        "i1": ["a", None, "b", "b", "a"],
        "v1": [0.5, math.nan, None, -0.0, 1.5],
        "v2": [[1], None, [], [None, 2], [3]],
    }
)


def hash_of(data: Any, columns: Any = None, **layout: Any) -> dict[str, int]:
    """Write rows to a store of their own and hash them."""
    store = new_store()
    write_dataset(data, "d", store, **layout)
    (row,) = hash_dataset("d", store, columns=columns).to_pylist()
    return row  # type: ignore[no-any-return]


def summed(rows: pa.Table) -> dict[str, int]:
    """What the row hashes of a table add up to."""
    return {"rows": rows.num_rows, "hash": sum(hash_rows(rows).tolist()) % 2**64}


LAYOUTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "partitioned": (ROWS, {"partition_on": "p"}),
    "by text": (ROWS.filter(pc.is_valid(ROWS["i1"])), {"partition_on": ["i1", "p"]}),
    "sorted": (ROWS, {"sort_by": ["v1", "p"]}),
    "reversed": (ROWS.take([4, 3, 2, 1, 0]), {}),
    "row groups": (ROWS, {"rows_per_row_group": 1}),
    "several files": ([ROWS.slice(0, 2), ROWS.slice(2)], {}),
    "buckets": (ROWS, {"partition_on": "p", "shuffle": True, "num_buckets": 2, "bucket_by": "v1"}),
    "compression": (ROWS, {"compression": "none"}),
    "column order": (ROWS.select(["v2", "v1", "p", "i1"]), {}),
    "positive zero": (ROWS.set_column(2, "v1", pc.add(ROWS["v1"], 0.0)), {}),
    "narrow types": (ROWS.set_column(0, "p", ROWS["p"].cast(pa.int8())), {}),
    "dictionary": (ROWS.set_column(1, "i1", ROWS["i1"].dictionary_encode()), {}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_does_not_count(layout: str) -> None:
    """However rows are ordered, split, encoded and partitioned, their hash is the sum of the row hashes."""
    data, options = LAYOUTS[layout]
    rows = ROWS.filter(pc.is_valid(ROWS["i1"])) if layout == "by text" else ROWS
    assert hash_of(data, **options) == summed(rows)


CHANGES = {
    "value": ROWS.set_column(0, "p", pa.array([1, 1, 2, 2, 4])),
    "null": ROWS.set_column(2, "v1", pa.array([0.5, None, None, -0.0, 1.5])),
    "rows exchange a value": ROWS.set_column(0, "p", pa.array([1, 1, 2, 3, 2])),
    "columns exchange their names": ROWS.rename_columns(["p", "v1", "i1", "v2"]),
    "row more": pa.concat_tables([ROWS, ROWS.slice(0, 1)]),
    "row less": ROWS.slice(1),
    "row for another": pa.concat_tables([ROWS.slice(1), ROWS.slice(1, 1)]),
    "type": ROWS.set_column(0, "p", ROWS["p"].cast(pa.float64())),
    "list": ROWS.set_column(3, "v2", pa.array([[1], None, [], [2, None], [3]])),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_counts(change: str) -> None:
    """Any other content has another hash."""
    assert hash_of(CHANGES[change])["hash"] != hash_of(ROWS)["hash"]


@settings(max_examples=settings.default.max_examples // 2)
@given(dataset_cases(max_rows=6), st.randoms(use_true_random=False))
def test_datasets_of_every_type(case: DatasetCase, random: Any) -> None:
    """Datasets of any types and steps hash as their rows written at once, in any order and without layout."""
    store = new_store()
    rows = write_case(case, "d", store).scan().to_arrow()
    order = random.sample(range(rows.num_rows), rows.num_rows)
    write_dataset(rows.take(pa.array(order, pa.int64())), "e", store)
    assert hash_dataset("d", store) == hash_dataset("e", store)
    assert hash_dataset("d", store).to_pylist() == [summed(rows)]


@settings(max_examples=settings.default.max_examples // 2)
@given(dataset_cases(names=PLAIN_NAMES, max_rows=6), st.data())
def test_groups_of_every_type(case: DatasetCase, data: st.DataObject) -> None:
    """Groups by any flat columns are those of plain Python, and their hashes add up to that of the whole."""
    store = new_store()
    ds = write_case(case, "d", store)
    flat = [field.name for field in ds.schema if not pa.types.is_nested(field.type)]
    by = data.draw(st.lists(st.sampled_from(flat), min_size=1, max_size=2, unique=True)) if flat else []
    found = hash_dataset("d", store, group_by=by).to_pylist()
    rows = ds.scan(by or None).to_arrow().to_pylist()
    expected = Counter(tuple(key(row[name]) for name in by) for row in rows)
    assert {tuple(key(row[name]) for name in by): row["rows"] for row in found} == (expected or ({} if by else {(): 0}))
    assert sum(row["hash"] for row in found) % 2**64 == hash_dataset("d", store)["hash"][0].as_py()


def key(value: Any) -> str:
    """A text that is the same for values of one group."""
    return repr(value + 0.0 if isinstance(value, float) else value)


def test_groups_are_sorted() -> None:
    """Groups come in the order of their values, NaN and null last."""
    store = new_store()
    write_dataset(pa.table({"x": [None, 2.0, math.nan, -0.0, 0.0, 1.0], "v1": range(6)}), "d", store)
    found = hash_dataset("d", store, columns="v1", group_by="x")
    assert found.schema.names == ["x", "rows", "hash"]
    assert repr(found["x"].to_pylist()) == "[0.0, 1.0, 2.0, nan, None]"
    assert found["rows"].to_pylist() == [2, 1, 1, 1, 1]


def test_a_group_hashes_as_its_rows() -> None:
    """Each group has the hash of a dataset that holds its rows alone."""
    store = new_store()
    write_dataset(ROWS, "d", store, partition_on="p")
    found = hash_dataset("d", store, group_by=["p", "i1"])
    for row in found.to_pylist():
        same = pc.and_(pc.equal(ROWS["p"], row["p"]), pc.equal(pc.fill_null(ROWS["i1"], "-"), row["i1"] or "-"))
        assert {"rows": row["rows"], "hash": row["hash"]} == summed(ROWS.filter(same))


def test_chosen_columns() -> None:
    """Only the columns named count, in any order; those of the groups count if they are among them."""
    store = new_store()
    write_dataset(ROWS, "d", store)
    assert hash_dataset("d", store, columns=["v1", "p"]).to_pylist() == [summed(ROWS.select(["p", "v1"]))]
    apart = hash_dataset("d", store, columns="v1", group_by="p")
    assert sum(apart["hash"].to_pylist()) % 2**64 == summed(ROWS.select(["v1"]))["hash"]
    assert hash_dataset("d", store, columns=[])["rows"].to_pylist() == [5]


def test_types_of_the_result() -> None:
    """Rows are int64 and hashes uint64; without rows there is one sum of nothing, but no group."""
    store = new_store()
    write_dataset(ROWS.slice(0, 0), "d", store)
    schema = pa.schema([("rows", pa.int64()), ("hash", pa.uint64())])
    assert hash_dataset("d", store) == pa.table([[0], [0]], schema=schema)
    assert hash_dataset("d", store, group_by="i1") == pa.schema([("i1", pa.string()), *schema]).empty_table()


def test_an_update_adds_its_rows() -> None:
    """Hashes of parts add up, whatever the steps in which they were written."""
    store = new_store()
    for start in range(5):
        update_dataset(ROWS.slice(start, 1), "d", store, partition_on="p")
    assert hash_dataset("d", store).to_pylist() == [summed(ROWS)]


def test_files_of_other_software() -> None:
    """A CSV file and a Parquet file of dictionaries and narrow integers hash as the same rows here."""
    store = new_store()
    content = pa.table({"i1": pa.array([7, None], pa.int8()), "v1": pa.array(["a", "b"]).dictionary_encode()})
    foreign(store, *(put_file(store, content, suffix) for suffix in (".csv", ".parquet")))
    plain = content.cast(pa.schema([("i1", pa.int64()), ("v1", pa.string())]))
    assert hash_dataset("d", store).to_pylist() == [summed(pa.concat_tables([plain, plain]))]


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"columns": ["z", "v1"]}, UnknownColumnError, "'z'"),
        ({"group_by": "z"}, UnknownColumnError, "'z'"),
        ({"group_by": "v2"}, SchemaError, "list<item: int64>"),
        ({"group_by": "rows"}, InvalidInputError, "'rows'"),
        ({"columns": ["p", "p"]}, InvalidInputError, "more than once"),
        ({"table": "other"}, InvalidInputError, "'other'"),
    ],
    ids=["column", "group", "list", "name of the result", "twice", "table"],
)
def test_what_cannot_be_hashed(options: dict[str, Any], error: type[Exception], named: str) -> None:
    """Names and types that do not fit are refused with what does not."""
    store = f"memory://{uuids.uuid4().hex}"
    write_dataset(ROWS.append_column("rows", ROWS["p"]), "d", store)
    with pytest.raises(error, match=named):
        hash_dataset("d", store, **options)
    with pytest.raises(DatasetNotFoundError):
        hash_dataset("e", store)


@pytest.mark.parametrize("name", ["ds_alltypes", "ds_alltypes_nulls", "ds_categorical", "ds_decimals_lists"])
def test_data_of_kartothek(corpus: Path, name: str) -> None:
    """What Kartothek wrote hashes as the same rows written here."""
    header = next((corpus / name).rglob("*.by-dataset-metadata.*"))
    uuid, store = header.name.partition(".")[0], new_store()
    rows = open_dataset(uuid, header.parent).scan().to_arrow()
    write_dataset(rows, "d", store)
    assert rows.num_rows
    assert hash_dataset("d", store) == hash_dataset(uuid, header.parent)
