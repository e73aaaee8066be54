"""What a read should give by the definition of its predicates alone: every input row is asked, in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tests.oracle.corpus_values import CaseSet, decode
from tests.oracle.verdicts import Case

_ORDERING: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def rows_asked(given: CaseSet, case: Case) -> pa.Table:
    """Return the rows that a case asks for, from the tables that the case set was written from."""
    inputs = [file for step in given.cases["write_steps"] for file in step["inputs"]]
    files = [file[case["table"]] if isinstance(file, dict) else file for file in inputs]
    table = pa.concat_tables([_plain(given.table(file)) for file in files], promote_options="permissive")
    predicates = case["predicates"] or [[]]
    kept = [any(all(_holds(row, *part) for part in parts) for parts in predicates) for row in table.to_pylist()]
    return table.filter(pa.array(kept, pa.bool_())).select(case["columns"] or table.column_names)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without pandas' types and with NaN as null."""
    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_timestamp(field.type):
            column = column.cast(pa.timestamp("us"))
        elif pa.types.is_floating(field.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        columns[field.name] = column
    return pa.table(columns)


def _holds(row: Mapping[str, Any], column: str, op: str, tagged: Mapping[str, Any]) -> bool:
    """Say whether one literal holds: null equals null alone, and has no place in any order."""
    value, literal = row[column], decode(tagged)
    if op in ("==", "!="):
        return bool(value == literal) == (op == "==")
    if op == "in":
        return value in literal
    return value is not None and _ORDERING[op](value, literal)
