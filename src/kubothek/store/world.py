"""What a process that uses a store has of its own: a clock, chance, patience and a name.

Everything here that is not decided by its arguments and the store's content comes through this one value, which each
:class:`~kubothek.store.interface.Store` has as ``world``, so that a test can wind the clock and know the dice.
"""

from __future__ import annotations

import getpass
import os
import random
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

LONGEST_PAUSE = 1.0
AUTHOR = "KUBOTHEK_AUTHOR"
"""Environment variable with the name under which commits are made."""


def default_author() -> str:
    """Return who commits: what the environment says, else the user and the machine."""
    try:
        return os.environ.get(AUTHOR) or f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container may run under a number that has no name
        return f"{os.getuid()}@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class World:
    """Time (UTC), chance, waiting (in seconds), and the name to put into the history."""

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    rng: random.Random = field(default_factory=random.SystemRandom)
    sleep: Callable[[float], None] = time.sleep
    author: Callable[[], str] = default_author

    def new_id(self) -> str:
        """Return the 32 hexadecimal digits of a version 4 UUID, which nobody has had before.

        Examples
        --------
        >>> len(World().new_id())
        32
        """
        return uuid.UUID(int=self.rng.getrandbits(128), version=4).hex

    def pause(self, longest: float) -> None:
        """Wait a random time, so that writers that met do not meet again."""
        self.sleep(self.rng.uniform(0, min(LONGEST_PAUSE, longest)))


WORLD = World()
"""That of this process."""
