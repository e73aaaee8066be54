"""Cubes as Kartothek wrote them: every query gives the groups that Kartothek gave."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.facts import facts, facts_of_cube_cases
from tests.oracle.queries import ask_query, compare_groups, cube_of
from tests.oracle.verdicts import complaints, judge
from tests.oracle.writes import compare_shapes, copied_store

import kubothek as kb


@pytest.mark.parametrize("name", names_with("query_cases"))
def test_queries_of_stored_cubes(corpus: Path, name: str) -> None:
    """A cube that Kartothek wrote is queried as Kartothek queries it."""
    given = case_set(corpus, name)
    cube, store = cube_of(given.cases["cube"]), copied_store(given.store)
    verdicts = judge("query", name, given.cases["query_cases"], ask_query(cube, store), compare_groups(given, cube))
    assert complaints(verdicts) == ""
    found = kb.discover_cube(cube.uuid_prefix, given.store)[1]
    assert compare_shapes({}, given.cases["datasets"], found) is None
    assert {dataset_id: facts(dataset) for dataset_id, dataset in found.items()} == facts_of_cube_cases(given.cases)
