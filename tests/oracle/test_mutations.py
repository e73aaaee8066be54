"""Sequences of changes to a cube that Kartothek wrote: after each step it is as Kartothek leaves it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.oracle.corpus_values import case_set, contents, names_with
from tests.oracle.mutations import run_sequence
from tests.oracle.verdicts import complaints
from tests.oracle.writes import copied_store

import kubothek as kb


def test_how_many_sequences_are_run() -> None:
    """All sequences of the corpus are run."""
    assert sum(len(contents()[name]["mutation_cases"]) for name in names_with("mutation_cases")) == 216


@pytest.mark.parametrize("name", names_with("mutation_cases"))
def test_mutations(corpus: Path, name: str) -> None:
    """After each step of a sequence, datasets, statistics and the answers to queries are those of Kartothek."""
    given = case_set(corpus, name)
    verdicts = [verdict for case in given.cases["mutation_cases"] for verdict in run_sequence(given, case)]
    assert complaints(verdicts) == ""


def test_copies_of_copies(corpus: Path) -> None:
    """A copy takes the place of what Kartothek wrote, answers as that did, and of both nothing is left when deleted."""
    given = case_set(corpus, "cube_two_dims")
    store, name = copied_store(given.store), given.cases["cube"]["uuid_prefix"]
    expected = kb.query_cube(name, store).to_arrow()
    kb.copy_cube(name, store, to_store=store, renamed_cube_prefix="ours")
    kb.copy_cube("ours", store, to_store=store, renamed_cube_prefix=name, overwrite=True)
    assert kb.query_cube(name, store).to_arrow() == kb.query_cube("ours", store).to_arrow() == expected
    for cube in ("ours", name):
        kb.cleanup_cube(cube, store, older_than=timedelta(0))
        kb.delete_cube(cube, store)
    assert list(store.list()) == []
