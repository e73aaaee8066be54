from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from kubothek.codec.object_kinds import object_kinds
from kubothek.model.header import CommitState, Header, partitions_schema
from kubothek.plan.garbage import OBJECTS, find_garbage, known_tables, named_keys, spare

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema([("v1", pa.int64())])
STATE = CommitState(1, "w", ("w",), "i", {"table": SCHEMA})


def header(*files: str, state: CommitState | None = STATE, **indices: str) -> Header:
    """Make a header with these files."""
    nothing = pa.nulls(len(files), pa.int64())
    labels = [f"l{place}" for place, _ in enumerate(files)]
    columns = [pa.array(labels, pa.string()), nothing, nothing, pa.array(files, pa.string())]
    return Header("u", (), pa.table(columns, schema=partitions_schema(("table",))), indices, state=state)


def objects(*keys: str, age: timedelta = timedelta(0)) -> pa.Table:
    """List these keys, changed at this age before noon."""
    names = pa.array(keys, pa.string())
    sizes, times = pa.repeat(1, len(keys)), pa.array([NOON - age] * len(keys), OBJECTS.field("modified").type)
    return pa.table([names, sizes, times, *object_kinds(names, "u").columns], schema=OBJECTS)


def garbage(listed: pa.Table, live: Sequence[Header]) -> list[str]:
    """Return what is garbage at noon."""
    found: list[str] = find_garbage(listed, live, NOON)["key"].to_pylist()
    return found


KEYS = ["u/table/a.parquet", "u/table/b.parquet", "u/indices/c/a.by-dataset-index.parquet", "u/table/_common_metadata"]


def test_what_any_live_header_names_is_kept() -> None:
    """Several headers may be live at once; each keeps what it names."""
    one, other = header("u/table/a.parquet"), header("u/table/b.parquet", c=KEYS[2])
    assert garbage(objects(*KEYS), [one]) == KEYS[1:3]
    assert garbage(objects(*KEYS), [other]) == KEYS[:1]
    assert garbage(objects(*KEYS), [one, other]) == []
    assert garbage(objects(*KEYS), []) == KEYS


def test_age() -> None:
    """What was changed after the moment stays; at the moment itself it goes."""
    assert garbage(objects(*KEYS, age=timedelta(microseconds=-1)), []) == []
    assert garbage(objects(*KEYS, age=timedelta(0)), []) == KEYS


def test_nothing_listed() -> None:
    """Where there is nothing, nothing is garbage."""
    assert garbage(objects(), [header()]) == []


PRIVATE = ["_kubothek/u/i/other", "_kubothek/u/i/staged/x", "_kubothek/u/j/other", "_kubothek/u/j/staged/x"]


@pytest.mark.parametrize(
    ("live", "expected"),
    [([header()], PRIVATE[1:]), ([header(state=None)], PRIVATE[1::2]), ([], PRIVATE)],
    ids=["ours", "other software's", "none"],
)
def test_our_own_objects(live: list[Header], expected: list[str]) -> None:
    """Only the incarnation that is live keeps what it has; where it is unknown, all do."""
    assert garbage(objects(*PRIVATE), live) == expected


VERSIONS = [f"_kubothek/u/{name}/history/{1:020d}-20200101T000000.000000Z-c.json.zst" for name in "ij"]


def test_versions() -> None:
    """Copies of headers and files are garbage unless they are spared: files by naming which go, copies which stay."""
    listed = objects(*KEYS, *VERSIONS, "_kubothek/u/j/staged/x")
    found = find_garbage(listed, [header()], NOON)
    assert found["key"].to_pylist() == [*KEYS[:3], *VERSIONS, "_kubothek/u/j/staged/x"]
    spared = spare(found, pa.array(KEYS[1:2]), VERSIONS[:1])
    assert spared["key"].to_pylist() == [KEYS[1], VERSIONS[1], "_kubothek/u/j/staged/x"]
    assert spare(found.slice(0, 0), pa.nulls(0, pa.string()), []).num_rows == 0


def test_tables_that_are_unknown() -> None:
    """A header that names no table keeps every schema."""
    assert known_tables(header(state=None)) == ("table",)
    unknown = replace(header(state=None), partitions=None)
    assert known_tables(unknown) is None
    assert garbage(objects("u/other/_common_metadata"), [unknown]) == []
    assert garbage(objects("u/other/_common_metadata"), [header()]) == ["u/other/_common_metadata"]


def test_named_keys() -> None:
    """A header names its data files and indices, each that is there."""
    named = header("u/table/a.parquet", c="u/indices/c")
    assert sorted(named_keys(named).to_pylist()) == ["u/indices/c", "u/table/a.parquet"]
    assert named_keys(replace(named, partitions=None)).to_pylist() == ["u/indices/c"]
