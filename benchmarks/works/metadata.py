"""What everyone knows of the same files: a header and indices, a Delta log, an Iceberg table, over one set of files.

To write a hundred thousand files five times over takes an hour and tells nothing about opening, planning and looking
up. So the files are there once, in the folders of a dataset of ours, and the others are told of them in their own way,
with the statistics that their own writers would have noted::

    <folder>/rows.by-dataset-metadata.json    Kubothek's, which Plateau and Kartothek open as well
    <folder>/rows/table/p=7/....parquet       or without a folder, where there is no partition column
    <folder>/rows/table/_delta_log/           with a checkpoint, so that opening reads one file of metadata
    <folder>/iceberg/                         with a catalog in SQLite; a manifest for every ten thousand files

A file that nobody reads need not be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Record

import kubothek as kb
from kubothek.dataset.commit import commit
from kubothek.dataset.snapshot import find_snapshot
from kubothek.model.staged import ChangeSet
from kubothek.store.open import open_store

UUID = "rows"
ICEBERG = "bench.rows"
_FILES_PER_MANIFEST = 10_000


@dataclass(frozen=True, slots=True)
class File:
    """A file of a dataset: its partition value, where it has one, and the distinct values of some columns, sorted."""

    name: str
    rows: int
    bytes: int
    p: int | None = None
    values: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The partition, and the file's name."""
        return self.name if self.p is None else f"p={self.p}/{self.name}"

    def bounds(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the smallest and the largest value of each column."""
        for column, values in self.values.items():
            yield column, values[0].as_py(), values[-1].as_py()


@dataclass(frozen=True, slots=True)
class Known:
    """The files of a folder and what everyone knows of them; they are partitioned by ``p`` where ``keys`` says so."""

    folder: Path
    schema: pa.Schema
    keys: tuple[str, ...] = ()

    @property
    def files(self) -> Path:
        """Where the files are."""
        return self.folder / UUID / "table"

    def catalog(self) -> SqlCatalog:
        """Return Iceberg's catalog."""
        folder = self.folder / "iceberg"
        return SqlCatalog("bench", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=folder.as_uri())

    def open(self) -> kb.Dataset:
        """Open our dataset."""
        return kb.open_dataset(UUID, str(self.folder))

    def open_delta(self) -> DeltaTable:
        """Open the Delta table."""
        return DeltaTable(str(self.files))

    def open_iceberg(self) -> IcebergTable:
        """Open the Iceberg table by its catalog."""
        return self.catalog().load_table(ICEBERG)


def tell_kubothek(known: Known, files: Sequence[File], indices: Sequence[str] = ()) -> None:
    """Commit all files to a new dataset; the commit of the library itself, which trusts that they are there."""
    store = open_store(str(known.folder))
    kb.create_empty_dataset(known.schema, UUID, store, partition_on=known.keys, secondary_indices=indices)
    schema = {"table": known.schema}
    added = tuple(
        kb.StagedPartition(
            one.label,
            {"table": f"{UUID}/table/{one.label}.parquet"},
            one.rows,
            one.bytes,
            schema,
            {column: one.values[column] for column in indices},
        )
        for one in files
    )
    commit(store, UUID, ChangeSet(store.world.new_id(), "update_dataset", added), find_snapshot(UUID, store))


def tell_delta(known: Known, files: Sequence[File]) -> None:
    """Note all files in a new log, and leave a checkpoint."""
    known.files.mkdir(parents=True, exist_ok=True)
    create_table_with_add_actions(
        str(known.files), Schema.from_arrow(known.schema), list(map(_add, files)), partition_by=list(known.keys)
    )
    known.open_delta().create_checkpoint()


def _add(file: File) -> AddAction:
    bounds = list(file.bounds())
    stats = {
        "numRecords": file.rows,
        "minValues": {column: low for column, low, _ in bounds},
        "maxValues": {column: high for column, _, high in bounds},
        "nullCount": {column: 0 for column, *_ in bounds},
    }
    partition = {} if file.p is None else {"p": str(file.p)}
    return AddAction(f"{file.label}.parquet", file.bytes, partition, 0, True, json.dumps(stats))


def tell_iceberg(known: Known, files: Sequence[File]) -> None:
    """Append all files to a new table, in order, so that a manifest can be passed over for its partitions or bounds."""
    (known.folder / "iceberg").mkdir(parents=True)
    catalog = known.catalog()
    catalog.create_namespace(ICEBERG.partition(".")[0])
    table = catalog.create_table(ICEBERG, known.schema)
    set_layout(table, known.keys)
    add_to_iceberg(catalog.load_table(ICEBERG), known.files.as_uri(), files)


def set_layout(table: IcebergTable, keys: Sequence[str]) -> None:
    """Partition a new table, and let it find columns by their names, as files have them that it did not write."""
    with table.update_spec() as spec:
        for key in keys:
            spec.add_identity(key)
    with table.transaction() as change:
        change.set_properties({"schema.name-mapping.default": table.schema().name_mapping.model_dump_json()})


def add_to_iceberg(table: IcebergTable, where: str, files: Sequence[File]) -> None:
    """Append files below a location to a table, without a look into them."""
    for start in range(0, len(files), _FILES_PER_MANIFEST):
        with table.transaction() as change, change.update_snapshot().fast_append() as added:
            for one in files[start : start + _FILES_PER_MANIFEST]:
                added.append_data_file(_data_file(table, where, one))


def _data_file(table: IcebergTable, where: str, file: File) -> DataFile:
    fields = {one.name: one for one in table.schema().fields}
    bounds = [(fields[column], low, high) for column, low, high in file.bounds()]
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{where}/{file.label}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record() if file.p is None else Record(file.p),
        record_count=file.rows,
        file_size_in_bytes=file.bytes,
        column_sizes={},
        value_counts={one.field_id: file.rows for one, *_ in bounds},
        null_value_counts={one.field_id: 0 for one, *_ in bounds},
        nan_value_counts={},
        lower_bounds={one.field_id: to_bytes(one.field_type, low) for one, low, _ in bounds},
        upper_bounds={one.field_id: to_bytes(one.field_type, high) for one, _, high in bounds},
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
        spec_id=table.spec().spec_id,
    )


def files_of(known: Known, columns: Sequence[str]) -> list[File]:
    """Look into the files of our dataset for what others should know of these columns."""
    return [
        _file(known, label, partition.files["table"], columns) for label, partition in known.open().partitions.items()
    ]


def _file(known: Known, label: str, key: str, columns: Sequence[str]) -> File:
    path = known.folder / key
    rows = pq.ParquetFile(path).read([*columns])
    value, _, name = label.rpartition("/")
    p = int(value.removeprefix("p=")) if value else None
    return File(name, rows.num_rows, path.stat().st_size, p, {column: distinct(rows[column]) for column in columns})


def distinct(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column, sorted."""
    found = pc.unique(values)
    return found.take(pc.sort_indices(found))
