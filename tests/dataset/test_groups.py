"""Groups of a scan: the rows of each distinct value of indexed columns, in order."""

from __future__ import annotations

import math
import uuid as uuids
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubothek as kb
from kubothek import C
from kubothek.errors import InvalidInputError, UnindexedColumnError, UnknownColumnError
from kubothek.testing.conditions import conditions, matches
from kubothek.testing.stores import CountingStore

Row = Mapping[str, Any]

ROWS = {
    "p": [1, 1, 2, 2, 3],
    "q": ["a", "b", "a", "b", "a"],
    "i1": [7, 8, 7, None, 9],
    "v1": [0.5, None, 1.5, 2.5, -1.0],
}


def written(rows: Any, **layout: Any) -> kb.Dataset:
    """Write rows to a store of their own."""
    return kb.write_dataset(rows, "u", f"memory://{uuids.uuid4().hex}", **layout)


@cache
def shared() -> kb.Dataset:
    """Return a dataset to which nobody writes."""
    return written(pa.table(ROWS), partition_on=["p", "q"], secondary_indices="i1")


def grouped(scan: kb.Scan, by: Any) -> list[tuple[Any, list[Any]]]:
    """Return the keys of the groups that have rows, with their values of v1."""
    return [(key, table["v1"].to_pylist()) for key, table in scan.groups(by) if table.num_rows]


BY: dict[str, tuple[Any, list[tuple[Any, list[Any]]]]] = {
    "a partition column": ("q", [(("a",), [0.5, 1.5, -1.0]), (("b",), [None, 2.5])]),
    "an indexed column": ("i1", [((7,), [0.5, 1.5]), ((8,), [None]), ((9,), [-1.0])]),
    "both": (["q", "i1"], [(("a", 7), [0.5, 1.5]), (("a", 9), [-1.0]), (("b", 8), [None])]),
    "both, in another order": (["i1", "q"], [((7, "a"), [0.5, 1.5]), ((8, "b"), [None]), ((9, "a"), [-1.0])]),
    "nothing": ([], [((), ROWS["v1"])]),
}


@pytest.mark.parametrize("name", BY)
def test_groups_by(name: str) -> None:
    """There is one group per distinct value, in order, and rows without a value are in none."""
    by, expected = BY[name]
    assert grouped(shared().scan(), by) == expected
    assert grouped(shared().scan("v1"), by) == expected


def test_one_group_per_file() -> None:
    """Without columns to group by, files are groups, known by their labels."""
    groups = list(shared().scan("v1").groups())
    assert [key for key, _ in groups] == list(shared().partitions)
    assert [table["v1"].to_pylist() for _, table in groups] == [[value] for value in ROWS["v1"]]


def test_one_logical_partition_is_one_table() -> None:
    """All files of a partition come together, and so do those that agree in some of the partition columns."""
    table = pa.table(ROWS)
    ds = written([table, table], partition_on=["p", "q"])
    assert grouped(ds.scan(), ds.partition_keys)[0] == ((1, "a"), [0.5, 0.5])
    assert [key for key, _ in ds.scan().groups("p")] == [(1,), (2,), (3,)]
    assert [table.num_rows for _, table in ds.scan([]).groups("p")] == [4, 4, 2]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "p": st.integers(0, 2),
    "q": st.sampled_from(["", "a", "b/c"]),
    "i1": st.integers(0, 3),
    "i2": st.sampled_from([-1.5, -0.0, 0.0, 2.0]),
    "v1": st.sampled_from(["x", "y"]),
}
TYPES = {"p": pa.int64(), "q": pa.string(), "i1": pa.int64(), "i2": pa.float64(), "v1": pa.string()}
SOME = {name: values if name in "pq" else values | st.none() for name, values in VALUES.items()}


