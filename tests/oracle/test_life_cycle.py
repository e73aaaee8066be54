"""Datasets as Kartothek wrote them: found to be sound, copied, and deleted without a trace."""

from __future__ import annotations

import uuid as uuids
from datetime import timedelta
from pathlib import Path

import pytest
from tests.oracle.corpus_values import case_set, contents

import kubothek as kb
from kubothek.dataset.dataset import Dataset
from kubothek.store.interface import Store

DATASETS = [name for name, cases in contents().items() if cases["kind"] == "dataset"]
LACKING = {"ds_seed_multi_table"}
"""Kartothek's own example, in which partitions lack a table."""


@pytest.mark.parametrize("name", DATASETS)
def test_copy_and_delete(corpus: Path, name: str) -> None:
    """A copy reads as its source, both are sound but for what is known, and nothing is left of a deleted copy."""
    given, target = case_set(corpus, name), Store(f"memory://{uuids.uuid4().hex}")
    source = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    copy = kb.copy_dataset(source.uuid, given.store, to_uuid="copy", to_store=target)
    assert_equal(copy, source)
    for dataset in (copy, source):
        known = {"missing_table"} if name in LACKING else set()
        assert {problem.kind for problem in kb.verify_dataset(dataset.uuid, dataset.store)} == known
    assert kb.garbage_collect_dataset("copy", target, older_than=timedelta(0)) == []
    kb.delete_dataset("copy", target)
    assert list(target.list()) == []


def assert_equal(copy: Dataset, source: Dataset) -> None:
    """Compare all that a copy has in common with its source."""
    assert (list(copy.partitions), copy.metadata) == (list(source.partitions), source.metadata)
    for table in source.tables:
        assert copy.scan(table=table).to_arrow().equals(source.scan(table=table).to_arrow())
    for column, index in source.load_all_indices().items():
        assert copy.load_index(column).table.equals(index.table)
