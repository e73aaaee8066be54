"""Cold reads from an object store that is 30 ms away, against everyone who can speak to one; requests are counted.

All read the same files through the same server (:mod:`benchmarks.store_server`), which answers every request 30 ms
late, however many come at once. Each opens, plans and reads anew in every round: one partition, the files of one value
of an index, and three columns of everything. PyIceberg's catalog is on this machine, for it would be a service; its
metadata is in the store. Polars is given the folder of the partition, which a user knows. DuckDB and Plateau are not
among them: one loads what it speaks to stores with from the network, the other has no driver for them installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO

import kubothek as kb
from benchmarks.data import Size
from benchmarks.store_server import BUCKET
from benchmarks.timing import Case, Contender
from benchmarks.works.metadata import ICEBERG, UUID, Known, add_to_iceberg, files_of, set_layout, tell_delta
from benchmarks.works.peers import plain
from benchmarks.works.reading import SCHEMA, frames

MILLISECONDS = 30
ROUND_TRIPS = 4
"""At most, for opening, planning and reading a partition, however large the dataset is."""
_ROWS = 200_000
"""At most: what is looked at is the way there, not the rows."""
_ROOT = "s3://" + BUCKET
_KEYS = {"access_key_id": "anybody", "secret_access_key": "anything", "region": "us-east-1"}
QUESTIONS = {
    "one partition of a hundred": ("p = 42", None),
    "one value of an index": ("i1 = 42", None),
    "3 of 7 columns": (None, ["x", "v1", "n1"]),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What was read, and what was asked of the store for it."""

    rows: pa.Table
    used: dict[str, int]


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """One partition, one value of an index, and some of the columns."""
    folder = make_rows(directory / "remote", size)
    with serving(folder) as port:
        for name, (where, columns) in QUESTIONS.items():
            yield case(folder, port, name, where, columns)


def case(folder: Path, port: int, name: str, where: str | None, columns: list[str] | None) -> Case:
    """Open, plan and read, and tell what that took of the store."""
    used: dict[str, dict[str, int]] = {}

    def contender(name: str, read: Callable[[], pa.Table], goal: float | None = None, group: str = "") -> Contender:
        def run() -> Found:
            asked(port)
            rows = read()
            return Found(rows, asked(port))

        def rows(found: Found) -> pa.Table:
            used[name] = found.used
            return plain(found.rows)

        return Contender(name, run, rows, goal, requests=lambda found: found.used["requests"], group=group)

    def note() -> str:
        trips = used["Kubothek"]["round_trips"]
        assert where is None or trips <= ROUND_TRIPS, f"Kubothek made {trips} requests one after the other"
        told = "; ".join(
            f"{name} {one['requests']} requests, {one['round_trips']} one after the other, {one['bytes'] / 1e6:.2f} MB"
            for name, one in used.items()
        )
        return f"{told}."

    ways = Ways(folder, f"http://127.0.0.1:{port}", where, columns)
    return Case(
        "cold read, 30 ms away",
        name,
        (
            contender("Kubothek", ways.kubothek),
            contender("delta-rs, DataFusion", ways.delta, 1, "delta-rs"),
            contender("delta-rs, PyArrow", ways.delta_in_arrow, 1, "delta-rs"),
            contender("PyIceberg", ways.iceberg, 1),
            contender("Polars", ways.polars, 1),
        ),
        note,
    )


