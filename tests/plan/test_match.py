"""Matching rows with Arrow: the same answers as plain Python, however the values are stored, and as Kartothek gave."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.model.condition import EVERYTHING, NOTHING, C
from kubothek.model.where import parse_where
from kubothek.plan.bind import bind
from kubothek.plan.match import match_rows
from kubothek.testing.conditions import conditions, matches

SCHEMA = pa.schema({"x": pa.int64(), "y": pa.string(), "p": pa.date32(), "i1": pa.bool_(), "v1": pa.float64()})
VALUES = {
    "x": st.integers(-1, 2),
    "y": st.sampled_from(["", "a", "b", "é"]),
    "p": st.sampled_from([date(2020, 1, 31), date(1969, 12, 31)]),
    "i1": st.booleans(),
    "v1": st.sampled_from([0.0, -0.0, 1.0, 2.5, float("inf"), float("nan")]),
}
ROWS = st.lists(st.fixed_dictionaries({name: values | st.none() for name, values in VALUES.items()}), max_size=8)
SEVERAL = [None, 1, 2, 1, 3, None]


def matching(where, table):
    """Return which rows match, after binding to the table's own schema."""
    return match_rows(bind(parse_where(where), table.schema, subject="the table"), table).to_pylist()


@given(conditions(VALUES), ROWS, st.booleans())
def test_arrow_matches_what_plain_python_matches(condition, rows, cut):
    """Any condition over any rows, nulls and NaN included, in one piece or several."""
    table = pa.Table.from_pylist(rows, SCHEMA)
    pieces = pa.concat_tables([table.slice(0, 3), table.slice(3)]) if cut else table
    assert matching(condition, pieces) == [matches(condition, row) for row in rows]


@pytest.mark.parametrize("where", ["x == 1", "x != 1", "x < 2", "x in (1, 3)", "x is null", "x in (2, null)"])
@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("stored", [pa.int8(), pa.uint16(), pa.float32(), "dictionary"], ids=str)
def test_numbers_match_in_whatever_type_they_are_stored(stored, where, chunks):
    """Narrower and encoded columns give the answer of the column of record."""
    values = pa.array(SEVERAL, pa.int64())
    column = pa.chunked_array([values.dictionary_encode() if stored == "dictionary" else values.cast(stored)] * chunks)
    condition = bind(parse_where(where), pa.schema({"x": pa.int64()}), subject="the table")
    expected = [matches(parse_where(where), {"x": value}) for value in SEVERAL] * chunks
    assert match_rows(condition, pa.table({"x": column})).to_pylist() == expected


@pytest.mark.parametrize(
    "stored", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.large_string())], ids=str
)
def test_texts_match_in_whatever_type_they_are_stored(stored):
    """Large, view and dictionary texts are texts."""
    table = pa.table({"y": pa.array(["a", None, "b"]).cast(stored)})
    assert matching("y == 'a'", table) == [True, False, False]
    assert matching("y not in ('a', 'c')", table) == [False, True, True]


@pytest.mark.parametrize("moment", [datetime(2020, 1, 31), datetime(9999, 1, 1)], ids=["near", "far"])  # noqa: DTZ001
def test_finer_times_are_compared_as_they_are_read(moment):
    """A column in nanoseconds is compared in microseconds, with literals that nanoseconds cannot express too."""
    column = pa.array([1580428800000000999, None, 0], pa.timestamp("ns"))
    expected = [moment.year == 2020, False, False]
    assert matching(C("x") == moment, pa.table({"x": column})) == expected


