"""Datasets as Kartothek wrote them: every read gives the table that Kartothek gave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import kubothek as kb
from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.reads import ask_read, compare_read
from tests.oracle.verdicts import judge


@pytest.mark.parametrize("name", names_with("read_cases"))
def test_reads_of_stored_datasets(corpus: Path, name: str) -> None:
    """A dataset that Kartothek wrote is read as Kartothek reads it."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    unexpected = judge("read", name, given.cases["read_cases"], ask_read(dataset), compare_read(given))
    assert not unexpected, unexpected
