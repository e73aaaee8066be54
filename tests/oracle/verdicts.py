"""How the cases of a case set are judged: each is asked, compared, and looked up among the intended differences.

A case is *equal* when the answer is the one expected; where the corpus itself disputes that one, its alternative is as
good. Anything else must be listed in ``intended.py``, and what is listed there must differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from kubothek.errors import KubothekError
from tests.oracle.intended import INTENDED

Case = Mapping[str, Any]
Ask = Callable[[Case], Any]
Compare = Callable[[Case, Mapping[str, Any], Any], str | None]

TALLY: Counter[tuple[str, str]] = Counter()
"""How often each verdict was given, by check; for whoever wants to know."""


def judge(check: str, name: str, cases: Iterable[Case], ask: Ask, compare: Compare) -> str:
    """Ask all cases and describe those whose answer is neither expected nor an intended difference.

    Parameters
    ----------
    check, name
        What is checked, and the case set; with the id of a case they are its name among the intended differences.
    ask
        Gives the answer to a case.
    compare
        Says how the answer to a case differs from what the corpus holds, ``None`` where it does not.
    """
    unexpected = []
    for case in cases:
        found = _difference(case, ask, compare)
        place = f"{check}/{name}/{case['id']}"
        if (found is not None) == (place in INTENDED):
            TALLY[check, "intended" if found else "equal"] += 1
        elif found is None:
            unexpected.append(f"{place}: no difference any more, though one is intended: {INTENDED[place]}")
        else:
            unexpected.append(f"{place}: {found}")
    return "\n".join(unexpected)


def _difference(case: Case, ask: Ask, compare: Compare) -> str | None:
    """Say how the answer to a case differs from all that the corpus accepts."""
    try:
        answer = ask(case)
    except KubothekError as error:
        answer = error
    accepted = [case["expect"], *([case["alternative"]] if case.get("alternative") else [])]
    found = [_against(case, expected, answer, compare) for expected in accepted]
    return None if None in found else "; or ".join(one for one in found if one)


def _against(case: Case, expected: Mapping[str, Any], answer: Any, compare: Compare) -> str | None:
    if expected.get("error"):
        return None if isinstance(answer, KubothekError) else f"no error, but {_shown(answer)}: {expected['error']}"
    if isinstance(answer, KubothekError):
        return f"{type(answer).__name__}: {answer}"
    return compare(case, expected, answer)


def _shown(answer: Any) -> str:
    return f"{answer.num_rows} rows" if isinstance(answer, pa.Table) else repr(answer)[:80]
