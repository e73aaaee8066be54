"""Who runs next: each client is a thread, exactly one of them holds the baton, and the seed says who gets it next.

A client gives the baton away at each call of its store and when it sleeps, and nowhere else. How often it gets the
baton back at once differs between schedules, and now and then one waits while the others get far ahead: what goes wrong
only when one client stands still at the worst moment is found by that sooner than by fair turns.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping

from kubothek.engine.steps import ONE_BY_ONE

_STICKINESS = (0.0, 0.3, 0.7, 0.9, 0.97)
_STALLING = (0.0, 0.0, 0.01, 0.05)
_LONGEST_STALL = 80


class Scheduler:
    """Turns between clients.

    Parameters
    ----------
    rng
        Decides.
    tick
        Called at the beginning of each turn with its number.
    """

    def __init__(self, rng: random.Random, tick: Callable[[int], None]) -> None:
        self.turn = 0
        self._rng, self._tick = rng, tick
        self._stickiness, self._stalling = rng.choice(_STICKINESS), rng.choice(_STALLING)
        self._batons: dict[str, threading.Lock] = {}
        self._stalled: dict[str, int] = {}
        self._done = threading.Lock()

    def run(self, clients: Mapping[str, Callable[[], None]]) -> None:
        """Run clients until all have ended; they must not raise."""
        self._batons = {name: threading.Lock() for name in clients}
        self._stalled = dict.fromkeys(clients, 0)
        threads = [threading.Thread(target=self._run, args=(name, body)) for name, body in clients.items()]
        for lock in (*self._batons.values(), self._done):
            lock.acquire()
        for thread in threads:
            thread.start()
        self._batons[self._rng.choice(list(self._batons))].release()
        self._done.acquire()
        self._done.release()
        for thread in threads:
            thread.join()

    def pause(self, name: str) -> None:
        """Give the baton away, and come back when it is this client's turn."""
        self.turn += 1
        self._tick(self.turn)
        chosen = self._next(name)
        if chosen != name:
            mine = self._batons[name]
            self._batons[chosen].release()
            mine.acquire()

    def _run(self, name: str, body: Callable[[], None]) -> None:
        ONE_BY_ONE.set(True)
        self._batons[name].acquire()
        try:
            body()
        finally:
            del self._batons[name]
            (self._batons[self._next(name)] if self._batons else self._done).release()

    def _next(self, name: str) -> str:
        """Choose who runs next, by preference one who does not stand still."""
        rng = self._rng
        if rng.random() < self._stalling:
            self._stalled[name] = self.turn + rng.randrange(_LONGEST_STALL)
        if name in self._batons and self._stalled[name] <= self.turn and rng.random() < self._stickiness:
            return name
        able = [one for one in self._batons if self._stalled[one] <= self.turn]
        return rng.choice(able or list(self._batons))
