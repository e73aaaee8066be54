"""Plateau reads, updates and cleans up what we write, and we read what it writes.

Plateau runs in an environment of its own, which ``make others-test`` makes from ``requirements-interop.lock``.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kubothek import C, Cube, Dataset, build_cube, open_dataset, query_cube, update_dataset, write_dataset

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("with_plateau.py")
PYTHON = Path(os.environ.get("INTEROP_PYTHON", ROOT / ".interop-venv" / "bin" / "python"))


@dataclass(frozen=True)
class Found:
    """What Plateau found: rows, the pairs of value and label per index, and facts."""

    rows: pa.Table
    postings: dict[str, pa.Table]
    facts: dict[str, Any]


def with_plateau(store: Path, *steps: dict[str, Any]) -> list[Found]:
    """Let Plateau carry out steps and return what each ``read`` among them found."""
    assert PYTHON.exists(), f"{PYTHON} is missing: `make others-test` makes the environment in which Plateau runs"
    out = store.parent / f"{store.name}.out"
    out.mkdir()
    (out / "steps.json").write_text(json.dumps(steps))
    command = [str(PYTHON), "-W", "ignore", str(SCRIPT), str(store), str(out / "steps.json"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [found_in(out, number) for number, step in enumerate(steps) if step["do"] == "read"]


def found_in(out: Path, number: int) -> Found:
    """Load what one step left."""
    facts = json.loads((out / f"{number}.json").read_text())
    postings = {name: pq.ParquetFile(out / f"{number}.{name}.index").read() for name in facts["indices"]}
    return Found(pq.read_table(out / f"{number}.parquet"), postings, facts)


def frame(folder: Path, rows: pa.Table) -> str:
    """Put rows where Plateau finds them."""
    path = folder.parent / f"{folder.name}-{len(list(folder.parent.iterdir()))}.parquet"
    pq.write_table(rows, path)
    return str(path)


def every_type() -> pa.Table:
    """Four rows with a column per type that both know, and nulls where pandas keeps the type in spite of them."""
    instants = [datetime(2020, 1, 1, 1, 2, 3, 4), None, datetime(1999, 12, 31), datetime(2024, 2, 29)]  # noqa: DTZ001
    return pa.table(
        {
            "p": pa.array([1, 1, 2, -3], pa.int16()),
            "q": ["a", "a b/c%", "ü=1", "東京"],
            "integer": [1, 2, None, 4],
            "unsigned": pa.array([1, 2**64 - 1, 0, 7], pa.uint64()),
            "double": [0.5, None, -1.0, 0.5],
            "bool": [True, False, None, True],
            "string": ["ü", None, "", "ü"],
            "binary": [b"a", None, b"\x00\xff", b""],
            "date": [date(2020, 1, 1), None, date(1999, 12, 31), date(2020, 1, 1)],
            "timestamp": pa.array(instants, pa.timestamp("us")),
            "instant": pa.array(instants, pa.timestamp("us", "UTC")),
            "time": [time(1, 2, 3, 4), None, time(0), time(4)],
            "decimal": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal(0)], pa.decimal128(10, 2)),
            "list": [[1, 2], [], None, [3]],
            "struct": [{"b": 1, "a": "x"}, None, {"b": None, "a": None}, {"b": 2, "a": ""}],
            "null": pa.nulls(4),
        }
    )


INDEXED = ["integer", "unsigned", "double", "bool", "string", "binary", "date", "timestamp", "instant", "decimal"]


def same_rows(found: pa.Table, dataset: Dataset, expected: pa.Table) -> bool:
    """Tell whether a table has these rows once it has the dataset's types, in any order."""
    names = dataset.schema.names
    tables = [table.select(names).cast(dataset.schema).to_pylist() for table in (found, expected)]
    return sorted(tables[0], key=repr) == sorted(tables[1], key=repr)


def pairs(values: list[Any], labels: list[str]) -> set[tuple[Any, str]]:
    """Combine values and labels, without nulls and without the names of files."""
    return {(v, label.rpartition("/")[0]) for v, label in zip(values, labels, strict=True) if v is not None}


