"""How query cases are asked of a cube, stored or written anew, and their answers compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from tests.oracle.corpus_values import GROUP, CaseSet, decode, difference
from tests.oracle.verdicts import Ask, Case, Compare

import kubothek as kb
from kubothek.model.condition import Comparison, all_of
from kubothek.store.open import StoreLike


def cube_of(spec: Mapping[str, Any]) -> kb.Cube:
    """Return the specification that a case set gives."""
    return kb.Cube(**spec)


def ask_query(cube: kb.Cube, store: StoreLike) -> Ask:
    """Return what queries a cube for the groups of a case."""

    def ask(case: Case) -> list[pa.Table]:
        query = kb.query_cube(
            cube,
            store,
            where=conditions(case.get("conditions")),
            datasets=case.get("datasets"),
            dimension_columns=case.get("dimension_columns"),
            partition_by=case.get("partition_by") or (),
            columns=case.get("payload_columns"),
        )
        return [table for _, table in query.groups()]

    return ask


def conditions(stored: Sequence[Mapping[str, Any]] | None) -> kb.Condition | None:
    """Return the condition that the conditions of a case make together."""
    return None if stored is None else all_of(_condition(one) for one in stored)


def _condition(stored: Mapping[str, Any]) -> kb.Condition:
    column, op = kb.C(stored["column"]), stored["op"]
    if op == "in_interval":
        start, stop = (decode(stored[end]) if stored[end] else None for end in ("start", "stop"))
        return column.in_interval(start, stop)
    if op == "in":
        return column.isin(decode(stored["value"]))
    return Comparison(stored["column"], op, decode(stored["value"]))


def compare_groups(given: CaseSet, cube: kb.Cube) -> Compare:
    """Return what compares groups of a query: columns sorted by name, rows by dimension, then partition columns."""

    def compare(case: Case, expected: Mapping[str, Any], answer: Sequence[pa.Table]) -> str | None:
        unsorted = [table.column_names for table in answer if table.column_names != sorted(table.column_names)]
        if unsorted:
            return f"columns are not sorted: {unsorted[0]}"
        order = (*(case.get("dimension_columns") or cube.dimension_columns), *cube.partition_columns)
        return compare_tables(given, order)(case, expected, answer)

    return compare


def compare_tables(given: CaseSet, order: Sequence[str] | None = None) -> Compare:
    """Return what compares groups of rows: as many of them, in order, with equal rows in the order of these columns."""

    def compare(case: Case, expected: Mapping[str, Any], answer: Sequence[pa.Table]) -> str | None:
        wanted = _groups(given, expected["groups"])
        if len(wanted) != len(answer):
            return f"{len(wanted)} groups expected, {len(answer)} found"
        pairs = zip(wanted, answer, strict=True)
        found = (f"group {n}: {text}" for n, pair in enumerate(pairs) if (text := difference(*pair, order)))
        return next(found, None)

    return compare


def _groups(given: CaseSet, stored: Mapping[str, Any]) -> list[pa.Table]:
    if stored["file"] is None:
        return []
    table = given.table(stored["file"])
    numbers = table.column(GROUP).to_numpy()
    edges = np.searchsorted(numbers, np.arange(stored["count"] + 1))
    return [table.drop_columns([GROUP]).slice(start, stop - start) for start, stop in pairwise(edges)]
