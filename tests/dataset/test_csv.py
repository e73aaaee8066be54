"""Datasets with CSV files: found, read, appended to, and never deleted from by guess."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from tests.foreign import new_store, parquet, put_dataset

import kubothek as kb
from kubothek.codec.header import encode_header
from kubothek.errors import AmbiguousDeleteScopeError, CorruptDatasetError
from kubothek.model.header import Header, partitions_schema

RECORD = pa.schema([("p", pa.int64()), ("i1", pa.string()), ("x", pa.int64())])
FILES = {
    "p=1/a.csv": b"i1;x\nu;1\n;2\n",
    "p=2/b.c.csv.gz": gzip.compress(b"x;i1\n3;v\n"),
    "p=2/d.parquet": parquet(pa.table({"i1": ["w"], "x": [4]})),
    "p=3/e.csv": b"i1;x\n",
}
ROWS = [(1, "u", 1), (1, None, 2), (2, "v", 3), (2, "w", 4)]


def foreign() -> kb.Dataset:
    """Put a dataset of files of all kinds whose header lists none of them."""
    return put_dataset(new_store(), RECORD, FILES, partition_keys=["p"])


def found(scan: kb.Scan) -> list[tuple[object, ...]]:
    """Return the rows of a scan."""
    return [tuple(row.values()) for row in scan.to_arrow().to_pylist()]


def test_files_that_no_header_lists() -> None:
    """The label of a file is its key without the table and the ending, whatever kind it is."""
    ds = foreign()
    assert list(ds.partitions) == ["p=1/a", "p=2/b.c", "p=2/d", "p=3/e"]
    assert found(ds.scan()) == ROWS


@pytest.mark.parametrize("where", ["p == 2", "i1 == 'u'", "i1 == null", "x > 1 & p < 3", "i1 != 'u' | p == 1"])
def test_conditions(where: str) -> None:
    """Conditions pick the same rows as from Parquet files."""
    same = kb.write_dataset(
        pa.Table.from_arrays(list(map(pa.array, zip(*ROWS, strict=True))), schema=RECORD),
        "u",
        new_store(),
        partition_on="p",
    )
    assert found(foreign().scan(where=where)) == found(same.scan(where=where))


def test_files_that_a_header_lists() -> None:
    """A listed file is what its ending says."""
    store = foreign().store
    keys = [f"u/table/{name}" for name in FILES]
    partitions = pa.table(
        [["l1", "l2", "l3", "l4"], pa.nulls(4, pa.int64()), pa.nulls(4, pa.int64()), keys],
        schema=partitions_schema(("table",)),
    )
    store.put("u.by-dataset-metadata.json", encode_header(Header("u", ("p",), partitions)))
    assert found(kb.open_dataset("u", store).scan()) == ROWS


def test_two_files_of_one_label() -> None:
    """Two files that would be one partition are an error, not a choice."""
    with pytest.raises(CorruptDatasetError, match=r"a\.csv.*a\.parquet"):
        put_dataset(new_store(), RECORD.remove(0), {"a.csv": b"i1;x\n", "a.parquet": b""})


def test_rows_are_added_and_partitions_deleted() -> None:
    """An update takes a foreign dataset over as it is; whole partitions of text can be deleted."""
    ds = foreign()
    new = pa.table({"p": [3], "i1": ["z"], "x": [9]})
    updated = kb.update_dataset(new, "u", ds.store, delete_scope=[{"p": 1}])
    assert found(updated.scan()) == [*ROWS[2:], (3, "z", 9)]


def test_what_a_text_holds_is_not_guessed() -> None:
    """A scope on an indexed column is refused where a text may hold other values, and nothing changes."""
    ds = foreign()
    ds = kb.build_dataset_indices("u", ds.store, ["i1"])
    with pytest.raises(AmbiguousDeleteScopeError):
        kb.update_dataset(None, "u", ds.store, delete_scope=[{"i1": "v"}])
    assert found(kb.open_dataset("u", ds.store).scan()) == ROWS
    assert ds.scan(where="i1 == 'v'").explain().files == 1
