"""Kartothek itself reads, updates and cleans up what we write, down to the bytes of the header, and its cubes are ours.

Kartothek needs Python 3.8 and an environment of its own, which ``make kartothek-env`` makes from
``requirements-kartothek.lock``; ``make kartothek-test`` runs what is here.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard
from tests.interop.other import KARTOTHEK, Step, frame, same_rows
from tests.interop.rows import SETTINGS, every_type, months
from tests.interop.shared import Interoperates

from kubothek import (
    Cube,
    append_to_cube,
    build_cube,
    copy_cube,
    extend_cube,
    open_dataset,
    query_cube,
    update_dataset,
    write_dataset,
)

METADATA: dict[str, Any] = {
    "text": 'ü "東京" \u2028 🙂 \\ /',
    "nested": {"a": [1, 2.5, None, True], "b": {}},
    "big": 2**60,
    "numbers": [0.1, 1e16, 1e300, -1e-7, 3.0, -0.0, 123456789.125],
}


class TestKartothek(Interoperates):
    other = KARTOTHEK
    version = "5.3"

    def test_it_updates_an_index_of_text(self, tmp_path: Path) -> None:
        """An index of text is kept up to date by both."""
        settings = {"partition_on": ["p"], "secondary_indices": ["s"]}
        write_dataset(months(1), "d", tmp_path, **settings)
        step = {"do": "update", "uuid": "d", "frames": [frame(tmp_path, months(2))], **settings}
        (found,) = self.other.does(tmp_path, step, {"do": "read", "uuid": "d", "where": [[("s", "==", "ü1")]]})
        dataset = open_dataset("d", tmp_path)
        assert found.rows.num_rows == 2
        assert same_rows(found.rows, dataset, dataset.scan(where="s == 'ü1'").to_arrow())


def two_tables(*numbers: int) -> dict[str, pa.Table]:
    """The rows of these partitions, in two tables."""
    rows = months(*numbers)
    return {"core": rows.select(["p", "i1", "v1"]), "helper": rows.select(["p", "s"]).slice(0, len(numbers))}


def partition(store: Path, tables: Mapping[str, pa.Table], **more: Any) -> dict[str, Any]:
    """Prepare one partition of several tables for Kartothek."""
    return {"tables": {name: frame(store, rows) for name, rows in tables.items()}, **more}


def read_tables(uuid: str) -> list[Step]:
    """Steps that read both tables."""
    return [{"do": "read", "uuid": uuid, "table": name} for name in ("core", "helper")]


def test_kartothek_reads_several_tables(tmp_path: Path) -> None:
    """Each table of a dataset of ours has its rows."""
    dataset = write_dataset([two_tables(1), two_tables(2)], "d", tmp_path, **SETTINGS)
    found = KARTOTHEK.does(tmp_path, *read_tables("d"))
    for name, one in zip(("core", "helper"), found, strict=True):
        expected = pa.concat_tables([two_tables(1)[name], two_tables(2)[name]])
        assert sorted(map(repr, one.rows.select(expected.column_names).to_pylist())) == sorted(
            map(repr, expected.to_pylist())
        )
        assert one.facts["labels"] == sorted(dataset.partitions)


def test_kartothek_updates_several_tables(tmp_path: Path) -> None:
    """A partition that it adds, and one that it deletes, show in each table here; and we go on."""
    write_dataset([two_tables(1), two_tables(2)], "d", tmp_path, **SETTINGS)
    frames = [partition(tmp_path, two_tables(3))]
    KARTOTHEK.does(tmp_path, {"do": "update", "uuid": "d", "frames": frames, "delete_scope": [{"p": 1}], **SETTINGS})
    dataset = update_dataset([two_tables(4)], "d", tmp_path)
    for name in ("core", "helper"):
        found = dataset.scan(table=name).to_arrow()
        expected = pa.concat_tables([two_tables(number)[name] for number in (2, 3, 4)])
        assert sorted(found.sort_by("p").to_pylist(), key=repr) == sorted(
            expected.select(found.column_names).to_pylist(), key=repr
        )
    core, helper = KARTOTHEK.does(tmp_path, *read_tables("d"))
    assert (core.rows.num_rows, helper.rows.num_rows) == (6, 3)


def test_we_read_several_tables_of_kartothek(tmp_path: Path) -> None:
    """A dataset of several tables that it wrote is read and updated here."""
    frames = [partition(tmp_path, two_tables(number)) for number in (1, 2)]
    KARTOTHEK.does(tmp_path, {"do": "write", "uuid": "d", "frames": frames, **SETTINGS})
    dataset = open_dataset("d", tmp_path)
    assert set(dataset.tables) == {"core", "helper"}
    assert dataset.scan(table="core", where="i1 == 101").to_arrow()["v1"].to_pylist() == [1.0]
    dataset = update_dataset([two_tables(3)], "d", tmp_path)
    assert dataset.scan(table="helper").to_arrow().num_rows == 3


def header(store: Path, ending: str = "json") -> bytes:
    """Return a header as it lies in the store, decompressed."""
    content = (store / f"d.by-dataset-metadata.{ending}").read_bytes()
    return content if ending == "json" else zstandard.decompress(content)


def without_own_key(ours: bytes) -> bytes:
    """Return a JSON header without its last key."""
    assert list(json.loads(ours))[-1] == "kubothek"
    return ours[: ours.rindex(b', "kubothek": {')] + b"}"


def without_names(found: bytes) -> str:
    """Return a JSON header in which the random part of labels, and times, are the same everywhere."""
    text = re.sub(r"[0-9a-f]{32}", "<label>", found.decode("ascii"))
    return re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9%A:.]+?(?=\"|\.by)", "<time>", text)


HEADED = every_type().select(["p", "q", "integer", "string", "double"]).take([0, 3])
LAYOUT: Mapping[str, Any] = {"partition_on": ["p", "q"], "secondary_indices": ["integer", "string"]}


def test_new_dataset_has_the_same_header(tmp_path: Path) -> None:
    """The same rows, layout and metadata give the same bytes, but for names that are random and for our own key."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    frames = [frame(theirs, HEADED.slice(0, 1)), frame(theirs, HEADED.slice(1))]
    KARTOTHEK.does(theirs, {"do": "write", "uuid": "d", "frames": frames, "metadata": METADATA, **LAYOUT})
    write_dataset([HEADED.slice(0, 1), HEADED.slice(1)], "d", ours, metadata=METADATA, **LAYOUT)
    assert without_names(without_own_key(header(ours))) == without_names(header(theirs))


