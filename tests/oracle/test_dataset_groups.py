"""Datasets as Kartothek wrote them: groups by the values of indexed columns are those that Kartothek dispatches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.queries import compare_tables
from tests.oracle.reads import predicates_of
from tests.oracle.verdicts import Case, complaints, judge

import kubothek as kb


@pytest.mark.parametrize("name", names_with("dispatch_cases"))
def test_groups_of_stored_datasets(corpus: Path, name: str) -> None:
    """The rows of a dataset are grouped as Kartothek groups them, in order of the values, empty groups included."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)

    def ask(case: Case) -> list[pa.Table]:
        scan = dataset.scan(case["columns"], predicates_of(case), case.get("table"))
        return [table for _, table in scan.groups(case["dispatch_by"])]

    verdicts = judge("group", name, given.cases["dispatch_cases"], ask, compare_tables(given))
    assert complaints(verdicts) == ""
