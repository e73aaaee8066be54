"""Collected footers: one row per row group, of the files that a condition leaves."""

from __future__ import annotations

import uuid as uuids
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.dataset.stored_files import ROWS, foreign, new_store, put_file

from kubothek import collect_dataset_metadata, update_dataset, write_dataset
from kubothek.errors import CorruptDatasetError, DatasetNotFoundError, InvalidInputError, UnknownColumnError
from kubothek.testing.stores import CountingStore

NAMES = [
    "partition_label",
    "row_group_id",
    "row_group_compressed_size",
    "row_group_uncompressed_size",
    "number_rows_total",
    "number_row_groups",
    "serialized_size",
    "number_rows_per_row_group",
]


def numbers(count: int = 100) -> pa.Table:
    """Rows with two partitions, in which ``v1`` grows."""
    return pa.table(
        {"p": [i * 2 // count for i in range(count)], "i1": [i % 5 for i in range(count)], "v1": range(count)}
    )


def test_one_row_per_row_group(tmp_path: Path) -> None:
    """Sizes and counts are those that DuckDB finds in the same files."""
    ds = write_dataset(numbers(), "d", tmp_path, partition_on="p", rows_per_row_group=30)
    found = collect_dataset_metadata("d", tmp_path)
    files = [str(tmp_path / part.files["table"]) for part in ds.partitions.values()]
    query = """
        SELECT row_group_id, sum(total_compressed_size), sum(total_uncompressed_size), any_value(row_group_num_rows)
        FROM parquet_metadata(?) GROUP BY ALL ORDER BY 1
    """
    expected = [
        (label, *map(int, row))
        for label, file in zip(ds.partitions, files, strict=True)
        for row in duckdb.execute(query, [file]).fetchall()
    ]
    columns = [NAMES[i] for i in (0, 1, 2, 3, 7)]
    assert list(zip(*(found[name].to_pylist() for name in columns), strict=True)) == expected
    assert len(expected) == 4


def test_columns_of_the_file(tmp_path: Path) -> None:
    """Names are Kartothek's; what belongs to the file is repeated for each of its row groups."""
    ds = write_dataset(numbers(), "d", tmp_path, rows_per_row_group=40)
    found = collect_dataset_metadata("d", str(tmp_path))
    (part,) = ds.partitions.values()
    footer = pq.read_metadata(tmp_path / part.files["table"])
    assert found.column_names == NAMES
    assert found.schema.types == [pa.string(), *[pa.int64()] * 7]
    of_file = ["number_rows_total", "number_row_groups", "serialized_size"]
    assert found.select(of_file).to_pylist() == [dict(zip(of_file, (100, 3, footer.serialized_size), strict=True))] * 3


@pytest.mark.parametrize(
    ("where", "labels", "opened"),
    [
        (None, 4, 4),
        ("p == 1", 2, 2),
        ("i1 == 2", 1, 1),
        ("i1 == 2 | p == 1", 3, 3),
        ("v1 > 75", 1, 4),
        ("v1 > 75 & p == 0", 0, 2),
        ("v1 > 1000 | p == 1", 2, 4),
        ("v1 != 3", 4, 4),
        ("p == 7", 0, 0),
    ],
)
def test_files_are_chosen(where: Any, labels: int, opened: int) -> None:
    """Partition columns and indices choose before anything is opened, other columns by statistics."""
    store = CountingStore(new_store())
    for p, start in ((0, 0), (0, 25), (1, 50), (1, 75)):
        rows = pa.table({"p": [p] * 25, "i1": [start // 25 + 1] * 25, "v1": range(start + 1, start + 26)})
        update_dataset(rows, "d", store, partition_on="p", secondary_indices="i1")
    store.reset()
    assert collect_dataset_metadata("d", store, where=where)["number_rows_total"].to_pylist() == [25] * labels
    assert len({call.key for call in store.log if call.key.startswith("d/table/")}) == opened


@pytest.mark.parametrize("where", [None, "i1 == 1"])
def test_without_files(where: Any) -> None:
    """A dataset without files, or of which none is left, gives an empty table of the same columns."""
    store = new_store()
    write_dataset(ROWS, "d", store, partition_on="p")
    update_dataset(None, "d", store, delete_scope=[{"p": 1}, {"p": 2}])
    found = collect_dataset_metadata("d", store, where=where)
    assert (found.num_rows, found.column_names) == (0, NAMES)


def test_a_file_without_rows() -> None:
    """A file without row groups has one row, which says so."""
    store = new_store()
    write_dataset(ROWS.slice(0, 0), "d", store)
    (row,) = collect_dataset_metadata("d", store).to_pylist()
    assert (row["number_rows_total"], row["number_row_groups"]) == (0, 0)
    assert row["serialized_size"] > 0
    assert {name for name, value in row.items() if value is None} == {n for n in NAMES if "row_group_" in n} | {
        NAMES[7]
    }


def test_csv_files_have_no_footer() -> None:
    """A CSV file is listed by its label alone."""
    store = new_store()
    parts = [put_file(store, pa.table({"i1": [1], "v1": ["a"]}), suffix) for suffix in (".csv", ".parquet")]
    foreign(store, *parts)
    csv, parquet = collect_dataset_metadata("d", store).to_pylist()
    assert csv == dict.fromkeys(NAMES) | {"partition_label": parts[0].label}
    assert parquet["number_rows_total"] == 1


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    """Names that do not exist and files that are no Parquet are errors that name them."""
    ds = write_dataset(ROWS, "d", tmp_path)
    with pytest.raises(DatasetNotFoundError):
        collect_dataset_metadata("e", tmp_path)
    with pytest.raises(UnknownColumnError, match="no column z"):
        collect_dataset_metadata("d", tmp_path, where="z == 1")
    with pytest.raises(InvalidInputError, match="'other'"):
        collect_dataset_metadata("d", tmp_path, table="other")
    (part,) = ds.partitions.values()
    (tmp_path / part.files["table"]).write_bytes(b"no Parquet")
    with pytest.raises(CorruptDatasetError, match=part.label):
        collect_dataset_metadata("d", tmp_path)


def test_tables_by_name(corpus: Path) -> None:
    """Each table of a dataset of several has its own files."""
    header = next((corpus / "ds_seed_multi_table").rglob("*.by-dataset-metadata.json"))
    uuid = header.name.partition(".")[0]
    counts = {t: collect_dataset_metadata(uuid, header.parent, table=t)["serialized_size"] for t in tables_of(header)}
    assert len(counts) > 1
    assert all(len(sizes) for sizes in counts.values())


def tables_of(header: Path) -> list[str]:
    """Tell which tables the dataset of a header has, by its folders."""
    folder = header.parent / header.name.partition(".")[0]
    return [path.parent.name for path in folder.glob("*/_common_metadata")]


def test_stores_of_both_kinds(tmp_path: Path) -> None:
    """A directory and an object store give the same facts, but for the labels."""
    facts = []
    for store in (tmp_path, f"memory://{uuids.uuid4().hex}"):
        write_dataset(numbers(), "d", store, partition_on="p")
        facts.append(collect_dataset_metadata("d", store).drop_columns(["partition_label", "serialized_size"]))
    assert facts[0] == facts[1]