@pytest.mark.parametrize("header_format", ["json", "msgpack"])
def test_plateau_reads_every_type(tmp_path: Path, header_format: Any) -> None:
    """Rows, types, partition columns and metadata are what we wrote."""
    dataset = write_dataset(
        every_type(), "d", tmp_path, partition_on=["p", "q"], metadata={"k": "ü"}, header_format=header_format
    )
    (found,) = with_plateau(tmp_path, {"do": "read", "uuid": "d"})
    assert found.facts["plateau"].startswith("4.")
    assert same_rows(found.rows, dataset, every_type())
    assert found.facts["partition_keys"] == ["p", "q"]
    assert found.facts["labels"] == sorted(dataset.partitions)
    assert found.facts["metadata"]["k"] == "ü"
    plateaus_own = {"string": "large_string", "timestamp[us]": "timestamp[ns]"}
    types = {field.name: plateaus_own.get(str(field.type), str(field.type)) for field in dataset.schema}
    assert found.facts["schema"] == types


def test_plateau_reads_indices_of_every_type(tmp_path: Path) -> None:
    """Every index has the values and labels that the rows have."""
    rows = every_type()
    dataset = write_dataset(rows, "d", tmp_path, partition_on=["p", "q"], secondary_indices=INDEXED)
    (found,) = with_plateau(tmp_path, {"do": "read", "uuid": "d"})
    assert found.facts["indices"] == sorted([*INDEXED, "p", "q"])
    places = dataset.scan().to_arrow().select(["p", "q"])
    assert places.num_rows == 4
    quoted = {"a": "a", "a b/c%": "a%20b%2Fc%25", "ü=1": "%C3%BC%3D1", "東京": "%E6%9D%B1%E4%BA%AC"}
    labels = [f"p={p}/q={quoted[q]}/" for p, q in zip(rows["p"].to_pylist(), rows["q"].to_pylist(), strict=True)]
    for column in [*INDEXED, "p", "q"]:
        kind = dataset.schema.field(column).type
        values = found.postings[column]["value"].cast(kind).to_pylist()
        expected = pairs(rows[column].cast(kind).to_pylist(), labels)
        assert pairs(values, found.postings[column]["label"].to_pylist()) == expected, column


QUESTIONS = {
    "partition": [[["p", "==", 1]]],
    "text": [[["q", "==", "a b/c%"]]],
    "index": [[["integer", "==", 4]]],
    "text index": [[["string", "==", "ü"]]],
    "or": [[["p", ">", 1]], [["double", "<", 0.6]]],
}


def test_plateau_finds_rows_by_partition_and_index(tmp_path: Path) -> None:
    """Conditions give the rows that they give here."""
    dataset = write_dataset(
        every_type(), "d", tmp_path, partition_on=["p", "q"], secondary_indices=["integer", "string"]
    )
    steps = [{"do": "read", "uuid": "d", "where": where} for where in QUESTIONS.values()]
    for where, found in zip(QUESTIONS.values(), with_plateau(tmp_path, *steps), strict=True):
        here = dataset.scan(where=[[tuple(part) for part in every] for every in where]).to_arrow()
        assert here.num_rows
        assert same_rows(found.rows, dataset, here)


def months(*numbers: int, add: float = 0.0) -> pa.Table:
    """Two rows for each of these partitions."""
    p = [number for number in numbers for _ in range(2)]
    return pa.table(
        {
            "p": p,
            "i1": [number % 2 if i % 2 else 100 + number for i, number in enumerate(p)],
            "s": [f"ü{i % 2}" for i in range(len(p))],
            "v1": pa.array([None if i % 2 else number + add for i, number in enumerate(p)], pa.float64()),
            "t": pa.array([datetime(2024, number, 1) for number in p], pa.timestamp("us")),  # noqa: DTZ001
        }
    )


