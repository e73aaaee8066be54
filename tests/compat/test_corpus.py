"""A sample of what Kartothek stored is read through Kartothek's names, with the answers that Kartothek gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from tests.oracle.corpus_values import CaseSet, case_set, decode, names_with
from tests.oracle.queries import compare_tables
from tests.oracle.reads import categoricals_of, compare_read, predicates_of
from tests.oracle.verdicts import Ask, Case, complaints, judge

from kubothek.compat.api.cube import C, Cube, query_cube
from kubothek.compat.api.dataset import read_table

DATASETS = names_with("read_cases")[::5]
CUBES = names_with("query_cases")[::6]


def as_arrow(frame: pd.DataFrame, categoricals: tuple[str, ...] = ()) -> pa.Table:
    """Return a frame in Arrow's format."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table if categoricals else table.cast(pa.schema([plain(field) for field in table.schema]))


def plain(field: pa.Field) -> pa.Field:
    """Return a column without its dictionary."""
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


def ask_table(given: CaseSet) -> Ask:
    """Return what reads a case by ``read_table``."""

    def ask(case: Case) -> pa.Table:
        frame = read_table(
            given.cases["dataset_uuid"],
            f"hfs://{given.store}",
            table=case.get("table") or "table",
            columns=case["columns"],
            predicates=predicates_of(case),
            categoricals=categoricals_of(case),
        )
        return as_arrow(frame, tuple(categoricals_of(case)))

    return ask


def ask_cube(given: CaseSet, cube: Cube) -> Ask:
    """Return what asks a case by ``query_cube`` with Kartothek's conditions."""

    def ask(case: Case) -> list[pa.Table]:
        frames = query_cube(
            cube,
            lambda: f"hfs://{given.store}",
            conditions=[condition(one) for one in case["conditions"]] if case.get("conditions") else None,
            datasets=case.get("datasets"),
            dimension_columns=case.get("dimension_columns"),
            partition_by=case.get("partition_by"),
            payload_columns=case.get("payload_columns"),
        )
        return [as_arrow(frame) for frame in frames]

    return ask


def condition(stored: Case) -> Any:
    """Return a condition of a case in Kartothek's classes."""
    column, op = C(stored["column"]), stored["op"]
    if op == "in_interval":
        return column.in_interval(*(decode(stored[end]) if stored[end] else None for end in ("start", "stop")))
    value = decode(stored["value"])
    methods = {
        "==": "__eq__",
        "!=": "__ne__",
        "<": "__lt__",
        "<=": "__le__",
        ">": "__gt__",
        ">=": "__ge__",
        "in": "isin",
    }
    return getattr(column, methods[op])(value)


def test_there_is_a_sample() -> None:
    """The corpus has datasets and cubes to read."""
    assert (len(DATASETS) > 5, len(CUBES) > 2) == (True, True)


@pytest.mark.parametrize("name", DATASETS)
def test_datasets(corpus: Path, name: str) -> None:
    """``read_table`` gives the rows that Kartothek's gave."""
    given = case_set(corpus, name)
    verdicts = judge("read", name, given.cases["read_cases"][::6], ask_table(given), compare_read(given))
    assert complaints(verdicts) == ""


@pytest.mark.parametrize("name", CUBES)
def test_cubes(corpus: Path, name: str) -> None:
    """``query_cube`` gives the frames that Kartothek's gave."""
    given = case_set(corpus, name)
    cube = Cube(**given.cases["cube"])
    verdicts = judge("query", name, given.cases["query_cases"][::6], ask_cube(given, cube), compare_tables(given))
    assert complaints(verdicts) == ""
