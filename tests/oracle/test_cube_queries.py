"""Cubes as Kartothek wrote them: every query gives the groups that Kartothek gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.corpus_values import case_set, names_with
from tests.oracle.queries import ask_query, compare_groups, cube_of
from tests.oracle.verdicts import judge


@pytest.mark.parametrize("name", names_with("query_cases"))
def test_queries_of_stored_cubes(corpus: Path, name: str) -> None:
    """A cube that Kartothek wrote is queried as Kartothek queries it."""
    given = case_set(corpus, name)
    cube = cube_of(given.cases["cube"])
    unexpected = judge(
        "query", name, given.cases["query_cases"], ask_query(cube, given.store), compare_groups(given, cube)
    )
    assert not unexpected, unexpected
