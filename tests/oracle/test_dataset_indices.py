"""Indices as Kartothek wrote them: what they hold, and which files they name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.corpus_values import case_set, contents, decode, names_with
from tests.oracle.verdicts import Case, complaints, judge

import kubothek as kb


@pytest.mark.parametrize("name", names_with("index_cases"))
def test_index_lookups(corpus: Path, name: str) -> None:
    """A look-up in the index on a column names the partitions that Kartothek's names."""
    given = case_set(corpus, name)
    indices = kb.open_dataset(given.cases["dataset_uuid"], given.store).load_all_indices()
    verdicts = judge(
        "index",
        name,
        given.cases["index_cases"],
        lambda case: indices[case["column"]].eval_operator(case["op"], decode(case["value"])),
        _compare_labels,
    )
    assert complaints(verdicts) == ""


def _compare_labels(case: Case, expected: Mapping[str, Any], answer: frozenset[str]) -> str | None:
    wanted = set(expected["labels"])
    if answer == wanted:
        return None
    return f"{case['column']} {case['op']} {case['value']}: missing {wanted - answer}, wrong {answer - wanted}"


@pytest.mark.parametrize("name", [name for name, cases in contents().items() if cases.get("secondary_indices")])
def test_index_contents(corpus: Path, name: str) -> None:
    """A secondary index holds each value with the partitions in which Kartothek found it."""
    given = case_set(corpus, name)
    dataset = kb.open_dataset(given.cases["dataset_uuid"], given.store)
    for column, stored in given.cases["secondary_indices"].items():
        held = dataset.load_index(column).table.to_pylist()
        assert {e[column]: sorted(e["partition"]) for e in held} == {
            decode(v): labels for v, labels in stored["values"]
        }