def test_plateau_reads_what_we_updated(tmp_path: Path) -> None:
    """After updates that add and delete, rows and index are those of the last commit."""
    write_dataset(months(1, 2), "d", tmp_path, partition_on="p", secondary_indices="i1")
    update_dataset(months(3), "d", tmp_path)
    dataset = update_dataset(months(2, add=0.5), "d", tmp_path, delete_scope=[{"p": 2}, {"p": 1}])
    (found,) = with_plateau(tmp_path, {"do": "read", "uuid": "d"})
    assert same_rows(found.rows, dataset, pa.concat_tables([months(3), months(2, add=0.5)]))
    index = found.postings["i1"].to_pydict()
    assert pairs(*index.values()) == {(103, "p=3"), (1, "p=3"), (102, "p=2"), (0, "p=2")}


def test_plateau_updates_what_we_wrote(tmp_path: Path) -> None:
    """A commit of Plateau's to our dataset is read here with its rows, index and deletions, and can be updated on."""
    write_dataset(months(1, 2, 3), "d", tmp_path, partition_on="p", secondary_indices="i1", metadata={"k": 1})
    settings = {"delete_scope": [{"p": 2}], "partition_on": ["p"], "secondary_indices": ["i1"]}
    frames = [frame(tmp_path, months(4)), frame(tmp_path, months(1, add=0.5))]
    with_plateau(tmp_path, {"do": "update", "uuid": "d", "frames": frames, **settings})
    dataset = open_dataset("d", tmp_path)
    expected = pa.concat_tables([months(1, 3), months(4), months(1, add=0.5)])
    assert dataset.version is None
    assert dataset.metadata["k"] == 1
    assert same_rows(dataset.scan().to_arrow(), dataset, expected)
    odd = dataset.scan(where=C("i1") == 1).to_arrow()
    assert same_rows(odd, dataset, expected.filter(pc.equal(expected["i1"], 1)))
    assert len(dataset.load_index("i1").eval_operator("==", 102)) == 0


def test_we_update_what_plateau_updated(tmp_path: Path) -> None:
    """Commits of both follow each other, and each reads the other's."""
    write_dataset(months(1), "d", tmp_path, partition_on="p", secondary_indices="i1")
    settings = {"partition_on": ["p"], "secondary_indices": ["i1"]}
    with_plateau(tmp_path, {"do": "update", "uuid": "d", "frames": [frame(tmp_path, months(2))], **settings})
    dataset = update_dataset(months(3), "d", tmp_path, delete_scope=[{"p": 1}])
    assert dataset.version is not None
    (tmp_path.parent / f"{tmp_path.name}.out").rename(tmp_path.parent / f"{tmp_path.name}.before")
    (found,) = with_plateau(tmp_path, {"do": "read", "uuid": "d"})
    assert same_rows(found.rows, dataset, months(2, 3))
    assert same_rows(dataset.scan().to_arrow(), dataset, months(2, 3))
    assert pairs(*found.postings["i1"].to_pydict().values()) == {
        (102, "p=2"), (0, "p=2"), (103, "p=3"), (1, "p=3"),
    }  # fmt: skip


def test_plateau_updates_most_types(tmp_path: Path) -> None:
    """Plateau takes rows of all types but decimals, whose width it guesses from the values, for our dataset."""
    plain = every_type().drop_columns(["q", "decimal"])
    indexed = [name for name in INDEXED if name not in ("string", "decimal")]
    first = write_dataset(plain, "d", tmp_path, partition_on="p", secondary_indices=indexed)
    rows = plain.select(first.schema.names).cast(first.schema)
    complete = rows.take([0, 3])  # pandas has no integers beside nulls, and Plateau indexes nanoseconds
    at = complete.column_names.index("timestamp")
    complete = complete.set_column(at, "timestamp", complete["timestamp"].cast(pa.timestamp("ns")))
    settings = {"partition_on": ["p"], "secondary_indices": indexed, "frames": [frame(tmp_path, complete)]}
    with_plateau(tmp_path, {"do": "update", "uuid": "d", **settings})
    dataset = open_dataset("d", tmp_path)
    assert dataset.schema == first.schema
    assert same_rows(dataset.scan().to_arrow(), dataset, pa.concat_tables([rows, rows.take([0, 3])]))
    assert dataset.scan(where=C("instant") == datetime(2024, 2, 29, tzinfo=UTC)).to_arrow().num_rows == 2