def test_same_change_has_the_same_header(tmp_path: Path) -> None:
    """The same change of metadata to the same dataset gives the same bytes, names and times included."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    KARTOTHEK.does(theirs, {"do": "write", "uuid": "d", "frames": [frame(theirs, HEADED)], **LAYOUT})
    shutil.copytree(theirs, ours)
    KARTOTHEK.does(theirs, {"do": "commit", "uuid": "d", "metadata": METADATA})
    update_dataset(None, "d", ours, metadata=METADATA)
    assert without_own_key(header(ours)) == header(theirs)


def test_same_deletion_has_the_same_header(tmp_path: Path) -> None:
    """The same deletion from the same dataset gives the same bytes but for the time of the new index files."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    KARTOTHEK.does(theirs, {"do": "write", "uuid": "d", "frames": [frame(theirs, HEADED)], **LAYOUT})
    shutil.copytree(theirs, ours)
    KARTOTHEK.does(theirs, {"do": "commit", "uuid": "d", "delete_scope": [{"p": 1}]})
    update_dataset(None, "d", ours, delete_scope=[{"p": 1}])
    assert without_names(without_own_key(header(ours))) == without_names(header(theirs))
    assert len(json.loads(header(ours))["partitions"]) == 1


def test_same_msgpack_header(tmp_path: Path) -> None:
    """Where labels and times are given, the bytes of the other header format are the same, but for our own key."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    tables = {"core": HEADED, "helper": HEADED.select(["p", "q", "double"])}
    frames = [partition(theirs, tables, label=f"label {number}") for number in (1, 2)]
    step = {"do": "write", "uuid": "d", "frames": frames, "metadata_storage_format": "msgpack"}
    time = {"creation_time": "2020-01-01T00:00:00"}
    KARTOTHEK.does(ours, {**step, "metadata": time})
    update_dataset(None, "d", ours, metadata=METADATA)
    KARTOTHEK.does(theirs, {**step, "metadata": time | METADATA})
    expected, found = (header(store, "msgpack.zstd") for store in (theirs, ours))
    one_key_more = bytes([expected[0] + 1])  # a map of less than 16 keys begins with their number
    assert found.startswith(one_key_more + expected[1:] + b"\xa8kubothek")


CUBE = Cube(uuid_prefix="c", dimension_columns=["x", "y"], partition_columns=["p"], index_columns=["i1"])


def cells(*partitions: int) -> dict[str, pa.Table]:
    """A seed, and an enrichment that has every other cell."""
    p = [number for number in partitions for _ in range(4)]
    x, y = [1, 1, 2, 2] * len(partitions), [1, 2, 1, 2] * len(partitions)
    seed = pa.table({"x": x, "y": y, "p": p, "v1": [float(n) for n in range(len(p))]})
    enrich = pa.table({"x": x, "y": y, "p": p, "v2": [f"ü{n}" for n in range(len(p))], "i1": p})
    return {"seed": seed, "enrich": enrich.take(list(range(0, len(p), 2)))}


def sorted_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows by cell, with null where pandas has NaN."""
    order = [("p", "ascending"), ("x", "ascending"), ("y", "ascending")]
    columns = ["p", "x", "y", "v1", "v2", "i1"]
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in rows.select(columns).sort_by(order).to_pylist()
    ]


