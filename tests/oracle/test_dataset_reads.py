"""Datasets as Kartothek wrote them: every read gives the table that Kartothek gave."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.oracle.corpus_values import case_set, contents, difference, names_with
from tests.oracle.facts import facts, facts_of_dataset_cases
from tests.oracle.intended import INTENDED
from tests.oracle.reads import ask_read, compare_read
from tests.oracle.rowwise import rows_asked
from tests.oracle.verdicts import complaints, judge

import kubothek as kb


@pytest.mark.parametrize("name", names_with("read_cases"))
def test_reads_of_stored_datasets(corpus: Path, name: str) -> None:
    """A dataset that Kartothek wrote is read as Kartothek reads it."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    verdicts = judge("read", name, given.cases["read_cases"], ask_read(dataset), compare_read(given))
    assert complaints(verdicts) == ""


@pytest.mark.parametrize("name", [name for name in names_with("read_cases") if len(contents()[name]["tables"]) == 1])
def test_facts_of_stored_datasets(corpus: Path, name: str) -> None:
    """Labels, schema, indices and metadata of a dataset that Kartothek wrote are as Kartothek sees them."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    assert facts(dataset) == facts_of_dataset_cases(given.cases)
    assert sorted(dataset.partitions) == given.cases["partition_labels"]


INTENDED_READS = [place.split("/")[1:] for place in INTENDED if place.startswith("read/")]


@pytest.mark.parametrize(("name", "case_id"), INTENDED_READS, ids=["/".join(read) for read in INTENDED_READS])
def test_intended_differences_are_right(corpus: Path, name: str, case_id: str) -> None:
    """Where a read differs from Kartothek's on purpose, it gives the rows that the predicates define."""
    given = case_set(corpus, name)
    (case,) = [case for case in given.cases["read_cases"] if case["id"] == case_id]
    answer = ask_read(kb.open_dataset(given.cases["dataset_uuid"], given.store))(case)
    assert difference(rows_asked(given, case), answer) is None
