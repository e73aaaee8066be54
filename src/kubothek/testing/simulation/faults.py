"""What goes wrong with which call: drawn from the seed, some schedules without any fault, some with many.

A few kinds are chosen for each schedule, so that there are schedules in which nothing but the faults of one kind meets
the races of the clients.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kubothek.testing.simulation.runs import Fault

_RATES = (0.0, 0.0, 0.01, 0.03, 0.1)
_USUAL_RATE = 0.03
_SWAPS = 5
"""How many times more often something goes wrong with the write of a header."""
_OUTAGES = 0.3
"""Share of the schedules in which a call that fails may be the first of several."""
_MOST_DEATHS = 2
_DEADLY = 0.2
"""Share of the faults that may be the death of a client, which ends all that it was to do."""
_DEATHS = (Fault.DIE_BEFORE, Fault.DIE_AFTER)
_READS = (*_DEATHS, Fault.FAIL)
_LISTINGS = (*_READS, Fault.STALE)
_DELETES = (*_READS, Fault.LOSE_ANSWER, Fault.REPEAT)
_PUTS = (*_DELETES, Fault.LATE)
_POSSIBLE = {
    "get": _READS,
    "info": _READS,
    "list": _LISTINGS,
    "delete": _DELETES,
    "put": _PUTS,
    "create": (*_PUTS, Fault.REFUSE),
    "replace": (*_PUTS, Fault.REFUSE),
}
"""``FAIL`` is a doubtful outcome of ``create`` and ``replace``, and an error of all others."""
_CONDITIONAL = ("create", "replace")
_REFUSALS = (Fault.CONFLICT, Fault.BUSY)
_DRAWN = tuple(fault for fault in Fault if fault not in _REFUSALS)
_CONFLICTS = 0.2
"""Share of the schedules, and of their conditional writes, in which a store sees a conflict that is none, as S3 may.

Decided by dice of their own, so that all other schedules are what they were before there was this fault.
"""


class Faults:
    """The faults of one schedule.

    Parameters
    ----------
    rng
        Decides what goes wrong, and how often.
    kinds
        What goes wrong; ``None`` for some of everything, ``()`` for nothing. Where it is given, a call that fails is
        often the first of several, so that nobody can find out what became of it.
    seed
        Of the schedule; decides about conflicts that are none. ``None`` for no such thing.
    """

    def __init__(self, rng: random.Random, kinds: Sequence[Fault] | None = None, seed: int | None = None) -> None:
        self._rng, self._deaths = rng, 0
        self._conflicts = random.Random(f"conflicts {seed}")
        self._has_conflicts = seed is not None and self._conflicts.random() < _CONFLICTS
        self._rate = rng.choice(_RATES) if kinds is None else _USUAL_RATE
        self._kinds = frozenset(rng.sample(_DRAWN, rng.randrange(1, len(_DRAWN) + 1)) if kinds is None else kinds)
        self._has_outages = kinds is not None or rng.random() < _OUTAGES

    def draw(self, verb: str, *, is_swap: bool) -> Fault | None:
        """Return what goes wrong with the next call, more often with a swap: that is what the protocol is about."""
        if verb in _CONDITIONAL and self._has_conflicts and self._conflicts.random() < _CONFLICTS:
            return self._conflicts.choice(_REFUSALS)
        if self._rng.random() >= self._rate * (_SWAPS if is_swap else 1):
            return None
        may_die = self._deaths < _MOST_DEATHS and self._rng.random() < _DEADLY
        kinds = self._kinds if may_die else self._kinds.difference(_DEATHS)
        possible = [one for one in _POSSIBLE[verb] if one in kinds]
        if not possible:
            return None
        fault = self._rng.choice(possible)
        self._deaths += fault in _DEATHS
        return fault

    def outage(self) -> int:
        """Return how many of a client's next calls fail too, once one has failed."""
        return self._rng.choice((0, 2, 5, 12)) if self._has_outages else 0

    def fail(self, verb: str) -> Fault:
        """Return what goes wrong with a call during an outage."""
        return self._rng.choice((Fault.FAIL, Fault.LATE)) if Fault.LATE in _POSSIBLE[verb] else Fault.FAIL

    def delay(self) -> int:
        """Return how many turns a late call is late."""
        return self._rng.choice((3, 3, 10, 40, 150))

    def lag(self) -> int:
        """Return how many changes a stale listing is behind."""
        return self._rng.randrange(1, 8)


NO_FAULTS = Faults(random.Random(0), ())
