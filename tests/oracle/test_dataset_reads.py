"""Datasets as Kartothek wrote them: every read gives the table that Kartothek gave."""

from __future__ import annotations

from pathlib import Path

import pytest

import kubothek as kb
from tests.oracle.corpus_values import case_set, contents, names_with
from tests.oracle.facts import facts, facts_of_dataset_cases
from tests.oracle.reads import ask_read, compare_read
from tests.oracle.verdicts import judge


@pytest.mark.parametrize("name", names_with("read_cases"))
def test_reads_of_stored_datasets(corpus: Path, name: str) -> None:
    """A dataset that Kartothek wrote is read as Kartothek reads it."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    unexpected = judge("read", name, given.cases["read_cases"], ask_read(dataset), compare_read(given))
    assert not unexpected, unexpected


@pytest.mark.parametrize("name", [name for name in names_with("read_cases") if len(contents()[name]["tables"]) == 1])
def test_facts_of_stored_datasets(corpus: Path, name: str) -> None:
    """Labels, schema, indices and metadata of a dataset that Kartothek wrote are as Kartothek sees them."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    assert facts(dataset) == facts_of_dataset_cases(given.cases)
    assert sorted(dataset.partitions) == given.cases["partition_labels"]
