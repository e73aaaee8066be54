"""Sequences of changes to a cube that Kartothek wrote: after each step it is as Kartothek leaves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.corpus_values import CaseSet, case_set, contents, names_with
from tests.oracle.queries import ask_query, compare_groups, cube_of
from tests.oracle.verdicts import Case, Verdict, complaints, judge
from tests.oracle.writes import CUBE_WRITES, compare_shapes, copied_store

import kubothek as kb

LOOKS = {"collect_stats"}
"""Steps that change nothing, of functions that do not exist yet: passed over."""


def _runnable(name: str) -> list[Case]:
    known = {"query_cube", *CUBE_WRITES, *LOOKS}
    cases = contents()[name]["mutation_cases"]
    return [case for case in cases if {"append_to_cube"} <= {step["op"] for step in case["steps"]} <= known]


def test_which_sequences_are_run() -> None:
    """All sequences are run but those with steps of functions that do not exist yet."""
    names = names_with("mutation_cases")
    steps = Counter(tuple(step["op"] for step in case["steps"]) for name in names for case in _runnable(name))
    assert steps == {("append_to_cube", "collect_stats", "query_cube"): 18}


@pytest.mark.parametrize("name", names_with("mutation_cases"))
def test_mutations(corpus: Path, name: str) -> None:
    """After each step of a sequence, the datasets and the answers to queries are those of Kartothek."""
    given = case_set(corpus, name)
    verdicts = [verdict for case in _runnable(name) for verdict in _run(given, case)]
    assert complaints(verdicts) == ""


def _run(given: CaseSet, case: Case) -> list[Verdict]:
    """Run the steps of one sequence on a fresh copy of the store."""
    store, cube = copied_store(given.store), cube_of(given.cases["cube"])
    query, groups = ask_query(cube, store), compare_groups(given, cube)

    def act(step: Case) -> Any:
        if step["op"] == "query_cube":
            return query(step)
        CUBE_WRITES[step["op"]](given, step, cube, store)
        return kb.discover_cube(cube.uuid_prefix, store)[1]

    def compare(step: Case, expected: Mapping[str, Any], answer: Any) -> str | None:
        if step["op"] == "query_cube":
            return groups(step, expected, answer)
        return compare_shapes(step, expected["datasets_after"], answer)

    steps = [{"id": f"{case['id']}.{n}", **step} for n, step in enumerate(case["steps"]) if step["op"] not in LOOKS]
    return judge("mutation", given.folder.name, steps, act, compare)
