"""How the cases of a case set are judged: each is asked, compared, and looked up among the intended differences.

A case is *equal* when the answer is the one expected; where the corpus itself disputes that one, its *alternative* is
as good. Anything else must be listed in ``intended.py``, and what is listed there must differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from hypothesis import settings
from tests.oracle.intended import INTENDED

from kubothek.errors import KubothekError

Case = Mapping[str, Any]
Ask = Callable[[Case], Any]
Compare = Callable[[Case, Mapping[str, Any], Any], str | None]
Outcome = Literal["equal", "alternative", "intended", "different"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case: its name (``check/case set/case id``), the outcome, and how it differs if it does."""

    place: str
    outcome: Outcome
    difference: str = ""


def judge(check: str, name: str, cases: Iterable[Case], ask: Ask, compare: Compare) -> list[Verdict]:
    """Ask all cases and say what became of each.

    Parameters
    ----------
    check, name
        What is checked, and the case set; with the id of a case they are its name among the intended differences.
    ask
        Gives the answer to a case.
    compare
        Says how the answer to a case differs from what the corpus holds, ``None`` where it does not.
    """
    return [_verdict(f"{check}/{name}/{case['id']}", case, ask, compare) for case in cases]


def asked_again(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases to ask of what Kubothek wrote anew: all, or every third where somebody waits for the tests."""
    return cases[::3] if settings.get_current_profile_name() == "local" else cases


def complaints(verdicts: Iterable[Verdict]) -> str:
    """Describe the cases whose answer is wrong, and those that are listed as differing and do not."""
    lines = []
    for one in verdicts:
        if one.outcome == "different":
            lines.append(f"{one.place}: {one.difference}")
        elif one.outcome != "intended" and one.place in INTENDED:
            lines.append(f"{one.place}: no difference, though one is intended: {INTENDED[one.place]}")
    return "\n".join(lines)


def _verdict(place: str, case: Case, ask: Ask, compare: Compare) -> Verdict:
    try:
        answer = ask(case)
    except KubothekError as error:
        answer = error
    found = _against(case, case["expect"], answer, compare)
    if found is None:
        return Verdict(place, "equal")
    other = case.get("alternative")
    if other is not None and _against(case, other, answer, compare) is None:
        return Verdict(place, "alternative", found)
    return Verdict(place, "intended" if place in INTENDED else "different", found)


def _against(case: Case, expected: Mapping[str, Any], answer: Any, compare: Compare) -> str | None:
    if expected.get("error"):
        return None if isinstance(answer, KubothekError) else f"no error, but {_shown(answer)}: {expected['error']}"
    if isinstance(answer, KubothekError):
        return f"{type(answer).__name__}: {answer}"
    return compare(case, expected, answer)


def _shown(answer: Any) -> str:
    return f"{answer.num_rows} rows" if isinstance(answer, pa.Table) else repr(answer)[:80]
