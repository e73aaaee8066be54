"""What is known about sets of rows combines without ever claiming too much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubothek.model.condition import EVERYTHING, NOTHING, C, Comparison
from kubothek.plan.possible import Possible, possible
from kubothek.testing.conditions import conditions, matches

COLUMNS = {"x": st.integers(0, 2), "y": st.integers(0, 2)}
GROUPS = st.lists(st.lists(st.fixed_dictionaries(COLUMNS), max_size=3), min_size=1, max_size=4)


@given(conditions(COLUMNS), GROUPS, st.randoms(use_true_random=False))
def test_a_claim_is_never_wrong(condition, groups, random):
    """Whatever part of the truth about the leaves is known, what follows for the condition is true."""

    def leaf(part):
        can_match = [any(matches(part, row) for row in rows) or random.random() < 0.3 for rows in groups]
        can_fail = [not all(matches(part, row) for row in rows) or random.random() < 0.3 for rows in groups]
        return Possible(np.array(can_match), np.array(can_fail))

    known = possible(condition, len(groups), leaf)
    for rows, can_match, can_fail in zip(groups, known.can_match, known.can_fail, strict=True):
        assert can_match or not any(matches(condition, row) for row in rows)
        assert can_fail or all(matches(condition, row) for row in rows)


def always(value):
    """Know of ``x`` that it always or never has the value asked for, and nothing about ``y``."""
    return lambda leaf: Possible.exact(np.array([value])) if leaf.column == "x" else Possible.unknown(1)


X, Y = C("x") == 1, C("y") == 1


@pytest.mark.parametrize(
    ("condition", "value", "can_match", "can_fail"),
    [
        (X & Y, False, False, True),
        (X & Y, True, True, True),
        (X | Y, True, True, False),
        (X | Y, False, True, True),
        (~X, True, False, True),
        (~(X & Y), False, True, False),
        (Comparison("x", "!=", 1), True, False, True),
        (EVERYTHING, False, True, False),
        (NOTHING, True, False, True),
    ],
    ids=str,
)
def test_what_is_known_is_used(condition, value, can_match, can_fail):
    """Each combination concludes all that it can."""
    known = possible(condition, 1, always(value))
    assert (known.can_match.tolist(), known.can_fail.tolist()) == ([can_match], [can_fail])