@pytest.mark.xfail(raises=AssertionError, reason="Plateau wants large_string in the index, which Kartothek cannot read")
def test_plateau_updates_an_index_of_text(tmp_path: Path) -> None:
    """An index of text, written as Kartothek writes it, can be updated by Plateau."""
    write_dataset(months(1), "d", tmp_path, partition_on="p", secondary_indices="s")
    settings = {"partition_on": ["p"], "secondary_indices": ["s"], "frames": [frame(tmp_path, months(2))]}
    with_plateau(tmp_path, {"do": "update", "uuid": "d", **settings})


def test_we_read_what_plateau_wrote(tmp_path: Path) -> None:
    """A dataset of Plateau's is read and updated here."""
    settings = {"partition_on": ["p"], "secondary_indices": ["i1"]}
    with_plateau(tmp_path, {"do": "write", "uuid": "d", "frames": [frame(tmp_path, months(1, 2))], **settings})
    dataset = open_dataset("d", tmp_path)
    assert (dataset.partition_keys, dataset.index_columns) == (("p",), ("i1",))
    assert same_rows(dataset.scan().to_arrow(), dataset, months(1, 2))
    dataset = update_dataset(months(3), "d", tmp_path)
    assert same_rows(dataset.scan().to_arrow(), dataset, months(1, 2, 3))
    assert dataset.scan(where=C("i1") == 1).to_arrow().num_rows == 2


def test_plateau_reads_a_dataset_without_rows(tmp_path: Path) -> None:
    """Where all partitions are gone, Plateau still finds the columns."""
    write_dataset(months(1), "d", tmp_path, partition_on="p")
    dataset = update_dataset(None, "d", tmp_path, delete_scope=[{"p": 1}])
    (found,) = with_plateau(tmp_path, {"do": "read", "uuid": "d"})
    assert found.rows.num_rows == 0
    assert sorted(found.rows.column_names) == sorted(dataset.schema.names)


def test_plateau_reads_and_updates_a_dataset_of_a_cube(tmp_path: Path) -> None:
    """The datasets of a cube are datasets to Plateau, and its commits show in the cube."""
    cube = Cube(uuid_prefix="c", dimension_columns=["x"], partition_columns=["p"])
    rows = pa.table({"x": [1, 2], "p": [1, 1], "v1": [1.0, 2.0]})
    more = pa.table({"x": [3], "p": [2], "v1": [3.0]})
    build_cube(rows, cube, tmp_path)
    settings = {"partition_on": ["p"], "secondary_indices": ["x"], "frames": [frame(tmp_path, more)]}
    read = {"do": "read", "uuid": "c++seed"}
    before, after = with_plateau(tmp_path, read, {"do": "update", "uuid": "c++seed", **settings}, read)
    assert (before.rows.num_rows, after.rows.num_rows) == (2, 3)
    assert query_cube("c", tmp_path, where=C("x") >= 2).to_arrow()["v1"].to_pylist() == [2.0, 3.0]


def test_plateaus_garbage_collection_spares_what_is_ours(tmp_path: Path) -> None:
    """Plateau deletes data files that nothing refers to, and nothing that a reader or our history needs."""
    write_dataset(months(1, 2), "d", tmp_path, partition_on="p", secondary_indices="i1")
    dataset = update_dataset(months(3), "d", tmp_path, delete_scope=[{"p": 1}])
    private = sorted(path for path in (tmp_path / "_kubothek").rglob("*") if path.is_file())
    with_plateau(tmp_path, {"do": "collect", "uuid": "d"})
    assert sorted(path for path in (tmp_path / "_kubothek").rglob("*") if path.is_file()) == private
    assert not (tmp_path / "d" / "table" / "p=1").exists() or not list((tmp_path / "d" / "table" / "p=1").iterdir())
    dataset = open_dataset("d", tmp_path)
    assert same_rows(dataset.scan(where=C("i1") >= 0).to_arrow(), dataset, months(2, 3))
