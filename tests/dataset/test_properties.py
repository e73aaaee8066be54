"""Any dataset, any condition: the rows that plain Python and DuckDB find, whatever the types and the layout."""

from __future__ import annotations

import json
import re
import uuid as uuids
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote

import duckdb
import msgspec
import pyarrow as pa
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.in_duckdb import as_row, to_sql
from tests.other_writers import forget_state, rewrite

import kubothek as kb
from kubothek.codec.keys import header_key, schema_key
from kubothek.codec.schema import decode_schema
from kubothek.model.condition import And, Comparison, Condition, IsIn, IsNull, Not, Or
from kubothek.model.condition_json import condition_from_json, condition_to_json
from kubothek.testing.datasets import PLAIN_NAMES, DatasetCase, dataset_cases, questions, same_rows, write_case
from kubothek.testing.kinds import FLAT, NULL, flat_kinds, partition_kinds

EXAMPLES = settings.default.max_examples


def new_url() -> str:
    """Return the URL of an empty store."""
    return f"memory://{uuids.uuid4().hex}"


@settings(max_examples=EXAMPLES)
@given(dataset_cases(), st.data())
def test_scans_find_what_plain_python_finds(case: DatasetCase, data: st.DataObject) -> None:
    """Types, partitions, indices, row groups, several writes and deletes never change an answer."""
    ds = write_case(case, "u", new_url())
    reference = case.reference()
    assert ds.schema == case.schema
    assert same_rows(ds.scan().to_arrow(), reference.scan(), zeros=case.partition_on)
    for _ in range(4):
        question = data.draw(questions(case))
        found = ds.scan(question.columns, where=question.asked).to_arrow()
        assert found.schema.names == list(case.schema.names if question.columns is None else question.columns)
        assert all(field == case.schema.field(field.name) for field in found.schema)
        expected = reference.scan(question.columns, question.meant)
        assert same_rows(found, expected, zeros=case.partition_on), question


IN_DUCKDB = tuple(kind for kind in FLAT.values() if not pa.types.is_decimal256(kind.record))


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Open an empty database."""
    return duckdb.connect()


def duckdb_rows(table: pa.Table, condition: Condition) -> list[int]:
    """Return the numbers of the rows that DuckDB finds; literals are columns of a table with one row."""
    literals: list[pa.Array] = []
    sql = to_sql(condition, {field.name: field.type for field in table.schema}, literals)
    numbered = table.append_column("#", pa.array(range(table.num_rows), pa.int64()))
    with connection().cursor() as cursor:
        cursor.register("given", numbered)
        cursor.register("asked", as_row(literals))
        found = cursor.execute(f'SELECT "#" FROM given, asked WHERE {sql} ORDER BY 1').fetchall()  # noqa: S608  names are quoted
    return [number for (number,) in found]


@settings(max_examples=EXAMPLES // 2)
@given(dataset_cases(kinds=flat_kinds(IN_DUCKDB), keys=partition_kinds(IN_DUCKDB)), st.data())
def test_scans_find_what_duckdb_finds(case: DatasetCase, data: st.DataObject) -> None:
    """The same rows as SQL over the rows that went in."""
    ds = write_case(case, "u", new_url())
    rows = case.reference().rows
    table = pa.Table.from_pylist(rows, case.schema)
    for _ in range(4):
        question = data.draw(questions(case))
        found = ds.scan(where=question.asked).to_arrow()
        expected = [rows[number] for number in duckdb_rows(table, question.meant)]
        assert same_rows(found, expected, zeros=case.partition_on), question


@settings(max_examples=EXAMPLES // 2)
@given(dataset_cases(names=PLAIN_NAMES), st.data())
def test_forms_of_a_condition_find_the_same(case: DatasetCase, data: st.DataObject) -> None:
    """As an object, as its text, as JSON, and as lists of tuples where these can say it."""
    ds = write_case(case, "u", new_url())
    question = data.draw(questions(case))
    expected = case.reference().scan(None, question.meant)
    forms: list[Any] = [
        str(question.meant),
        condition_from_json(json.loads(json.dumps(condition_to_json(question.meant)))),
    ]
    forms += [lists for lists in [as_lists(question.asked)] if lists]
    for form in forms:
        assert same_rows(ds.scan(where=form).to_arrow(), expected, zeros=case.partition_on), form


def as_lists(condition: Condition) -> list[list[Any]] | None:
    """Return a condition as Kartothek's OR of ANDs, where it has that form."""
    lists = []
    for part in condition.parts if isinstance(condition, Or) else (condition,):
        literals = [as_literal(leaf) for leaf in (part.parts if isinstance(part, And) else (part,))]
        if None in literals:
            return None
        lists.append(literals)
    return lists


def as_literal(leaf: Condition) -> tuple[str, str, Any] | None:
    """Return a condition on one column as Kartothek's tuple."""
    match leaf:
        case Comparison(column, op, value):
            return None if isinstance(value, memoryview | bytearray) else (column, op, value)
        case IsNull(column):
            return column, "==", None
        case IsIn(column, values):
            return column, "in", list(values)
        case Not(IsIn(column, values)):
            return column, "not in", list(values)
    return None


