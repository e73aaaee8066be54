"""Time, chance and names in a simulation: everything that the store's ``world`` gives, drawn from one seed.

There is one true time, that of the store. Each client's clock is wrong by an amount of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from kubothek.store.world import World

BEGINNING = datetime(2013, 1, 1, tzinfo=UTC)
_LARGEST_SKEW = 300.0
"""Seconds; far below the age that garbage must have."""


class Clock:
    """The true time; it passes only when it is told to."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class SimulatedWorld(World):
    """The world of one client; ``ids`` are those that it has made, by which its commits are known."""

    ids: list[str] = field(default_factory=list)

    def new_id(self) -> str:
        """Return an id, and remember it."""
        made = World.new_id(self)
        self.ids.append(made)
        return made


def client_world(name: str, seed: str, clock: Clock, sleep: Callable[[float], None]) -> SimulatedWorld:
    """Return the world of a client: its dice and the error of its clock follow from the seed and its name."""
    rng = random.Random(f"{seed}/{name}")
    skew = timedelta(seconds=rng.choice((0.0, rng.uniform(-_LARGEST_SKEW, _LARGEST_SKEW))))
    return SimulatedWorld(clock=lambda: clock.now + skew, rng=rng, sleep=sleep, author=lambda: name)
