"""Datasets that Kubothek writes from what Kartothek was given: the same layout, and the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.corpus_values import case_set, contents, decode, names_with
from tests.oracle.facts import facts, facts_of_dataset_cases
from tests.oracle.reads import ask_read, compare_read
from tests.oracle.verdicts import Case, asked_again, complaints, judge
from tests.oracle.writes import DATASET_WRITES, compare_shape, empty_store, label_shape, step_cases

import kubothek as kb

DATASETS = names_with("write_steps", "read_cases")


def test_which_datasets_are_replayed() -> None:
    """All datasets are written again."""
    assert all(step["op"] in DATASET_WRITES for name in DATASETS for step in contents()[name]["write_steps"])
    assert len(DATASETS) == 39


@pytest.mark.parametrize("name", DATASETS)
def test_rewritten_datasets(corpus: Path, name: str) -> None:
    """Each step of a write leaves the partitions that Kartothek's leaves, and reads give what Kartothek gave."""
    given, store = case_set(corpus, name), empty_store()
    uuid = given.cases["dataset_uuid"]
    verdicts = judge(
        "layout",
        name,
        step_cases(given.cases["write_steps"], "expect_after"),
        lambda case: DATASET_WRITES[case["step"]["op"]](given, case["step"], uuid, store),
        compare_shape,
    )
    dataset = kb.open_dataset(uuid, store)
    verdicts += judge("reread", name, asked_again(given.cases["read_cases"]), ask_read(dataset), compare_read(given))
    verdicts += judge("reindexed", name, asked_again(given.cases["index_cases"]), _ask_index(dataset), _compare_labels)
    assert complaints(verdicts) == ""
    assert facts(dataset) == facts_of_dataset_cases(given.cases)


def _ask_index(dataset: kb.Dataset) -> Any:
    indices = dataset.load_all_indices()
    return lambda case: indices[case["column"]].eval_operator(case["op"], decode(case["value"]))


def _compare_labels(case: Case, expected: Mapping[str, Any], answer: frozenset[str]) -> str | None:
    wanted, found = label_shape(expected["labels"]), label_shape(answer)
    return None if wanted == found else f"labels missing {dict(wanted - found)}, wrong {dict(found - wanted)}"