@dataclass(frozen=True, slots=True)
class Ways:
    """How everyone answers a question."""

    folder: Path
    endpoint: str
    where: str | None
    columns: list[str] | None

    def kubothek(self) -> pa.Table:
        """Open, plan and read our dataset."""
        store = kb.Store(_ROOT, endpoint=self.endpoint, client_options={"allow_http": True}, **_KEYS)
        return kb.open_dataset(UUID, store).scan(self.columns, self.where).to_arrow()

    def delta(self) -> pa.Table:
        """Open a Delta table and ask DataFusion."""
        wanted = ", ".join(self.columns or ["*"])
        question = f"SELECT {wanted} FROM rows WHERE {self.where or 'true'}"  # noqa: S608  our own text
        return pa.table(QueryBuilder().register("rows", self._open_delta()).execute(question).read_all())

    def delta_in_arrow(self) -> pa.Table:
        """Open a Delta table and give its files and statistics to PyArrow, which reads in threads."""
        rows = self._open_delta().to_pyarrow_dataset()
        if self.where is None:
            return rows.to_table(self.columns)
        column, _, value = self.where.partition(" = ")
        return rows.to_table(self.columns, filter=pads.field(column) == int(value))

    def _open_delta(self) -> DeltaTable:
        options = {f"AWS_{name}".upper(): value for name, value in _KEYS.items()}
        options |= {"AWS_ENDPOINT_URL": self.endpoint, "AWS_ALLOW_HTTP": "true"}
        return DeltaTable(f"{_ROOT}/{UUID}/table", storage_options=options)

    def iceberg(self) -> pa.Table:
        """Open an Iceberg table by its catalog and scan it."""
        found = catalog(
            self.folder,
            **{"s3.endpoint": self.endpoint, "s3.access-key-id": "anybody", "s3.secret-access-key": "anything"},
            **{"s3.region": "us-east-1"},
        )
        scan = found.load_table(ICEBERG).scan(selected_fields=tuple(self.columns or ["*"]))
        return (scan if self.where is None else scan.filter(self.where)).to_arrow()

    def polars(self) -> pa.Table:
        """Scan the files."""
        options = {f"aws_{name}": value for name, value in _KEYS.items()}
        options |= {"aws_endpoint_url": self.endpoint, "aws_allow_http": "true"}
        part = "p=42" if self.where == "p = 42" else "p=*"
        rows = pl.scan_parquet(
            f"{_ROOT}/{UUID}/table/{part}/*.parquet", hive_partitioning=True, storage_options=options
        )
        chosen = rows if self.where is None else rows.filter(pl.sql_expr(self.where))
        return (chosen if self.columns is None else chosen.select(self.columns)).collect().to_arrow()


class Nearby(PyArrowFileIO):
    """Writes what belongs into the bucket into the folder that is served."""

    def new_input(self, location: str) -> Any:
        """Read in the folder."""
        return super().new_input(self._near(location))

    def new_output(self, location: str) -> Any:
        """Write into the folder."""
        return super().new_output(self._near(location))

    def _near(self, location: str) -> str:
        return location.replace(_ROOT, self.properties["folder"], 1)


def catalog(folder: Path, /, **properties: str) -> SqlCatalog:
    """Return Iceberg's catalog, which lies beside the bucket."""
    return SqlCatalog("bench", uri=f"sqlite:///{folder.parent / 'catalog.db'}", warehouse=_ROOT, **properties)


def make_rows(parent: Path, size: Size) -> Path:
    """Return the folder of the bucket; it is filled where it has not been yet."""
    folder, made = parent / "bucket", parent / "made"
    if not made.is_file():
        shutil.rmtree(parent, ignore_errors=True)
        folder.mkdir(parents=True)
        rows = frames(min(size.read, _ROWS), min(size.files, 1_000))
        kb.write_dataset(rows, UUID, str(folder), partition_on="p", secondary_indices="i1", sort_by="x")
        known = Known(folder, SCHEMA, ("p",))
        files = files_of(known, ("x", "i1", "n1"))
        tell_delta(known, files)
        near = catalog(folder, folder=str(folder), **{"py-io-impl": f"{__name__}.{Nearby.__name__}"})
        near.create_namespace(ICEBERG.partition(".")[0])
        set_layout(near.create_table(ICEBERG, SCHEMA), ("p",))
        add_to_iceberg(near.load_table(ICEBERG), f"{_ROOT}/{UUID}/table", files)
        made.touch()
    return folder


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Run the server in a process of its own, so that it takes no time of ours, and give its port."""
    command = [sys.executable, "-m", "benchmarks.store_server", str(folder), str(MILLISECONDS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603  ours
        assert process.stdin is not None
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.stdin.close()


def asked(port: int) -> dict[str, int]:
    """Return what was asked of the store since the last time."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/used", timeout=10) as answer:
        return dict(json.loads(answer.read()))
