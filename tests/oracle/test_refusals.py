"""Writes that Kartothek refuses are refused, those that it accepts are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.corpus_values import case_set, contents, names_with
from tests.oracle.queries import cube_of
from tests.oracle.verdicts import Case, complaints, judge
from tests.oracle.writes import CUBE_WRITES, DATASET_WRITES, copied_store, step_cases


def test_how_many_writes_are_tried() -> None:
    """All writes that the corpus says fail are tried."""
    assert sum(len(contents()[name]["error_steps"]) for name in names_with("error_steps")) == 36


@pytest.mark.parametrize("name", names_with("error_steps"))
def test_refusals(corpus: Path, name: str) -> None:
    """What Kartothek refuses to write to a dataset or cube is refused."""
    given = case_set(corpus, name)

    def write(case: Case) -> str:
        step, store = case["step"], copied_store(given.store)
        if step["op"] in DATASET_WRITES:
            DATASET_WRITES[step["op"]](given, step, given.cases["dataset_uuid"], store)
        else:
            CUBE_WRITES[step["op"]](given, step, cube_of({**given.cases["cube"], **step.get("cube", {})}), store)
        return "accepted"

    cases = step_cases(given.cases["error_steps"], "expect")
    verdicts = judge("refusal", name, cases, write, _compare_acceptance)
    assert complaints(verdicts) == ""


def _compare_acceptance(case: Case, expected: Mapping[str, Any], answer: str) -> str | None:
    return None if expected["error"] is None else f"{expected['error']} expected, but the write was {answer}"