def test_kartothek_queries_and_appends_to_our_cube(tmp_path: Path) -> None:
    """A cube of ours is found by its prefix, gives the same table, and takes rows that show here."""
    build_cube(cells(1)["seed"], CUBE, tmp_path)
    extend_cube({"enrich": cells(1)["enrich"]}, CUBE, tmp_path)
    append_to_cube(cells(2), CUBE, tmp_path)
    query = {"do": "query_cube", "uuid": "c"}
    frames = {name: frame(tmp_path, rows) for name, rows in cells(3).items()}
    before, _, after = KARTOTHEK.tries(tmp_path, query, {"do": "append_to_cube", "uuid": "c", "frames": frames}, query)
    assert before.error + after.error == ""
    ours = query_cube("c", tmp_path).to_arrow()
    assert before.rows.num_rows == 8
    assert sorted_rows(after.rows) == sorted_rows(ours)
    assert ours["v2"].null_count == 6


def test_kartothek_queries_and_appends_to_a_renamed_copy(tmp_path: Path) -> None:
    """The seed of a copy is found under its new name, and rows that are added there show here."""
    build_cube(cells(1), CUBE, "memory://renamed-copy")
    copy_cube("c", "memory://renamed-copy", to_store=tmp_path, renamed_cube_prefix="d", renamed_datasets={"seed": "s"})
    query, more = {"do": "query_cube", "uuid": "d"}, cells(2)
    frames = {"s": frame(tmp_path, more["seed"]), "enrich": frame(tmp_path, more["enrich"])}
    _, after = KARTOTHEK.tries(tmp_path, {"do": "append_to_cube", "uuid": "d", "frames": frames}, query)
    assert after.error == ""
    assert sorted_rows(after.rows) == sorted_rows(query_cube("d", tmp_path).to_arrow())
    assert after.rows.num_rows == 8
