"""Cubes as Kartothek wrote them: every query gives the groups that Kartothek gave."""

from __future__ import annotations

from pathlib import Path

import pytest

import kubothek as kb
from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.facts import facts, facts_of_cube_cases
from tests.oracle.queries import ask_query, compare_groups, cube_of
from tests.oracle.verdicts import judge
from tests.oracle.writes import compare_shapes


@pytest.mark.parametrize("name", names_with("query_cases"))
def test_queries_of_stored_cubes(corpus: Path, name: str) -> None:
    """A cube that Kartothek wrote is queried as Kartothek queries it."""
    given = case_set(corpus, name)
    cube = cube_of(given.cases["cube"])
    unexpected = judge(
        "query", name, given.cases["query_cases"], ask_query(cube, given.store), compare_groups(given, cube)
    )
    assert not unexpected, unexpected
    found = kb.discover_cube(cube.uuid_prefix, given.store)[1]
    assert compare_shapes({}, given.cases["datasets"], found) is None
    assert {dataset_id: facts(dataset) for dataset_id, dataset in found.items()} == facts_of_cube_cases(given.cases)
