"""Rows found by the value of one column, in this process, against Plateau, delta-rs and PyIceberg on the same rows.

Each value of ``i1`` is in two rows, which may be in any two files, so that only an index tells which; values of ``i2``
lie in order, so that the statistics of a file tell too. Cold is opening, planning and reading; warm is a table that was
opened before, in Plateau's case with its indices. Plateau runs in a process of its own, which takes the time itself.

The tables are made once per size, each with one file per frame and with one commit or checkpoint to open::

    <directory>/lookup/frames/      rows, one file per frame; PyIceberg takes these files as they are
    <directory>/lookup/kubothek/    rows, with indices on i1 and i2
    <directory>/lookup/plateau/     likewise
    <directory>/lookup/delta/
    <directory>/lookup/iceberg/     with a catalog in SQLite
    <directory>/lookup/made.json    last: how many seconds each took
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import In
from pyiceberg.table import Table as IcebergTable

import kubothek as kb
from benchmarks.data import Size
from benchmarks.timing import Case, Contender

UUID = "rows"
TABLE = "bench.rows"
INDICES = ("i1", "i2")
_ROOT = Path(__file__).parents[2]
_ROWS_PER_VALUE = 2
_SEED = 50

Plateau = Callable[..., dict[str, Any]]


def cases(directory: Path, size: Size) -> Iterator[Case]:
    """One value and a hundred that lie anywhere, and one that statistics find too; cold and warm each."""
    folder = directory / "lookup"
    with running_plateau(folder / "plateau") as asked:
        make_tables(folder, size, asked)
        asked(do="open")
        many = np.random.default_rng(_SEED + 1).choice(size.values, 100, replace=False).tolist()
        for name, column, values in (
            ("one value", "i1", many[:1]),
            ("100 values", "i1", many),
            ("one value, in order", "i2", many[:1]),
        ):
            yield cold(folder, asked, name, column, values)
            yield warm(folder, asked, name, column, values)


def cold(folder: Path, asked: Plateau, name: str, column: str, values: Sequence[int]) -> Case:
    """Open, plan and read."""
    question = (column, values)
    return Case(
        "lookup",
        f"{name}, cold",
        (
            Contender("Kubothek", lambda: in_kubothek(open_kubothek(folder), *question)),
            plateau(folder, asked, *question, opened=False),
            Contender(
                "delta-rs, PyArrow", lambda: in_arrow(open_delta(folder).to_pyarrow_dataset(), *question), goal=1
            ),
            Contender("delta-rs, DataFusion", lambda: in_sql(open_delta(folder), *question), plain, goal=1),
            Contender("PyIceberg", lambda: in_iceberg(open_iceberg(folder), *question), goal=1),
        ),
    )


def warm(folder: Path, asked: Plateau, name: str, column: str, values: Sequence[int]) -> Case:
    """Plan and read what is open."""
    question = (column, values)
    delta = open_delta(folder)
    return Case(
        "lookup",
        f"{name}, warm",
        (
            Contender("Kubothek", partial(in_kubothek, open_kubothek(folder), *question)),
            plateau(folder, asked, *question, opened=True),
            Contender("delta-rs, PyArrow", partial(in_arrow, delta.to_pyarrow_dataset(), *question), goal=1),
            Contender("delta-rs, DataFusion", partial(in_sql, delta, *question), plain, goal=1),
            Contender("PyIceberg", partial(in_iceberg, open_iceberg(folder), *question), goal=1),
        ),
    )


def open_kubothek(folder: Path) -> kb.Dataset:
    """Open our dataset."""
    return kb.open_dataset(UUID, str(folder / "kubothek"))


def open_delta(folder: Path) -> DeltaTable:
    """Open the Delta table."""
    return DeltaTable(str(folder / "delta"))


def open_iceberg(folder: Path) -> IcebergTable:
    """Open the Iceberg table by its catalog."""
    return catalog(folder / "iceberg").load_table(TABLE)


def in_kubothek(dataset: kb.Dataset, column: str, values: Sequence[int]) -> pa.Table:
    """Look up in a dataset."""
    return dataset.scan(where=kb.C(column).isin(values)).to_arrow()


def in_arrow(dataset: pads.Dataset, column: str, values: Sequence[int]) -> pa.Table:
    """Look up in the files and statistics that delta-rs gave PyArrow."""
    return dataset.to_table(filter=pads.field(column).isin(values))


def in_sql(table: DeltaTable, column: str, values: Sequence[int]) -> Any:
    """Look up with the query engine that delta-rs has."""
    question = f"SELECT * FROM rows WHERE {column} IN ({', '.join(map(str, values))})"  # noqa: S608  our own numbers
    return QueryBuilder().register("rows", table).execute(question).read_all()


def plain(result: Any) -> pa.Table:
    """Return what DataFusion found with text as PyArrow can sort it."""
    table = pa.table(result)
    views = {pa.string_view(): pa.string()}
    return table.cast(pa.schema([(field.name, views.get(field.type, field.type)) for field in table.schema]))


def in_iceberg(table: IcebergTable, column: str, values: Sequence[int]) -> pa.Table:
    """Look up in an Iceberg table."""
    return table.scan(row_filter=In(column, values)).to_arrow()


def plateau(folder: Path, asked: Plateau, column: str, values: Sequence[int], *, opened: bool) -> Contender:
    """Let Plateau look up and take the time."""
    out = folder / "found.parquet"
    request = {"do": "find", "predicates": [[[column, "in", values]]], "opened": opened, "out": str(out)}
    return Contender(
        "Plateau",
        partial(asked, **request),
        lambda _: pq.ParquetFile(out).read(),
        goal=1,
        seconds=lambda answer: float(answer["seconds"]),
    )


@contextmanager
def running_plateau(store: Path) -> Iterator[Plateau]:
    """Keep Plateau running, in its own environment, and ask it by keyword."""
    python = Path(os.environ.get("INTEROP_PYTHON", _ROOT / ".interop-venv" / "bin" / "python"))
    assert python.exists(), f"{python} is missing: `make bench` makes the environment in which Plateau runs"
    command = [str(python), "-W", "ignore", str(Path(__file__).with_name("with_plateau.py")), str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ours
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def ask(**request: Any) -> dict[str, Any]:
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            return dict(json.loads(answers.readline()))

        yield ask
        requests.close()


def make_tables(folder: Path, size: Size, asked: Plateau) -> None:
    """Write the rows with everyone, where that has not been done yet."""
    made = folder / "made.json"
    if made.is_file():
        return
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "frames").mkdir(parents=True)
    frames = list(make_frames(size))
    for number, frame in enumerate(frames):
        pq.write_table(frame, folder / "frames" / f"{number:06}.parquet", compression="zstd")
    makers: dict[str, Callable[[], object]] = {
        "Kubothek": lambda: kb.write_dataset(frames, UUID, str(folder / "kubothek"), secondary_indices=INDICES),
        "Plateau": lambda: asked(do="write", frames=str(folder / "frames"), indices=INDICES),
        "delta-rs": lambda: make_delta(folder / "delta", frames),
        "PyIceberg": lambda: make_iceberg(folder / "iceberg", folder / "frames", frames[0].schema),
    }
    seconds = {name: _seconds(make) for name, make in makers.items()}
    made.write_text(json.dumps(seconds), encoding="utf-8")


def make_frames(size: Size) -> Iterator[pa.Table]:
    """Yield as many frames as there are to be files."""
    rows = size.values * _ROWS_PER_VALUE
    random = np.random.default_rng(_SEED)
    x = np.arange(rows)
    columns = {
        "x": x,
        "i1": random.permutation(x) // _ROWS_PER_VALUE,
        "i2": x // _ROWS_PER_VALUE,
        "v1": random.random(rows),
        "s1": pa.array([f"kind-{number}" for number in range(20)]).take(pa.array(x % 20)),
    }
    table = pa.table(columns)
    for start in range(0, rows, rows // size.files):
        yield table.slice(start, rows // size.files)


def make_delta(folder: Path, frames: Sequence[pa.Table]) -> None:
    """Append frame after frame, and leave a checkpoint, so that opening reads one file of metadata."""
    for frame in frames:
        write_deltalake(str(folder), frame, mode="append")
    DeltaTable(str(folder)).create_checkpoint()


def catalog(folder: Path) -> SqlCatalog:
    """Return the catalog beside an Iceberg table."""
    return SqlCatalog("bench", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=folder.as_uri())


def make_iceberg(folder: Path, frames: Path, schema: pa.Schema) -> None:
    """Make an Iceberg table of files that are there, in one commit with the statistics of all."""
    folder.mkdir()
    found = catalog(folder)
    found.create_namespace(TABLE.partition(".")[0])
    found.create_table(TABLE, schema).add_files([str(path) for path in sorted(frames.iterdir())])


def _seconds(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return round(time.perf_counter() - start, 2)
