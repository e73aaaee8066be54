"""What lies in the simulated store, and everything that ever lay there: which bytes, from when until when, by whom.

Each change has a number, its *moment*; what holds after one holds until the next. So checks can be made when all is
over: was this file there for as long as a header named it, and what did a header say when it was replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubothek.codec.keys import HEADER_SUFFIXES
from kubothek.errors import ObjectNotFoundError
from kubothek.store.content_tag import content_tag
from kubothek.store.interface import LostRace, ObjectInfo, SwapOutcome, Swapped
from kubothek.testing.simulation.runs import Run
from kubothek.testing.simulation.world import Clock

_SUFFIXES = tuple(HEADER_SUFFIXES.values())
_LONGEST_LAG = timedelta(hours=1)
"""Of a listing; far below the age that garbage must have."""


@dataclass(slots=True, eq=False)
class Life:
    """An object from the moment at which it was put to that at which it was replaced or deleted, if it was.

    ``by`` put it and ``ended_by`` ended it; ``before`` is what it replaced.
    """

    key: str
    data: bytes
    etag: str
    modified: datetime
    born: int
    by: Run | None
    before: Life | None
    died: int | None = None
    ended_by: Run | None = None

    @property
    def info(self) -> ObjectInfo:
        """What a listing tells."""
        return ObjectInfo(self.key, len(self.data), self.modified)

    def spans(self, start: int, end: int | None) -> bool:
        """Whether it was there before a moment and still at another; ``None`` is the end of all."""
        return self.born < start and (self.died is None or (end is not None and self.died > end))


class Objects:
    """The objects of one simulation."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.moment = clock, 0
        self.now: dict[str, Life] = {}
        self.lives: dict[str, list[Life]] = {}
        self.headers: list[Life] = []
        """Every header that was ever put, in this order."""

    def get(self, key: str) -> Life:
        """Return what is there; ``ObjectNotFoundError`` if nothing is."""
        if key not in self.now:
            raise ObjectNotFoundError(f"There is no object {key!r}.", key=key)
        return self.now[key]

    def put(self, key: str, data: bytes, by: Run | None) -> str:
        """Put an object whatever was there; return its tag."""
        self.moment += 1
        before = self.now.get(key)
        life = Life(key, bytes(data), content_tag(data), self.clock.now, self.moment, by, before)
        if before is not None:
            before.died, before.ended_by = self.moment, by
        self.now[key] = life
        self.lives.setdefault(key, []).append(life)
        if key.endswith(_SUFFIXES):
            self.headers.append(life)
        return life.etag

    def create(self, key: str, data: bytes, by: Run | None) -> SwapOutcome:
        """Put an object if nothing is there."""
        return LostRace() if key in self.now else Swapped(self.put(key, data, by))

    def create_late(self, key: str, data: bytes, by: Run | None, asked: int) -> SwapOutcome:
        """Put an object if nothing is there, and nothing has been there since the moment at which this was asked for.

        A creation without an answer that still arrives, or arrives again, when others have created or deleted the
        object meanwhile, or the same client has by another request, would bring back what is gone. No client of a store
        without fences can prevent that.
        """
        was = any(life.born > asked or _outlasts(life.ended_by, asked) for life in self.lives.get(key, ()))
        return LostRace() if was else self.create(key, data, by)

    def replace(self, key: str, data: bytes, etag: str, by: Run | None) -> SwapOutcome:
        """Put an object if the one that is there has this tag."""
        found = self.now.get(key)
        return Swapped(self.put(key, data, by)) if found is not None and found.etag == etag else LostRace()

    def delete(self, keys: Iterable[str], by: Run | None) -> None:
        """Delete objects."""
        for key in keys:
            found = self.now.pop(key, None)
            if found is not None:
                self.moment += 1
                found.died, found.ended_by = self.moment, by

    def listing(self, prefix: str, lag: int = 0) -> list[Life]:
        """Return what is there, sorted by key; with a lag, what was there so many changes ago, but no long time ago."""
        if not lag:
            return [self.now[key] for key in sorted(self.now) if key.startswith(prefix)]
        then = self.moment - lag
        lives = [life for key, lives in self.lives.items() if key.startswith(prefix) for life in lives]
        known = self.clock.now - _LONGEST_LAG
        there = [life for life in lives if life.died is None or life.died > then]
        seen = [life for life in there if life.born <= then or life.modified <= known]
        return sorted(seen, key=lambda life: life.key)


def _outlasts(run: Run | None, moment: int) -> bool:
    """Whether an operation, such as a deletion, went on after a moment."""
    return run is not None and (run.ended == 0 or run.ended >= moment)
