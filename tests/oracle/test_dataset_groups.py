"""Datasets as Kartothek wrote them: groups by the values of indexed columns are those that Kartothek dispatches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.queries import compare_tables
from tests.oracle.reads import predicates_of
from tests.oracle.verdicts import Case, Verdict, complaints, judge

import kubothek as kb


@pytest.mark.xfail(raises=AttributeError, reason="not built yet: groups of a scan")
def test_groups_of_stored_datasets(corpus: Path) -> None:
    """The rows of a dataset are grouped as Kartothek groups them, in order of the values."""
    verdicts = [verdict for name in names_with("dispatch_cases") for verdict in _judge_groups(corpus, name)]
    assert complaints(verdicts) == ""


def _judge_groups(corpus: Path, name: str) -> list[Verdict]:
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)

    def ask(case: Case) -> list[pa.Table]:
        scan = dataset.scan(case["columns"], predicates_of(case), case.get("table"))
        return [table for _, table in scan.groups(case["dispatch_by"])]

    return judge("group", name, given.cases["dispatch_cases"], ask, compare_tables(given))