def test_a_null_in_the_dictionary_is_null():
    """Dictionaries can hold null themselves, besides having null for an index."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    assert matching("y is null", pa.table({"y": column})) == [False, True, True]
    assert matching("y != 'a'", pa.table({"y": column})) == [False, True, True]


def test_decimals_of_another_precision_match():
    """Kartothek keeps the precision that each frame happened to have."""
    table = pa.table({"x": pa.array([Decimal("1.10"), Decimal("12.00")], pa.decimal128(4, 2))})
    condition = bind(C("x") > Decimal("1.1"), pa.schema({"x": pa.decimal128(9, 2)}), subject="the table")
    assert match_rows(condition, table).to_pylist() == [False, True]


def test_the_mask_filters_tables_and_batches():
    """The result is one array without nulls, for tables of any number of chunks and for batches."""
    table = pa.table({"x": pa.chunked_array([[1, None], [], [2]], pa.int64())})
    condition = bind(C("x") != 1, table.schema, subject="the table")
    assert table.filter(match_rows(condition, table))["x"].to_pylist() == [None, 2]
    batch = table.combine_chunks().to_batches()[0]
    assert batch.filter(match_rows(condition, batch))["x"].to_pylist() == [None, 2]


@pytest.mark.parametrize("rows", [0, 2])
def test_everything_and_nothing_match_by_themselves(rows):
    """Conditions without columns have an answer for every row, also for none."""
    table = pa.table({"x": pa.chunked_array([[1] * rows] if rows else [], pa.int64())})
    assert match_rows(EVERYTHING, table).to_pylist() == [True] * rows
    assert match_rows(NOTHING, table).to_pylist() == [False] * rows
    assert matching("x in ()", table) == [False] * rows


def tagged(value):
    """Return the Python value that a tagged object of the corpus stands for."""
    read = {
        "null": lambda _: None,
        "float": float,
        "bytes": base64.b64decode,
        "date": date.fromisoformat,
        "timestamp": datetime.fromisoformat,
        "decimal": Decimal,
        "list": lambda values: [tagged(one) for one in values],
    }
    return read.get(value["t"], lambda plain: plain)(value.get("v"))


def case_sets(corpus):
    """Yield the folder and the description of each dataset of the corpus."""
    for path in sorted(corpus.glob("ds_*/cases.json")):
        yield path.parent, json.loads(path.read_text())


def confirmed_reads(corpus):
    """Yield table, predicates and expected rows of unpartitioned reads that were confirmed row by row."""
    for folder, case_set in case_sets(corpus):
        files = folder / "store" / case_set["dataset_uuid"] / "table"
        if case_set["partition_keys"] or not case_set["partition_labels"] or not files.is_dir():
            continue
        parts = [pq.read_table(files / f"{label}.parquet") for label in case_set["partition_labels"]]
        table = pa.concat_tables(parts, promote_options="permissive")
        for case in case_set["read_cases"]:
            confirmed = not case.get("disputed") and case["options"].get("dates_as_object", True)
            if case["predicates"] and confirmed and "result" in case["expect"]:
                where = [[(column, op, tagged(value)) for column, op, value in part] for part in case["predicates"]]
                yield table, where, pq.read_table(folder / case["expect"]["result"]["file"])


def test_kartothek_reads_the_same_rows(corpus):
    """Every confirmed read of the unpartitioned datasets selects the rows that Kartothek returned."""
    compared = 0
    for table, where, expected in confirmed_reads(corpus):
        found = table.filter(pa.array(matching(where, table), pa.bool_()))
        assert found.num_rows == expected.num_rows, where
        if "rid" in expected.column_names:
            assert sorted(found["rid"].to_pylist()) == sorted(expected["rid"].to_pylist()), where
        compared += 1
    assert compared > 100


def test_kartothek_finds_the_same_labels(corpus):
    """Every operator on the values of a secondary index gives the labels that Kartothek's index gave."""
    compared = 0
    for _, case_set in case_sets(corpus):
        for case in case_set["index_cases"]:
            index = case_set["secondary_indices"].get(case["column"])
            if index and "labels" in case["expect"]:
                table = pa.table({"x": [tagged(value) for value, _ in index["values"]]})
                mask = matching([[("x", case["op"], tagged(case["value"]))]], table)
                labels = [labels for (_, labels), hit in zip(index["values"], mask, strict=True) if hit]
                assert sorted(set().union(*labels)) == case["expect"]["labels"], case
                compared += 1
    assert compared > 100
