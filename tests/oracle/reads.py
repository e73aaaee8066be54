"""How read cases are asked of a dataset, stored or written anew, and their answers compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from tests.oracle.corpus_values import CaseSet, decode, difference
from tests.oracle.verdicts import Ask, Case, Compare

import kubothek as kb


def ask_read(dataset: kb.Dataset) -> Ask:
    """Return what reads the rows of a dataset that a case asks for."""

    def ask(case: Case) -> pa.Table:
        where, categoricals = predicates_of(case), categoricals_of(case)
        return dataset.scan(case["columns"], where, case.get("table"), categoricals=categoricals).to_arrow()

    return ask


def compare_read(given: CaseSet) -> Compare:
    """Return what compares an answer with the expected table: columns in order, rows in any order."""
    keys = given.cases["partition_keys"]

    def compare(case: Case, expected: Mapping[str, Any], answer: pa.Table) -> str | None:
        names = [column["name"] for column in expected["result"]["columns"]]
        order = case["columns"] or [*keys, *sorted(set(names) - set(keys))]
        if answer.column_names != order:
            return f"columns {order} expected, {answer.column_names} found"
        categorical = {*categoricals_of(case)}.intersection(order)
        found = {field.name for field in answer.schema if pa.types.is_dictionary(field.type)}
        if found != categorical:
            return f"categoricals {sorted(categorical)} expected, {sorted(found)} found"
        return difference(given.table(expected["result"]["file"]), answer)

    return compare


def categoricals_of(case: Case) -> list[str]:
    """Return the columns that a case asks for as categoricals."""
    return case["options"].get("categoricals") or []


def predicates_of(case: Case) -> list[list[tuple[str, str, Any]]] | None:
    """Return the predicates of a case as Kartothek's lists."""
    if case["predicates"] is None:
        return None
    return [[(column, op, decode(value)) for column, op, value in parts] for parts in case["predicates"]]