@settings(max_examples=settings.default.max_examples // 2)
@given(
    st.lists(st.lists(st.fixed_dictionaries(SOME), min_size=1, max_size=6), max_size=3),
    st.permutations(["p", "i1", "i2"]).flatmap(lambda by: st.integers(1, 3).map(lambda n: by[:n])),
    st.none() | conditions(VALUES),
    st.sampled_from([["p"], ["q", "p"]]),
    st.sampled_from([["v1"], ["p", "i2"], []]),
)
def test_groups_are_those_of_plain_python(
    parts: list[list[Row]], by: list[str], where: kb.Condition | None, keys: list[str], columns: list[str]
) -> None:
    """Partitions, indices, conditions and columns never change which rows are in which group."""
    tables = [pa.Table.from_pylist(rows, pa.schema(TYPES)) for rows in parts]
    layout = {"partition_on": keys, "secondary_indices": ["i1", "i2"], "rows_per_row_group": 2}
    ds = written(tables or pa.schema(TYPES).empty_table(), **layout)
    expected: dict[Any, list[str]] = {}
    for row in (row for rows in parts for row in rows):
        key = tuple(row[name] for name in by)
        if None not in key and (where is None or matches(where, row)):
            expected.setdefault(key, []).append(told(row, columns))
    found = [(key, table.to_pylist()) for key, table in ds.scan(columns, where).groups(by)]
    keys_found = [key for key, _ in found]
    assert keys_found == sorted(keys_found)
    assert {*expected} <= {*keys_found}
    assert all(sorted(told(row, columns) for row in rows) == sorted(expected.get(key, [])) for key, rows in found)


def told(row: Row, columns: list[str]) -> str:
    """Return some columns of a row as a text that can be sorted, in which zeros of either sign differ."""
    return str([row[name] for name in columns])


UTC_NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
KEYS: dict[str, list[Any]] = {
    "truth values": [False, True],
    "decimals": [Decimal("-1.50"), Decimal("0.10")],
    "dates": [date(1969, 12, 31), date(2020, 2, 29)],
    "timestamps": [*map(datetime.fromisoformat, ("1969-12-31T23:59:59.999999", "2020-01-01"))],
    "floats": [-math.inf, 0.1],
    "texts": ["", "%2F/ü=", "~"],
    "bytes": [b"", b"a/b"],
    "unsigned integers": pa.array([1, 2**64 - 1], pa.uint64()).to_pylist(),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("layout", ["partition_on", "secondary_indices"])
def test_keys_of_every_type(name: str, layout: str) -> None:
    """Keys are the values themselves, in their order, from partitions and from indices alike."""
    values = pa.array(KEYS[name], pa.uint64() if name == "unsigned integers" else None)
    rows = pa.table({"x": values.take(pa.array([*range(len(values))][::-1] * 2)), "v1": [*range(2 * len(values))]})
    groups = grouped(written(rows, **{layout: "x"}).scan("v1"), "x")
    assert [key for key, _ in groups] == [(value,) for value in values.to_pylist()]
    assert [len(rows) for _, rows in groups] == [2] * len(values)


def test_keys_of_moments() -> None:
    """Zone-aware keys of an index are in UTC."""
    ds = written(pa.table({"i1": [UTC_NOON], "v1": [1]}), secondary_indices="i1")
    assert grouped(ds.scan(), "i1") == [((UTC_NOON,), [1])]


def test_nan_is_in_no_group_of_an_index() -> None:
    """Rows with NaN or null are in no group, and zeros of either sign are in one."""
    ds = written(pa.table({"i1": [0.0, math.nan, -0.0, None], "v1": [1, 2, 3, 4]}), secondary_indices="i1")
    assert grouped(ds.scan(), "i1") == [((0.0,), [1, 3])]


def test_conditions_restrict_groups() -> None:
    """Rows that do not match are in no group, whether an index, a partition or the rows say so."""
    scan = shared().scan("v1", where=(C("i1") < 9) & (C("v1") > 0) | (C("p") == 3))
    assert grouped(scan, "i1") == [((7,), [0.5, 1.5]), ((9,), [-1.0])]


def test_groups_without_rows() -> None:
    """A group in which no row matches is there, unless that is known before, and has the columns of the scan."""
    scan = shared().scan(["v1", "p"], where="v1 > 1")
    groups = dict(scan.groups("p"))
    assert [table.num_rows for table in groups.values()] == [0, 2, 0]
    assert all(table.schema == scan.schema for table in groups.values())
    for by in ("p", "i1", None):
        assert list(shared().scan(where="p == 9").groups(by)) == []


def test_groups_are_read_one_by_one() -> None:
    """Looking at the first groups does not read the files of the last."""
    rows = pa.table({"p": range(200), "v1": range(200)})
    store = CountingStore(written(rows, partition_on="p").store)
    groups = kb.open_dataset("u", store).scan().groups("p")
    assert next(groups)[0] == (0,)
    assert len({call.key for call in store.log if "/table/" in call.key}) < 100


@pytest.mark.parametrize("by", [None, "p", []], ids=["files", "values", "everything"])
def test_groups_can_be_closed_early(by: Any) -> None:
    """A consumer that has enough closes the iterator, which reads nothing more."""
    groups = shared().scan().groups(by)
    next(groups)
    groups.close()
    assert list(groups) == []


def test_only_entries_that_can_match_are_looked_up() -> None:
    """What a condition says about a column to group by restricts what is read of its index."""
    rows = pa.table({"i1": range(200_000), "v1": range(200_000)})
    store = CountingStore(written(rows, secondary_indices="i1").store)
    scan = kb.open_dataset("u", store).scan("v1", where=C("i1").isin([5, 7]))
    store.reset()
    groups = scan.groups("i1")
    assert 0 < store.received["get_range"] < 100_000
    assert [(key, table["v1"].to_pylist()) for key, table in groups] == [((5,), [5]), ((7,), [7])]


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "an unknown column": (["p", "z1", "z2"], UnknownColumnError, "'z1', 'z2'"),
    "columns without an index": (["v1", "q"], UnindexedColumnError, r"'v1'.*\(p, q\).*\(i1\)"),
    "a column twice": (["p", "i1", "p"], InvalidInputError, "by names p more than once"),
    "no names": (3, InvalidInputError, "by must be a column name .* not 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_groups(name: str) -> None:
    """What cannot be grouped by is an error at once, before a group is asked for."""
    by, error, told_so = REFUSED[name]
    with pytest.raises(error, match=told_so):
        shared().scan().groups(by)
