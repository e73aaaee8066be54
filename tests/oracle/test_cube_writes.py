"""Cubes that Kubothek writes from what Kartothek was given: the same layout, and the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.facts import facts, facts_of_cube_cases
from tests.oracle.queries import ask_query, compare_groups, cube_of
from tests.oracle.verdicts import Case, asked_again, complaints, judge
from tests.oracle.writes import CUBE_WRITES, compare_shapes, empty_store, step_cases

import kubothek as kb


@pytest.mark.parametrize("name", names_with("write_steps", "query_cases"))
def test_rewritten_cubes(corpus: Path, name: str) -> None:
    """Each step of a write leaves the partitions that Kartothek's leaves, and queries give what Kartothek gave."""
    given, store = case_set(corpus, name), empty_store()
    cube = cube_of(given.cases["cube"])

    def write(case: Case) -> dict[str, kb.Dataset]:
        CUBE_WRITES[case["step"]["op"]](given, case["step"], cube, store)
        return kb.discover_cube(cube.uuid_prefix, store)[1]

    steps = step_cases(given.cases["write_steps"], "expect_after")
    verdicts = judge("cube layout", name, steps, write, compare_shapes)
    cases = asked_again(given.cases["query_cases"])
    verdicts += judge("requery", name, cases, ask_query(cube, store), compare_groups(given, cube))
    assert complaints(verdicts) == ""
    found = kb.discover_cube(cube.uuid_prefix, store)[1]
    assert {dataset_id: facts(dataset) for dataset_id, dataset in found.items()} == facts_of_cube_cases(given.cases)
