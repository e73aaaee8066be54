"""Files are dropped by partition values and indices, each with its rule, and never a file with a matching row."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.model.condition import C, IsIn, leaves
from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.plan.match import match_rows
from kubothek.plan.prune import index_lookups, prune_files
from kubothek.testing.conditions import conditions, matches

SCHEMA = pa.schema({"p": pa.int64(), "q": pa.string(), "i1": pa.float64(), "v1": pa.int64()})
VALUES = {
    "p": st.integers(0, 2),
    "q": st.sampled_from("ab"),
    "i1": st.sampled_from([0.0, -0.0, 1.0, float("nan")]) | st.none(),
    "v1": st.integers(0, 1) | st.none(),
}
PARTITION = {name: VALUES[name] for name in ("p", "q")}
FILES = st.lists(
    st.tuples(
        st.fixed_dictionaries(PARTITION),
        st.lists(st.fixed_dictionaries({"i1": VALUES["i1"], "v1": VALUES["v1"]}), max_size=3),
    ).map(lambda file: (file[0], [file[0] | row for row in file[1]])),
    max_size=6,
)


def file_table(partitions):
    """Return a file table, labels being row numbers, for partition values ``p`` and ``q``."""
    columns = {"label": pa.array([str(n) for n in range(len(partitions))], pa.string())}
    for name in ("p", "q"):
        columns[f"partition/{name}"] = pa.array([values[name] for values in partitions], SCHEMA.field(name).type)
    return pa.table(columns)


def look_up(lookup, files):
    """Return the labels of files with a matching value, as an index without nulls would give them."""
    pairs = [(r["i1"], str(n)) for n, (_, rows) in enumerate(files) for r in rows if r["i1"] is not None]
    table = pa.table({"i1": pa.array([v for v, _ in pairs], pa.float64()), "label": [n for _, n in pairs]})
    return table.filter(match_rows(lookup, table))["label"].unique().cast(pa.string())


def bound(where):
    """Bind to the columns of these tests."""
    return bind(parse_where(where), SCHEMA, subject="the table")


@given(conditions(VALUES), FILES)
def test_a_dropped_file_holds_no_match(condition, files):
    """Any condition over partition, indexed and other columns; kept and dropped files are all files."""
    condition_ = bound(condition)
    hits = {lookup: look_up(lookup, files) for lookup in index_lookups(condition_, ["i1"])}
    pruned = prune_files(file_table([values for values, _ in files]), condition_, ["p", "q"], hits)
    dropped = [int(label) for table in pruned.dropped.values() for label in table["label"].to_pylist()]
    assert not any(matches(condition, row) for n in dropped for row in files[n][1])
    assert sorted(dropped + [int(n) for n in pruned.kept["label"].to_pylist()]) == list(range(len(files)))


@given(conditions(PARTITION), st.lists(st.fixed_dictionaries(PARTITION)))
def test_partition_values_decide_exactly(condition, partitions):
    """A condition on partition columns alone keeps just the files whose values match."""
    pruned = prune_files(file_table(partitions), bound(condition), ["p", "q"], {})
    assert pruned.kept["label"].to_pylist() == [str(n) for n, v in enumerate(partitions) if matches(condition, v)]


FILES_P = [{"p": 0, "q": "a"}, {"p": 0, "q": "b"}, {"p": 1, "q": "a"}]


@pytest.mark.parametrize(
    ("where", "by_partition", "by_index"),
    [
        (None, [], []),
        ("p == 0 & i1 == 1", ["2"], ["1"]),
        ("p == 1 | i1 == 1", [], ["1"]),
        ("i1 == 1", [], ["1", "2"]),
        ("i1 != 1", [], []),
        ("not i1 != 1", [], ["1", "2"]),
        ("i1 == 1 | v1 == 1", [], []),
        ("p == 7 | (q == 'b' & i1 == 1)", ["0", "2"], ["1"]),
    ],
)
def test_each_dropped_file_has_its_rule(where, by_partition, by_index):
    """Partition values drop first; an index drops what is left and lacks the value."""
    condition = bound(where)
    hits = {leaf: pa.array(["0"]) for leaf in index_lookups(condition, ["i1"])}
    pruned = prune_files(file_table(FILES_P), condition, ["p", "q"], hits)
    assert pruned.dropped["partition"]["label"].to_pylist() == by_partition
    assert pruned.dropped["index"]["label"].to_pylist() == by_index


@pytest.mark.parametrize(
    ("where", "useful"),
    [
        ("i1 == 1.0 & i1 < 2.0 & v1 == 1", ["(i1 == 1.0) & (i1 < 2.0)"]),
        ("i1 == 1.0 | p == 1 & i1 == 1.0", ["i1 == 1.0"]),
        ("p == 1 | i1 > 1.0 & p == 2 & i1 < 2.0", ["(i1 > 1.0) & (i1 < 2.0)"]),
        ("i1 > 1.0 & (i1 < 2.0 & i1 != 1.5)", ["(i1 > 1.0) & (i1 < 2.0)"]),
        ("not (i1 > 1.0 & i1 < 2.0)", []),
        ("i1 in (1.0, null)", ["i1 in (1.0)"]),
        ("not i1 != 1.0", ["i1 == 1.0"]),
        ("not not i1 >= 1.0", ["i1 >= 1.0"]),
        ("i1 != 1.0", []),
        ("i1 is null | i1 == nan", []),
        ("not (i1 == 1.0 | i1 in (1.0) | i1 < 1.0)", []),
    ],
)
def test_only_what_can_prove_absence_needs_an_index(where, useful):
    """No index is asked about nulls, NaN or values that rows do not have, and of a conjunction only once."""
    assert [str(leaf) for leaf in index_lookups(bound(where), ["i1"])] == useful


@given(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0])] * 2), FILES)
def test_an_interval_is_looked_up_as_one(bounds, files):
    """Files stay that have a value between the bounds; to have one on the inner side of each is not enough."""
    asked = C("i1").in_interval(*bounds)
    [lookup] = index_lookups(bound(asked), ["i1"])
    pruned = prune_files(file_table([p for p, _ in files]), bound(asked), [], {lookup: look_up(lookup, files)})
    expected = [str(n) for n, (_, rows) in enumerate(files) if any(matches(asked, row) for row in rows)]
    assert pruned.kept["label"].to_pylist() == expected


def test_labels_of_an_index_may_be_stored_otherwise():
    """Plateau writes large strings."""
    condition = bound("i1 in (1.0)")
    assert [type(leaf) for leaf in leaves(condition)] == [IsIn]
    pruned = prune_files(file_table(FILES_P), condition, [], {condition: pa.array(["2"], pa.large_string())})
    assert pruned.kept["label"].to_pylist() == ["2"]
