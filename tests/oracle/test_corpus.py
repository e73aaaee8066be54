"""The corpus is all there, and every intended difference names a case of it."""

from __future__ import annotations

from collections import Counter

from tests.oracle.corpus_values import contents
from tests.oracle.intended import INTENDED

KINDS = ("read_cases", "index_cases", "dispatch_cases", "query_cases", "mutation_cases", "error_steps")


def test_all_cases_are_there() -> None:
    """No check passes because its cases are missing."""
    assert Counter(cases["kind"] for cases in contents().values()) == {"dataset": 39, "cube": 18}
    counts = {kind: sum(len(cases.get(kind, ())) for cases in contents().values()) for kind in KINDS}
    assert counts == dict(zip(KINDS, (767, 244, 61, 632, 216, 36), strict=True))


def test_intended_differences_are_cases() -> None:
    """Every intended difference belongs to a check and to a case set that exist."""
    checks = {"read", "reread", "group", "layout", "reindexed", "refusal", "mutation"}
    for place in INTENDED:
        check, name, case_id = place.split("/")
        assert check in checks, place
        assert name in contents(), place
        assert case_id, place