STORABLE = tuple(
    kind for kind in FLAT.values() if not (pa.types.is_run_end_encoded(kind.given) or "view" in str(kind.given))
)


@settings(max_examples=EXAMPLES // 2)
@given(dataset_cases(kinds=flat_kinds(STORABLE), keys=partition_kinds(STORABLE)), st.data())
def test_files_of_other_writers_give_the_same_rows(case: DatasetCase, data: st.DataObject) -> None:
    """Narrow types, dictionaries, one row group or many, with statistics or without: what others may have written."""
    case = replace(case, header_format="json")
    ds = write_case(case, "u", new_url())
    kinds = {field.name: NULL if field.type == pa.null() else case.kinds[field.name] for field in case.schema}
    for part in ds.partitions.values():
        rewrite(ds.store, part.files["table"], kinds, data)
    forget_state(ds.store, "u")
    ds = kb.open_dataset("u", ds.store)
    assert ds.schema == case.schema
    for _ in range(4):
        question = data.draw(questions(case))
        expected = case.reference().scan(question.columns, question.meant)
        found = ds.scan(question.columns, where=question.asked).to_arrow()
        assert same_rows(found, expected, zeros=case.partition_on), question


@settings(max_examples=EXAMPLES // 2)
@given(dataset_cases())
def test_headers_and_schemas_are_those_of_the_format(case: DatasetCase) -> None:
    """The header is what Python's own encoder makes of its content, our state last; the schema copy is the schema."""
    ds = write_case(case, "u", new_url())
    stored = ds.store.get(header_key("u", case.header_format)).data
    if case.header_format == "msgpack":
        content = msgspec.msgpack.decode(zstandard.decompress(stored))
    else:
        content = json.loads(stored)
        assert stored == json.dumps(content).encode()
    names = ["dataset_metadata_version", "dataset_uuid", "indices", "metadata", "partitions", "partition_keys"]
    assert list(content) == [name for name in names if name != "indices" or case.secondary_indices] + ["kubothek"]
    assert content["partition_keys"] == list(case.partition_on)
    assert set(content.get("indices", {})) == set(case.secondary_indices)
    for label, part in content["partitions"].items():
        assert part == {"files": {"table": f"u/table/{label}.parquet"}}
    if case.partition_on:
        places = {directory(row, case) for row in case.reference().rows}
        found = {label.rpartition("/")[0] for label in content["partitions"]}
        assert {re.sub(r"=-0\.0(?=/|$)", "=0.0", place) for place in found} == places
    assert decode_schema(ds.store.get(schema_key("u", "table")).data, "k") == ds.schema == case.schema


def directory(row: dict[str, Any], case: DatasetCase) -> str:
    """Return the directory of a row: texts of its partition values as Python writes them, percent-encoded."""
    texts = []
    for name in case.partition_on:
        value = row[name]
        text = value.decode() if isinstance(value, bytes) else str(value + 0.0 if isinstance(value, float) else value)
        texts.append(f"{quote(name, safe='')}={quote(text, safe='')}")
    return "/".join(texts)


@settings(max_examples=EXAMPLES // 2)
@given(dataset_cases(), st.data())
def test_groups_and_dictionaries_hold_the_same_rows(case: DatasetCase, data: st.DataObject) -> None:
    """Columns as dictionaries have the same values; groups have the rows with their key, sorted by it."""
    ds = write_case(case, "u", new_url())
    question = data.draw(questions(case))
    expected = case.reference().scan(None, question.meant)
    flat = [field.name for field in case.schema if not pa.types.is_nested(field.type) and field.type != pa.null()]
    chosen = data.draw(st.lists(st.sampled_from(flat), unique=True)) if flat else []
    scan = ds.scan(where=question.asked, categoricals=chosen)
    found = scan.to_arrow()
    assert {field.name for field in found.schema if pa.types.is_dictionary(field.type)} == set(chosen)
    assert same_rows(found, expected, zeros=case.partition_on)
    keyed = [*case.partition_on, *case.secondary_indices]
    by = data.draw(st.lists(st.sampled_from(keyed), unique=True, max_size=2)) if keyed else []
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in expected:
        if all(row[name] is not None and row[name] == row[name] for name in by):
            groups.setdefault(tuple(row[name] for name in by), []).append(row)
    answered = {key: table for key, table in scan.groups(by) if table.num_rows}
    assert list(answered) == sorted(groups)
    assert all(same_rows(answered[key], groups[key], zeros=case.partition_on) for key in groups)


def test_what_an_index_knows_is_not_turned_round() -> None:
    """That a file holds a value does not say that it holds no other, where the same question is also negated."""
    rows = pa.table({"x": [0, 1, 2], "i1": [1, 2, 1], "v1": [1, 0, 0]})
    ds = kb.write_dataset(rows, "u", new_url(), secondary_indices="i1")
    where = ((kb.C("i1") == 1) | (kb.C("v1") == 0)) & ~(kb.C("i1") == 1)
    assert ds.scan("x", where=where).to_arrow()["x"].to_pylist() == [1]
