"""Many small files are decoded one by one and tested together; the rows are those of the table that was written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import kubothek as kb
from kubothek.errors import CorruptDatasetError, SnapshotExpiredError

PARTITIONS = 150
ROWS = pa.table(
    {
        "P": pa.array([p for p in range(PARTITIONS) for _ in range(5)], pa.int64()),
        "X": pa.array(range(PARTITIONS * 5), pa.int64()),
        "KIND": pa.array([f"kind-{n % 3}" if n % 11 else None for n in range(PARTITIONS * 5)]),
        "V": pa.array([n * 0.5 if n % 13 else None for n in range(PARTITIONS * 5)]),
    }
)
BY_P = [("P", "ascending"), ("X", "ascending")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file per partition, in a directory."""
    folder = tmp_path_factory.mktemp("small")
    kb.write_dataset(ROWS, "small", str(folder), partition_on="P")
    return folder


@pytest.fixture
def dataset(written: Path, tmp_path: Path) -> kb.Dataset:
    """A copy whose files may be spoilt."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return kb.open_dataset("small", str(tmp_path))


def file_of(folder: Path, partition: int) -> Path:
    """Return the one file of a partition."""
    (found,) = (folder / "small" / "table" / f"P={partition}").glob("*.parquet")
    return found


@pytest.mark.parametrize(
    ("where", "mask"),
    [
        (None, lambda t: pa.array([True] * t.num_rows)),
        ("X >= 333", lambda t: pc.greater_equal(t["X"], 333)),
        ("V IS NULL", lambda t: pc.is_null(t["V"])),
        ("KIND = 'kind-1' OR P = 3", lambda t: pc.or_kleene(pc.equal(t["KIND"], "kind-1"), pc.equal(t["P"], 3))),
        ("P > 140 OR X < 9", lambda t: pc.or_(pc.greater(t["P"], 140), pc.less(t["X"], 9))),
        ("X < 0", lambda t: pc.less(t["X"], 0)),
    ],
)
@pytest.mark.parametrize("columns", [None, ["V", "P"], ["KIND"], ["P"]])
def test_rows_of_many_files_are_those_written(dataset, where, mask, columns):
    """Whatever is asked, of stored columns, of the partition column, or of both at once."""
    scan = dataset.scan(columns, where)
    expected = ROWS.filter(mask(ROWS)).sort_by(BY_P).select(columns or scan.schema.names)

    assert sorted_rows(scan.to_arrow()) == sorted_rows(expected)
    assert sorted_rows(pa.Table.from_batches(scan.batches(), scan.schema)) == sorted_rows(expected)


def test_rows_come_file_by_file_in_order(dataset):
    """That files are tested together changes no order."""
    rows = dataset.scan(["P", "X"]).to_arrow()
    firsts = list(dict.fromkeys(rows["P"].to_pylist()))

    assert len(firsts) == PARTITIONS
    assert rows["X"].to_pylist() == [x for p in firsts for x in range(5 * p, 5 * p + 5)]


def test_files_may_store_a_column_differently(dataset, tmp_path):
    """Other writers choose narrower integers, other texts and dictionaries, file by file."""
    kinds = [pa.int64(), pa.int32(), pa.int16(), pa.uint16()]
    texts = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
    before = sorted_rows(dataset.scan().to_arrow())
    for number in range(PARTITIONS):
        file = file_of(tmp_path, number)
        table = pq.ParquetFile(file).read()
        columns = {"X": table["X"].cast(kinds[number % 4]), "KIND": table["KIND"].cast(texts[number % 3])}
        pq.write_table(pa.table(columns | {"V": table["V"]}), file, use_dictionary=number % 2 == 0)

    assert sorted_rows(dataset.scan().to_arrow()) == before
    some = dataset.scan(where="KIND = 'kind-2' AND X > 100").to_arrow()
    expected = ROWS.filter(pc.and_(pc.equal(ROWS["KIND"], "kind-2"), pc.greater(ROWS["X"], 100)))
    assert sorted_rows(some) == sorted_rows(expected.select(some.column_names))


def test_a_damaged_file_among_many_is_named(dataset, tmp_path):
    """A page that decayed is found when its file is decoded."""
    damaged = file_of(tmp_path, 40)
    content = bytearray(damaged.read_bytes())
    content[40] ^= 0xFF
    damaged.write_bytes(content)

    with pytest.raises(CorruptDatasetError, match=damaged.name):
        dataset.scan().to_arrow()


def test_a_value_that_its_column_cannot_hold_is_blamed_on_its_file(dataset, tmp_path):
    """Dictionaries are made plain when files are tested together; the error still names the file."""
    blamed = file_of(tmp_path, 77)
    table = pq.ParquetFile(blamed).read()
    wrong = pa.array([b"\xff\xfe"] * table.num_rows).dictionary_encode()
    pq.write_table(table.set_column(table.column_names.index("KIND"), "KIND", wrong), blamed)

    with pytest.raises(CorruptDatasetError, match=blamed.name):
        dataset.scan(where="V >= 0").to_arrow()


def test_a_file_that_is_gone_is_named(dataset, tmp_path):
    """A file that is gone is an expired snapshot."""
    gone = file_of(tmp_path, 100)
    gone.unlink()

    with pytest.raises(SnapshotExpiredError, match=gone.name):
        dataset.scan().to_arrow()


def test_a_few_rows_can_be_taken_without_reading_all(dataset, tmp_path):
    """Batches are read as they are asked for, so the last files are not missed."""
    for partition in range(PARTITIONS - 20, PARTITIONS):
        file_of(tmp_path, partition).unlink()

    assert next(iter(dataset.scan().batches())).num_rows > 0


def sorted_rows(table: pa.Table) -> list[dict[str, object]]:
    """Return rows in an order that does not depend on theirs."""
    return sorted(table.to_pylist(), key=repr)
