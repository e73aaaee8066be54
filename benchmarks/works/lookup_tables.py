"""The rows that are looked up, once as everyone writes them and once in very many small files that all share.

Each value of ``i1`` is in two rows, which may be in any two files, so that only an index tells which; values of ``i2``
lie in order, so that the statistics of a file tell too. Everything is made once per size::

    <directory>/lookup/frames/         rows, one file per frame; PyIceberg takes these files as they are
    <directory>/lookup/kubothek/       rows, with indices on i1 and i2
    <directory>/lookup/<other>/        likewise, of Plateau and of Kartothek
    <directory>/lookup/delta/          each frame a commit, and a checkpoint
    <directory>/lookup/iceberg/        with a catalog in SQLite
    <directory>/tiny_files/            the same rows in many more files (benchmarks.works.metadata)
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table as IcebergTable

import kubothek as kb
from benchmarks.data import Size
from benchmarks.works.metadata import ICEBERG, UUID, File, Known, distinct, tell_delta, tell_iceberg, tell_kubothek
from benchmarks.works.others import Other

INDICES = ("i1", "i2")
ROWS_PER_VALUE = 2
SEED = 50
_SCANNED_AT_MOST = 10_000
"""Files; to look at the footers of more takes Polars and DuckDB minutes."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Where everyone finds the rows; ``pattern`` is for those who read plain files, ``None`` where these are many."""

    files: int
    pattern: str | None
    open: Callable[[], kb.Dataset]
    open_delta: Callable[[], DeltaTable]
    open_iceberg: Callable[[], IcebergTable]
    of_other: Callable[[str], Path]


def written_by_everyone(directory: Path, size: Size, others: Sequence[Other]) -> Tables:
    """Return the tables that everyone wrote on its own; they are made where they are not there yet."""
    folder = directory / "lookup"
    made = folder / "made"
    if not made.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        _write_everything(folder, list(frames(size.values, size.files)), others)
        made.touch()
    return Tables(
        size.files,
        f"{folder / 'frames'}/*.parquet",
        lambda: kb.open_dataset(UUID, str(folder / "kubothek")),
        lambda: DeltaTable(str(folder / "delta")),
        lambda: _catalog(folder / "iceberg").load_table(ICEBERG),
        lambda name: folder / name.lower(),
    )


def in_tiny_files(directory: Path, size: Size) -> Tables:
    """Return the same rows in many files, which everyone shares; they are made where they are not there yet."""
    columns = next(frames(size.values, 1)).schema
    known = Known(directory / "tiny_files", columns)
    made = known.folder / "made"
    if not made.is_file():
        shutil.rmtree(known.folder, ignore_errors=True)
        known.files.mkdir(parents=True)
        files = [_write(known, number, one) for number, one in enumerate(frames(size.values, size.tiny_files))]
        for tell in (partial(tell_kubothek, indices=INDICES), tell_delta, tell_iceberg):
            tell(known, files)
        made.touch()
    pattern = f"{known.files}/*.parquet" if size.tiny_files <= _SCANNED_AT_MOST else None
    return Tables(size.tiny_files, pattern, known.open, known.open_delta, known.open_iceberg, lambda _: known.folder)


def frames(values: int, files: int) -> Iterator[pa.Table]:
    """Yield as many frames as there are to be files."""
    rows = values * ROWS_PER_VALUE
    random = np.random.default_rng(SEED)
    x = np.arange(rows)
    columns = {
        "x": x,
        "i1": random.permutation(x) // ROWS_PER_VALUE,
        "i2": x // ROWS_PER_VALUE,
        "v1": random.random(rows),
        "s1": pa.array([f"kind-{number}" for number in range(20)]).take(pa.array(x % 20)),
    }
    table = pa.table(columns)
    for start in range(0, rows, rows // files):
        yield table.slice(start, rows // files)


def _write_everything(folder: Path, rows: Sequence[pa.Table], others: Sequence[Other]) -> None:
    """Let everyone write."""
    (folder / "frames").mkdir(parents=True)
    for number, frame in enumerate(rows):
        pq.write_table(frame, folder / "frames" / f"{number:06}.parquet", compression="zstd")
    kb.write_dataset(rows, UUID, str(folder / "kubothek"), secondary_indices=INDICES)
    _make_delta(folder / "delta", rows)
    _make_iceberg(folder / "iceberg", folder / "frames", rows[0].schema)
    for one in others:
        one.ask("write", store=str(folder / one.name.lower()), frames=str(folder / "frames"), indices=INDICES)


def _make_delta(folder: Path, rows: Sequence[pa.Table]) -> None:
    """Append frame after frame, and leave a checkpoint, so that opening reads one file of metadata."""
    for frame in rows:
        write_deltalake(str(folder), frame, mode="append")
    DeltaTable(str(folder)).create_checkpoint()


def _make_iceberg(folder: Path, files: Path, schema: pa.Schema) -> None:
    """Make an Iceberg table of files that are there, in one commit with the statistics of all."""
    folder.mkdir()
    found = _catalog(folder)
    found.create_namespace(ICEBERG.partition(".")[0])
    found.create_table(ICEBERG, schema).add_files([str(path) for path in sorted(files.iterdir())])


def _catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("bench", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=folder.as_uri())


def _write(known: Known, number: int, rows: pa.Table) -> File:
    name = f"{number:032x}"
    path = known.files / f"{name}.parquet"
    pq.write_table(rows, path, compression="zstd")
    return File(name, rows.num_rows, path.stat().st_size, None, {column: distinct(rows[column]) for column in INDICES})
